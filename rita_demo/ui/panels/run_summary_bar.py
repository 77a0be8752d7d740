"""The displayed run in a strip: the picture before, the picture after, and what every method answers, before → after."""

from functools import partial

from rita_demo.pipeline.outcome import outcome
from rita_demo.process.templates import html
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri

PIXELS = 128  # edge of a small picture as sent; shown at 64
IN_SIGHT = 3  # methods; one scrolls to the others


def clean_picture(session: Session) -> str:
    """HTML: the picture before the attack; "" before there is a run."""
    run = session.run
    if run is None:
        return ""
    return (
        f"<img src='{jpeg_uri(run.clean.picture.pixels, side=PIXELS)}' alt='The clean picture' width='64' height='64'>"
    )


def summary_bar(session: Session) -> str:
    """HTML: the attacked picture at the step shown, and the answer of every method on the clean picture and on it."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>There is no run yet: run a picture in the Story.</p>"
    outcomes = outcome(run)
    return html(
        "summary_bar",
        run=run,
        outcomes=outcomes,
        wording=wording,
        what_if=session.inside.what_if.run,
        scrolls=len(outcomes) + len(run.faults) > IN_SIGHT,
        thumbnail=partial(jpeg_uri, side=PIXELS),
    )
