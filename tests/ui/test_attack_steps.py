"""Other attack steps with the toy engine: how they arrive, what they show, and what they cost."""

import math
from collections.abc import Iterator
from typing import Any

import pytest

from rita_demo.pipeline.attack_steps import sampled_steps
from rita_demo.ui.background import attack_steps
from rita_demo.ui.background.attack_steps import ATTACK_STEPS_BYTES, in_background, max_stored_steps
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.run_panels import step_caption, stored_steps_note
from rita_demo.ui.session.session import array_bytes
from tests.toy_model import ToyEngine
from tests.ui.conftest import chosen, completed_run, drawn, make_inside_tab, open_room

pytestmark = pytest.mark.slow


def by_name(updates: dict[Any, Any]) -> dict[str, Any]:
    return {c.elem_id: value for c, value in updates.items()}


class Visit:
    """A visitor whose attacked picture was just defended, without any stored steps in between."""

    def __init__(self, inside: InsideTab, engine: ToyEngine) -> None:
        self.engine, self.inside, context = engine, inside, inside.context
        self.name, self.panels = context.sessions.open(), context.panels
        self.session, self.run = context.sessions.get(self.name), completed_run(engine)
        self.session.show(self.run)
        self.session.inside.open_folds = frozenset({"along-fold"})
        open_room(inside, self.name)

    def attack_steps(self) -> Iterator[Updates]:
        """Storing the steps: what the visitor sees of each."""
        for update in in_background(self.inside.context, self.session, attack_steps.store_attack_steps):
            yield drawn(self.inside, self.session, update)

    def choose(self, step: Any) -> dict[str, Any]:
        """A step as it is asked for: what is seen of the answer, by element."""
        return by_name(drawn(self.inside, self.session, chosen(self.inside, self.name, step=step)))


@pytest.fixture(autouse=True)
def no_update_throttling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every change is shown at once."""
    monkeypatch.setattr(attack_steps, "UPDATE_INTERVAL", -1.0)


@pytest.fixture(scope="module")
def inside() -> InsideTab:
    return make_inside_tab(ToyEngine(spread=0.2))


@pytest.fixture
def visit(inside: InsideTab) -> Visit:
    return Visit(inside, inside.context.models.default)


@pytest.fixture
def stepped(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> Visit:
    """With every stored step, of which only the last is drawn."""
    with monkeypatch.context() as patch:
        patch.setattr(attack_steps, "UPDATE_INTERVAL", math.inf)
        list(visit.attack_steps())
    return visit


def test_attack_steps_arrive_one_by_one_with_progress(visit: Visit) -> None:
    session, before = visit.session, visit.session.size_bytes()
    said = [by_name(update).get("steps-note", "") for update in visit.attack_steps()]
    assert "0 of 6 steps are computed" in said[0]
    assert "4 of 6 steps" in said[4]
    assert "are computed" not in said[-1]
    assert [f.step for f in session.attack_steps] == [0, 1, 2, 3, 5, 7]
    assert set(session.crops) == {"clean", "attacked", "step 1", "step 2", "step 3", "step 5"}
    assert list(visit.attack_steps()) == []  # once
    one = array_bytes(session.attack_steps[2].image_result) + session.crops["step 2"].nbytes
    assert one < session.size_bytes() - before <= ATTACK_STEPS_BYTES + session.crops["clean"].nbytes


def test_attack_steps_wait_while_a_run_is_computed_and_end_when_another_one_is_on_screen(visit: Visit) -> None:
    steps = visit.attack_steps()
    next(steps)
    with visit.inside.context.activity.track_job():
        next(steps), next(steps)
        assert visit.session.attack_steps == ()
    next(steps)
    assert len(visit.session.attack_steps) == 1
    visit.session.show(completed_run(visit.engine, label=1))
    assert list(steps) == []
    assert visit.session.attack_steps == ()


def test_first_and_last_step_equal_the_run_and_every_step_has_the_same_rows_and_scales(stepped: Visit) -> None:
    session = stepped.session
    figures = [stepped.choose(step=step)["in-costs"] for step in (2, 5, 7, 0)]
    assert len({str((f.layout.xaxis.range, f.layout.yaxis.ticktext)) for f in figures}) == 1
    assert session.run_at_step is not None
    assert session.run_at_step.attacked is stepped.run.clean
    assert session.crops_of("attacked") is session.crops["clean"]
    stepped.choose(step=7)
    assert session.run_at_step is stepped.run
    assert session.crops_of("attacked") is session.crops["attacked"]
    # a missing one is reported, and the slider does not move
    assert stepped.choose(step=4)["in-scrubber"]["value"] == 4
    note = stored_steps_note(session)
    assert "Step 4 is not stored: everything shows step 5, the nearest" in note
    assert "Stored: steps 0, 1, 2, 3, 5 and 7 of 7." in note
    assert "step 5, nearest to 4" in step_caption(session)


def test_a_session_stores_fewer_steps_when_each_is_large() -> None:
    most = ATTACK_STEPS_BYTES
    for record, steps in ((1, 6), (most // 4, 6), (most // 3, 5), (most, 3), (most + 1, 2)):
        assert max_stored_steps(record, 0) == steps
        assert (len(sampled_steps(100, steps)) - 2) * record <= most
