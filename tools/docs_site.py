#!/usr/bin/env python3
"""Builds the documentation site, static HTML with navigation and search, from docs/ and the pages of the project.

    docs_site.py [--out build/docs]      needs Sphinx, MyST and furo: ./dev docs installs them and calls this

The pages are copied to OUT.source, where docs/ is the root, with their links rewritten. A page or a file outside of docs/ is in the
site if a page links to it. Broken links are errors: of files here, of headings by Sphinx, of what comes out by a look at the HTML.
"""
import argparse
import html.parser
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIRST = ("README.md", "docs/README.md", "CONTRIBUTING.md", "STYLE.md", "SECURITY.md", "CHANGELOG.md", "THIRD_PARTY_NOTICES.md")
OURS = ("docs/plan.md", "docs/design/")  # for people who work on chakra; not in the site unless a page links there
PLACES = {"README.md": "index.md", "docs/README.md": "documentation.md"}
SHELVES = (("Tutorials", "docs/tutorials/"), ("How-to", "docs/how-to/"), ("Explanation", "docs/explanation/"), ("Reference", "docs/reference/"),
           ("Examples", "examples/"), ("Project", ""), ("Rooms", "chakra/"))
CONF = """
project = "chakra"
html_title = "chakra"
copyright = "the authors of chakra; Apache-2.0"
extensions = ["myst_parser"]
root_doc = "index"
html_theme = "furo"
highlight_language = "text"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
myst_heading_anchors = 5
myst_disable_syntax = ["myst_line_comment", "myst_block_break", "myst_role", "myst_target"]  # pages are plain Markdown
suppress_warnings = ["myst.header", "misc.highlighting_failure", "toc.not_included"]
"""
CSS = ".content { width: 58em; }\n.content img { max-width: 100%; height: auto; }\n"  # shown outputs have up to 100 columns


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def place_of(path):
    """Where a file of the project stands in the site: docs/ is the root."""
    return PLACES.get(path) or (path.removeprefix("docs/") if path.startswith("docs/") else path)


def title_of(path):
    found = re.search(r"^# (.*)$", read(path), re.MULTILINE)
    return re.sub(r"[`*]|\]\([^)]*\)|\[", "", found[1]) if found else path


def listing(folder):
    """A page for a folder that a page links to and that has none itself."""
    names = sorted(os.listdir(os.path.join(ROOT, folder)))
    files = [name for name in names if os.path.isfile(os.path.join(ROOT, folder, name)) and os.path.splitext(name)[1] not in ("", ".gz", ".et", ".zst")]
    return f"# {folder}\n\n" + "\n".join(f"- [{title_of(f'{folder}/{n}') if n.endswith('.md') else n}]({n})" for n in files) + "\n"


def rewritten(path, text, wanted):
    """`text` with its links as they are in the site; adds the files that they lead to to `wanted`."""
    here = os.path.dirname(place_of(path))

    def link(found):
        target, anchor = found[1], found[2] or ""
        leads_to = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(target)))
        full = os.path.join(ROOT, leads_to)
        if leads_to.startswith("..") or not os.path.exists(full):
            raise SystemExit(f"{path}: the link to {target} leads nowhere")
        if os.path.isdir(full):
            leads_to += "/README.md"
        wanted.append(leads_to)
        return "](" + os.path.relpath(place_of(leads_to), here or ".") + anchor + ")"
    made, fenced = [], False
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        if not fenced:
            plain = re.sub(r"`[^`]*`", lambda code: "\0" * len(code[0]), line)  # no links in code, but code in the text of links
            pieces, end = [], 0
            for found in re.finditer(r"\]\((?!\w+:|#)([^)#\s\0]+)(#[^)\s]*)?\)", plain):
                pieces += [line[end:found.start()], link(found)]
                end = found.end()
            line = "".join(pieces) + line[end:]
        made.append(line)
    return "\n".join(made) + "\n"


def contents(pages):
    """The navigation: a list for each shelf, in the order in which docs/README.md names its pages."""
    order = {os.path.normpath("docs/" + link): at for at, link in enumerate(re.findall(r"\]\(([^)#]+\.md)", read("docs/README.md")))}
    made, rest = "", [page for page in pages if page != "README.md"]
    rest.sort(key=lambda page: (order.get(page, len(order)), page))
    for caption, folder in SHELVES:
        inside = [page for page in rest if (page.startswith(folder) if folder else not re.match(r"(docs|examples|chakra)/.", page) or
                                            page == "docs/README.md")]
        rest = [page for page in rest if page not in inside]
        lines = "".join(f"{os.path.splitext(place_of(page))[0]}\n" for page in inside)
        made += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n:maxdepth: 1\n\n{lines}```\n" if lines else ""
    return made


def stage(source):
    """Copies the pages, and what they link to, into `source`; returns how many pages there are."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True, capture_output=True,
                            check=True).stdout.split("\n")
    wanted = [*FIRST, *(path for path in listed if re.match(r"docs/.*\.md$|chakra/\w+/README\.md$", path) and not path.startswith(OURS))]
    texts, files = {}, set()
    while wanted:
        path = wanted.pop()
        if path in texts or path in files:
            continue
        full = os.path.join(ROOT, path)
        if path.endswith(".md"):
            texts[path] = rewritten(path, read(path) if os.path.exists(full) else listing(os.path.dirname(path)), wanted)
        else:
            files.add(path)
    texts["README.md"] += contents(texts)
    for path, text in texts.items():
        target = os.path.join(source, place_of(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8") as file:
            file.write(text)
    for path in files:
        target = os.path.join(source, place_of(path))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(ROOT, path), target)
    with open(os.path.join(source, "conf.py"), "w", encoding="utf-8") as file:
        file.write(CONF)
    os.makedirs(os.path.join(source, "_static"), exist_ok=True)
    with open(os.path.join(source, "_static", "site.css"), "w", encoding="utf-8") as file:
        file.write(CSS)
    return len(texts)


class Page(html.parser.HTMLParser):
    """The links and the ids of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [values[key] for key in ("href", "src") if values.get(key)]
        self.ids |= {values[key] for key in ("id", "name") if values.get(key)}


def broken(out):
    """(page, link) of links in the HTML that lead to no file or no id."""
    pages = {}
    for folder, _, names in os.walk(out):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    pages[path] = Page(file.read())
    for path, page in sorted(pages.items()):
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            if not os.path.isfile(target) or (parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].ids):
                yield os.path.relpath(path, out), link


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "docs"))
    args = parser.parse_args()
    out = os.path.abspath(args.out)
    source = out + ".source"
    for folder in (out, source):
        shutil.rmtree(folder, ignore_errors=True)
    pages = stage(source)
    if subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d", source + "/.doctrees", source, out], check=False).returncode:
        sys.exit("the site has warnings, see above; pages are in " + source)
    wrong = list(broken(out))
    for page, link in wrong:
        print(f"{page}: the link to {link} leads nowhere", file=sys.stderr)
    if wrong:
        sys.exit(1)
    print(f"{os.path.relpath(out)}/index.html: {pages} pages, no broken link")


if __name__ == "__main__":
    main()
