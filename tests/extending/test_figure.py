"""docs/extending.md, "A figure in *Inside*", to the letter: one function and one row."""

import sys
from types import ModuleType

import numpy as np
import pytest

from rita_demo.ui.inside import folds
from tests.extending.page import code_blocks
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run, make_inside_tab


def test_a_function_and_a_row_are_a_figure_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    source, row = code_blocks("A figure in *Inside*")
    module = ModuleType("rita_demo.figures.decision.votes")
    exec(compile(source, "votes.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    imported, call = row.split("\n\n")
    names = vars(folds).copy()
    exec(imported, names)
    known = [row for row in folds.SURE if row.name != "votes"]  # who has followed the page has this row
    monkeypatch.setattr(folds, "SURE", (*known, eval(call, names)))

    inside = make_inside_tab(ToyEngine(spread=0.2))
    visitor = inside.context.sessions.open()
    session = inside.context.sessions.get(visitor)
    run = completed_run(ToyEngine(spread=0.2))
    session.show(run)
    session.inside.open_folds = frozenset({"entropy-fold"})
    session.touch("run")
    updates = inside.context.panels.open(session, "inside")
    (figure,) = (value for one, value in updates.items() if one.elem_id == "in-votes")
    labels = run.attacked.trace.confidence.label
    assert list(figure.data[0].y) == np.bincount(labels, minlength=len(run.class_prompts.names)).tolist()
