"""The one event of a room that selects."""

from types import SimpleNamespace
from typing import Any

import pytest

from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.panels.selection_details import class_choices
from tests.ui.conftest import open_room


class Room:
    """A visitor of *Inside*, and the page's event."""

    def __init__(self, tab: InsideTab, run: Any) -> None:
        self.tab, self.name = tab, tab.context.sessions.open()
        self.session = tab.context.sessions.get(self.name)
        self.session.show(run)
        open_room(tab, self.name)
        page: Any = tab.step_slider
        while page.parent is not None:
            page = page.parent
        self.events = [one for one in page.fns.values() if one.name in ("on_selection", "on_slider")]
        grid = tab.parts["columns"]._id
        (self.event,) = (one for one in self.events if (grid, "click") in one.targets)

    def click(self, target: Any, *values: Any, **named: Any) -> Updates:
        return self.event.fn(self.name, SimpleNamespace(target=target, _data=named), *(values or (None,)))


@pytest.fixture
def room(inside_tab: InsideTab, example_run) -> Room:
    return Room(inside_tab, example_run)


def test_a_crop_is_chosen_without_its_tiles_being_sent_again_and_every_answer_is_among_the_outputs(room: Room) -> None:
    parts = room.tab.parts
    answer = room.click(parts["columns"], view=3)
    assert {one.elem_id for one in answer} == {"in-views", "in-crop", "in-plan", "in-cell", "signal"}
    assert (answer[parts["columns"]]["view"], "value" in answer[parts["columns"]]) == (3, False)
    assert answer.keys() <= set(room.event.outputs)


def test_a_menu_selects_what_its_value_is(room: Room) -> None:
    room.click(room.tab.parts["class_menu"], 2)
    assert (room.session.selection.k, room.session.selection.atom) == (2, None)
    assert class_choices(room.session)["value"] == 2


def test_a_slider_is_not_moved_by_its_own_answer(room: Room) -> None:
    slider, panels = room.tab.step_slider, room.tab.context.panels
    (event,) = (one for one in room.events if (slider._id, "input") in one.targets)
    answer = event.fn(room.name, 4)
    assert room.session.selection.step == 4
    assert room.tab.parts["costs"] in answer
    assert slider not in answer.keys() | panels.draw(room.session, "inside").keys()


def test_every_figure_with_marks_of_every_room_is_bound_once(room: Room) -> None:
    selecting = [one for one in room.events if any(kind == "click" for _, kind in one.targets)]
    targets = [target for one in selecting for target in one.targets]
    assert len(selecting) == 4
    assert len(set(targets)) == len(targets)
