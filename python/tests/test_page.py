"""The code of docs/how-to/python.md runs, in an empty folder."""
import os
import re

import duckdb
import pyarrow
from conftest import ROOT


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with open(os.path.join(ROOT, "docs", "how-to", "python.md"), encoding="utf-8") as page:
        blocks = re.findall(r"^```python\n((?:.*\n)*?)^```|^((?:    .*\n)(?:\n*    .*\n)*)", page.read(), re.MULTILINE)
    names = {"duckdb": duckdb, "pyarrow": pyarrow}
    for fenced, indented in blocks:
        exec(fenced or re.sub("^    ", "", indented, flags=re.MULTILINE), names)
    assert len(blocks) == 10
    shown = capsys.readouterr().out
    assert "did you mean fluid?" in shown and "100%" in shown and os.path.exists("answer.json")
