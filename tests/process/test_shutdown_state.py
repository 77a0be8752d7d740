"""The shutdown state and the signal handler, without a process."""

import threading
import time

import pytest

from rita_demo.process.shutdown import ShutdownState, ShuttingDown, SignalHandler
from tests.live_server import wait_until


def start_event(state: ShutdownState, steps: int) -> None:
    """An event of this many steps of 50 ms, which ends early when its time is over."""

    def work() -> None:
        with state.track_event():
            for _ in range(steps):
                time.sleep(0.05)
                if state.expired:
                    return

    threading.Thread(target=work, daemon=True).start()
    assert wait_until(lambda: state.running or not steps, pause=0.001)


@pytest.mark.parametrize(
    ("steps", "grace", "shortest", "longest"),
    [(0, 300, 0, 60), (4, 300, 0.1, 60), (10_000, 0.3, 0.3, 60)],
    ids=["without events", "an event that ends", "an event that is stopped at its next step"],
)
def test_draining_waits_for_running_events(steps: int, grace: float, shortest: float, longest: float) -> None:
    state = ShutdownState()
    start_event(state, steps)
    begin = time.monotonic()
    assert state.drain(grace) == 0
    assert shortest <= time.monotonic() - begin < longest


def test_a_failed_event_is_no_longer_counted_and_during_shutdown_none_starts() -> None:
    state = ShutdownState()
    with pytest.raises(ValueError, match="x"), state.track_event():
        raise ValueError("x")
    assert state.running == 0
    with state.track_event() as event:
        event.next_step()
    state.drain(0)
    with pytest.raises(ShuttingDown), state.track_event():
        raise AssertionError("it began")
    with pytest.raises(ShuttingDown, match="going down"):
        event.next_step()
    assert state.running == 0


def test_the_longest_current_step_of_all_events_is_known() -> None:
    state = ShutdownState()
    assert state.step_seconds == 0
    with state.track_event() as first:
        time.sleep(0.1)
        with state.track_event() as second:
            assert 0.1 <= state.step_seconds < 60
            first.next_step()
            time.sleep(0.02)
            second.next_step()
            assert second.step_began - first.step_began >= 0.02
            assert 0.02 <= state.step_seconds < 60
    assert state.step_seconds == 0


def test_the_first_signal_drains_and_the_second_exits() -> None:
    state = ShutdownState()
    handler = SignalHandler(state)
    with pytest.raises(SystemExit) as ended:
        handler._on_signal(15, None)  # the page is not open yet
    assert ended.value.code == 0
    handler.page_open = True
    handler._on_signal(15, None)
    assert (handler.received, state.expired) == (True, False)
    handler._on_signal(15, None)
    assert state.expired
