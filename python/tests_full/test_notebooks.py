"""The notebooks of docs/notebooks run from their first to their last cell, and draw their plots."""
import glob
import importlib.util
import os

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
NOTEBOOKS = sorted(glob.glob(os.path.join(ROOT, "docs", "notebooks", "*.ipynb")))
KEEP = os.environ.get("CHAKRA_KEEP_NOTEBOOKS")  # a folder for the notebooks with their outputs


def test_notebooks_are_there():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[os.path.basename(path) for path in NOTEBOOKS])
def test_notebook(path, tmp_path):
    notebook = nbformat.read(path, 4)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells), "clear the outputs"
    if "torch.distributed" in "".join(cell.source for cell in notebook.cells) and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert sum("text/html" in output.get("data", {}) for output in outputs) >= 2
    assert not [output.text for output in outputs if output.get("name") == "stderr"]
    if KEEP:
        nbformat.write(notebook, os.path.join(KEEP, os.path.basename(path)))
