"""The arena over a dataset: one ``evaluate`` with every attacker, and what the page reads of it."""

from dataclasses import replace

import pytest

from rita_demo.cli import main as cli
from rita_demo.data import shipped_results
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.page import SHIPPED, DataFolders, arena_cells
from rita_demo.figures.analysis.numbers import pooled
from rita_demo.records.errors import DataError
from rita_demo.ui.arena.numbers import NOTHING_MEASURED, numbers_html

METHODS, ATTACKS = ("clip", "ensemble"), ("none", "pgd", "adaptive:ensemble", "adaptive")


@pytest.mark.slow
def test_one_evaluate_measures_every_attacker_and_the_page_shows_its_cells(
    tmp_path, tiny_model_dir, monkeypatch
) -> None:
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


def test_cells_under_the_present_form_of_an_attack_are_shown_before_those_of_an_earlier_one() -> None:
    cells = shipped_results.read(shipped_results.ARENA)
    old = next(cell for cell in cells if (cell.method, cell.attack) == ("rita", "adaptive"))
    assert old.by_earlier_attack
    assert f"<b>{old.accuracy:.0f}</b>‡" in numbers_html([old])
    assert "‡ Measured with an earlier form of the attack" in numbers_html([old])
    new = replace(old, accuracy=1.0, low=0.5, high=2.0, n=20, version="0.1.0")
    for both in ([old, new], [new, old]):
        html = numbers_html(both)
        assert "<b>1</b> (0–2)<small>n = 20</small>" in html
        assert f"<b>{old.accuracy:.0f}</b>‡" not in html


def test_the_shipped_rows_are_of_both_towers_and_their_number_of_pictures_is_stated() -> None:
    cells = arena_cells(DataFolders(), SHIPPED)
    assert cells == shipped_results.read(shipped_results.ARENA)
    assert {cell.backbone for cell in cells} == {"embedded", "embedded-robust"}
    assert all(cell.n >= 50 for cell in cells if cell.attack != "adaptive")
    html = numbers_html(cells)
    assert html.count("<table") == 4, "two datasets, two towers"
    one = min((cell for cell in cells if not cell.by_earlier_attack), key=lambda cell: cell.n)
    assert f"<b>{one.accuracy:.0f}</b> ({one.low:.0f}–{one.high:.0f})<small>n = {one.n}</small>" in html
    assert numbers_html(()) == NOTHING_MEASURED


def test_shares_are_added_up_over_the_datasets_and_their_interval_is_that_of_the_sum() -> None:
    cells = shipped_results.read(shipped_results.ARENA)
    shares = pooled(cells)
    for method, expected in {"dbd": (88, 0), "rita": (69, 4), "ensemble": (66, 3)}.items():
        both = [shares["embedded", method, attack] for attack in ("pgd", "adaptive")]
        assert tuple(round(share.percent) for share in both) == expected
        assert [(share.n, share.earlier) for share in both] == [(200, False), (200, True)]
        own = [cell for cell in cells if (cell.backbone, cell.method, cell.attack) == ("embedded", method, "pgd")]
        assert both[0].right == sum(round(cell.accuracy * cell.n / 100) for cell in own)
        low, high = both[0].interval
        assert min(cell.low for cell in own) < low < both[0].percent < high < max(cell.high for cell in own)
    assert shares["embedded-robust", "rita", "adaptive"].n == 356
    old = next(cell for cell in cells if (cell.method, cell.attack) == ("rita", "adaptive"))
    new = replace(old, accuracy=10.0, n=20, version="0.1.0")
    for both in ([old, new], [new, old]):
        (share,) = pooled(both).values()
        assert (share.right, share.n, share.earlier) == (2, 20, False), "the present form of the attack counts"
    assert pooled([]) == {}
