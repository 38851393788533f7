#!/usr/bin/env python3
"""Runs clang-tidy 14 with the checks of .clang-tidy over the rooms' sources.

    clang_tidy.py [--build build/release] [--jobs N] [ROOM...]

A check walks through every header that a source includes, the standard library's too, which is most of its time. So all
sources of a room are one unit here, as they are some units in the release build: names in their anonymous namespaces
differ (tidy.py). The commands are those of the release build without what only GCC knows, its precompiled header
included. Prints each finding as clang-tidy does, and the processor time; exits 1 if there are any.
"""
import argparse
import concurrent.futures
import json
import os
import re
import resource
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GCC_ONLY = ("-W", "-O", "-g", "--param", "-fpch-preprocess")


def commands(build):
    """(room, source or unity unit, the compiler's words) of what is neither a test nor generated."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for row in json.load(file):
            path = os.path.relpath(row["file"], ROOT)
            found = re.search(r"(?:^chakra/|/unity/)([a-z]+)(?:/|_\d)", path)
            if found and not re.search(r"_(test|fuzz|bench)\.cpp$", path):
                yield found[1], row["file"], shlex.split(row["command"])


def for_clang(words):
    kept, skip = ["clang++", "-w", "-ferror-limit=0"], False
    for word in words[1:]:
        if skip or word in ("-include", "-o", "-c"):
            skip = not skip and word != "-c"
        elif not word.startswith(GCC_ONLY) and not word.endswith(".cpp"):
            kept.append(word)
    return kept


def write_units(build, folder):
    """A source and a command for each room, in `folder`. Returns room -> its sources."""
    units, rows, texts = {}, [], {}
    os.makedirs(folder, exist_ok=True)
    for room, source, words in commands(build):
        unit = os.path.join(folder, f"{room}.cpp")
        if "/unity/" not in source:
            unit = source
        else:
            with open(source, encoding="utf-8") as file:
                texts[unit] = texts.get(unit, "") + file.read()
        if unit not in units.setdefault(room, []):
            units[room].append(unit)
            rows.append({"directory": build, "file": unit, "arguments": [*for_clang(words), "-c", unit]})
    for unit, text in texts.items():
        with open(unit, "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(rows, file)
    return units


def check(unit, folder):
    run = subprocess.run(["clang-tidy-14", "-p", folder, "--quiet", f"--config-file={ROOT}/.clang-tidy", unit],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stdout or (run.stderr if run.returncode else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("rooms", nargs="*")
    asked = parser.parse_args()
    folder = os.path.join(ROOT, "build", "clang_tidy")
    units = write_units(os.path.abspath(asked.build), folder)
    if unknown := set(asked.rooms) - set(units):
        sys.exit(f"clang_tidy.py: there is no room {', '.join(sorted(unknown))}")
    wanted = [unit for room in asked.rooms or units for unit in units[room]]
    seen, failed = set(), False
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        for code, said in pool.map(lambda unit: check(unit, folder), wanted):
            failed |= code != 0
            for finding in re.split(r"(?m)^(?=\S+:\d+:\d+: (?:warning|error))", said):  # headers are in several units
                if finding.strip() and finding not in seen:
                    seen.add(finding)
                    print(finding.rstrip(), flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"clang-tidy: {len(wanted)} units, {used.ru_utime + used.ru_stime:.0f} s of processor time, {len(seen)} findings")
    sys.exit(1 if failed or seen else 0)


if __name__ == "__main__":
    main()
