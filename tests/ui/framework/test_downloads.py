"""Files for browsers are made a few at a time."""

from dataclasses import fields

from rita_demo.ui.framework.context import MAX_DOWNLOADS, AppContext


def test_files_are_made_a_few_at_a_time_and_a_finished_one_makes_room() -> None:
    (downloads,) = (one.default_factory() for one in fields(AppContext) if one.name == "downloads")
    assert [downloads.acquire(blocking=False) for _ in range(MAX_DOWNLOADS + 1)] == [True] * MAX_DOWNLOADS + [False]
    downloads.release()
    assert downloads.acquire(blocking=False)
