"""The position in the queue, and its message while another visitor's picture is computed."""

import threading
import time
from collections.abc import Iterator

import pytest

from rita_demo.ui.framework.waiting_position import GONE_AFTER_SECONDS, WaitingList
from rita_demo.ui.session.session import Session
from tests.live_server import wait_until
from tests.ui.http_client import ENGINE, serve_toy_page
from tools.bench.http_client import HttpClient


def test_a_client_that_stops_polling_is_removed() -> None:
    now = [0.0]
    line, gone, here = WaitingList(lambda: now[0]), Session(), Session()
    line.join(gone)
    line.join(here)
    now[0] = GONE_AFTER_SECONDS - 1
    assert line.position(here) == 1
    now[0] = GONE_AFTER_SECONDS + 1
    assert line.position(here) == 0
    assert line.position(gone) is None


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serve_toy_page() as local:
        monkeypatch.setattr(ENGINE, "step_seconds", 0.4)  # of every step of an attack
        yield local


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.timeout(120)
def test_the_page_shows_the_queue_position_until_the_run_starts(address: str) -> None:
    one, two, three = (HttpClient(address) for _ in range(3))
    for visitor in (one, two, three):
        visitor.open()
    jobs, said = [], dict[HttpClient, str]()
    for visitor in (one, two, three):
        said[visitor] = visitor.press_first_event("go")
        jobs.append(threading.Thread(target=visitor.press, args=("go",)))
        jobs[-1].start()
        time.sleep(0.8)  # the one before has reached the server
    assert "before yours" not in said[one] + said[two]
    assert "yours is next" in said[two]
    assert "2 pictures are computed before yours" in said[three]
    assert "2 pictures are computed before yours" in three.tick()
    jobs[0].join(60)
    assert wait_until(lambda: "yours is next" in three.tick(), 30, 0.2)
    for job in jobs:
        job.join(60)
    assert '"active":false' in three.tick()
