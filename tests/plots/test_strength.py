"""The strength curves as data, against the cells they draw (TEST DATA)."""

from rita_demo.plots import plain, strength_curves
from rita_demo.records import MeasuredCell


def cell(method: str, attack: str, budget: int, steps: int, accuracy: float) -> MeasuredCell:
    return MeasuredCell(
        "dtd", "embedded", method, attack, budget, steps, "off", "val", accuracy, 50,
        accuracy - 5, accuracy + 4, "0", "x",
    )  # fmt: skip


CELLS = [
    cell("clip", "none", 4, 7, 70.0),
    cell("clip", "pgd", 1, 7, 20.0),
    cell("clip", "pgd", 4, 7, 2.0),
    cell("clip", "pgd", 4, 50, 1.0),
    cell("clip", "fgsm", 4, 1, 10.0),
]


def test_a_line_per_method_and_number_of_steps_from_the_clean_accuracy_on() -> None:
    figure = strength_curves({"model": CELLS})
    short, long = figure.data
    assert (list(short.x), list(short.y)) == ([0, 1, 4], [70.0, 20.0, 2.0])
    assert (list(long.x), list(long.y)) == ([0, 4], [70.0, 1.0])
    assert list(short.error_y.array) == [4.0, 4.0, 4.0]
    assert "2 % right" in short.customdata[2][0]
    assert "PGD-7 at 4/255: 2 % right" in plain(figure)


def test_two_squares_are_two_rows_and_nothing_measured_is_a_sentence() -> None:
    figure = strength_curves({"model": CELLS, "picture": CELLS})
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert "No measurements" in plain(strength_curves({}))
