"""Files for browsers are made a few at a time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rita_demo.ui.handing import AT_ONCE, Handing, forget_files


def test_no_more_than_a_few_files_are_made_at_once() -> None:
    handing, lock, now, most = Handing(), threading.Lock(), [0], [0]

    def make(_: int) -> None:
        with handing.making():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.02)
            with lock:
                now[0] -= 1

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(make, range(20)))
    assert most == [AT_ONCE]


def test_a_file_that_cannot_be_made_gives_its_turn_back() -> None:
    handing = Handing()
    for _ in range(AT_ONCE + 1):
        with pytest.raises(ValueError, match="broken"), handing.making():
            raise ValueError("broken")
    with handing.making():
        pass


def test_before_the_page_is_served_there_is_nothing_to_drop() -> None:
    forget_files(None)
    forget_files(object())
