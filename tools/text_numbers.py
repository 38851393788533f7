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
import shlex
import subprocess
import sys
import tempfile

import case

VERBS = ("sim", "check", "info", "whatif", "diff", "analyze", "link", "replay", "gen", "calibrate", "convert", "pack", "unpack", "select", "sweep", "obfuscate",
         "certify", "query", "import", "doctor", "view", "report")
ELSEWHERE = ("--all", "--astra-output", "--workload-configuration", "--help", "-h", "--flows")  # what prints something else
TIMES = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1, "ps")]
NUMBER = re.compile(r"(?<![\w.])\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?(?: (?:%|[numkKMGTPE]?i?(?:s|B|FLOP)(?:/s)?|FLOP/B|ps)(?![\w/]))?")
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
        return [(value, self.units[key] | self.units[outer]) for key, value, outer in flat(row)
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
        sums = {name: sum(row.get(name) or 0 for row in rows) for name, value in rows[0].items()
                if name.endswith("_ps") and isinstance(value, (int, float))}
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
                total = sum(row.get("time_ps") or 0 for row in group)
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


# In place of the command: the same with --json, and what it printed and wrote lies in the folder of the log. A case may send
# signals to a command whose output nobody reads: that one is not a child.
WRAPPER = """#!/bin/bash
program={real}/chakra
case " {verbs} " in *" $1 "*) ;; *) exec "$program" "$@" ;; esac
[ /dev/stdout -ef /dev/null ] && exec "$program" "$@"
for argument; do
  case "${{argument%%=*}}" in {elsewhere}) exec "$program" "$@" ;; esac
done
place=$(mktemp -d -p {log})
"$program" "$@" --json "$place/answer.json" >"$place/text"
status=$?
cat "$place/text"
[ $status -eq 0 ] && [ -f "$place/answer.json" ] && echo "$*" >"$place/asked"
exit $status
"""


def numbers_of_commands(log, units, titles):
    """For each command in the folder of the log: "ok", or the numbers that are not in its answer."""
    for place in sorted(glob.glob(os.path.join(log, "*", "asked"))):
        folder = os.path.dirname(place)
        with open(place, encoding="utf-8", errors="replace") as file:
            asked = file.read().strip()
        with open(os.path.join(folder, "answer.json"), encoding="utf-8") as file:
            answer = json.load(file)
        with open(os.path.join(folder, "text"), encoding="utf-8", errors="replace") as file:
            found = list(unknown_numbers(file.read(), answer, asked, units, titles))
        yield from [f"{asked}: {each}" for each in found] or ["ok"]


def look_up(path, real, units, titles):
    """Run a case with a wrapper of the command. Return "ok" or the numbers that are not in an answer, for each command."""
    with tempfile.TemporaryDirectory() as folder:
        wrappers, log = os.path.join(folder, "bin"), os.path.join(folder, "log")
        os.mkdir(wrappers)
        os.mkdir(log)
        for program in os.listdir(real):
            os.symlink(os.path.join(real, program), os.path.join(wrappers, program))
        os.unlink(os.path.join(wrappers, "chakra"))
        with open(os.path.join(wrappers, "chakra"), "w", encoding="utf-8") as file:
            file.write(WRAPPER.format(real=shlex.quote(real), verbs=" ".join(VERBS), log=shlex.quote(log),
                                      elsewhere="|".join((*ELSEWHERE, "--json"))))
        os.chmod(os.path.join(wrappers, "chakra"), 0o755)
        case.run_case(path, wrappers, False)
        return list(numbers_of_commands(log, units, titles))


def chosen(names):
    """The cases with a command of VERBS whose text somebody reads. Where the project lies does not choose cases."""
    command = re.compile(rf"(?<!mpirun )\bchakra (?:{'|'.join(VERBS)}) (?!.*(?:> ?/dev/null|{'|'.join((*ELSEWHERE, '--json', '--rank'))}))")
    for path in sorted(glob.glob(os.path.join(case.ROOT, "chakra", "*", "cases", "*.case"))):
        if names and not any(re.search(name, os.path.relpath(path, case.ROOT)) for name in names):
            continue
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if "-- needs mpi" not in lines and any(command.search(line) for line in lines):
            yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(case.ROOT, "build", "release", "bin"))
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    texts, unknown, paths = 0, [], list(chosen(arguments.names))
    real = os.path.abspath(arguments.bin)
    units, titles = units_and_titles(os.path.join(real, "chakra"))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for path, lines in zip(paths, pool.map(look_up, paths, *([each] * len(paths) for each in (real, units, titles)))):
            texts += len([line for line in lines if line == "ok"])
            unknown += [f"{os.path.basename(path)}: {line}" for line in lines if line != "ok"]
    print("\n".join(unknown + [f"{texts} texts whose numbers are all in their answers, {len(unknown)} numbers that are not"]))
    sys.exit(1 if unknown or not texts else 0)


if __name__ == "__main__":
    main()
