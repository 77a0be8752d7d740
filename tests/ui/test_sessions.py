from __future__ import annotations

import numpy as np
import pytest

from rita_demo.ui.sessions import Reel, Session, SessionLost, Sessions, measured


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_two_visitors_never_share_a_session() -> None:
    store = Sessions()
    one, two = store.open("page1"), store.open("page2")
    store.get(one).source = b"mine"
    assert one != two
    assert store.get(two).source is None


@pytest.mark.parametrize("name", ["", "guess", None, 7, ["x"], {"a": 1}])
def test_a_guessed_id_gets_a_sentence(name) -> None:
    store = Sessions()
    store.open("page")
    with pytest.raises(SessionLost, match="Reload the page"):
        store.get(name)


def test_closing_the_page_deletes_everything_of_it() -> None:
    store = Sessions()
    name = store.open("page")
    store.close_page("page")
    store.close_page("never seen")
    store.close_page(None)
    assert len(store) == 0
    with pytest.raises(SessionLost):
        store.get(name)


def test_a_session_unused_for_too_long_is_deleted_and_a_used_one_is_not() -> None:
    clock = Clock()
    store = Sessions(idle=10, clock=clock)
    old, used = store.open("a"), store.open("b")
    clock.now = 8
    store.get(used)
    clock.now = 15
    store.get(used)
    with pytest.raises(SessionLost):
        store.get(old)


def test_the_least_recently_used_goes_when_the_budget_is_spent() -> None:
    store = Sessions(budget=1000)
    first, second, third = (store.open(p) for p in "abc")
    for name in (first, second, third):
        store.get(name).source = bytes(600)
    store.get(first)
    store.fit()
    assert store.get(first).source is not None
    assert len(store) == 1


def test_other_strengths_make_room_before_anybodys_session_does(story) -> None:
    store = Sessions(budget=3 * measured(story))
    first, second = store.open(), store.open()
    for name in (first, second):
        store.get(name).show(story)
    for budget in (1, 2, 8):
        large = np.zeros(measured(story), np.uint8)
        store.get(first).keep_strength(budget, Reel(story, crops={"attacked": large}))
    store.get(second)
    store.fit()
    assert len(store) == 2
    assert store.get(first).reels == {}
    assert store.get(first).story is story


def test_the_worked_example_is_nobodys_own_memory(story) -> None:
    visitor = Session()
    visitor.show(story, borrowed=True)
    assert visitor.bytes() == 0
    visitor.show(story)
    assert visitor.bytes() == measured(story) > 1_000_000


def test_reloading_a_page_replaces_its_session() -> None:
    store = Sessions()
    store.open("page")
    store.open("page")
    assert len(store) == 1


@pytest.mark.parametrize("name", ["bare", "recalled"])
def test_what_goes_while_a_session_is_weighed_breaks_nothing(name: str) -> None:
    """The visitor leaves the memory's tab between two looks at the same field."""

    class Leaving(Session):
        asked = 0

        def __getattribute__(self, field: str):
            found = super().__getattribute__(field)
            if field != name:
                return found
            type(self).asked += 1
            return found if self.asked == 1 else None

    visitor = Leaving()
    setattr(visitor, name, (None, None, np.zeros(100, np.uint8))[-2 if name == "bare" else 0 :])
    Leaving.asked = 0
    assert visitor.bytes() == 100
