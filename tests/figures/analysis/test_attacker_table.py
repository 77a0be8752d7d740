"""Right answers per attack and method, counted over datasets; what RITA keeps against the attacker who knows it."""

from dataclasses import replace

import pytest

from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report import measured
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import EARLIER_ATTACK
from rita_demo.ui.inside.folds import knowing_attacker_text


def cell(dataset: str, method: str, attack: str, accuracy: float, protocol: str = "off") -> MeasuredCell:
    budget = 0 if attack == "none" else 4
    return MeasuredCell(
        dataset, "embedded", method, attack, budget, 7, protocol, "test", accuracy, 50, 0.0, 100.0, "0", "x"
    )


ENSEMBLE = (("dtd", "pgd", 60.0), ("textures", "pgd", 70.0), ("dtd", "none", 90.0), ("dtd", "eot", 10.0))
RITA = (
    ("dtd", "pgd", 64.0),
    ("textures", "pgd", 72.0),
    ("dtd", "none", 86.0),
    ("dtd", "eot", 10.0),
    ("dtd", "di", 50.0),
)
CELLS = tuple(cell(dataset, "ensemble", attack, accuracy) for dataset, attack, accuracy in ENSEMBLE)
CELLS += tuple(cell(dataset, "rita", attack, accuracy) for dataset, attack, accuracy in RITA)
CELLS += (cell("dtd", "rita", "pgd", 100.0, "stream"),)


def test_pictures_are_counted_over_datasets_without_a_memory() -> None:
    table = measured.attacker_table(CELLS)
    assert table["pgd"]["rita"] == measured.CorrectCount(32 + 36, 100, ("dtd", "textures"))
    assert table["pgd"]["ensemble"].percent == 65.0
    assert list(table) == ["pgd", "none", "eot", "di"]


def test_the_shipped_table_has_every_method_and_attack() -> None:
    table = measured.attacker_table(shipped_results.read(shipped_results.ATTACKERS))
    assert {"none", "pgd", "reverse", "adaptive"} <= set(table)
    for attack, row in table.items():
        few = attack == "adaptive"  # it takes long; some methods have fewer pictures
        assert {"clip", "ensemble", "ctpt", "mta", "rtpt", "rita"} | (set() if few else {"tpt"}) <= set(row), attack
        usual = {(tally.n, tally.datasets) for method, tally in row.items() if not DEFENCES[method].on_request}
        assert few or len(usual) == 1
    assert table["pgd"]["clip"].percent < 10 < table["none"]["clip"].percent


def test_a_number_of_an_earlier_form_of_the_attack_is_marked_until_it_is_measured_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, now = (replace(cell("dtd", "rita", "adaptive", 40.0), version=text) for text in (EARLIER_ATTACK, "0.1.0"))
    for cells, form in (((*CELLS, before), "an earlier form of this attacker"), ((*CELLS, now), "this attacker")):
        monkeypatch.setattr(shipped_results, "read", lambda _, cells=cells: cells)
        table = measured.attacker_table(cells)
        assert table["adaptive"]["rita"].earlier == (form != "this attacker")
        assert not table["pgd"]["rita"].earlier
        assert knowing_attacker_text() == f" Of 50 test pictures RITA keeps 40 % right against {form}."


def test_nothing_is_said_of_the_attacker_who_knows_where_nothing_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped_results, "read", lambda _: CELLS)
    assert knowing_attacker_text() == ""

    def missing(_: object) -> None:
        raise DataError("attackers.csv is not a table of measurements.")

    monkeypatch.setattr(shipped_results, "read", missing)
    assert knowing_attacker_text() == ""
