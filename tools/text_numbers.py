#!/usr/bin/env python3
"""Each number of a text is a cell of the answer, or a share, a sum or a count of cells: walks the cases.

    text_numbers.py [--bin DIR] [NAME...]

The cases of chakra/*/cases (all that run a command of VERBS, or those named) run with a command that also asks for --json, and
looks up each number that it prints in the JSON. Findings and texts of the answer may say what they like.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import case

VERBS = ("sim", "check", "info", "whatif", "diff", "analyze", "link", "replay", "gen", "calibrate", "convert", "pack", "unpack", "select", "sweep", "obfuscate",
         "certify", "query", "import", "doctor", "view", "report")
ELSEWHERE = ("--all", "--astra-output", "--workload-configuration", "--help", "-h", "--flows")  # what prints something else
TIMES = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1, "ps")]
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?: (?:%|[numkKMGTPE]?i?(?:s|B|FLOP)(?:/s)?|ps)(?!\w))?")
# Columns whose rows are one line of a text where they are equal.
FOLDS = {"ranks": ("actor",), "collectives": ("type", "members", "bytes", "count", "total_ps", "wait_ps")}
SUMS = {"critical_path": ("kind", "collective", "group", "tier")}


def show_time(value):
    for size, unit in TIMES:
        shown = value / size
        if abs(shown) >= 1:
            digits = 0 if size == 1 else 3 if abs(shown) < 10 else 2 if abs(shown) < 100 else 1
            return f"{shown:.{digits}f} {unit}"
    return "0 s"


def scaled(value, step, units):
    unit = 0
    while abs(value) >= step and unit + 1 < len(units):
        value, unit = value / step, unit + 1
    return value, unit, units[unit]


def units_and_titles(program):
    """The units that values of a key have, by the last part of the key; and the meanings, which are titles of tables in texts."""
    units = collections.defaultdict(set)
    rows = json.loads(subprocess.run([program, "list", "results", "--json", "-"], stdout=subprocess.PIPE, check=True).stdout)
    for row in rows:
        units[re.sub(r"[\[\]{}]", "", row["key"]).split(".")[-1]].add(row["unit"])
    return units, {row["meaning"] for row in rows}


def shown_forms(value, units):
    """What a cell may look like."""
    forms = [f"{value:,}" if isinstance(value, int) else f"{value:.4g}", str(value)]
    for unit, size in (("ps", 1), ("ns", 1000)):
        if unit in units:
            forms.append(show_time(value * size))
    if "bytes/s" in units:
        forms.append("{0:.1f} {2}".format(*scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])))
    if "bytes" in units:
        number, unit, name = scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
        forms.append(f"{number:.{1 if unit else 0}f} {name}")
    for unit in {"FLOP", "FLOP/s"} & units:
        forms += [f"{value / size:.4g} {letter}{unit}"
                  for size, letter in ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))]
    if "FLOP/B" in units:
        forms.append(f"{value:.4g} FLOP/B")
    if "share" in units:
        forms.append(f"{value * 100:.2f} %")
    if "percent" in units:
        forms.append(f"{value:.2f} %")
    return forms


class Numbers:
    """All that a text may say of an answer."""

    def __init__(self, answer, asked, units):
        self.units = units
        self.forms = set(NUMBER.findall(asked))
        self.makespan = answer.get("makespan_ps", 0)
        self.add(answer, [])

    def add_form(self, form):
        self.forms.add(form.lstrip("+-"))

    def add_shares(self, cells, wholes):
        """Of cells, each with its unit, of others in the same unit."""
        for part, unit in cells:
            for whole, other in wholes:
                if unit & other:
                    self.add_form(f"{part / whole * 100 if whole else 0:.2f} %")

    def cells(self, row):
        return [(value, self.units[key] or self.units[outer]) for key, value, outer in flat(row)
                if isinstance(value, (int, float)) and not isinstance(value, bool)]

    def add(self, row, wholes):
        """A row of a table, or the values. `wholes`: what shares may also be of."""
        cells = self.cells(row)
        for value, units in cells:
            for form in shown_forms(value, units):
                self.add_form(form)
        wholes = [*wholes, *cells]
        self.add_shares(cells, wholes)
        for key, value, _ in flat(row):
            if isinstance(value, str):
                self.forms.update(NUMBER.findall(value))
            elif isinstance(value, list) and key != "findings":
                self.add_table(key, value, wholes)

    def add_table(self, key, rows, wholes):
        self.add_form(f"{len(rows):,}")
        if rows and not isinstance(rows[0], dict):
            rows = [{key: row} for row in rows]
        if not rows:
            return
        sums = {name: sum(row.get(name) or 0 for row in rows) for name, value in rows[0].items() if name.endswith("_ps")}
        wholes = [*wholes, *self.cells(sums)]
        for row in rows:
            self.add(row, wholes)
        columns = FOLDS.get(key) or SUMS.get(key, ())
        groups = collections.defaultdict(list)
        for row in rows:
            groups[tuple(row.get(column) for column in columns)].append(row)
        for group in groups.values():
            if key in FOLDS:
                self.add_form(f"{len(group) - 1:,}")
            if key in SUMS and columns:
                self.add_form(f"{len(group):,}")
                total = sum(row["time_ps"] for row in group)
                self.add_form(show_time(total))
                self.add_shares([(total, {"ps"})], [(self.makespan, {"ps"})])


def flat(row, outer=""):
    """Cells by the last part of their keys, and the part before; objects are parts of keys."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from flat(value, key)
        else:
            yield key, value, outer


