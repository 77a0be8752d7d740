"""The stop button of a long job. What the job had handed over before it was cancelled arrives after the answer
to the button; so the last word is said once more."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo.ui import notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk

LATE = 0.5  # seconds until nothing more can arrive


def wire_stop(
    desk: Desk,
    button: gr.Button,
    stopped: Callable[[Any], Updates],
    outputs: list[Any],
    jobs: list[Any],
) -> None:
    """Let ``button`` cancel ``jobs`` (events) and hide; ``stopped(visitor)`` says so in ``desk.status``.

    A job counts itself with ``session.begun += 1``: the last word is not said over a later one.
    """

    def pressed(visitor: Any) -> Updates:
        session = desk.sessions.get(visitor)
        session.stops += 1
        updates = {**stopped(visitor), button: gr.update(visible=False)}
        session.last_word = session.begun, updates[desk.status]
        return updates

    def once_more(visitor: Any) -> Updates:
        time.sleep(LATE)
        session = desk.sessions.get(visitor)
        begun, said = session.last_word
        return (
            {desk.status: said, button: gr.update(visible=False)} if begun == session.begun else {}
        )

    safe = notice.guarded(desk.notice)
    first = button.click(safe(pressed), desk.visitor, outputs, cancels=jobs, **AT_ONCE)
    first.then(safe(once_more), desk.visitor, [desk.notice, desk.status, button], **AT_ONCE)
