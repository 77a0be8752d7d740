"""Two hundred short visits in a row to the real server leave its memory as it was."""

import time
from pathlib import Path

import pytest

from tests.live_server import process_of, start_server
from tests.load.clients import ClientRequest, LoadClient

VISITS = 200
WARM_UP_VISITS = 50  # visits after which everything has been loaded and every store is as full as it gets
EXTRA_VISITS = 100  # MB; what one visit holds while it lasts is several
VISITS_PER_SAVE = 4  # each of so many presses “Save this run” as well, which hands a file of megabytes over
REST_SECONDS = 25  # after the start, and after the visits: every 20 s the server returns freed pages
WINDOW = 25  # visits whose highest is compared: freed pages are given back every 20 s, so that single moments differ by 130 MB


def resident_megabytes(address: str) -> float:
    """Megabytes of the server that listens at this address."""
    status = (process_of(address) / "status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_two_hundred_visits_leave_memory_flat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes, begin = dict[int, float](), time.perf_counter()
    with start_server(tmp_path / "log.txt") as address:
        time.sleep(REST_SECONDS)
        rest, config = [resident_megabytes(address)], None
        for number in range(1, VISITS + 1):
            visitor = LoadClient(address, ClientRequest(number % 20), config)
            config = visitor.config
            with visitor.connected():
                assert '"success":true' in visitor.run(views=8, steps=1)
                if number % VISITS_PER_SAVE == 0:
                    assert visitor.saved_run().names == visitor.request.names
            visitor.http.close()
            sizes[number] = resident_megabytes(address)
        time.sleep(REST_SECONDS)
        rest.append(resident_megabytes(address))
    ends = range(WINDOW, VISITS + 1, WINDOW)
    highest = {last: max(sizes[n] for n in range(last - WINDOW + 1, last + 1)) for last in ends}
    with capsys.disabled():
        said = ", ".join(f"{size:.0f} MB up to {last}" for last, size in highest.items())
        took = time.perf_counter() - begin
        print(f"\n  {VISITS} visits in {took:.0f} s, highest of each {WINDOW}: {said}")
        print(f"  at rest {rest[0]:.0f} MB after the start, {rest[1]:.0f} MB after the visits")
    assert highest[VISITS] < highest[WARM_UP_VISITS] + EXTRA_VISITS
