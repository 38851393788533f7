#!/usr/bin/env python3
"""Reports in Chromium: no message of the console, no violation of axe, at three widths in both colour schemes.

Makes reports of a recorded job, DLRM with 8 ranks and a recording of an H100 if there is test data, a simulated step with
diagnoses on 131,072 ranks, two jobs, and a job with hostile names, and looks at each. Reads all cells of all tables back out of the page, searches, sorts,
filters, zooms, jumps by keys, and follows the critical path. --pictures DIR keeps images of all pages."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tarfile
import tempfile
import time

from devtools import Browser

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTHS = (390, 800, 1280)
H100 = "kineto/tracelens_h100__Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"
DLRM = "pairs/dlrm_v100_8rank"
NETWORK = "topology: [ Switch, Switch ]\nnpus_count: [ 8, 16384 ]\nbandwidth: [ 419, %d ]\nlatency: [ 500, 2000 ]\n"
MOST_BYTES = 5_000_000
# Each cell has its exact value in the title: "meaning: value unit". Return the cells, and those that differ from the data.
CELLS = """(() => {
  document.querySelectorAll('button.more').forEach((each) => { if (each.textContent.startsWith('Show all')) each.click(); });
  const wrong = [];
  let cells = 0;
  for (const each of [...data.jobs, both])
    for (const table of each.tables.values()) {
      const place = document.getElementById('table-' + each.id + table.key);
      if (!place) continue;
      const rows = [...place.querySelectorAll('tbody tr')];
      if (rows.length !== table.shown) wrong.push([table.key, rows.length, table.shown]);
      rows.forEach((row, r) => table.columns.forEach((column, c) => {
        const value = column.cells[r], cell = row.children[c];
        ++cells;
        const wanted = (column.meaning || column.key) + (value === null ? '' : ': ' + value + ' ');
        if (!cell.title.startsWith(wanted) || value !== null && !cell.textContent && value !== '') wrong.push([table.key, column.key, r, cell.title]);
      }));
    }
  return [cells, wrong.length, wrong.slice(0, 3)];
})()"""
OUTSIDE = """[...document.querySelectorAll('figure svg[viewBox]')].filter((svg) => [...svg.querySelectorAll('text')].some((text) => {
  const a = text.getBoundingClientRect(), b = svg.getBoundingClientRect();
  return a.left < b.left - 2 || a.right > b.right + 2;
})).map((svg) => svg.closest('figure').querySelector('figcaption').textContent.slice(0, 60))"""


EVIL = ["</script><script>document.title='evil'</script>", "<img src=x onerror=\"document.title='evil'\">", "\0\1\x1b[31m\r\n\t\u2028\u202e",
        "A" * 1_000_000, '{"x": "', "javascript:alert(1)", "${document.title='evil'}", "&lt;b&gt;&amp;", "__proto__", "\U0001f600"]


def hostile_node(number, name, kind, **attributes):
    """A node that depends on the node before."""
    return {"id": str(number), "name": name, "type": kind, "dataDeps": [str(number - 1)] if number > 1 else [],
            "attr": [{"name": key, "stringVal" if isinstance(value, str) else "int64Val": str(value)} for key, value in attributes.items()]}


def make_hostile(folder):
    """A job with hostile names of nodes, groups, tensors, storage tiers and devices of the network."""
    job, tier = folder / "hostile", EVIL[1]
    job.mkdir()
    for rank in range(2):
        nodes = []
        for i, name in enumerate(EVIL):
            outputs = {"values": f"[[1, {i + 1}, 0, 9, 4, '<b onmouseover=1>']]"}
            nodes += [hostile_node(3 * i + 1, name, "COMP_NODE", stream=0, dur_ns=1000) | {"outputs": outputs},
                      hostile_node(3 * i + 2, name, "COMM_COLL_NODE", stream=1, comm_type=0, comm_size=100000, pg_name=name[:1000]),
                      hostile_node(3 * i + 3, name, "MEM_LOAD_NODE", tensor_size=1000, storage_tier=tier, io_kind="dataloader")]
        groups = [{"pg_name": name[:1000], "pg_desc": name[:1000], "backend_config": "", "ranks": [0, 1], "group_size": 2} for name in EVIL]
        (job / f"t.{rank}.json").write_text(json.dumps({"metadata": {"version": "0.0.4", "attr": [
            {"name": "process_groups", "stringVal": json.dumps(groups)}]}, "nodes": nodes}))
    (folder / "tiers.json").write_text(json.dumps({"tiers": {tier: {"bandwidth": 1, "latency-ns": 10, "scope": "rank"}}}))
    (folder / "hostile.yml").write_text(json.dumps({"ranks": 2, "switches": [tier], "links": [
        {"from": rank, "to": tier, "bandwidth": 10, "latency": 100} for rank in range(2)]}))


def make(chakra, folder, data):
    """Write the reports; return their paths."""
    def run(*words):
        subprocess.run([chakra, *map(str, words)], check=True, cwd=folder, stdout=subprocess.DEVNULL)

    for name, rate in (("net", 46), ("fast", 92)):
        (folder / f"{name}.yml").write_text(NETWORK % rate)
    recorded = ROOT / "examples" / "traces" / "ddp_gloo_2ranks"
    run("link", recorded, "-o", "ddp")
    run("report", "ddp", "--timeline", "-o", "ddp.html")
    run("gen", "step", "--preset", "llama3-405b", "--dp", "1024", "-o", "big")
    run("report", "big", "--network", "net.yml", "--device", "H100-SXM", "-o", "big.html")
    run("gen", "step", "--preset", "tiny", "--all-ranks", "-o", "tiny")
    run("report", "ddp", "--against", "tiny", "--network", "net.yml", "--against-network", "fast.yml", "--timeline", "-o", "two.html")
    make_hostile(folder)
    run("report", "hostile", "--network", "hostile.yml", "--system", "tiers.json", "--timeline", "-o", "hostile.html")
    pages = ["ddp.html", "big.html", "two.html", "hostile.html"]
    if data and (data / DLRM).exists():
        for part in ("dlrm_pytorch_et", "dlrm_kineto"):
            with tarfile.open(data / DLRM / f"{part}.tar.gz") as packed:
                for member in packed.getmembers():
                    if member.isfile() and member.name.endswith(".json"):
                        member.name = os.path.basename(member.name)
                        packed.extract(member, folder / "dlrm_recorded")
        run("link", "dlrm_recorded", "-o", "dlrm")
        run("report", "dlrm", "--timeline", "-o", "dlrm.html")
        pages.append("dlrm.html")
    if data and (data / H100).exists():
        run("link", data / H100, "-o", "h100.et")
        run("report", "h100.et", "--timeline", "-o", "h100.html")
        pages.append("h100.html")
    else:
        print("no test data: DLRM and the recording of an H100 are left out")
    return [folder / page for page in pages]


def follow(browser):
    """Jump to the critical path of each timeline, along it, and over a dependency; return problems."""
    problems = []
    for canvas in range(browser.run("document.querySelectorAll('canvas.timeline').length")):
        of = f"document.querySelectorAll('canvas.timeline')[{canvas}]"
        text = of + ".parentElement.lastElementChild.textContent"
        browser.wait(f"{of}.dataset.ready !== undefined")
        browser.run(f"{of}.focus()")
        shown = [""]
        for key in ("c", ".", "f"):
            if key == "." and re.search(r"piece (\d+) of \1 ", shown[-1]):
                key = ","  # there is none after the last piece
            browser.key(key)
            if key != "f":
                browser.wait(f"{text}.includes('Selected') && {text} !== {json.dumps(shown[-1])}")
                shown.append(browser.run(text))
        if not all("of the critical path of" in each for each in shown[1:]):
            problems.append("the keys C, point and comma lead to other places than the critical path")
        if browser.run(f"!{of}.parentElement.querySelector('input[type=checkbox]').checked"):
            problems.append("the key F shows no flows")
        if browser.run(f"{of}.parentElement.querySelectorAll('.links button').length"):
            browser.run(f"{of}.parentElement.querySelector('.links button').click()")
            browser.wait(f"{text} !== {json.dumps(shown[-1])}")
    return problems


def use(browser):
    """Search, sort, filter and move; return problems."""
    problems = []
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.run("document.querySelectorAll('th button').forEach((each) => each.click())")
    browser.run("document.querySelectorAll('button.more').forEach((each) => each.click())")
    browser.run("document.querySelectorAll('input').forEach((each) => { each.value = 'a'; each.dispatchEvent(new Event('input')); })")
    for canvas in range(browser.run("document.querySelectorAll('canvas.timeline').length")):
        of = f"document.querySelectorAll('canvas.timeline')[{canvas}]"
        browser.wait(f"{of}.dataset.frame !== undefined")
        before = browser.run(f"{of}.parentElement.querySelector('.about').textContent")
        browser.run(f"{of}.focus()")
        for key in "wwdan":
            browser.key(key)
        if browser.run(f"{of}.parentElement.querySelector('.about').textContent") == before:
            problems.append("keys do not move the timeline")
        for display in ("none", ""):  # a timeline without a width has an error only in the console
            browser.run(f"new Promise((done) => {{ {of}.parentElement.style.display = '{display}'; "
                        "requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))); })")
        browser.key("0")
    browser.run("document.querySelectorAll('input').forEach((each) => { each.value = ''; each.dispatchEvent(new Event('input')); })")
    return problems


class Problems(list):
    """Prints each problem of a page when it is found."""
    def __init__(self, page):
        super().__init__()
        self.page = page

    def __iadd__(self, found):
        for each in found:
            self.append(each)
        return self

    def append(self, problem):
        print(f"{self.page}, {problem}", flush=True)
        super().append(problem)


def look(browser, page, axe, pictures):
    """Return the problems of a page."""
    problems = Problems(page.name)
    if page.stat().st_size >= MOST_BYTES:
        problems.append(f"{page.stat().st_size} bytes")
    for dark in (False, True):
        for width in WIDTHS:
            browser.messages.clear()
            browser.show(width, dark=dark)
            browser.open(page.as_uri())
            browser.wait("document.querySelectorAll('main section').length > 0")
            browser.wait("[...document.querySelectorAll('figure [role=img]')].every((each) => each.firstChild)")
            where = f"{width} px, {'dark' if dark else 'light'}: "
            ready = browser.run("Math.max(performance.getEntriesByType('navigation')[0].domComplete, "
                                "...[...document.querySelectorAll('canvas')].map((each) => Number(each.dataset.ready ?? 0)))")
            wide = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                problems.append(where + f"the page is {wide} px too wide")
            out = browser.run(OUTSIDE)
            problems += [where + f"text outside of the figure '{name}'" for name in out]
            problems += [where + each for each in follow(browser)]
            if pictures:
                browser.picture(pictures / f"{page.stem}_{width}_{'dark' if dark else 'light'}.png")
            if axe:
                browser.run(axe)
                found = browser.run("axe.run().then((found) => found.violations.map((each) => "
                                    "[each.id, each.nodes.length, each.nodes[0].html.slice(0, 120)]))")
                problems += [where + "axe: " + json.dumps(each) for each in found]
            problems += [where + each for each in use(browser)]
            if browser.run("document.title === 'evil' || document.querySelectorAll('img, script').length !== 2"):
                problems.append(where + "a name runs as a script, or is an element")
            if not dark and width == WIDTHS[0]:
                browser.open(page.as_uri())
                browser.wait("document.querySelectorAll('main section').length > 0")
                cells, wrong, first = browser.run(CELLS)
                print(f"{page.name}: {cells} cells of tables")
                if wrong or not cells:
                    problems.append(f"{wrong} of {cells} cells of tables are not those of the data: {first}")
            problems += [where + "console: " + each[:200] for each in browser.messages]
            print(f"{page.name}, {where}ready in {ready:.0f} ms", flush=True)
    return problems


# Times of the page's callbacks of frames, until the pixels of the canvas can be read: commands of a canvas can run later.
TIMED = """(() => {
  const later = window.requestAnimationFrame.bind(window), context = document.querySelector('canvas.timeline').getContext('2d');
  window.times = [];
  window.requestAnimationFrame = (act) => later((time) => {
    const begin = performance.now();
    act(time);
    context.getImageData(0, 0, 1, 1);
    window.times.push(performance.now() - begin);
  });
})()"""


def measure(browser, page):
    """Print the time until the page is ready, and the times of frames of its first timeline."""
    of = "document.querySelector('canvas.timeline')"
    ready = []
    for _ in range(5):
        browser.show(WIDTHS[-1])
        browser.open(page.as_uri())
        browser.wait(f"{of} && {of}.dataset.ready !== undefined")
        ready.append(browser.run(f"Math.max(performance.getEntriesByType('navigation')[0].domComplete, Number({of}.dataset.ready))"))
    browser.run(TIMED)
    browser.run(f"{of}.focus()")
    keys = "wwwwddddssaawwwwwwddddaaaassssssss0" * 3
    for i, key in enumerate(keys):
        browser.key(key)
        browser.wait(f"times.length > {i}")
    times = sorted(browser.run("times"))
    print(f"{page.name}: {page.stat().st_size} bytes, ready in {statistics.median(ready):.0f} ms (at most {max(ready):.0f}); {len(times)} "
          f"frames: median {statistics.median(times):.1f} ms, p95 {times[int(.95 * len(times))]:.1f}, longest {times[-1]:.1f}; load {os.getloadavg()[0]:.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=str(ROOT / "build" / "release" / "bin"))
    parser.add_argument("--axe", help="axe.min.js; default: no check of accessibility")
    parser.add_argument("--pictures", type=pathlib.Path, help="a folder for images")
    parser.add_argument("--frames", action="store_true", help="measure frames of the timelines of PAGES, and check nothing")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="other pages than those that this tool makes")
    arguments = parser.parse_args()
    if arguments.frames and not arguments.pages:
        parser.error("--frames needs pages with a timeline")
    axe = pathlib.Path(arguments.axe).read_text(encoding="utf-8") if arguments.axe else None
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    data = os.environ.get("CHAKRA_TEST_DATA")
    problems, begin = [], time.monotonic()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        pages = [page.resolve() for page in arguments.pages] or make(
            os.path.join(os.path.abspath(arguments.bin), "chakra"), pathlib.Path(folder), pathlib.Path(data) if data else None)
        if arguments.frames:
            for page in pages:
                measure(browser, page)
            return
        for page in pages:
            problems += look(browser, page, axe, arguments.pictures)
    print(f"{len(problems)} problems in {len(pages)} pages, {time.monotonic() - begin:.0f} s" + ("" if axe else ", without axe"))
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
