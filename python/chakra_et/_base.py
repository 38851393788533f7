"""Errors, findings, answers and tables: the classes of the extension, with the methods that are easier in Python."""
from __future__ import annotations

import html
import json
import numbers
import os
from collections import namedtuple

from . import _chakra

SHOWN_ROWS = 10  # of a table in a notebook

Place = namedtuple("Place", "file byte line")
Place.__doc__ = "A place in a file. byte (of the uncompressed file) and line (from 1) are None if unknown."
Finding = namedtuple("Finding", "tag severity rank node text facts")
Finding.__doc__ = """An observation that does not stop the work.

severity: 'note', 'warning' or 'error'. rank, node: None if the finding concerns no single rank or node. facts: more values, by name.
"""


class Error(Exception):
    """A verb failed. str(error) is the sentence that the command prints.

    tag: stable, such as 'io.et.truncated' (docs/reference/errors.md). text: the sentence alone. place: a Place.
    code: the exit code of the command: 1 bad input, 2 usage, 3 a file cannot be read or written, 4 stuck, 130 interrupted.
    """

    def __init__(self, message: str, tag: str, text: str, place: Place, code: int):
        super().__init__(message)
        self.tag, self.text, self.place, self.code = tag, text, place, code

    def __reduce__(self):
        return Error, (str(self), self.tag, self.text, self.place, self.code)


def no_key(key, known):
    import difflib  # 5 ms

    near = difflib.get_close_matches(key, known, 1)
    return KeyError(f"no {key!r}" + (f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"))


class Table(_chakra.Table):
    """Rows of an answer, in columns. A table keeps the memory of the answer alive, and so does each array.

    len(table): rows. table['finish_ps']: a column as a NumPy array; numbers are read-only views without a copy. A column
    with missing values is a numpy.ma.MaskedArray; texts are an array of str. keys(), units and meanings describe the
    columns. In a nested table (the key has a dot), column 'row' is the row of the parent table. pyarrow, polars
    and DuckDB read a table directly: pyarrow.table(table), polars.DataFrame(table), duckdb.sql('from table').
    """

    def to_pandas(self):
        """Return a DataFrame with Arrow types: integers stay exact beside missing values. Requires pyarrow."""
        import pandas
        import pyarrow

        return pyarrow.table(self).to_pandas(types_mapper=pandas.ArrowDtype)

    def to_polars(self):
        """Return a polars.DataFrame."""
        import polars

        return polars.DataFrame(self)

    def plot(self, value: str | None = None, **options):
        """Draw a column as bars. Requires matplotlib. See chakra_et.plots.table()."""
        from . import plots

        return plots.table(self, value, **options)

    def _rows(self, count):
        columns = [self[key][:count].tolist() for key in self.keys()]
        return list(zip(*columns, strict=True))

    def _repr_html_(self):
        keys, units = self.keys(), self.units
        heads = "".join(f"<th>{html.escape(key)}{' [' + html.escape(units[key]) + ']' if units.get(key) else ''}</th>" for key in keys)
        rows = "".join("<tr>" + "".join(f"<td>{'' if cell is None else html.escape(str(cell))}</td>" for cell in row) + "</tr>"
                       for row in self._rows(SHOWN_ROWS))
        more = f"<p>{min(SHOWN_ROWS, len(self)):,} of {len(self):,} rows of {html.escape(self.key)}</p>"
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"

    def __repr__(self):
        return f"<chakra_et.Table {self.key!r}: {len(self):,} rows of {', '.join(self.keys())}>"


class Answer(_chakra.Answer):
    """The result of a verb: values, tables and findings. An answer is complete and immutable.

    answer['makespan_ps']: a value, by the key of the command's --json; None if the value is missing. Times are integers
    in picoseconds. `chakra list results` lists all keys with units and meanings. str(answer) is the text of the command.
    """

    def table(self, key: str) -> Table:
        """Return a table by key, such as 'ranks' or 'collectives.candidates'. Cost: O(1). Errors: KeyError."""
        return Table(self._table(key))

    def to_dict(self) -> dict:
        """Return the whole answer, as --json of the command. Cost: memory for each cell; tables are cheaper."""
        return json.loads(self.to_json())

    def to_pandas(self, key: str):
        """Return a table as a pandas.DataFrame with Arrow types. Requires pandas and pyarrow."""
        return self.table(key).to_pandas()

    def to_polars(self, key: str):
        """Return a table as a polars.DataFrame. Requires polars."""
        return self.table(key).to_polars()

    def plot(self, key: str, value: str | None = None, **options):
        """Draw a column of a table as bars. Requires matplotlib. See chakra_et.plots.table()."""
        return self.table(key).plot(value, **options)

    def write(self, path: str | os.PathLike, form: str | None = None) -> None:
        """Write the answer in the form 'json', 'txt' (the text of the command), 'csv' or 'arrow' (an Arrow IPC file).

        Without form, the endings .txt, .csv and .arrow select the form, and any other ending means JSON. CSV and Arrow have a
        file PREFIX.<table>.csv for each table. Each file appears whole, or none does. Errors: base.file.*; cli.usage for
        another form.
        """
        self._write(path_of(path), form or "")

    def _repr_html_(self):
        values = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(self[key]))}</td></tr>" for key in self.keys())
        tables = "".join(f"<h4>{html.escape(key)}</h4>{self.table(key)._repr_html_()}" for key in self.tables())
        findings = "".join(f"<li>{html.escape(each.severity)}: {html.escape(each.text)}</li>" for each in self.findings[:SHOWN_ROWS])
        return f"<table>{values}</table><ul>{findings}</ul>{tables}"

    def __str__(self):
        return self.to_text()

    def __repr__(self):
        return f"<chakra_et.Answer of {self.verb!r}: {', '.join(self.keys() + self.tables())}>"


