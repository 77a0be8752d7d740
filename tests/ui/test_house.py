"""Uploads and forgotten sessions are kept within their budgets, whether anybody presses a button or not."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path

import pytest
from gradio.state_holder import StateHolder

from rita_demo.ui import house
from rita_demo.ui.house import keep_house, sweep
from rita_demo.ui.sessions import Sessions
from tests.ui.stranger import Stranger, served


def files(folder: Path, sizes: list[int]) -> list[str]:
    """Files of these sizes, the first the oldest."""
    made = []
    for number, size in enumerate(sizes):
        path = folder / f"{number}.png"
        path.write_bytes(bytes(size))
        os.utime(path, (1000 + number, 1000 + number))
        made.append(str(path))
    return made


def test_the_oldest_uploads_go_until_the_rest_fits(tmp_path: Path) -> None:
    made = files(tmp_path, [50, 40, 30, 20])
    assert sorted(sweep([*made, str(tmp_path / "gone.png")], 60)) == sorted(
        [*made[:2], str(tmp_path / "gone.png")]
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.png", "3.png"]
    assert sweep(made[2:], 60) == []


class Page:
    """What the keeper knows of one."""

    def __init__(self, uploads: list[str]) -> None:
        self.upload_file_set = set(uploads)
        self.state_holder = StateHolder()


def test_the_house_is_kept_while_nobody_presses_anything(tmp_path: Path) -> None:
    now = [0.0]
    sessions, page = Sessions(idle=10, clock=lambda: now[0]), Page(files(tmp_path, [50, 40, 30]))
    sessions.open("page")
    keep_house(page, sessions, budget=35, every=0.02)
    now[0] = 20.0
    until = time.monotonic() + 10
    while (len(sessions) or len(page.upload_file_set) > 1) and time.monotonic() < until:
        time.sleep(0.02)
    assert len(sessions) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["2.png"]
    assert page.upload_file_set == {str(tmp_path / "2.png")}


@pytest.mark.slow
def test_nothing_of_a_closed_page_stays_in_gradio_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house.keep_house, "__kwdefaults__", {"budget": 1 << 30, "every": 0.1})
    sessions = Sessions()
    with served(sessions=sessions) as address:
        stays, leaves = Stranger(address), Stranger(address)
        for visitor in (stays, leaves):
            visitor.open()
        kept = gradio_keeps()
        assert {stays.page, leaves.page} <= set(kept.session_data)
        with leaves.http.stream("GET", f"gradio_api/heartbeat/{leaves.page}") as beat:
            next(beat.iter_lines())
        until = time.monotonic() + 30
        while leaves.page in kept.session_data and time.monotonic() < until:
            time.sleep(0.05)
        assert leaves.page not in kept.session_data
        assert stays.page in kept.session_data
        assert len(sessions) == 1
        assert "agreement" in stays.choose_tab("memory")


def gradio_keeps() -> StateHolder:
    """Of the page that was launched last."""
    found = [o for o in gc.get_objects() if isinstance(o, StateHolder) and o.session_data]
    return found[-1]
