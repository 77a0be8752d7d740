"""The notebooks: stored without outputs, and executed from the first cell to the last in an empty folder."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def outputs_of(path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, pictures: int = 40) -> list[dict[str, Any]]:
    """The outputs of all cells, run in the folder with fewer pictures; an error in a cell is an error here."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("RITA_DATA", raising=False)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = cell.source.replace("pictures = 40", f"pictures = {pictures}")
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": str(folder)}}).execute()
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert not any(cell.outputs or cell.execution_count for cell in code)


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_the_first_look_shows_the_page_and_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = outputs_of(ROOT / "notebooks" / "first_look.ipynb", tmp_path, monkeypatch)
    shown = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert 'sandbox="allow-scripts"' in shown[0]
    assert all("<table" in table for table in shown[1:])
    assert len(shown) == 4
    said = [output["data"]["text/plain"] for output in outputs if "data" in output]
    assert "np.int64(4))" in said[2], "no pixel moves by more than the budget"
    assert (tmp_path / "run.zip").is_file()
