#!/usr/bin/env python3
"""Checks what no compiler does: who includes whom, names, formats, sizes, documentation of error tags.

    tidy.py        prints each finding as file:line: text; exits 1 if there are any
"""
import ast
import os
import re
import shutil
import subprocess
import sys

import figures
import sizes
import style

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Public headers that a room's own does not bring: few need them, and maps bring abseil with them, a second per file.
MADE = {"chakra/options.h", "chakra/facade/fields.h", "chakra/facade/fields.cpp", "python/chakra_et/_verbs.py"}  # from the table of options, by a test
BY_THEMSELVES = {"answer/rows", "base/append_file", "base/archive", "base/bytes", "base/join", "base/memory", "base/result", "base/number_rows",
                 "base/pool", "base/progress", "base/quantile", "base/real", "base/row_map", "base/spec_json", "base/text_map",
                 "base/times", "base/zip", "job/parts", "match/even", "model/blocks", "net/change", "recording/folders", "recording/secrets", "sim/comparison",
                 "trace/metadata", "trace/misread", "trace/roles", "trace/share", "trace/sizes", "trace/starts", "trace/storage"}
# Of public headers: a value of JSON is read in line, and no other public header includes json.h.
THIRD_PARTY = {("json", "simdjson.h")}
LINE_LIMIT = {"cpp": 120, "h": 120}  # by ending; others 160


