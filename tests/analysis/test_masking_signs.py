"""Signs of masking from measured cells: a method that hides its gradient is flagged, an honest one is not."""

import pytest

from rita_demo.analysis import AdaptiveCell, masking_sentence, masking_signs
from rita_demo.records import MeasuredCell
from rita_demo.records.intervals import wilson


def cell(method: str, attack: str, right: int, budget: int = 4, steps: int = 30, n: int = 100) -> MeasuredCell:
    low, high = wilson(right, n)
    where = ("dtd", "embedded", method, attack, budget, steps, "off", "test")
    return MeasuredCell(*where, 100 * right / n, n, 100 * low, 100 * high, "0", "s")


def signs(right: int, gradient: float, queries: int, large: int, fewer: int) -> tuple[bool | None, ...]:
    """Those of a method with these numbers of right answers of 100; PGD on CLIP leaves it 60."""
    one = AdaptiveCell(cell("mta", "adaptive", right), gradient)
    others = [
        one,
        AdaptiveCell(cell("clip", "adaptive", 0), 2.0),
        AdaptiveCell(cell("mta", "adaptive", queries), by_queries=True),
        AdaptiveCell(cell("mta", "adaptive", large, budget=64), gradient),
        AdaptiveCell(cell("mta", "adaptive", fewer, steps=3), gradient),
    ]
    return masking_signs(one, others, [cell("mta", "pgd", 60), cell("mta", "reverse", 0), cell("clip", "pgd", 0)])


def test_every_sign_of_a_method_that_hides_its_gradient_is_found() -> None:
    found = signs(right=80, gradient=0.0, queries=30, large=75, fewer=80)
    assert found == (True, True, True, True, True)
    assert masking_sentence(found).count("?") == 5
    assert "Not checked" not in masking_sentence(found)


def test_an_honest_method_has_no_sign() -> None:
    for right, fewer in ((2, 30), (40, 55)):
        found = signs(right=right, gradient=0.8, queries=50, large=0, fewer=fewer)
        assert found == (False, False, False, False, False)
        assert masking_sentence(found) == "No sign of masking was found."


@pytest.mark.parametrize("n", [1, 20, 50, 100, 156, 200, 1000])
def test_nothing_right_under_both_attackers_is_no_sign(n: int) -> None:
    one = AdaptiveCell(cell("mta", "adaptive", 0, n=n))
    assert masking_signs(one, [one], [cell("mta", "pgd", 0, n=n)])[0] is False


def test_a_missing_measurement_is_not_checked() -> None:
    one = AdaptiveCell(cell("mta", "adaptive", 50))
    other_set = [AdaptiveCell(cell("rtpt", "adaptive", 0, budget=64)), AdaptiveCell(cell("clip", "adaptive", 0), 2.0)]
    assert masking_signs(one, [one, *other_set], [cell("rtpt", "pgd", 0)]) == (None,) * 5
    assert masking_sentence((None,) * 5).startswith("No sign of masking was found. Not checked: is the attacker")
