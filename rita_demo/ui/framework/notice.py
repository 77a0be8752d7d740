"""Handlers of events: error messages that stay until they are dismissed, the log line, and the status line."""

import functools
import inspect
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from html import escape
from typing import Any

import gradio as gr
from gradio.context import LocalContext

from rita_demo.process import logging as process_logging
from rita_demo.process.generators import contained, contained_steps
from rita_demo.process.shutdown import SHUTDOWN, RunningEvent, ShuttingDown
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DemoError
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.widgets.html_buttons import HtmlWidget

MIN_LOGGED_SECONDS = 1.0  # a shorter event gets no line in the log
INTERNAL_ERROR = "Something went wrong on our side. It is in the log."
INTERNAL_ERROR_HINT = "The result of before is still here. Try again, or reload the page."
SEEN_HEADER = "x-notice"  # of a request: the number of the message that was on screen when it was asked for

_NUMBERS = itertools.count(1)

NOTICE = (
    '<div class="notice" role="alert" data-number="{}"><div>{}</div>'
    '<button class="dismiss" type="button" aria-label="Dismiss this message">Dismiss</button></div>'
)


class ErrorBanner(HtmlWidget):
    """One sentence on what went wrong and one on what to do; the visitor dismisses them. The page's own scripts show
    theirs by the event "notice" of the document. A comment with a message's number takes away that message, no later
    one: the answer of a slow event may come after the message of a quick one that was asked for later."""

    script = """
const show = (html) => (props.value = shown = html);
let shown = props.value ?? '';
watch('value', () => {
  const done = /^<!--(\\d+)-->$/.exec(props.value);
  show(!done ? props.value : shown.includes(`data-number="${done[1]}"`) ? '' : shown);
});
element.addEventListener('click', (e) => { if (e.target.closest('.dismiss')) show(''); });
element.addEventListener('keydown', (e) => { if (e.key === 'Escape') show(''); });
const empty = document.createElement('div');
empty.innerHTML = `TEMPLATE`;
document.addEventListener('notice', ({ detail }) => {
  const [message, hint] = empty.querySelectorAll('strong, span');
  [message.textContent, hint.textContent] = [detail.message, detail.hint];
  empty.firstChild.dataset.number = Date.now();
  show(empty.innerHTML);
});
""".replace("TEMPLATE", NOTICE.format("", "<strong></strong><span></span>"))


def error_html(error: DemoError) -> str:
    hint = f"<span>{escape(error.hint)}</span>" if error.hint else ""
    return NOTICE.format(next(_NUMBERS), f"<strong>{escape(error.message)}</strong>{hint}")


def _without_seen_message(banner: ErrorBanner, updates: Updates) -> Updates:
    """The updates as they are sent; one that empties the ``banner`` takes away the message that the visitor saw as they asked, if any."""
    request = LocalContext.request.get(None)
    if request is None or updates.get(banner) != "":
        return updates
    seen = request.headers.get(SEEN_HEADER, "")
    return updates | {banner: f"<!--{int(seen)}-->" if seen.isdecimal() and len(seen) < 20 else gr.skip()}


@contextmanager
def logged_event(handler: Any, *, always_log: bool = False) -> Iterator[RunningEvent]:
    """Entered while a handler runs. The log line has the handler's name, seconds, and ``outcome``: ``done``, ``refused``
    (an error message for the visitor; with its kind), ``failed``, ``cut`` (the server shuts down) or ``left`` (the
    visitor left). A short event is logged with ``always_log`` only."""
    name = getattr(handler, "__qualname__", type(handler).__name__).replace("<locals>.", "")
    error: BaseException | None = None
    with SHUTDOWN.track_event() as event:
        started = time.perf_counter()
        try:
            yield event
        except BaseException as caught:
            error = caught
            raise
        finally:
            spent = round(time.perf_counter() - started, 3)
            kind = {"kind": type(error).__name__} if isinstance(error, DemoError) else {}
            if always_log or spent >= MIN_LOGGED_SECONDS:
                process_logging.log_event("event", name=name, seconds=spent, outcome=outcome(error), **kind)


def outcome(error: BaseException | None) -> str:
    if error is None:
        return "done"
    if isinstance(error, GeneratorExit):
        return "left"
    if isinstance(error, ShuttingDown):
        return "cut"
    return "refused" if isinstance(error, DemoError) else "failed"


def handle_errors(banner: ErrorBanner, extra_updates: Callable[[], Updates] = dict) -> Callable[[Any], Any]:
    """Decorator for event handlers that return (or yield) ``{component: value}``. An error becomes a message in
    ``banner``: our own as it is, any other is logged and gets a general one with its number. Every other output keeps its
    value; ``extra_updates`` makes updates that go with an error (for example, a cleared status line). Every event is
    counted and logged (:func:`logged_event`); a generator is stopped when the server shuts down."""
    unchanged: Updates = {banner: gr.skip()}  # Gradio takes an empty dict for one output too few and answers 500

    def failed(error: Exception) -> Updates:
        if not isinstance(error, DemoError):
            number = process_logging.log_error("unexpected error in the page", error)
            error = DemoError(INTERNAL_ERROR, f"{INTERNAL_ERROR_HINT} Its number is {number}.")
        return {**extra_updates(), banner: error_html(error)}

    def decorate(handler: Any) -> Any:
        if inspect.isgeneratorfunction(handler):

            @functools.wraps(handler)
            def generator(*args: Any, **kwargs: Any) -> Iterator[Updates]:
                answered = False
                try:
                    steps = contained_steps(handler(*args, **kwargs))
                    with logged_event(handler, always_log=True) as event, closing(steps):
                        for update in steps:
                            answered = True
                            yield _without_seen_message(banner, update or unchanged)
                            event.next_step()
                except Exception as error:
                    answered = True
                    yield failed(error)
                if not answered:  # Gradio empties every output of a generator that yields nothing
                    yield unchanged

            return generator

        @functools.wraps(handler)
        def plain(*args: Any, **kwargs: Any) -> Updates:
            try:
                with logged_event(handler), contained():
                    return _without_seen_message(banner, handler(*args, **kwargs) or unchanged)
            except Exception as error:
                return failed(error)

        return plain

    return decorate


def progress_html(
    text: str, fraction: float, time_left: TimeLeft | None = None, *, stale: bool = False, answered: bool = False
) -> str:
    """HTML of the status line: what happens now, the fraction done, and the ``time_left`` of the job (None: it is not said).
    ``stale``: the result on the page is of an earlier picture and is dimmed; ``answered``: its pictures and verdicts
    are already the new ones."""
    said = ", ".join(filter(None, [text, "" if time_left is None else time_left.say(fraction)]))
    share = min(max(fraction, 0.0), 1.0)
    kind = f"progress{' stale' if stale else ''}{' answered' if answered else ''}"
    return (
        f'<div class="{kind}" role="status"><progress max="1" value="{share:.3f}" '
        f'aria-label="Progress"></progress><span>{escape(said)}</span></div>'
    )


def done_html(text: str, *, routine: bool = False) -> str:
    """HTML of the status line: what was done last. ``routine``: a phone does not show it."""
    kind = "progress done routine" if routine else "progress done"
    return f'<div class="{kind}" role="status"><span>{escape(text)}</span></div>'
