#!/usr/bin/env python3
"""Measures the English of pages, help texts, messages and headers against limits, and finds terms to replace.

    style.py [--worst N] [--terms] [--only FILE...]
        prints the rates of each group of texts per 1,000 words, then what is outside the limits; exits with 1 if there is any
        --worst N: also the N sentences that contribute most; --terms: also all terms to replace, of groups that are not enforced too
        --only FILE...: only sentences and terms of these files

The limits are the range of five projects with good pages (Perfetto, uv, TigerBeetle, mold and DuckDB), with some slack. Code
blocks, tables and generated pages are left out. tidy.py runs check() for the groups that are enforced.
"""
import argparse
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Groups that do not meet the limits yet, or still have terms to replace. Remove a name when its group is done.
LIMITS_NOT_ENFORCED: set = set()
TERMS_NOT_ENFORCED: set = set()

GENERATED = re.compile(r"cpp_api|command_line|plan\.md|_table\.md|tables\.md|errors\.md|figures\.md")
NO_MESSAGES = re.compile(r"_test\.cpp|_fuzz\.cpp|_bench\.cpp|/testing/")
PATTERNS = {  # name: (regular expression, lowest rate, highest rate)
    "what/who": (r"\bwh(?:at(?![ -]ifs?\b)|o|ose|om|oever)\b", 0, 2.5),
    "nothing/nobody": (r"\b(?:nothing|nobody|none)\b", 0, 1.0),
    "says/told": (r"\b(?:says?|said|told|tells?)\b", 0, 1.0),
    "pronouns": (r"\b(?:those|these|they|them|it|its|their)\b", 0, 20),
    "of its own": (r"\bof (?:its|their) own\b", 0, 0.1),
    "can/may/should/must": (r"\b(?:can|may|should|must)\b", 5, 25),
    "you": (r"\byou(?:r)?\b", 5, 22),
}
WEIGHTS = {"what/who": 3, "nothing/nobody": 3, "says/told": 2, "of its own": 3, "pronouns": 1}  # of a sentence, for --worst
ONLY_FOR = {"can/may/should/must": {"tutorials", "how-to", "explanation", "reference"}, "you": {"tutorials", "how-to"}}  # lowest rates
LOOSE = {"headers": 2, "messages": 1.5}  # groups whose highest rates are this many times higher: comments and short texts
LENGTH, LONG, LONG_SHARE = 18, 30, 0.06  # words of a sentence; share of sentences of more than LONG words
FEWEST_WORDS = 300  # of a group


def paragraphs(lines):
    """(number of the first line, text) of each run of lines that are not empty."""
    block, start = [], 1
    for number, line in lines:
        if line:
            if not block:
                start = number
            block.append(re.sub(r"`[^`]*`", "X", line))
        elif block:
            yield start, " ".join(block)
            block = []
    if block:
        yield start, " ".join(block)


def numbered(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return enumerate(file.read().splitlines(), 1)


def prose(path):
    """Paragraphs and list items of a page, without code and tables."""
    def lines():
        fenced = False
        for number, line in numbered(path):
            if line.lstrip().startswith("```"):
                fenced = not fenced
                yield number, ""
            elif fenced or line.lstrip().startswith(("|", "    ", "<")):
                yield number, ""
            else:
                if re.match(r"\s*(?:[-*]|\d+\.)\s", line):  # a list item is a sentence
                    yield number, ""
                yield number, re.sub(r"\]\([^)]*\)", "]", line.strip())
    return list(paragraphs(lines()))


def comments(path):
    def lines():
        for number, line in numbered(path):
            found = re.match(r"\s*///?\s?(.*)", line) or re.search(r"///<\s?(.*)", line)
            yield number, found[1].strip() if found else ""
            if "///<" in line:
                yield number, ""
    return list(paragraphs(lines()))


def help_texts(path):
    """The texts of options and commands, from the generated page of the command line."""
    found, fenced = [], False
    for number, line in numbered(path):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced and (text := re.match(r"\s{2,}\S.*?\s{2,}(\S.*)", line) or re.match(r"([A-Z][^:]{20,})$", line)):
            found.append((number, text[1]))
    return found


def messages(path):
    """String literals of more than three words, line by line."""
    found = []
    for number, line in numbered(path):
        if line.lstrip().startswith(("//", "#")):
            continue
        found += [(number, re.sub(r"\{[^}]*\}", "X", text)) for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line) if len(text.split()) > 3]
    return found


def groups():
    """(name, paths, reader) of each group of texts."""
    def paths(*patterns):
        return sorted(path for pattern in patterns for path in glob.glob(f"{ROOT}/{pattern}", recursive=True))

    def pages(pattern):
        return [path for path in paths(pattern) if not GENERATED.search(path)]
    yield "help", paths("docs/reference/command_line.md"), help_texts
    yield "messages", [path for path in paths("chakra/**/*.cpp") if not NO_MESSAGES.search(path)], messages
    yield "README and others", paths("README.md", "CONTRIBUTING.md", "STYLE.md", "docs/README.md"), prose
    yield "tutorials", pages("docs/tutorials/*.md"), prose
    yield "how-to", pages("docs/how-to/*.md"), prose
    yield "explanation", pages("docs/explanation/*.md"), prose
    yield "reference", pages("docs/reference/**/*.md"), prose
    yield "room pages", pages("chakra/**/README.md"), prose
    yield "headers", [path for path in paths("chakra/**/*.h") if "/testing/" not in path], comments


