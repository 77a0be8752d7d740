"""The memories of one visitor: which stay when another one is used."""

import numpy as np

from rita_demo.data.memory import MemoryTable, Moment
from rita_demo.ui.session.session import MAX_MEMORIES, Memories


def memory(count: int, origin: str = "", moments: int = 2) -> MemoryTable:
    """A memory that holds so many views, at its last moment alone."""
    rows = [{"label": 0, "born": n, "view": n, "entropy": 0.1, "feature": np.ones(2, np.float32)} for n in range(count)]
    first = [Moment(f"Moment {n}", 0, 3, np.arange(0)) for n in range(moments - 1)]
    table = MemoryTable("key", ("cup", "cat"), feature=np.zeros((0, 2), np.float32), origin=origin)
    return table.with_rows(rows).with_moments((*first, Moment("The last", count, 3, np.arange(count))))


def places(memories: Memories, *wanted: MemoryTable) -> bool:
    """Whether these are the memories, in this order."""
    return [id(one) for one in memories.histories] == [id(one) for one in wanted]


def test_what_holds_views_stays_and_is_as_it_was_when_it_is_used_again() -> None:
    mine, theirs, third = memory(2), memory(3, "a stream (x)"), memory(1)
    found = Memories().changed(mine).another(theirs).another(third)
    assert places(found, mine, theirs, third)
    assert (found.in_use, found.current) == (2, third)
    longer = theirs.emptied()
    found = found.using(1).changed(longer).using(0)
    assert places(found, mine, longer, third)
    assert found.current is mine
    assert places(found.using(1).another(mine), mine, longer, third, mine), "emptied, which Undo takes back"


def test_over_the_limit_the_oldest_leaves_but_never_the_first_or_the_one_in_use() -> None:
    many = [memory(1) for _ in range(MAX_MEMORIES)]
    found = Memories().changed(many[0])
    for one in many[1:]:
        found = found.another(one)
    assert places(found, *many)
    new = memory(2)
    assert places(found.another(new), many[0], *many[2:], new)
    assert places(found.using(1).another(new), *many[:2], *many[3:], new)
    assert found.using(1).another(new).current is new
