"""Plots: what is drawn is in the table, and errors are clear. Looked at by people in the notebooks of docs/notebooks."""
import sys

import chakra_et
import matplotlib
import pytest
from chakra_et import plots
from conftest import RECORDED

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_a_table_is_drawn_as_it_is():
    answer = chakra_et.open("tiny").simulate(network="net.yml")
    axes = answer.plot("ranks", "finish_ps")
    scale = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}[axes.get_xlabel().split("[")[1].rstrip("]")]
    assert [bar.get_width() * scale for bar in axes.patches] == pytest.approx(answer.table("ranks")["finish_ps"].tolist())
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(rank) for rank in range(16)]
    with pytest.raises(ValueError):
        answer.plot("ranks", "finish")


def test_every_table_of_an_analysis_has_a_plot_or_an_error():
    answer = chakra_et.open("linked").analyze()
    for key in answer.tables():
        table = answer.table(key)
        axes = table.plot()
        assert len(axes.patches) == min(len(table), plots.SHOWN_BARS), key
        axes.figure.canvas.draw()
        pyplot.close(axes.figure)


def test_a_timeline():
    axes = plots.timeline(chakra_et.link(RECORDED))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["rank 0 host", "rank 1 host"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["computation", "communication"]
    axes.figure.canvas.draw()
    with pytest.raises(ValueError, match="no start times"):
        plots.timeline(chakra_et.open("tiny"))
    with pytest.raises(KeyError, match="no rank 7"):
        plots.timeline(chakra_et.open("linked"), [7])


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        chakra_et.open("linked").analyze().plot("time")
