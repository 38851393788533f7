#!/usr/bin/env python3
"""Prints the copyright file of the Debian package, in Debian's machine-readable form (DEP-5).

    debian_copyright.py      the tables "In the command and the library" and "Data" of THIRD_PARTY_NOTICES.md become stanzas

Software that is compiled in is named with the library; its texts come from Debian's own copyright files of the headers. Shared libraries are
packages with files of their own.
"""
import re
import sys

from python_package import HEADERS, ROOT, output_of, read

FORM = "https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
OURS = "the chakra developers"
APACHE = " On Debian systems, the text of the Apache License, version 2.0, is in\n /usr/share/common-licenses/Apache-2.0."
MIT = """ Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
 associated documentation files (the "Software"), to deal in the Software without restriction, including
 without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
 copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
 following conditions:
 .
 The above copyright notice and this permission notice shall be included in all copies or substantial
 portions of the Software.
 .
 THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
 LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
 EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
 IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR
 THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def rows(notices, section):
    """The cells of each row of the table of a section, without its head."""
    text = notices.split(f"\n## {section}\n")[1].split("\n## ")[0]
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    if len(table) < 3:
        sys.exit(f"debian_copyright: THIRD_PARTY_NOTICES.md has no table in the section '{section}'")
    return table[2:]


def stanzas(text):
    """Each stanza of a DEP-5 file: field -> value with its lines."""
    found = []
    for block in re.split(r"\n\s*\n", text.strip()):
        fields = re.findall(r"^(\S[^:]*): ?(.*(?:\n[ \t].*)*)", block, re.M)
        found.append({name: "\n".join(line.rstrip() for line in value.split("\n")) for name, value in fields})
    return found


def texts_of(package, licences):
    """The holders in the stanza of all files of a package; adds the texts of their licences to `licences`."""
    found = stanzas(read(f"/usr/share/doc/{package}/copyright"))
    whole = next(stanza for stanza in found if stanza.get("Files") == "*")
    names = re.split(r" and ", whole["License"].split("\n")[0])
    for stanza in found:
        name, _, text = stanza.get("License", "").partition("\n")
        if "Files" not in stanza and name in names and text:
            # two packages can call different texts alike: the texts name their holders
            licences.setdefault(f"{name}-{package}" if name != "Apache-2.0" else name, text)
    names = [name if name == "Apache-2.0" else f"{name}-{package}" for name in names]
    if missing := [name for name in names if name not in licences]:
        sys.exit(f"debian_copyright: Debian's file of {package} has no text of {', '.join(missing)}")
    return whole["Copyright"].strip(), names


def stanza(**fields):
    return "\n".join(f"{name}: {value}" for name, value in fields.items())


def main():
    notices = read(f"{ROOT}/THIRD_PARTY_NOTICES.md")
    licences = {"Apache-2.0": APACHE}
    compiled_in = {name: row for row in rows(notices, "In the command and the library") if row[3] == "compiled in"
                   for name in HEADERS if name.startswith(row[1].strip("`"))}
    if len(compiled_in) != len([row for row in rows(notices, "In the command and the library") if row[3] == "compiled in"]):
        sys.exit("debian_copyright: software that is compiled in has no Debian package in HEADERS")
    holders, needed = [OURS], ["Apache-2.0"]
    for package in compiled_in:
        output_of("dpkg-query", "--status", package)  # fails if the text is not here
        holder, names = texts_of(package, licences)
        holders.append(holder)
        needed += [name for name in names if name not in needed]
    out = [stanza(**{"Format": FORM, "Upstream-Name": "chakra", "Upstream-Contact": OURS,
                     "Comment": "Paths are those of the package. THIRD_PARTY_NOTICES.md lists everything that chakra uses."}),
           stanza(Files="*", Copyright=OURS, License="Apache-2.0"),
           stanza(Files="usr/lib/chakra/*", Copyright="\n ".join(holders), License=" and ".join(needed),
                  Comment="Compiled in: " + ", ".join(row[0].split(" (")[0] for row in compiled_in.values()) + ".")]
    by_files = {}
    for source, holder, licence, files in rows(notices, "Data"):
        for path in re.findall(r"`([^`]+)`", files):
            by_files.setdefault(path, []).append((source, holder, licence))
    for path, given in by_files.items():
        if "MIT" in (licence for _, _, licence in given):
            licences["MIT"] = MIT
        out.append(stanza(Files=f"usr/share/chakra/{path}", Copyright="\n ".join([OURS, *(holder for _, holder, _ in given)]),
                          License=" and ".join(sorted({"Apache-2.0", *(licence for _, _, licence in given)})),
                          Comment="Made from measurements: " + ", ".join(source for source, _, _ in given) + "."))
    out += [f"License: {name}\n{text}" for name, text in licences.items()]
    print("\n\n".join(out))


if __name__ == "__main__":
    main()