def sentences_of(paths, reader):
    """(path, line, sentence) of three words or more."""
    return [(os.path.relpath(path, ROOT), line, sentence) for path in paths for line, text in reader(path)
            for sentence in re.split(r"(?<=[.!?])\s", text) if len(sentence.split()) > 2]


class Measured:
    """The rates of a group."""

    def __init__(self, name, sentences):
        self.name, self.words = name, sum(len(text.split()) for _, _, text in sentences)
        self.length = self.words / max(1, len(sentences))
        self.long = sum(len(text.split()) > LONG for _, _, text in sentences) / max(1, len(sentences))
        self.rates = {key: 1000 * sum(len(re.findall(pattern, text, re.I)) for _, _, text in sentences) / max(1, self.words)
                      for key, (pattern, _, _) in PATTERNS.items()}

    def outside(self):
        if self.words < FEWEST_WORDS:
            return
        if self.length > LENGTH:
            yield f"{self.name}: {self.length:.1f} words per sentence (at most {LENGTH})"
        if self.long > LONG_SHARE:
            yield f"{self.name}: {100 * self.long:.0f} % of the sentences have more than {LONG} words (at most {100 * LONG_SHARE:.0f} %)"
        for key, (_, low, high) in PATTERNS.items():
            high *= LOOSE.get(self.name, 1)
            if self.rates[key] > high:
                yield f"{self.name}: {key} {self.rates[key]:.1f} per 1,000 words (at most {high})"
            elif self.rates[key] < low and self.name in ONLY_FOR.get(key, ()):
                yield f"{self.name}: {key} {self.rates[key]:.1f} per 1,000 words (at least {low})"


def score(text):
    """How much a sentence contributes to rates outside the limits."""
    return sum(len(re.findall(PATTERNS[key][0], text, re.I)) * weight for key, weight in WEIGHTS.items()) + max(0, len(text.split()) - 25) / 5


# ---- terms -------------------------------------------------------------------------------------------------------------------


def terms():
    """(pattern, term to write, excepted files) of each row of tools/terms.txt."""
    with open(os.path.join(ROOT, "tools", "terms.txt"), encoding="utf-8") as file:
        rows = [line.split("\t") for line in file.read().splitlines() if line and not line.startswith("#")]
    return [(re.compile(row[0], re.I), row[1], [text.partition(":")[0] for text in row[2:]]) for row in rows]


def term_groups():
    """As groups(), with the answers' and commands' texts of headers, and comments of sources."""
    for name, paths, reader in groups():
        yield name, paths, reader
        if name == "messages":
            sources = [path for path in glob.glob(f"{ROOT}/chakra/**/*.h", recursive=True) if "/testing/" not in path]
            yield name, sorted(sources), messages
    yield "comments", sorted(glob.glob(f"{ROOT}/chakra/**/*.cpp", recursive=True)), comments


def check_terms(ignored):
    """(path, line, what) of each term to replace in groups that are not in `ignored`."""
    rows = terms()
    for name, paths, reader in term_groups():
        if name in ignored:
            continue
        for path in paths:
            local = os.path.relpath(path, ROOT)
            of_file = [(pattern, instead) for pattern, instead, excepted in rows if local not in excepted]
            for line, text in reader(path):
                for pattern, instead in of_file:
                    if found := pattern.search(text):
                        yield local, line, f"'{found[0]}': write {instead}"


def check():
    """What tidy.py prints: groups outside the limits, and terms to replace."""
    for name, paths, reader in groups():
        if name not in LIMITS_NOT_ENFORCED:
            for text in Measured(name, sentences_of(paths, reader)).outside():
                yield f"tools/style.py:1: {text}; python3 tools/style.py --worst 30"
    for path, line, what in check_terms(TERMS_NOT_ENFORCED):
        yield f"{path}:{line}: {what}"


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--worst", type=int, default=0, metavar="N")
    args.add_argument("--terms", action="store_true")
    args.add_argument("--only", nargs="*", metavar="FILE")
    args = args.parse_args()
    outside, ranked = [], []
    print("{:<18} {:>6} {:>6} {:>5}  ".format("group", "words", "w/sent", "long") + "  ".join(PATTERNS))
    for name, paths, reader in groups():
        sentences = sentences_of(paths, reader)
        group = Measured(name, sentences)
        outside += group.outside()
        rates = "  ".join(f"{rate:{len(key)}.1f}" for key, rate in group.rates.items())
        print(f"{name:<18} {group.words:6d} {group.length:6.1f} {100 * group.long:4.0f}%  {rates}")
        ranked += [(score(text), path, line, text) for path, line, text in sentences if args.only is None or path in args.only]
    for _, path, line, text in sorted(ranked, reverse=True)[:args.worst]:
        print(f"{path}:{line}: {text[:220]}")
    for path, line, what in check_terms(()) if args.terms else ():
        if args.only is None or path in args.only:
            print(f"{path}:{line}: {what}")
    print("\n".join(outside))
    print(f"{len(outside)} outside the limits")
    sys.exit(bool(outside))


if __name__ == "__main__":
    main()
