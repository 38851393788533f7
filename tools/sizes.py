"""How long files, classes and functions may be: a function fits a screen, a class has one reason to change, a file one
idea. tidy.py imports and runs this.

A scanner of braces reads the C++. It relies on clang-format's layout and expands no macros. Tests, fuzz targets,
benchmarks and testing/ are not looked at. A struct of at most RECORD_LINES is a record: it may have any number of members.
"""
import re

FILE_LINES, CLASS_LINES, CLASS_MEMBERS, FUNCTION_LINES = 500, 300, 12, 70
RECORD_LINES = 100
MOST_EXCEPTIONS = 10

# file, class or function ("" for the file): why it may be larger.
EXCEPTIONS = {
    ("chakra/work/operators.cpp", ""): "a table of rows: a formula for each operator",
    ("chakra/astra/algorithms.h", "Phase"): "ASTRA-sim's state of a phase, a member for each of its variables, so that both can be compared",
    ("chakra/json/python_repr.cpp", "append_python_repr"): "one loop over bytes with four positions; in pieces it is slower",
}



def blanked(text):
    """The text with comments, strings, characters and preprocessor lines blanked out; every line stays where it is."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                         r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def without_templates(text):
    """Without what stands between < and > of types, innermost first."""
    before = None
    while before != text:
        before, text = text, re.sub(r"<[\w\s:,*&()\[\].]*>", "", text)
    return text


def kind_of(header, inside):
    """What a brace opens: (kind, name). `inside` is the kind of the block around it."""
    plain = without_templates(re.sub(r"\[\[.*?\]\]|alignas\([^)]*\)", "", header)).strip()
    plain = re.sub(r"^template\s+", "", re.sub(r"^(public|private|protected):\s*", "", plain))
    if re.search(r"\bnamespace\b", plain) or plain.startswith("extern"):
        return "namespace", ""
    if found := re.match(r"(?:typedef )?(class|struct|union)\s+(\w[\w:]*)?(?!.*\()", plain):
        return found[1], found[2] or ""
    if plain.startswith("enum"):
        return "enum", ""
    if inside in ("namespace", "class", "struct", "union") and "(" in plain and not re.search(r"[^=!<>]=[^=]", plain.split("(")[0]):
        found = re.search(r"([\w:~]+|operator\W+)\s*\(", plain)
        return "function", found[1].strip() if found else ""
    return "block", ""


def members_in(statement):
    """How many data members a statement at the level of a class declares."""
    plain = re.sub(r"\[\[.*?\]\]", "", statement)
    plain = re.sub(r"\b(public|private|protected):", "", plain).strip()
    plain = re.sub(r"\{[^{}]*\}", "", without_templates(plain))
    if not plain or re.match(r"(static|using|typedef|friend|template|enum|class|struct|union|constexpr|inline)\b", plain):
        return 0
    plain = re.sub(r"=[^,]*", "", plain)
    if "(" in plain or "operator" in plain:
        return 0
    return 1 + plain.count(",")


def blocks(text):
    """Yields (kind, name, first line, last line, data members) of each class and function."""
    stack = []  # [kind, name, first line, members]
    statement, begin, line = "", 1, 1
    parens = 0
    for char in blanked(text):
        if char == "\n":
            line += 1
        if not statement.strip():
            begin = line
        if char == "(":
            parens += 1
        elif char == ")":
            parens -= 1
        if char == "{":
            inside = stack[-1][0] if stack else "namespace"
            kind, name = ("block", "") if parens > 0 else kind_of(statement, inside)
            stack.append([kind, name, begin, 0, statement, parens])
            statement, parens = "", 0
        elif char == "}" and stack:
            kind, name, first, members, opened, parens = stack.pop()
            if kind in ("class", "struct", "union", "function"):
                yield kind, name, first, line, members
            # An initialiser is part of the statement that it stands in.
            statement = opened + " " if kind == "block" and stack and stack[-1][0] in ("class", "struct", "union") else ""
        elif char == ";" and parens == 0:
            if stack and stack[-1][0] in ("class", "struct", "union"):
                stack[-1][3] += members_in(statement)
            statement = ""
        else:
            statement += char


def violations(path, text):
    """Yields (name, line, text) of what is too large in a file; the name is "" for the file itself."""
    if (lines := text.count("\n")) > FILE_LINES:
        yield "", 1, f"{lines} lines; a file has at most {FILE_LINES}"
    for kind, name, first, last, members in blocks(text):
        lines = last - first + 1
        if kind == "function":
            if lines > FUNCTION_LINES:
                yield name, first, f"function {name} has {lines} lines; at most {FUNCTION_LINES}"
            continue
        if lines > CLASS_LINES:
            yield name, first, f"{kind} {name} has {lines} lines; at most {CLASS_LINES}"
        if members > CLASS_MEMBERS and (kind == "class" or lines > RECORD_LINES):
            yield name, first, f"{kind} {name} has {members} data members; at most {CLASS_MEMBERS}"


def check(texts):
    """Yields (path, line, text) of each finding in `texts`, a map from path to text."""
    known = EXCEPTIONS.keys()
    used = set()
    for path, text in sorted(texts.items()):
        if not re.match(r"(chakra|tools)/.*\.(cpp|h)$", path) or re.search(r"_(test|fuzz|bench)\.cpp$|/testing/", path):
            continue
        for name, line, what in violations(path, text):
            used.add((path, name))
            if (path, name) not in known:
                yield path, line, what
    if len(EXCEPTIONS) > MOST_EXCEPTIONS:
        yield "tools/sizes.py", 1, f"{len(EXCEPTIONS)} exceptions; at most {MOST_EXCEPTIONS}"
    for path, name in sorted(known - used):
        yield "tools/sizes.py", 1, f"{path} {name}: is small enough now; delete its row"
