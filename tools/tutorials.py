#!/usr/bin/env python3
"""Runs the tutorials (docs/tutorials): does what each page says in an empty folder, and compares what comes out.

    tutorials.py [--bin DIR] [--update] [NAME...]

The fences of a page say what a block is:

    ```sh                   commands; they run one block after the other in one folder, and each must exit with 0
    ```sh exit 4            the last of them must exit with 4
    ```sh setup             for the reader alone: where to find the examples
    ```text                 what the commands before it print; a line of ... stands for any number of lines
    ```text varies          the same, but all numbers may differ
    ```yml net.yml          a file of that name, of any kind: yml, cpp, cmake

The commands find chakra in the path, the examples in $EXAMPLES, and an installation in $PREFIX. --bin is the folder of the
command: that of an installation, or of a build, which is then installed into a folder that is removed afterwards.
--update writes what came out into the text blocks without a line of three dots.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Block:
    def __init__(self, info, line):
        self.kind, _, self.argument = info.partition(" ")
        self.line, self.lines = line, []


def blocks(lines):
    """The fenced blocks of a page, in order."""
    found, block = [], None
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if block:
                found.append(block)
                block = None
            else:
                block = Block(line[3:].strip(), number)
        elif block:
            block.lines.append(line)
    return found


def pattern(block):
    """What a text block stands for, as a regular expression."""
    parts = []
    for line in block.lines:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
            continue
        text = re.escape(line.rstrip())
        if block.argument == "varies":
            text = re.sub(r"\d[\d,]*(?:\\\.\d+)?", r"[\\d.,]+", text)
            text = re.sub(r"(?:\\ )+", r" +", text)
        parts.append(text + r"\n")
    return "".join(parts)


def run_page(path, environment, update):
    """The problems of one page."""
    page = open(path, encoding="utf-8").read().splitlines()
    problems, said, new = [], None, {}
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks(page):
            where = f"{os.path.relpath(path, ROOT)}:{block.line}"
            if block.kind == "sh" and block.argument != "setup":
                wanted = int(block.argument.removeprefix("exit ") or 0)
                done = subprocess.run(["bash", "-c", "set -eo pipefail\n" + "\n".join(block.lines)], cwd=folder, env=environment,
                                      text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
                said = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
                if done.returncode != wanted:
                    problems.append(f"{where}: exit {done.returncode} instead of {wanted}\n{said}")
                    break
            elif block.kind == "text":
                if said is None:
                    problems.append(f"{where}: no commands stand before this block")
                elif not re.fullmatch(pattern(block), said):
                    if update and not any(line.strip() == "..." for line in block.lines):
                        new[block.line] = (len(block.lines), said.splitlines())
                    else:
                        problems.append(f"{where}: the page shows\n" + "\n".join(block.lines) + f"\nbut this comes out:\n{said}")
                said = None
            elif block.argument and block.kind != "sh":
                with open(os.path.join(folder, block.argument), "w", encoding="utf-8") as file:
                    file.write("\n".join(block.lines) + "\n")
    if new:
        for line, (count, text) in sorted(new.items(), reverse=True):
            page[line : line + count] = text
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(page) + "\n")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    for tool in ("cmake", "g++"):
        if not shutil.which(tool):
            print(f"SKIP: no {tool}")
            sys.exit(77)  # to ctest, skipped
    binaries = os.path.abspath(arguments.bin)
    failed = 0
    with tempfile.TemporaryDirectory() as installed:
        prefix = os.path.dirname(binaries)
        if os.path.exists(os.path.join(prefix, "cmake_install.cmake")):
            subprocess.run(["cmake", "--install", prefix, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)
            prefix = installed
        environment = dict(os.environ, PATH=f"{prefix}/bin:{os.environ['PATH']}", PREFIX=prefix,
                           EXAMPLES=f"{prefix}/share/chakra/examples", LC_ALL="C.UTF-8")
        environment.setdefault("CMAKE_GENERATOR", "Ninja")  # as ./dev: a bare machine has no make
        for path in sorted(glob.glob(os.path.join(ROOT, "docs", "tutorials", "*.md"))):
            name = os.path.basename(path)
            if arguments.names and not any(wanted in name for wanted in arguments.names):
                continue
            problems = run_page(path, environment, arguments.update)
            failed += bool(problems)
            print("\n".join([f"FAIL {name}", *problems]) if problems else f"ok   {name}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