class BaseJob(_chakra.Job):
    """Methods of chakra_et.Job that are not verbs."""

    @classmethod
    def of(cls, traces):
        """Make a job from traces of Builder.finish(). Errors: io.job.rank_twice; cli.usage for an empty list."""
        return cls(_chakra.Job._of(list(traces)))

    @property
    def made(self) -> Answer:
        """The answer of link, generate or edit; else empty."""
        return Answer(self._made())

    def info(self) -> Answer:
        """Return ranks, nodes and their kinds. Errors: those of reading."""
        return Answer(self._info())

    def __repr__(self):
        return f"<chakra_et.Job {self.path!r}>" if self.path else "<chakra_et.Job in memory>"


def path_of(value, name="path") -> str:
    """The text of a path. Errors: ValueError for one that the library cannot keep: a zero would cut it, and name another file."""
    text = os.fspath(value)
    if not isinstance(text, str):
        raise TypeError(f"{name}: {type(text).__name__} is not text")
    if "\0" in text:
        raise ValueError(f"{name}: {text!r} has a zero character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {text!r} is not UTF-8") from None
    return text


def _text_of(name, value):
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):  # bool, and NumPy's
        return "true" if value else "false"
    if hasattr(value, "__index__"):  # int, and NumPy's
        return str(value.__index__())
    if isinstance(value, numbers.Real):  # float, NumPy's, whose repr() is 'np.float64(0.5)', and fractions
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return path_of(value, name)
    raise TypeError(f"{name}: {type(value).__name__} is not text, a number or a truth value")


ARGUMENTS = ("self", "progress", "models", "other", "path", "original", "shared", "recordings", "sql")  # arguments of verbs that are not options


def paths(recordings) -> list:
    return [path_of(path) for path in ([recordings] if isinstance(recordings, (str, os.PathLike)) else recordings)]


def given(options: dict, lists: tuple = ()) -> list:
    """Return (name, text) of the given options, with one pair for each item of a list. None: not given."""
    pairs = []
    for name, value in options.items():
        if value is None or name in ARGUMENTS:
            continue
        is_list = name in lists and not isinstance(value, (str, os.PathLike)) and hasattr(value, "__iter__")
        pairs += [(name.rstrip("_"), _text_of(name, item)) for item in (value if is_list else [value])]  # from_
    return pairs
