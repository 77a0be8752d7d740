"""Files for browsers are made a few at a time."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rita_demo.ui.framework.downloads import MAX_PARALLEL, DownloadSlots


def test_the_number_of_concurrent_downloads_is_limited() -> None:
    downloads, lock, now, most = DownloadSlots(), threading.Lock(), [0], [0]

    def make(_: int) -> None:
        with downloads.slot():
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            time.sleep(0.02)
            with lock:
                now[0] -= 1

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(make, range(20)))
    assert most == [MAX_PARALLEL]
    for _ in range(MAX_PARALLEL + 1):  # a failed one releases its slot
        with pytest.raises(ValueError, match="broken"), downloads.slot():
            raise ValueError("broken")
