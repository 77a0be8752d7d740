"""Right answers per model, method and attack over datasets; what *Inside* says that RITA keeps of them."""

from dataclasses import replace

import pytest

from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.analysis.numbers import PooledShare, pooled
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import EARLIER_ATTACK
from rita_demo.ui.inside.folds import knowing_attacker_text


def cell(dataset: str, method: str, attack: str, accuracy: float, protocol: str = "off") -> MeasuredCell:
    return MeasuredCell(dataset, "embedded", method, attack, 4, 7, protocol, "test", accuracy, 50, 0, 100, "0", "x")


CELLS = (
    cell("dtd", "rita", "pgd", 64.0),
    cell("textures", "rita", "pgd", 72.0),
    cell("dtd", "ensemble", "pgd", 60.0),
    cell("dtd", "rita", "pgd", 100.0, "stream"),
)


def test_pictures_are_counted_over_datasets_without_a_memory() -> None:
    shares = pooled(CELLS)
    assert shares["embedded", "rita", "pgd"] == PooledShare(32 + 36, 100, earlier=False)
    assert shares["embedded", "ensemble", "pgd"].percent == 60.0
    assert pooled(()) == {}


def test_the_shipped_table_has_every_method_and_attack() -> None:
    shares = pooled(shipped_results.read(shipped_results.ATTACKERS))
    assert {attack for *_, attack in shares} >= {"none", "pgd", "reverse", "adaptive"}
    for attack in {attack for *_, attack in shares}:
        row = {method: share for (_, method, name), share in shares.items() if name == attack}
        few = attack == "adaptive"  # it takes long; some methods have fewer pictures
        assert {"clip", "ensemble", "ctpt", "mta", "rtpt", "rita"} | (set() if few else {"tpt"}) <= set(row), attack
        assert few or len({share.n for method, share in row.items() if not DEFENCES[method].on_request}) == 1
    clip = {attack: shares["embedded", "clip", attack].percent for attack in ("pgd", "none")}
    assert clip["pgd"] < 10 < clip["none"]


def test_a_number_of_an_earlier_form_of_the_attack_is_marked_until_it_is_measured_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(_: object) -> None:
        raise DataError("attackers.csv is not a table of measurements.")

    before, now = (replace(cell("dtd", "rita", "adaptive", 40.0), version=text) for text in (EARLIER_ATTACK, "0.1.0"))
    for cells, said in (
        ((*CELLS, before), " Of 50 test pictures RITA keeps 40 % right against an earlier form of this attacker."),
        ((*CELLS, before, now), " Of 50 test pictures RITA keeps 40 % right against this attacker."),
        (CELLS, ""),
    ):
        monkeypatch.setattr(shipped_results, "read", lambda _, cells=cells: cells)
        assert knowing_attacker_text() == said
    monkeypatch.setattr(shipped_results, "read", missing)
    assert knowing_attacker_text() == ""
