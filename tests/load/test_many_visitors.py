"""Many visitors at once of the real server, in its own process, with the real model."""

import statistics
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from rita_demo.engine.engine import Engine
from rita_demo.pipeline import bundle_read
from tests.live_server import start_server, wait_until
from tests.load.clients import ClientRequest, LoadClient, view_in

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]
CLIENTS = 20


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("server") / "log.txt"
    with start_server(log) as local:
        yield local
    assert "unexpected error" not in log.read_text()
    assert "Traceback" not in log.read_text()


@pytest.fixture
def print_line(capsys: pytest.CaptureFixture[str]) -> Any:
    """Prints a figure past pytest."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return line


def test_twenty_concurrent_clients_get_the_single_client_answers(address: str, print_line: Any) -> None:
    engine = Engine()
    expected = {wish.number: wish.expected_run(engine) for wish in map(ClientRequest, range(CLIENTS))}
    people = [LoadClient(address, ClientRequest(number)) for number in range(CLIENTS)]
    begin, found = time.perf_counter(), dict[int, list[str]]()

    def visit(one: LoadClient) -> None:
        run, number = expected[one.request.number], one.request.number
        assert '"success":true' in one.run()
        saved = one.saved_run()
        wrong = bundle_read.differences(saved, run)
        wrong += [] if saved.names == one.request.names else [f"class names {saved.names}"]
        query = one.select_view(number % 16)
        if one.request.sample:
            wrong += [] if view_in(query) == str(number % 16) else [f"the link {query!r}"]
            wrong += [] if one.request.names[0].replace(" ", "+") in query else [f"the link {query!r}"]
        held = one.exported_memory()
        wrong += [] if held.names == one.request.names else [f"a memory of {held.names}"]
        wrong += [] if held.moments[-1].pictures == 1 else [f"a memory of {held.moments[-1].pictures} pictures"]
        again = bundle_read.differences(one.saved_run(), run)  # when all the others have come and asked
        found[number] = wrong + again

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(visit, people))
    seconds, crossings = time.perf_counter() - begin, sum(map(len, found.values()))
    print_line(f"{CLIENTS} visitors at once: {seconds:.0f} s, {crossings} crossings")
    assert found == {number: [] for number in range(CLIENTS)}


def test_a_disconnected_client_frees_the_queue(address: str, print_line: Any) -> None:
    """The one who leaves has asked for an attack of 100 steps, each over 64 crops."""
    stays, leaves = LoadClient(address, ClientRequest(1)), LoadClient(address, ClientRequest(3))
    begin = time.perf_counter()
    stays.run()
    alone = time.perf_counter() - begin
    leaves.http.timeout = httpx.Timeout(600, read=None)
    left = threading.Event()

    def disconnect() -> None:
        """Ask, listen until the attack runs, and close the page."""
        for line in leaves.stream_run(steps=100, attack="eot", attack_views=64):
            if "Attacking" in line:
                break
        left.set()

    threading.Thread(target=disconnect).start()
    assert left.wait(120)
    begin = time.perf_counter()
    stays.run()
    after = time.perf_counter() - begin
    print_line(f"a single picture: {alone:.1f} s alone, {after:.1f} s after a visitor left an attack of 100 steps")
    assert after < alone + 15


def test_a_stream_does_not_starve_single_pictures(address: str, print_line: Any) -> None:
    single, streams = LoadClient(address, ClientRequest(5)), LoadClient(address, ClientRequest(7))
    alone = statistics.median(_seconds(single) for _ in range(5))
    lines: list[str] = []

    def stream() -> None:
        event = streams.event("stream-start", "click")
        form = {"stream_dataset": "textures", "stream_pictures": 500, "stream_traffic": "attacked"}
        for line in streams.stream(event, **form):
            lines.append(line)
            if done.is_set():
                break

    done = threading.Event()
    running = threading.Thread(target=stream)
    running.start()
    assert wait_until(lambda: len(lines) >= 5, 120, 0.2), "the stream does not run"
    before = len(lines)
    beside = statistics.median(_seconds(single) for _ in range(5))
    kept_on = len(lines) - before
    wait_until(lambda: len(lines) >= before + kept_on + 3, 60, 0.2)
    after = len(lines) - before - kept_on
    done.set()
    print_line(
        f"a single picture (median of 5): {alone:.2f} s alone, {beside:.2f} s beside a stream, which went on by "
        f"{kept_on} updates meanwhile and by {after} more afterwards"
    )
    assert beside < 2 * alone + 2
    assert after >= 3, "the stream did not go on"
    running.join(120)


def _seconds(one: LoadClient) -> float:
    begin = time.perf_counter()
    assert '"success":true' in one.run()
    return time.perf_counter() - begin