def unknown_numbers(text, answer, asked, units, titles):
    known = Numbers(answer if isinstance(answer, dict) else {"": answer}, asked, units)
    for line in text.splitlines():
        if re.match(r"\s*(note|warning|error): |  \.\.\. and ", line) or line[:1].lower() + line[1:] in titles:
            continue
        for number in NUMBER.findall(line):
            if number not in known.forms:
                yield f"{number} in {line!r}"


def run_as_command(real, log):
    """In place of the command: the same, but what it prints is looked up."""
    command, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]
    program = os.path.join(real, command)
    unseen = os.path.samestat(os.fstat(1), os.stat(os.devnull))  # a case may send signals to such a command: exec, not a child
    if unseen or arguments[:1] not in [[verb] for verb in VERBS] or any(a.split("=")[0] in (*ELSEWHERE, "--json") for a in arguments):
        os.execv(program, [program, *arguments])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "answer.json")
        done = subprocess.run([program, *arguments, "--json", path], stdout=subprocess.PIPE, check=False)
        sys.stdout.buffer.write(done.stdout)
        text = done.stdout.decode(errors="replace")
        with open(log, "a", encoding="utf-8") as file:
            if os.path.exists(path) and done.returncode == 0:
                with open(path, encoding="utf-8") as answer:
                    found = list(unknown_numbers(text, json.load(answer), " ".join(arguments), *units_and_titles(program)))
                file.write("".join(f"{' '.join(arguments)}: {each}\n" for each in found) or "ok\n")
    sys.exit(done.returncode)


def look_up(path, real):
    """Run a case with wrappers of its own. Return the lines of the log: "ok", or the numbers that are not in an answer."""
    with tempfile.TemporaryDirectory() as folder:
        wrappers = os.path.join(folder, "bin")
        os.mkdir(wrappers)
        for program in os.listdir(real):
            os.symlink(os.path.join(real, program), os.path.join(wrappers, program))
        os.unlink(os.path.join(wrappers, "chakra"))
        log = os.path.join(folder, "log")
        with open(os.path.join(wrappers, "chakra"), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n"
                       f"import text_numbers\ntext_numbers.run_as_command({real!r}, {log!r})\n")
        os.chmod(os.path.join(wrappers, "chakra"), 0o755)
        open(log, "w", encoding="utf-8").close()
        case.run_case(path, wrappers, False)
        with open(log, encoding="utf-8") as file:
            return file.read().splitlines()


def chosen(names):
    """The cases that run a command of VERBS. Where the project lies does not choose cases."""
    for path in sorted(glob.glob(os.path.join(case.ROOT, "chakra", "*", "cases", "*.case"))):
        if names and not any(re.search(name, os.path.relpath(path, case.ROOT)) for name in names):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if any(f"chakra {verb} " in text for verb in VERBS):
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(case.ROOT, "build", "release", "bin"))
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    texts, unknown, paths = 0, [], list(chosen(arguments.names))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for path, lines in zip(paths, pool.map(lambda path: look_up(path, os.path.abspath(arguments.bin)), paths)):
            texts += len([line for line in lines if line == "ok"])
            unknown += [f"{os.path.basename(path)}: {line}" for line in lines if line != "ok"]
    print("\n".join(unknown + [f"{texts} texts whose numbers are all in their answers, {len(unknown)} numbers that are not"]))
    sys.exit(1 if unknown or not texts else 0)


if __name__ == "__main__":
    main()
