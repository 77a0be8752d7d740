"""The arena over a dataset: one ``evaluate`` with every attacker, and what the page reads of it."""

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.page import DataFolders, arena_cells
from rita_demo.records.errors import DataError
from rita_demo.ui.arena.numbers import numbers_html

METHODS, ATTACKS = ("clip", "ensemble"), ("none", "pgd", "adaptive:ensemble", "adaptive")


@pytest.mark.slow
def test_one_evaluate_measures_every_attacker_and_the_page_shows_its_cells(tmp_path, tiny_model_dir, monkeypatch):
    short = {"adaptive.steps": 2, "attack_views": 2}
    monkeypatch.setattr(planned_cells, "RECOMMENDED", planned_cells.RECOMMENDED.replace(**short))
    words = ["evaluate", "--dataset", "textures", "--split", "test", "--limit", "2", "--budget", "4"]
    words += ["--methods", ",".join(METHODS), "--protocols", "off", "--backbone", f"local-dir:{tiny_model_dir}"]
    words += [f"--set={name}={value}" for name, value in short.items()]
    assert cli.main([*words, "--attack", ",".join(ATTACKS), "--out", str(tmp_path / "one")]) == 0
    found = {(cell.method, cell.attack): cell for cell in arena_cells(DataFolders(tmp_path, tmp_path), "one")}
    assert set(found) == {(method, attack) for method in METHODS for attack in ATTACKS}
    known, transferred = (found["ensemble", attack] for attack in ("adaptive", "adaptive:ensemble"))
    assert known.accuracy == transferred.accuracy, "the same attack under two names"
    html = numbers_html(tuple(found.values()))
    for title in ("no attack", "PGD", "made for Ensemble", "knows this row", "n = 2"):
        assert title in html
    assert cli.main([*words, "--attack", "none", "--set", "views=8", "--out", str(tmp_path / "two")]) == 0
    other = arena_cells(DataFolders(tmp_path, tmp_path), "two")
    assert {cell.method for cell in other} == {"clip"}, "Ensemble with 8 views is not under the recommended settings"
    with pytest.raises(DataError, match="no run"):
        arena_cells(DataFolders(tmp_path, tmp_path), "../one")
