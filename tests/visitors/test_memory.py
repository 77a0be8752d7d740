"""Two hundred short visits in a row to the real server leave its memory as it was."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.server import process_of, running_server
from tests.visitors.people import Person, Wish

VISITS = 200
WARM = 50  # visits after which everything has been loaded and every store is as full as it gets
MORE = 100  # MB; what one visit holds while it lasts is several
SAVES = 4  # each of so many presses “Save this run” as well, which hands a file of megabytes over
WINDOW = 25  # visits whose highest is compared: freed pages are given back every 20 s, so that single moments differ by 130 MB


def resident(address: str) -> float:
    """Megabytes of the server that listens at this address."""
    status = (process_of(address) / "status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_two_hundred_visits_leave_memory_flat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes, begin = dict[int, float](), time.perf_counter()
    with running_server(tmp_path / "log.txt") as address:
        config = None
        for number in range(1, VISITS + 1):
            visitor = Person(address, Wish(number % 20), config)
            config = visitor.config
            with visitor.here():
                assert '"success":true' in visitor.run(views=8, steps=1)
                if number % SAVES == 0:
                    assert visitor.saved().names == visitor.wish.names
            visitor.http.close()
            sizes[number] = resident(address)
    highest = {
        last: max(sizes[n] for n in range(last - WINDOW + 1, last + 1))
        for last in range(WINDOW, VISITS + 1, WINDOW)
    }
    with capsys.disabled():
        said = ", ".join(f"{size:.0f} MB up to {last}" for last, size in highest.items())
        took = time.perf_counter() - begin
        print(f"\n  {VISITS} visits in {took:.0f} s, highest of each {WINDOW}: {said}")
    assert highest[VISITS] < highest[WARM] + MORE
