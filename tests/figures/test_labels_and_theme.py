"""User input in figures, and what a drawing (``test_golden``) does not show (TEST DATA)."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rita_demo.figures.decision.plan import ratio_to_product_plan
from rita_demo.figures.decision.views import moved_shares
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, percent, printable
from rita_demo.figures.paper.measurements import time_text
from rita_demo.records import Run
from rita_demo.settings import PAPER
from tests.figures.synthetic import make_run

#: Text, what it is made of, and what it says: a name is cut, escaped and on one line; a share is never rounded to 0 or 100.
WORDS: list[tuple[Callable[..., str], tuple[Any, ...], str]] = [
    (escaped, ("<" * 300,), "&lt;" * 119 + "…"),
    (escaped, ("two\nlines\t here",), "two lines here"),
    (escaped, ("right\u202eleft",), "rightleft"),
    (escaped, ("lone \ud800 half",), "lone  half"),
    (percent, (0.999,), "> 99 %"),
    (percent, (1.0,), "100 %"),
    (percent, (0.0,), "0 %"),
    (time_text, (0.00043,), "0.43 ms"),
    (time_text, (0.996,), "1.0 s"),
]


@pytest.mark.parametrize(("function", "given", "words"), WORDS)
def test_a_name_a_share_and_a_time_in_words(function: Callable[..., str], given: tuple[Any, ...], words: str) -> None:
    assert function(*given) == words
    printable(str(given[0])).encode("utf-8")


def test_what_is_sent_is_what_was_added_and_checking_finds_a_value_unknown_to_plotly() -> None:
    figure = Figure()
    figure.add_scatter(x=np.array([1.0, np.nan]), y=[2, 3])
    figure.layers = {"meta": {"alt": "two"}}
    sent = json.loads(figure.to_json())
    assert sent == {"data": [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}], "layout": {"meta": {"alt": "two"}}}
    figure.add_bar(y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        _ = figure.checked


def test_the_shares_of_a_plan_are_those_of_the_mass_that_moves(example_run: Run) -> None:
    trace = example_run.attacked.trace
    moved = trace.prompt_transport
    even = moved.mass * np.outer(trace.view_weight, trace.prompt_weight[1])
    assert ratio_to_product_plan(example_run.attacked, 1) == pytest.approx(moved.plan[1] / even, rel=1e-4)
    shares = moved_shares(example_run.attacked, 0)
    assert shares @ trace.view_weight == pytest.approx(moved.mass, abs=1e-6)
    assert shares.min() < 0.05
    assert moved_shares(make_run(settings=PAPER).clean, 0) == pytest.approx(1.0, abs=1e-3), "all moves"
