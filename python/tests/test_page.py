"""The code of docs/how-to/python.md runs, in an empty folder, and docs/how-to/hta.md has every call."""
import os
import re

import chakra_et
import duckdb
import matplotlib
import pyarrow
from chakra_et.hta import UNANSWERED, TraceAnalysis
from conftest import RECORDED, ROOT

matplotlib.use("Agg")


def page(name):
    with open(os.path.join(ROOT, "docs", "how-to", name), encoding="utf-8") as file:
        return file.read()


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n((?:.*\n)*?)^```|^((?:    .*\n)(?:\n*    .*\n)*)", page("python.md"), re.MULTILINE)
    names = {"duckdb": duckdb, "pyarrow": pyarrow, "linked": chakra_et.link(RECORDED)}
    for fenced, indented in blocks:
        exec(fenced or re.sub("^    ", "", indented, flags=re.MULTILINE), names)
    assert len(blocks) == 11
    shown = capsys.readouterr().out
    assert "did you mean fluid?" in shown and "100%" in shown and os.path.exists("answer.json") and os.path.exists("timeline.png")


def test_the_page_of_hta_has_every_call():
    first, second = page("hta.md").split("The remaining calls")
    answered = {name for name in vars(TraceAnalysis) if name.startswith("get_")}
    assert {name for name in re.findall(r"`(\w+)`", first) if name.startswith("get_")} == answered
    assert {name for name in re.findall(r"`(\w+)`", second.split("## Differences")[0]) if name.startswith(("get_", "critical", "overlay", "generate"))} \
        == set(UNANSWERED)
