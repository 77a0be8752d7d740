"""How a process comes to an end, without one."""

from __future__ import annotations

import threading
import time

import pytest

from rita_demo.duty import Bell, Duty, Leaving


def running(duty: Duty, steps: float) -> threading.Thread:
    """An event of as many steps of 50 ms, or until it is told to end."""

    def work() -> None:
        with duty.event():
            for _ in range(int(steps)):
                time.sleep(0.05)
                if duty.over:
                    return

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    while not duty.running:
        time.sleep(0.001)
    return worker


def test_with_nothing_running_nobody_waits() -> None:
    duty, begin = Duty(), time.monotonic()
    assert duty.leave(30) == 0
    assert time.monotonic() - begin < 1


def test_an_event_that_fits_is_not_cut() -> None:
    duty = Duty()
    running(duty, 4)
    begin = time.monotonic()
    assert duty.leave(30) == 0
    assert 0.1 < time.monotonic() - begin < 3


def test_an_event_that_does_not_fit_ends_at_its_next_step() -> None:
    duty = Duty()
    running(duty, 10_000)
    begin = time.monotonic()
    assert duty.leave(0.3) == 0
    assert 0.3 <= time.monotonic() - begin < 2


def test_when_it_leaves_nothing_new_begins_and_nothing_is_counted() -> None:
    duty = Duty()
    duty.step()
    duty.leave(0)
    with pytest.raises(Leaving), duty.event():
        raise AssertionError("it began")
    with pytest.raises(Leaving, match="going down"):
        duty.step()
    assert duty.running == 0


def test_an_event_at_the_door_when_it_leaves_is_counted_or_does_not_begin() -> None:
    """The last to come is held at the lock; meanwhile the server leaves, and counts nobody."""
    duty, said = Duty(), []

    def come() -> None:
        try:
            with duty.event():
                said.append("began")
        except Leaving:
            said.append("refused")

    comer, leaver = threading.Thread(target=come), threading.Thread(target=duty.leave, args=(0,))
    with duty._lock:
        comer.start()
        time.sleep(0.2)  # he is at the lock
        duty.leaving = True
    comer.join()
    leaver.start()
    leaver.join()
    assert said == ["refused"]


def test_an_event_that_fails_is_counted_no_longer() -> None:
    duty = Duty()
    with pytest.raises(ValueError, match="x"), duty.event():
        raise ValueError("x")
    assert duty.running == 0


def test_the_first_ring_asks_and_the_second_does_not() -> None:
    duty = Duty()
    bell = Bell(duty)
    with pytest.raises(SystemExit) as ended:
        bell._ring(15, None)  # nothing is open yet, and nothing can be lost
    assert ended.value.code == 0
    bell.open = True
    bell._ring(15, None)
    assert (bell.rung, duty.over) == (True, False)
    bell._ring(15, None)
    assert duty.over
