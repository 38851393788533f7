#!/usr/bin/env python3
"""What libchakra.so shows, beside cmake/exported_symbols.txt: a symbol that goes or changes breaks programs that are linked with it.

    exported.py LIBRARY [--update]
"""
import os
import subprocess
import sys

LIST = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "cmake", "exported_symbols.txt")


def exported(library):
    names = subprocess.run(["nm", "-D", "--defined-only", "-C", library], text=True, stdout=subprocess.PIPE, check=True).stdout
    return sorted({line.split(" ", 2)[2] for line in names.splitlines()})


def main():
    found = exported(sys.argv[1])
    if "--update" in sys.argv:
        with open(LIST, "w", encoding="utf-8") as file:
            file.write("\n".join(found) + "\n")
        return
    with open(LIST, encoding="utf-8") as file:
        listed = file.read().splitlines()
    for name in sorted(set(found) ^ set(listed)):
        print(("shown, and not listed: " if name in found else "listed, and not shown: ") + name)
    if found != listed:
        sys.exit("tools/exported.py LIBRARY --update writes cmake/exported_symbols.txt")
    print(f"exported: {len(found)} symbols")


if __name__ == "__main__":
    main()
