"""docs/extending.md, "A figure in *Inside*", to the letter: one function and one row."""

import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from rita_demo.ui.inside import sections, tab
from tests.extending.page import code_blocks
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run, make_inside_tab


def test_a_function_and_a_row_are_a_figure_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    source, row = code_blocks("A figure in *Inside*")
    module = ModuleType("rita_demo.plots.decision.votes")
    exec(compile(source, "votes.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    imported, call = row.split("\n\n")
    names = vars(sections).copy()
    exec(imported, names)
    first, *others = (  # who has followed the page has this row
        replace(section, figures=tuple(row for row in section.figures if row.name != "votes"))
        for section in sections.SECTIONS
    )
    extended = replace(first, figures=(*first.figures, eval(call, names)))
    monkeypatch.setattr(tab, "SECTIONS", (extended, *others))

    inside = make_inside_tab(ToyEngine(spread=0.2))
    visitor = inside.context.sessions.open()
    session = inside.context.sessions.get(visitor)
    run = completed_run(ToyEngine(spread=0.2))
    session.show(run)
    session.touch("run")
    updates = inside.context.panels.open(session, "inside")
    drawn = {component.elem_id: value for component, value in updates.items()}
    for side in ("clean", "attacked"):
        labels = getattr(run, side).trace.confidence.label
        bars = drawn[f"in-votes-{side}"].data[0]
        assert list(bars.y) == np.bincount(labels, minlength=len(run.class_prompts.names)).tolist()

    assert drawn["in-votes-clean"].meta["marks"] == ["k"]
    for topic, stale in (("class", True), ("view", False)):
        inside.context.panels.draw(session, "inside")
        session.touch(topic)
        assert (inside.parts["votes_clean"] in inside.context.panels.draw(session, "inside")) == stale
