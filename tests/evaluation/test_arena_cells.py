"""The arena over a dataset: one ``evaluate`` with every attacker, and what the page reads of it."""

import pytest

from rita_demo.cli import main as cli
from rita_demo.data import shipped_results
from rita_demo.evaluation.page import SHIPPED, DataFolders, arena_cells
from rita_demo.records.errors import DataError
from rita_demo.ui.arena.table import NOTHING_MEASURED, measured_html

METHODS, ATTACKS = ("clip", "ensemble"), ("none", "pgd", "adaptive:ensemble", "adaptive")


@pytest.mark.slow
def test_one_evaluate_measures_every_attacker_and_the_page_shows_its_cells(tmp_path, tiny_model_dir) -> None:
    words = ["evaluate", "--dataset", "textures", "--split", "test", "--limit", "2", "--budget", "4"]
    words += ["--methods", ",".join(METHODS), "--attack", ",".join(ATTACKS), "--protocols", "off"]
    words += ["--backbone", f"local-dir:{tiny_model_dir}", "--out", str(tmp_path / "one")]
    assert cli.main(words) == 0
    found = {(cell.method, cell.attack): cell for cell in arena_cells(DataFolders(tmp_path, tmp_path), "one")}
    assert set(found) == {(method, attack) for method in METHODS for attack in ATTACKS}
    known, transferred = (found["ensemble", attack] for attack in ("adaptive", "adaptive:ensemble"))
    assert known.accuracy == transferred.accuracy, "the same attack under two names"
    html = measured_html(tuple(found.values()))
    for title in ("no attack", "PGD", "made for Ensemble", "knows this row", "n = 2"):
        assert title in html
    swept = [*words, "--set", "views=8"]
    swept[-3] = str(tmp_path / "two")
    assert cli.main(swept) == 0
    other = arena_cells(DataFolders(tmp_path, tmp_path), "two")
    assert {cell.method for cell in other} == {"clip"}, "Ensemble with 8 views is not under the recommended settings"
    with pytest.raises(DataError, match="no run"):
        arena_cells(DataFolders(tmp_path, tmp_path), "../one")


def test_the_shipped_rows_are_of_both_towers_and_their_number_of_pictures_is_stated() -> None:
    cells = arena_cells(DataFolders(), SHIPPED)
    assert cells == shipped_results.read(shipped_results.ARENA)
    assert {cell.backbone for cell in cells} == {"embedded", "embedded-robust"}
    assert all(cell.n >= 50 for cell in cells if cell.attack != "adaptive")
    html = measured_html(cells)
    assert html.count("<table") == 4, "two datasets, two towers"
    one = min(cells, key=lambda cell: cell.n)
    assert f"<b>{one.accuracy:.0f}</b> ({one.low:.0f}–{one.high:.0f})<small>n = {one.n}</small>" in html
    assert measured_html(()) == NOTHING_MEASURED
