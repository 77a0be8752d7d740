"""Sentences that stay until they are dismissed, and what is happening right now."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import closing
from html import escape
from typing import Any

import gradio as gr

from rita_demo import logs
from rita_demo.errors import DemoError
from rita_demo.ui.diary import Diary

SURPRISE = "Something went wrong on our side. It was written down."
SURPRISE_HINT = "What you saw before is still here; try again, or reset the page."

_DISMISS = """
element.addEventListener('click', (e) => { if (e.target.closest('.dismiss')) props.value = ''; });
element.addEventListener('keydown', (e) => { if (e.key === 'Escape') props.value = ''; });
"""


class Notice(gr.HTML):
    """A panel for one sentence on what went wrong and one on what to do; the visitor dismisses it."""

    def __init__(self, **html: Any) -> None:
        super().__init__("", js_on_load=_DISMISS, elem_classes="notice-holder", **html)

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


def sentence(error: DemoError) -> str:
    """HTML of a notice."""
    hint = f"<span>{escape(error.hint)}</span>" if error.hint else ""
    return (
        f'<div class="notice" role="alert"><div><strong>{escape(error.message)}</strong>{hint}</div>'
        '<button class="dismiss" type="button" aria-label="Dismiss this message">Dismiss</button></div>'
    )


def as_notice(error: Exception) -> str:
    """Our own errors say what they are; anything else is logged and gets a general sentence with its id."""
    if isinstance(error, DemoError):
        return sentence(error)
    number = logs.failure("unexpected error in the page", error)
    return sentence(DemoError(SURPRISE, f"{SURPRISE_HINT} Its number is {number}."))


def guarded(notice: Notice, always: Callable[[], dict[Any, Any]] = dict) -> Callable[[Any], Any]:
    """Decorator for event handlers that return (or yield) ``{component: value}``.

    An error becomes a sentence in ``notice``; every other output keeps what it shows. ``always`` makes
    updates that accompany an error (say, the progress line cleared). Each event is one in the process's
    :data:`rita_demo.duty.DUTY`, which ends them when the server goes down, and one in its log, if it is long.
    """

    def failed(error: Exception) -> dict[Any, Any]:
        return {**always(), notice: as_notice(error)}

    def decorate(handler: Any) -> Any:
        if inspect.isgeneratorfunction(handler):

            @functools.wraps(handler)
            def generator(*args: Any, **kwargs: Any) -> Iterator[dict[Any, Any]]:
                said, diary = False, Diary(handler, long=True)
                try:
                    with diary, closing(handler(*args, **kwargs)) as updates:
                        for update in updates:
                            said = True
                            yield update
                            diary.step()
                except Exception as error:
                    said = True
                    yield failed(error)
                if not said:  # Gradio empties every output of a generator that yields nothing
                    yield {notice: gr.skip()}

            return generator

        @functools.wraps(handler)
        def plain(*args: Any, **kwargs: Any) -> dict[Any, Any]:
            try:
                with Diary(handler):
                    # Gradio takes an empty dict for one output too few and answers 500
                    return handler(*args, **kwargs) or {notice: gr.skip()}
            except Exception as error:
                return failed(error)

        return plain

    return decorate


def progress(
    now: str, fraction: float, elapsed: float, *, stale: bool = False, answered: bool = False
) -> str:
    """HTML: what happens now, how far it is, and how long it may still take.

    ``stale``: the result on the page is of an earlier picture and is shown paler meanwhile;
    ``answered``: its pictures and verdicts are already the new ones.
    """
    left = ""
    if elapsed > 1.5 and 0.05 < fraction < 1:
        left = f", about {max(1, round(elapsed * (1 - fraction) / fraction))} s left"
    share = min(max(fraction, 0.0), 1.0)
    kind = f"progress{' stale' if stale else ''}{' answered' if answered else ''}"
    return (
        f'<div class="{kind}" role="status"><progress max="1" value="{share:.3f}" '
        f'aria-label="Progress"></progress><span>{escape(now)}{left}</span></div>'
    )


def done(sentence: str) -> str:
    """HTML: nothing is going on; what was done last."""
    return f'<div class="progress done" role="status"><span>{escape(sentence)}</span></div>'
