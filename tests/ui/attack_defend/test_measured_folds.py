"""The fold on RITA against a plain average says what the measured table holds, the other way round as well."""

from dataclasses import replace

from rita_demo import analysis
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.records import MeasuredCell
from rita_demo.ui.attack_defend import measured_folds
from rita_demo.ui.attack_defend.measured_folds import attacker_table


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


def test_pictures_are_counted_over_datasets_without_a_memory_and_the_text_says_above_equal_and_below() -> None:
    table, html = analysis.attacker_table(CELLS), attacker_table(CELLS)
    assert table["pgd"]["rita"] == analysis.CorrectCount(32 + 36, 100, ("dtd", "textures"))
    assert table["pgd"]["ensemble"].percent == 65.0
    assert analysis.difference_in_correct(table, "rita", "ensemble") == {"pgd": 3, "none": -2, "eot": 0}
    assert "RITA is above Ensemble: PGD (+3 pictures); level with it: EOT; below it: no attack (−2 pictures)." in html
    assert "an average with the same weights (Ensemble, area weights) is level with it" in html
    assert "<b>68</b>" in html
    assert "n = 50" in html  # a cell of fewer pictures than the others
    assert "No measurements" in attacker_table(())


def test_the_shipped_table_has_every_method_and_attack() -> None:
    table = analysis.attacker_table(shipped_results.read(shipped_results.ATTACKERS))
    assert {"none", "pgd", "reverse", "adaptive"} <= set(table)
    for attack, row in table.items():
        few = attack == "adaptive"  # it takes long; some methods have fewer pictures, and the table says so
        assert {"clip", "ensemble", "ctpt", "mta", "rtpt", "rita"} | (set() if few else {"tpt"}) <= set(row), attack
        usual = {(tally.n, tally.datasets) for method, tally in row.items() if not DEFENCES[method].on_request}
        assert few or len(usual) == 1
    assert table["pgd"]["clip"].percent < 10 < table["none"]["clip"].percent
    html = attacker_table(shipped_results.read(shipped_results.ATTACKERS))
    assert "No sign of masking in 24 of 30 cells of the last column. Checked: is the attacker" in html
    assert "Not checked: is its gradient far smaller" in html


def test_a_defence_that_hides_its_gradient_is_named() -> None:
    weak = replace(cell("dtd", "rita", "adaptive", 90.0), low=85.0, budget=4)
    assert "RITA (dtd): Signs of masking: is the attacker" in attacker_table((*CELLS, weak))


def test_a_cell_of_other_pictures_is_no_sign_and_without_any_comparison_nothing_is_said_to_be_absent() -> None:
    more = replace(cell("dtd", "rita", "adaptive", 90.0), low=85.0, n=200)
    assert "Signs of masking in the last column: not checked." in attacker_table((*CELLS, more))
    assert "No sign of masking" not in attacker_table((*CELLS, more))


def test_a_number_of_an_earlier_form_of_the_attack_is_marked_until_it_is_measured_anew(monkeypatch) -> None:
    before, now = (replace(cell("dtd", "rita", "adaptive", 40.0), version=text) for text in ("earlier attack", "0.1.0"))
    for cells, marked in (((*CELLS, before), True), ((*CELLS, now), False)):
        monkeypatch.setattr(measured_folds, "_measured_cells", lambda _, cells=cells: cells)
        html = attacker_table(cells)
        assert ("<b>40</b>‡" in html) == ("‡ Measured with an earlier form" in html) == marked
        assert "<b>68</b>‡" not in html
        form = "an earlier form of this attacker" if marked else "this attacker"
        assert measured_folds.knowing_attacker_text().endswith(f"RITA keeps 40 % right against {form}.")
