"""Signs of masking from measured cells: a method that hides its gradient is flagged, an honest one is not."""

from dataclasses import replace

import pytest

from rita_demo.records import MeasuredCell
from rita_demo.records.intervals import wilson
from rita_demo.records.masking_signs import JudgedCell, masking_sentence, masking_signs

OTHER_COLUMNS = {"dataset": "caltech101", "backbone": "embedded-robust", "split": "val", "protocol": "stream"}


def cell(method: str, attack: str, right: int, budget: int = 4, steps: int = 30, n: int = 100) -> MeasuredCell:
    low, high = wilson(right, n)
    where = ("dtd", "embedded", method, attack, budget, steps, "off", "test")
    return MeasuredCell(*where, 100 * right / n, n, 100 * low, 100 * high, "0", "s")


def signs(right: int, gradient: float, queries: int, large: int, fewer: int) -> tuple[bool | None, ...]:
    """Those of a method with these numbers of right answers of 100; PGD on CLIP leaves it 60."""
    one = JudgedCell(cell("mta", "adaptive", right), gradient)
    others = [one, JudgedCell(cell("clip", "adaptive", 0), 2.0)]
    others += [JudgedCell(cell("mta", "adaptive", queries), by_queries=True)]
    others += [JudgedCell(cell("mta", "adaptive", large, budget=64), gradient)]
    others += [JudgedCell(cell("mta", "adaptive", fewer, steps=3), gradient)]
    static = [cell("mta", "pgd", 60), cell("mta", "reverse", 0), cell("clip", "pgd", 0)]
    return masking_signs(one, others, [JudgedCell(other) for other in static])


def test_every_sign_of_a_method_that_hides_its_gradient_is_found_and_none_of_an_honest_one() -> None:
    hiding = signs(right=80, gradient=0.0, queries=30, large=75, fewer=80)
    assert hiding == (True,) * 5
    assert masking_sentence(hiding).count("?") == 5
    assert "Not checked" not in masking_sentence(hiding)
    for right, fewer in ((2, 30), (40, 55)):
        honest = signs(right=right, gradient=0.8, queries=50, large=0, fewer=fewer)
        assert (honest, masking_sentence(honest)) == ((False,) * 5, "No sign of masking was found.")


def test_a_missing_measurement_and_one_of_other_pictures_is_not_checked() -> None:
    one, clip = JudgedCell(cell("mta", "adaptive", 50)), JudgedCell(cell("clip", "adaptive", 0), 2.0)
    others = [one, JudgedCell(cell("rtpt", "adaptive", 0, budget=64)), clip]
    nothing = masking_signs(one, others, [JudgedCell(cell("rtpt", "pgd", 0))])
    assert (nothing, masking_sentence(nothing)) == ((None,) * 5, "Signs of masking: not checked.")
    some = masking_sentence((False, None, None, None, None))
    assert some.startswith("No sign of masking was found. Not checked: is its gradient far smaller than CLIP's?")
    one = JudgedCell(cell("mta", "adaptive", 60), gradient=0.0)
    elsewhere = [
        JudgedCell(cell("clip", "adaptive", 0, n=50), 2.0),
        JudgedCell(cell("mta", "adaptive", 0, n=50), by_queries=True),
        JudgedCell(cell("mta", "adaptive", 50, n=50, budget=64), 0.0),
        JudgedCell(cell("mta", "adaptive", 50, n=50, steps=3), 0.0),
    ]
    assert masking_signs(one, [one, *elsewhere], []) == (None,) * 5


@pytest.mark.parametrize(
    ("other", "compared"),
    [
        (JudgedCell(cell("mta", "pgd", 20)), True),
        (JudgedCell(cell("mta", "pgd", 20), pictures="others"), False),
        (JudgedCell(cell("mta", "pgd", 10, n=50)), False),
        (JudgedCell(cell("mta", "pgd", 40, n=200)), False),
        *(
            (JudgedCell(replace(cell("mta", "pgd", 20), **{name: value})), False)
            for name, value in OTHER_COLUMNS.items()
        ),
        (JudgedCell(cell("mta", "pgd", 20), variant="views=8"), False),
        (JudgedCell(cell("rtpt", "pgd", 20)), False),
    ],
)
def test_only_the_same_pictures_method_and_settings_are_compared(other: JudgedCell, compared: bool) -> None:
    """The attacker who knows MTA leaves 60 of 100, PGD a fifth."""
    assert masking_signs(JudgedCell(cell("mta", "adaptive", 60)), [], [other])[0] is (True if compared else None)


@pytest.mark.parametrize(
    ("right", "n", "sign"),
    [*((0, n, False) for n in (1, 20, 50, 100, 156, 200, 1000)), *((1, 100, False), (3, 100, False), (6, 100, True))],
)
def test_a_few_pictures_more_than_none_are_chance(right: int, n: int, sign: bool) -> None:
    one, pgd = JudgedCell(cell("mta", "adaptive", right, n=n)), JudgedCell(cell("mta", "pgd", 0, n=n))
    assert masking_signs(one, [one], [pgd])[0] is sign