def sources():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True,
                            capture_output=True, check=True).stdout.split("\n")
    return [path for path in listed if path and os.path.isfile(os.path.join(ROOT, path))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# Error tags begin with one of these. They are stable, so they outlive the names of rooms.
TAG_PREFIXES = ("analyze", "base", "calibrate", "check", "cli", "coll", "comm", "des", "device", "edit", "feed", "feeders", "fleet", "flight", "foreign",
                "gen", "infragraph", "io", "job", "json", "kind", "kineto", "link", "match", "net", "nsys", "pytorch", "query", "recording",
                "replay", "result", "rocpd", "rocprof", "seal", "sim", "sqlite", "sweep", "trace", "view", "whatif", "xla")


def rooms():
    """room -> rooms it may include, from rooms.txt; a room may only name rooms above it in the file."""
    allowed, findings = {}, []
    for number, line in enumerate(read("rooms.txt").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        room, _, others = line.partition(":")
        allowed[room] = set(others.split())
        for other in others.split():
            if other not in allowed:
                findings.append(f"rooms.txt:{number}: {room} may not include {other}, which stands below it")
    return allowed, findings


def check_format(paths):
    """Debian 12's clang-format; others print a little differently."""
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not program or " 14." not in output_of([program, "--version"]):
        print("tidy: no clang-format 14 here, so formats are not checked; ./dev setup installs it")
        return
    said = output_of([program, "--dry-run", "--style=file", *paths])
    for path, line in sorted({(m[1], int(m[2])) for m in re.finditer(r"^(.*?):(\d+):\d+: warning: ", said, re.MULTILINE)}):
        yield f"{path}:{line}: not as clang-format writes it; clang-format -i {path}"


def check_python():
    """ruff.toml says what is asked."""
    program = os.path.join(ROOT, "build", "tools", "bin", "ruff")
    if not os.path.exists(program) and not (program := shutil.which("ruff")):
        print("tidy: no ruff here, so Python is not checked; ./dev setup installs it")
        return
    for line in output_of([program, "check", "--no-cache", "--output-format=concise", "."]).splitlines():
        if re.match(r"\S+:\d+:", line):
            yield line


def words():
    """Patterns of words that a stranger stumbles over, with what to write instead (tools/words.txt)."""
    rows = [line.split("\t") for line in read("tools/words.txt").splitlines() if line and not line.startswith("#")]
    return [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in rows]


CPP_PROSE = re.compile(r"""(?P<comment>//[^\n]*)|(?P<raw>R"\((?:.|\n)*?\)")|'(?:[^'\\\n]|\\.)'|"""
                       r"""(?P<text>"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*)""")


def prose_of(path, text):
    """(line, what people read from it on): pages outside of code, comments and string literals of C++, strings of Python."""
    if path.endswith(".md"):
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            yield number, "" if fenced else re.sub(r"`[^`]*`", "", line)
    elif path.endswith((".cpp", ".h")):
        for found in CPP_PROSE.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            if found["text"]:
                yield number, re.sub(r'"\s*"', "", found["text"]).strip('"')
            for offset, line in enumerate((found["comment"] or found["raw"] or "").splitlines()):
                yield number + offset, line
    elif path.endswith(".py"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for offset, line in enumerate(node.value.splitlines()):
                    yield node.lineno + offset, line


def check_words(path, text, rows):
    for number, prose in prose_of(path, text):
        for pattern, instead in rows:
            if found := pattern.search(prose):
                yield number, f"'{found[0]}': write {instead}"


def slug(heading):
    """The anchor of a heading of Markdown."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading).lower()).replace(" ", "-")


def anchors(text):
    return {slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def check_links(path, text, texts):
    """Links of pages lead to files and headings, and pages of docs/ that any file names exist."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        for named in re.findall(r"(?<![\w/.])docs/[\w/-]+\.md\b", line):
            if named not in texts and path not in ("CHANGELOG.md", "docs/plan.md"):  # these tell of other times
                yield number, f"the page {named} does not exist"
        fenced ^= line.startswith("```")
        if not path.endswith(".md") or fenced:
            continue
        for target, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", re.sub(r"`[^`]*`", "", line)):
            leads_to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(os.path.join(ROOT, leads_to)):
                yield number, f"the link to {target} leads nowhere"
            elif anchor and anchor not in anchors(texts.get(leads_to, "")):
                yield number, f"{leads_to} has no heading for #{anchor}"


def check_columns(path, text):
    """Pages of the four shelves have at most 100 columns, but for tables, code and links."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if len(line) > 100 and not fenced and "|" not in line and not re.match(r"    |\s*!?\[|\s*\S+$", line):
            yield number, f"{len(line)} characters; at most 100"


def output_of(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, cwd=ROOT).stdout


def check_includes(path, text, allowed):
    """A room is included through its public header; tests may look anywhere below the command."""
    room = path.split("/")[1]
    room = "facade" if room.endswith(".h") else room  # its headers stand beside the rooms, as they are installed
    is_test = re.search(r"_(test|fuzz|bench)\.cpp$|/testing/", path)
    for number, line in enumerate(text.splitlines(), 1):
        include = re.match(r'#include "chakra/([a-z_]+)/([a-z_/]+)\.(h|pb\.h)"', line)
        if not include:
            if re.match(r'#include "(?!chakra/|et_def.pb.h|et_feeder)', line):
                yield number, "include files of the project by their full path: chakra/<room>/..."
            continue
        other, header = include.group(1), include.group(2)
        if other == room:
            continue
        if other not in allowed.get(room, set()) and not (is_test and room == "cli"):
            yield number, f"room {room} may not include room {other} (rooms.txt)"
        if header != other and f"{other}/{header}" not in BY_THEMSELVES and not (is_test and header.startswith("testing/")):
            yield number, f"only {other}/{other}.h is public"


def check_permissions(texts, allowed):
    """Each room that a room may include is included by one of its files. Tests of the command need no permission, so they do not count."""
    used = {room: set() for room in allowed}
    for path, text in texts.items():
        if not re.match(r"chakra/.*\.(cpp|h)$", path) or re.match(r"chakra/cli/.*_(test|fuzz)\.cpp$", path):
            continue
        room = path.split("/")[1]
        room = "facade" if room.endswith(".h") else room
        used[room] |= {other or "facade" for other in re.findall(r'^#include "chakra/(?:([a-z_]+)/)?[a-z_/]+\.(?:pb\.)?h"', text, re.M)}
    for room, others in allowed.items():
        for other in sorted(others - used[room]):
            yield f"rooms.txt:1: room {room} may include {other} and does not"


def check_public_headers(texts, allowed):
    """What a room's public header includes, through others of its room, is the standard library and other rooms."""
    for room in allowed:
        queue, seen = [f"chakra/{room}/{room}.h"], set()
        while queue:
            path = queue.pop()
            if path in seen or path not in texts:
                continue
            seen.add(path)
            for number, line in enumerate(texts[path].splitlines(), 1):
                if found := re.match(rf'#include "(chakra/{room}/[^"]*)"', line):
                    queue.append(found.group(1))
                elif (found := re.match(r"#include <([^>]*[./][^>]*)>", line)) and (room, found.group(1)) not in THIRD_PARTY:
                    yield path, number, f"{found.group(1)} comes with the public header of {room}; include it in a .cpp"


def hidden_names(text):
    """Yields (number, name) of types, constants and functions (with their parameters' types) in anonymous namespaces."""
    inside, before = False, ""
    for number, line in enumerate(sizes.blanked(text).splitlines(), 1):
        inside = line.startswith("namespace {") or (inside and not (line.startswith("}") and not before.strip()))
        before = line
        if not inside:
            continue
        if found := re.match(r"(?:struct|class|enum class|union) (\w+)\b(?!.*;)", line):
            yield number, found[1]
        elif re.match(r"(?:inline )?constexpr [^(]*[={]", line):
            yield from ((number, name) for name in re.findall(r"\b(k[A-Z]\w*)\s*[={]", line))
        elif found := re.match(r"(?!using|return|template|constexpr|namespace|\s)[\w:<>,&* ]+?[ &*](\w+)(\(.*)", line):
            yield number, found[1] + re.sub(r"\b\w+(?=[,)])|\s", "", found[2])


def check_hidden_names(texts):
    """Sources of a room may be compiled together (CHAKRA_UNITY), so names in their anonymous namespaces differ."""
    seen = {}
    for path, text in sorted(texts.items()):
        if not (found := re.match(r"chakra/(?!feeders/)(\w+)/.*(?<!_test)(?<!_fuzz)(?<!_bench)(?<!/main)\.cpp$", path)):
            continue
        for number, name in hidden_names(text):
            other = seen.setdefault((found[1], name), path)
            if other != path:
                yield path, number, f"{name.split('(')[0]} is also in the anonymous namespace of {other}"


# What only one place does, and which other files may: (pattern, files, lines that only look like it, what to do instead).
DOORS = (
    (re.compile(r"\b(?:stdout|stderr|STD(?:OUT|ERR)_FILENO|std::c(?:out|err|log)|putchar|puts|fmt::print)\b"),
     {"chakra/cli/cli.cpp", "chakra/cli/command.cpp", "chakra/base/assert.cpp", "chakra/base/interrupt.cpp"},
     re.compile(r"adddup2|isatty|ioctl"), "write to standard output and error with print() and print_error() of room cli alone"),
    (re.compile(r"\b(?:std::)?(?:sto(?:i|l|ll|ul|ull|f|d|ld)|strto\w+|ato(?:i|l|ll|f)|sscanf|from_chars)\s*\("),
     {"chakra/base/strings.cpp", "chakra/json/python_repr.cpp", "chakra/json/value.cpp", "chakra/answer/scalars.cpp",  # of numbers in JSON
      "chakra/foreign/json_fields.cpp", "chakra/replay_torch/recorded_values.cpp"},
     None, "read numbers with parse_decimal, parse_integer or Spec::integer, which refuse what does not fit"),
    (re.compile(r"\\\\[xu]\{:0"), {"chakra/base/strings.cpp", "chakra/json/python_repr.cpp"}, None,
     "make text from outside visible with escape(), escape_lines() or quote()"),
)
REAL = re.compile(r"CHAKRA_ASSIGN\((?:const )?(?:double )?(\w+), [^;]*?\bnumber\(\)\);")


def check_doors(path, text):
    """Standard output, numbers and text from outside pass one place each."""
    if re.search(r"_(test|fuzz|bench)\.cpp$|/testing/|/plugin/", path):
        return
    blank = sizes.blanked(text).splitlines()
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, files, but, instead in DOORS:
            where = line if pattern.pattern.startswith(r"\\\\") else blank[number - 1]
            if pattern.search(where) and path not in files and not (but and but.search(line)):
                yield number, instead
    for real in REAL.finditer(text):
        function = text[real.end():text.find("\n}", real.end())]
        if found := re.search(rf"static_cast<u?int\d+_t>\({real[1]}\)", function):
            yield (text.count("\n", 0, real.end() + found.start()) + 1,
                   f"{real[1]} is a real number of a file: read it with Spec::integer, which refuses 1.5")


def check_tags(texts):
    """Every tag in the code is documented, and every documented tag is in the code."""
    documented = set(re.findall(r"^\| `([a-z_.]+)`", read("docs/reference/errors.md"), re.M))
    tagged = re.compile(r'(?<!\.table = )"((?:' + "|".join(TAG_PREFIXES) + r')(?:\.[a-z_]+){1,2})"')
    used = {}
    for path, text in texts.items():
        if not path.startswith("chakra/") or not re.search(r"\.(cpp|h)$", path) or path.endswith(("_test.cpp", "_fuzz.cpp")):
            continue
        used.setdefault("cli.memory", (path, 1)) if "[cli.memory]" in text else None
        for number, line in enumerate(text.splitlines(), 1):
            for tag in tagged.findall(line):
                used.setdefault(tag, (path, number))
    for tag, (path, number) in sorted(used.items()):
        if tag not in documented and not tag.endswith("."):
            yield path, number, f"the tag {tag} is not in docs/reference/errors.md"
    for tag in sorted(documented - set(used)):
        yield "docs/reference/errors.md", 1, f"the tag {tag} is nowhere in the code"


def check_notices():
    """Each library that CMake looks for has a row in THIRD_PARTY_NOTICES.md."""
    listed = set(re.findall(r"\(`([\w.+-]+)`\)", read("THIRD_PARTY_NOTICES.md")))
    of_house = {"PkgConfig", "Threads", "Python3"}  # of the system, or of CMake itself
    for number, line in enumerate(read("CMakeLists.txt").splitlines(), 1):
        if (found := re.match(r"\s*(?:find_package|pkg_check_modules)\(([\w.-]+)", line)) and found[1] not in listed | of_house:
            yield f"CMakeLists.txt:{number}: THIRD_PARTY_NOTICES.md has no row for {found[1]}"


def check_figures():
    """Figures that come from text alone, such as rooms.txt; tools/figures.py --check looks at all of them."""
    for name in figures.outdated():
        yield f"docs/pictures/{name}.svg:1: not up to date; python3 tools/figures.py {name}"


def main():
    allowed, findings = rooms()
    texts = {}
    for path in sources():
        if path.endswith((".gz", ".png", ".zst", ".et")):
            continue
        texts[path] = read(path)
    plain = words()
    for path, text in texts.items():
        findings += [f"{path}:{number}: {what}" for number, what in check_words(path, text, plain)]
        findings += [f"{path}:{number}: {what}" for number, what in check_links(path, text, texts)]
        if re.match(r"README\.md|docs/(README|tutorials/|how-to/|reference/|explanation/)", path) and not path.endswith("_table.md"):
            findings += [f"{path}:{number}: {what}" for number, what in check_columns(path, text)]
        if re.search(r"\.(cpp|h|py|cmake|md|txt)$", path) or path == "dev":
            for number, line in enumerate(text.splitlines(), 1):
                if line != line.rstrip():
                    findings.append(f"{path}:{number}: blanks at the end of the line")
                limit = LINE_LIMIT.get(path.rsplit(".", 1)[-1], 160)
                if len(line) > limit and not path.endswith((".md", ".txt")) and path not in MADE:
                    findings.append(f"{path}:{number}: {len(line)} characters; at most {limit}")
                if "\t" in line and not path.endswith(".md") and path not in ("tools/words.txt", "tools/terms.txt"):
                    findings.append(f"{path}:{number}: a tab")
        if path.startswith("chakra/") and re.search(r"\.(cpp|h)$", path):
            if not re.fullmatch(r"[a-z0-9_/]+\.(cpp|h)", path):
                findings.append(f"{path}:1: file names are snake_case")
            if path.endswith(".h") and not text.startswith("//"):
                findings.append(f"{path}:1: a header begins with a paragraph on what the thing is")
            if path.endswith(".h") and "#pragma once" not in text:
                findings.append(f"{path}:1: no #pragma once")
            findings += [f"{path}:{number}: {what}" for number, what in check_includes(path, text, allowed)]
            findings += [f"{path}:{number}: {what}" for number, what in check_doors(path, text)]
            if not path.startswith(("chakra/cli/", "chakra/base/assert.", "chakra/base/result.h")) and not re.search(r"_(test|fuzz|bench)\.cpp$", path):
                for number, line in enumerate(text.splitlines(), 1):
                    if re.search(r"\b(printf|std::cout|std::cerr|std::exit|std::abort)\b|\babort\(\)", line):
                        findings.append(f"{path}:{number}: only the command prints and exits")
    for room in allowed:
        for needed in (f"chakra/{room}/{room}.h", f"chakra/{room}/README.md"):
            if needed not in texts:
                findings.append(f"rooms.txt:1: room {room} has no {needed}")
        if not any(re.match(rf"chakra/{room}/.*(_test\.cpp|\.case)$", path) for path in texts):
            findings.append(f"rooms.txt:1: room {room} has no test and no case")
    findings += [f"{path}:{number}: {what}" for path, number, what in check_tags(texts)]
    findings += [f"{path}:{number}: {what}" for path, number, what in check_public_headers(texts, allowed)]
    findings += check_permissions(texts, allowed)
    findings += [f"{path}:{number}: {what}" for path, number, what in check_hidden_names(texts)]
    findings += [f"{path}:{number}: {what}" for path, number, what in sizes.check({path: text for path, text in texts.items() if path not in MADE})]
    findings += check_notices()
    findings += check_figures()
    findings += style.check()
    findings += check_format([path for path in texts if re.search(r"\.(cpp|h)$", path)])
    findings += check_python()
    for finding in findings:
        print(finding)
    if findings:
        sys.exit(1)
    print(f"tidy: {len(texts)} files, nothing found")


if __name__ == "__main__":
    main()
