"""The shutdown state, without a process."""

import time

import pytest

from rita_demo.process.shutdown import ShutdownState, ShuttingDown


def test_during_shutdown_no_event_starts_and_a_running_one_ends_at_its_first_step_after_the_grace_period() -> None:
    state = ShutdownState()
    with pytest.raises(ValueError, match="x"), state.track_event():
        raise ValueError("x")
    assert state.running == 0, "a failed event is no longer counted"
    with state.track_event() as event:
        event.next_step()
        state.drain(60)
        with pytest.raises(ShuttingDown), state.track_event():
            raise AssertionError("it began")
        event.next_step()
        state.drain(0)
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
