"""The page of `chakra report` in a browser: what a reader sees are the numbers of analyze and sim, and names never run."""
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


NETWORK = "topology: [ Switch ]\nnpus_count: [ 64 ]\nbandwidth: [ %d ]\nlatency: [ 500 ]\n"
HOSTILE = "</script><script>console.log('ran')</script>=1+1_x0041_\x01"


def step_of(tmp_path):
    """A generated step by classes, and two networks."""
    for name, bandwidth in (("slow", 10), ("fast", 100)):
        (tmp_path / f"{name}.yml").write_text(NETWORK % bandwidth)
    return chakra_et.generate.step(preset="tiny", tp=2, pp=4, dp=8, output=str(tmp_path / "step")), tmp_path / "slow.yml", tmp_path / "fast.yml"


def test_page_of_a_simulation(tmp_path):
    job, slow, _ = step_of(tmp_path)
    page = tmp_path / "report.html"
    made = job.report(str(page), network=str(slow)).to_dict()
    simulated = job.simulate(network=str(slow)).to_dict()
    shown, messages = show(page)
    assert messages == []
    assert shown.figures > 3
    assert sum(part["time_ps"] for part in made["path_parts"]) == simulated["makespan_ps"]
    ranks = {row["rank"]: row for row in simulated["ranks"]}
    rows, titles = shown.tables["ranks"][1:], shown.titles["ranks"][1:]
    assert rows
    for row, title in zip(rows, titles, strict=True):
        assert f"{ranks[int(row[0])]['finish_ps']} picoseconds" in " ".join(title)


def test_page_of_two_networks(tmp_path):
    job, slow, fast = step_of(tmp_path)
    page = tmp_path / "report.html"
    made = job.report(str(page), network=str(slow), against_network=str(fast)).to_dict()
    shown, messages = show(page)
    assert messages == []
    step = made["differences"][0]
    assert step["a_ps"] == job.simulate(network=str(slow)).to_dict()["makespan_ps"]
    assert step["b_ps"] == job.simulate(network=str(fast)).to_dict()["makespan_ps"]
    assert sum(row["change_ps"] for row in made["differences"][1:]) == step["change_ps"] < 0
    assert {"a-ranks", "b-ranks", "both-differences"} <= set(shown.tables)


def test_timeline(tmp_path):
    job, slow, _ = step_of(tmp_path)
    page = tmp_path / "report.html"
    made = job.report(str(page), network=str(slow), timeline=True).to_dict()
    assert made["page"]["slices"] > 100
    shown, messages = show(page)
    assert messages == []
    assert "canvas" in shown.elements


def test_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    builder = chakra_et.Builder(0)
    builder.compute(HOSTILE, 1_000_000_000_000_001)
    job = chakra_et.Job.of([builder.finish()])
    book_file, page = tmp_path / "report.xlsx", tmp_path / "report.html"
    made = job.report(str(page), xlsx=str(book_file), timeline=True).to_dict()
    assert show(page)[1] == []
    book = openpyxl.load_workbook(book_file)
    assert len(book.sheetnames) == made["workbook"]["sheets"]
    answer, cells, names = job.analyze().to_dict(), 0, 0
    for sheet, _, of, table, _, rows, _ in list(book["contents"].values)[1:]:
        head, *found = book[sheet].values
        assert len(found) == rows
        if of != "analyze":
            continue
        for row, want in zip(found, answer[table], strict=True):
            for key, value in zip(head, row):
                if key is None or key.startswith("note"):
                    continue
                expected = want
                for part in key.split("."):
                    expected = expected[part]
                if isinstance(expected, int) and abs(expected) >= 10**15:
                    expected = str(expected)
                cells += 1
                names += expected == HOSTILE
                unescaped = openpyxl.utils.escape.unescape(value) if isinstance(value, str) else value
                assert unescaped == expected or (value is None and expected in (None, ""))
    assert cells > 30
    assert names > 0
    assert all(cell.data_type != "f" for sheet in book for row in sheet.iter_rows() for cell in row)
