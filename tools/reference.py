#!/usr/bin/env python3
"""Writes the pages of docs/reference that come from the command and the headers.

    reference.py [--bin DIR] [--check]

command_line.md comes from --help and the options of every subcommand, tables.md from 'chakra list', cpp_api.md from the headers of the
rooms that programs use, formats/results.md and formats/results.schema.json from 'chakra list results'.
In errors.md the rows of tags that a source explains beside its code come from there, each

    // `check.dep.cycle` (error): a node that waits for itself.

--check compares, and exits with 1 where a page differs. Keys of results are a promise to programs: a key that is removed, or whose
unit or type changes, is an error without --drop-keys.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADERS = ("chakra/chakra.h", "chakra/options.h", "chakra/trace.h", "chakra/base/result.h")
MADE = "`tools/reference.py` writes this page; do not edit it."


def said(chakra, *words):
    return subprocess.run([chakra, *words], text=True, capture_output=True, check=True, env=dict(os.environ, COLUMNS="100")).stdout


def listed(chakra, *kind):
    """The rows of a list, as JSON has them."""
    return json.loads(said(chakra, "list", *kind, "--json", "-"))


def subcommands(help_text):
    """The names under 'Commands:' of a help text."""
    _, _, below = help_text.partition("Commands:\n")
    return re.findall(r"^  ([a-z]+) ", below.partition("\n\n")[0], re.MULTILINE)


def command_line(chakra):
    text = ["# Command line", "", MADE, "'chakra list options --json -' has the same for programs.", ""]
    options = listed(chakra, "options")

    def add(words):
        help_text = said(chakra, *words, "--help").rstrip()
        text.extend([f"{'#' * min(2 + len(words) // 2, 3)} chakra {' '.join(words)}".rstrip(), "", "```"])
        text.extend(line.rstrip() for line in help_text.splitlines())
        text.extend(["```", ""])
        for row in options:
            if row["command"] == (" ".join(words) or "every command") and row["more"]:
                text.extend(textwrap.wrap(f"- `{row['option']}`: {row['more']}", 100, subsequent_indent="  ",
                                          break_long_words=False, break_on_hyphens=False))
        text.extend([""] if text[-1] else [])
        for name in subcommands(help_text):
            add([*words, name])

    add([])
    return "\n".join(text)


def tables(chakra):
    text = ["# What there is", "", MADE, "`chakra list KIND` prints the same.", ""]
    for kind in listed(chakra):
        if kind["kind"] in ("options", "results"):  # command_line.md and formats/results.md have them
            continue
        rows = listed(chakra, kind["kind"])
        text += [f"## {kind['kind']}", "", kind["what it is"][0].upper() + kind["what it is"][1:] + ".", ""]
        text += ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
        text += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row.values()) + " |" for row in rows] + [""]
    return "\n".join(text)


def cpp_api(_):
    text = ["# C++ API", "", MADE, "[Use the library](../how-to/library.md) explains the parts;",
            "[installing](../how-to/installing.md) says how to link. These headers are all that is installed.", ""]
    for path in HEADERS:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            text += [f"## {path}", "", "```cpp", file.read().rstrip(), "```", ""]
    return "\n".join(text)


def explained_tags():
    """tag -> its row of errors.md, from the comments of the sources."""
    rows = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "chakra", "*", "**", "*.cpp"), recursive=True)):
        with open(path, encoding="utf-8") as file:
            source = file.read()
        for tag, severity, said in re.findall(r"^// `([a-z_]+\.[a-z_.]+)` \(([^)]*)\): ((?:.*\n)(?:// (?!`).*\n)*)", source, re.MULTILINE):
            when = " ".join(line.removeprefix("//").strip() for line in said.splitlines()).removesuffix(".")
            rows[tag] = f"| `{tag}` | {severity} | {when} |"
    return rows


def errors(_):
    """The page as it is, with those rows; a new one comes after the last whose tag has most words in common with its own."""
    with open(os.path.join(ROOT, "docs", "reference", "errors.md"), encoding="utf-8") as file:
        lines = file.read().splitlines()

    def tag_of(line):
        found = re.match(r"\| `([a-z_.]+)`", line)
        return found[1] if found else ""

    for tag, row in explained_tags().items():
        words, at = tag.split("."), [i for i, line in enumerate(lines) if tag_of(line) == tag]
        if at:
            lines[at[0]] = row
            continue
        while words and not at:
            words.pop()
            at = [i for i, line in enumerate(lines) if tag_of(line).startswith(".".join([*words, ""]))]
        lines.insert(at[-1] + 1, row)
    return "\n".join(lines)


def by_answer(chakra):
    """The rows of 'chakra list results' by answer."""
    answers = collections.defaultdict(list)
    for row in listed(chakra, "results"):
        answers[row["answer"]].append(row)
    return answers


def results(chakra):
    """The page as it is up to the first answer, and a table for each answer."""
    with open(os.path.join(ROOT, "docs", "reference", "formats", "results.md"), encoding="utf-8") as file:
        text = [file.read().partition(f"\n{MADE_BELOW}")[0].rstrip("\n"), "", MADE_BELOW, ""]
    for answer, rows in by_answer(chakra).items():
        text += [f"### Keys of {answer}", "", "| key | unit | type | where it is missing | meaning |", "|---|---|---|---|---|"]
        for row in rows:
            cells = [f"`{row['key']}`", *(row[name] for name in ("unit", "type", "where it is missing", "meaning"))]
            text.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        text.append("")
    return "\n".join(text)


JSON_TYPES = {"whole number": "integer", "number": "number", "text": "string", "true or false": "boolean"}


def leaf_of(row):
    """A value as JSON Schema says it."""
    types = [JSON_TYPES[row["type"]]] if row["type"] in JSON_TYPES else ["number", "string", "boolean"]
    missing = row["where it is missing"]
    types += ["null"] if missing == "null" else ["string"] if missing in ('"unknown"', '""') and "string" not in types else []
    return {"type": types, "unit": row["unit"]}


def schema_of(rows):
    """JSON Schema of an answer. "a[].b": a list of objects; "a{}": an object whose keys are data."""
    root = {}
    for row in rows:
        at = root
        for part in row["key"].split("."):
            name = part.rstrip("[]{}")
            if name or not part:
                at = at.setdefault("properties", {}).setdefault(name, {})
            if part.endswith("[]"):
                at = at.setdefault("items", {})
            elif part.endswith("{}"):
                at = at.setdefault("additionalProperties", {})
        if row["type"] != "rows":
            at.update(leaf_of(row))
        elif row["unit"]:  # of plain values
            at["unit"] = row["unit"]
    return root


def schema(chakra):
    answers = {answer: schema_of(rows) for answer, rows in by_answer(chakra).items()}
    text = json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": answers}, indent=1)
    return re.sub(r'\{\s+"type": \[([^\]]*)\],\s+"unit": ("[^"]*")\s+\}',  # a value is a line
                  lambda leaf: f'{{"type": [{" ".join(leaf[1].split())}], "unit": {leaf[2]}}}', text)


def leaves(at, path=""):
    """(key, unit, types) of all values."""
    if "unit" in at:
        yield path, (at["unit"], tuple(at.get("type", ())))
    for name, below in at.get("properties", {}).items():
        yield from leaves(below, f"{path}.{name}")
    for mark in ("items", "additionalProperties"):
        if mark in at:
            yield from leaves(at[mark], path + ("[]" if mark == "items" else "{}"))


def broken_promises(before, after):
    """Keys of results that are no more, or no longer the same."""
    for answer, of in before["$defs"].items():
        now = dict(leaves(after["$defs"].get(answer, {})))
        for key, promise in leaves(of):
            if now.get(key) != promise:
                yield f"{answer}{key}: {promise}, now {now.get(key, 'removed')}"


MADE_BELOW = "## All keys\n\nThese tables come from `chakra list results` (`tools/reference.py`); do not edit them."
PAGES = {"formats/results.md": results, "formats/results.schema.json": schema,
         "command_line.md": command_line, "tables.md": tables, "cpp_api.md": cpp_api, "errors.md": errors}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--drop-keys", action="store_true")
    arguments = parser.parse_args()
    chakra = os.path.join(os.path.abspath(arguments.bin), "chakra")
    wrong = []
    for name, make in PAGES.items():
        path = os.path.join(ROOT, "docs", "reference", name)
        text = make(chakra).rstrip("\n") + "\n"
        if make is schema and os.path.exists(path) and not arguments.drop_keys:
            with open(path, encoding="utf-8") as file:
                broken = list(broken_promises(json.load(file), json.loads(text)))
            if broken:
                sys.exit("\n".join(["keys of results that programs may read:", *broken]))
        if not arguments.check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            wrong.append(name)
    if wrong:
        sys.exit(f"docs/reference: {', '.join(wrong)} does not say what the command or the headers say; run tools/reference.py")


if __name__ == "__main__":
    main()
