"""The budget curves as data, against their cells (TEST DATA)."""

from dataclasses import replace

from rita_demo.plots import accuracy_by_budget
from rita_demo.records import MeasuredCell
from tests.plots.synthetic import measured_cell


def cell(method: str, attack: str, budget: int, steps: int, accuracy: float) -> MeasuredCell:
    return measured_cell(accuracy, method=method, attack=attack, budget=budget, steps=steps, protocol="off")


CELLS = [
    cell("clip", "none", 4, 7, 70.0),
    cell("clip", "pgd", 1, 7, 20.0),
    cell("clip", "pgd", 4, 7, 2.0),
    cell("clip", "pgd", 4, 50, 1.0),
    cell("clip", "fgsm", 4, 1, 10.0),
]


def test_a_line_per_method_and_number_of_steps_from_the_clean_accuracy_on() -> None:
    figure = accuracy_by_budget({"model": CELLS})
    short, long = figure.data
    assert (list(short.x), list(short.y)) == ([0, 1, 4], [70.0, 20.0, 2.0])
    assert (list(long.x), list(long.y)) == ([0, 4], [70.0, 1.0])
    assert list(short.error_y.array) == [4.0, 4.0, 4.0]
    assert "2 % right" in short.customdata[2][0]
    assert "PGD-7 at 4/255: 2 % right" in figure.meta["alt"]


def test_two_squares_are_two_rows_the_legend_names_every_method_and_missing_data_shows_a_message() -> None:
    both = [*CELLS, *(replace(cell, method="rita") for cell in CELLS)]
    figure = accuracy_by_budget({"model": both, "picture": CELLS})
    assert all(method in figure.layout.annotations[-1].text for method in ("CLIP", "RITA"))
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    assert "No measurements" in accuracy_by_budget({}).meta["alt"]
