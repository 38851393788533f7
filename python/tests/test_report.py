"""The page of `chakra report` in a browser: what a reader sees are the numbers of analyze, and names never run."""
import html.parser
import shutil
import subprocess

import chakra_et
import pytest
from conftest import RECORDED

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not BROWSER, reason="there is no Chromium")


class Shown(html.parser.HTMLParser):
    """The texts of the cells of each table, by the id of the table, and the elements around them."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.titles, self.figures, self.table, self.inside, self.elements = {}, {}, 0, None, False, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append(tag)
        self.figures += attributes.get("role") == "img"
        if attributes.get("id", "").startswith("table-"):
            self.table = attributes["id"][len("table-"):]
            self.tables[self.table], self.titles[self.table] = [], []
        elif tag == "tr" and self.table:
            self.tables[self.table].append([])
            self.titles[self.table].append([])
        elif tag == "td":
            self.inside = True
            self.tables[self.table][-1].append("")
            self.titles[self.table][-1].append(attributes["title"])

    def handle_endtag(self, tag):
        if tag == "td":
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.tables[self.table][-1][-1] += data


def show(page):
    """Return the document after the script of the page ran, and the messages of the browser's console."""
    run = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0", "--dump-dom",
                          "--virtual-time-budget=2000", page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return Shown(run.stdout), [line for line in run.stderr.splitlines() if "CONSOLE" in line]


def test_page_shows_the_numbers_of_analyze(tmp_path):
    job = chakra_et.link([RECORDED], output=str(tmp_path / "linked"))
    page = tmp_path / "report.html"
    made = job.report(str(page)).to_dict()
    shown, messages = show(page)
    assert messages == []
    assert shown.figures > 3
    answer = job.analyze().to_dict()
    rows = shown.tables["critical_path"][1:]
    assert len(rows) == made["ranks"] == len(answer["critical_path"])
    for row, title, path in zip(rows, shown.titles["critical_path"][1:], answer["critical_path"], strict=True):
        assert row[0] == str(path["rank"])
        assert title[2].endswith(f": {path['length_ps']} picoseconds")
        number, unit = row[2].split()
        factor = {"s": 1e12, "ms": 1e9, "us": 1e6, "ns": 1e3}[unit]
        assert float(number) * factor == pytest.approx(path["length_ps"], rel=6e-4)


def test_names_do_not_run(tmp_path):
    name = "</script><script>console.log('ran')</script><img src=x onerror=console.log('ran')>"
    builder = chakra_et.Builder(0)
    builder.compute(name, 1_000_000)
    page = tmp_path / "report.html"
    chakra_et.Job.of([builder.finish()]).report(str(page))
    shown, messages = show(page)
    assert messages == []
    assert "img" not in shown.elements
    assert any(name in cell for rows in shown.tables.values() for row in rows for cell in row)
