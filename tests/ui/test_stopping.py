"""The last word of a stopped job: said once more after whatever was on its way, never over a later job."""

from __future__ import annotations

import gradio as gr
import pytest

from rita_demo.ui import notice, stopping
from rita_demo.ui.inside import Inside
from rita_demo.ui.stopping import wire_stop
from tests.ui.conftest import inside_tab
from tests.ui.fake import FakeEngine


@pytest.fixture(scope="module")
def inside() -> Inside:
    return inside_tab(FakeEngine(spread=0.2))


def test_the_last_word_is_said_once_more_unless_another_job_has_begun(
    inside: Inside, monkeypatch
) -> None:
    monkeypatch.setattr(stopping, "LATE", 0.0)
    desk = inside.desk
    with gr.Blocks() as page:
        desk.visitor.render(), desk.status.render(), desk.notice.render()
        button = gr.Button("Stop")
        job = gr.Button("Work").click(lambda: None)
        wire_stop(
            desk, button, lambda _: {desk.status: notice.done("Stopped.")}, [desk.status], [job]
        )
    _, pressed, once_more = [one.fn for one in page.fns.values() if one.fn]
    name = desk.sessions.open()
    session = desk.sessions.get(name)
    session.begun += 1
    first = pressed(name)
    assert session.stops == 1
    assert "Stopped." in first[desk.status]
    again = once_more(name)
    assert again[desk.status] == first[desk.status]
    assert again[button] == first[button] == gr.update(visible=False)
    session.begun += 1
    assert desk.status not in once_more(name), "a later job is at work"
