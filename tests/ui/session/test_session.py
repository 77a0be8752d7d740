import pytest

from rita_demo.ui.session.session import array_bytes
from rita_demo.ui.session.store import SessionLost, Sessions
from tests.ui.conftest import shown


def test_two_visitors_never_share_a_session() -> None:
    store = Sessions()
    one, two = store.open("page1"), store.open("page2")
    store.get(one).attack_defend.source = b"mine"
    assert one != two
    assert store.get(two).attack_defend.source is None


def test_a_guessed_id_gives_an_error_message() -> None:
    store = Sessions()
    store.open("page")
    for name in ("", "guess", None, 7, ["x"], {"a": 1}):
        with pytest.raises(SessionLost, match=r"[Rr]eload the page"):
            store.get(name)


def test_closing_the_page_deletes_its_session() -> None:
    store = Sessions()
    store.open("page")
    name = store.open("page")  # the page was loaded again
    assert len(store) == 1
    for page in ("page", "never seen", None):
        store.close_page(page)
    assert len(store) == 0
    with pytest.raises(SessionLost):
        store.get(name)


def test_a_session_unused_for_too_long_is_deleted_and_a_used_one_is_not() -> None:
    now = [0.0]
    store = Sessions(idle_timeout=10, clock=lambda: now[0])
    old, used = store.open("a"), store.open("b")
    for seconds in (8, 15):
        now[0] = seconds
        store.get(used)
    with pytest.raises(SessionLost):
        store.get(old)


def test_the_least_recently_used_session_is_evicted_over_the_limit() -> None:
    store = Sessions(max_bytes=1000)
    first, second, third = (store.open(p) for p in "abc")
    for name in (first, second, third):
        store.get(name).attack_defend.source = bytes(600)
    store.get(first)
    store.evict()
    assert store.get(first).attack_defend.source is not None
    assert len(store) == 1


def test_the_worked_example_is_not_in_the_memory_of_a_session(example_run) -> None:
    visitor = shown(example_run, shared=True)
    assert visitor.size_bytes() == 0
    visitor.show(example_run)
    assert visitor.size_bytes() == array_bytes(example_run) > 1_000_000
