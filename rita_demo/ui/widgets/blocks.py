"""Pieces that every tab is built from: headings, columns side by side, tables.

Texts are HTML already: callers escape what users or files wrote.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import gradio as gr
from markupsafe import Markup

from rita_demo.process.templates import html

#: Gradio's menu with all its choices: it would list a hundred, and open at the top where the chosen one comes later. (It
#: takes None, which stands for all, for a hundred.)
build_menu = partial(gr.Dropdown, num_choices_shown=10_000)


@contextmanager
def build_fold(title: str, lead: str = "", **accordion: Any) -> Iterator[gr.Accordion]:
    """A closed fold with what to look at; its content is built inside ``with``."""
    with gr.Accordion(title, open=False, elem_classes="fold", **accordion) as fold:
        if lead:
            gr.HTML(f"<p class='lead'>{lead}</p>")
        yield fold


def place_link(text: str, at: str, room: str = "") -> str:
    """A button that leads to the element ``at`` (CSS selector) of the same room, of the Story, or of the ``room`` of that name
    (``page.js``)."""
    return f"<button type='button' class='place' data-to='{at}' data-room='{room}'>{text}</button>"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], css: str = "", scrolls: str = "", kinds: Sequence[str] = ()
) -> Markup:
    """``rows`` below column headings, "" is an unnamed column; cells are texts or ``Markup``. ``scrolls`` names a table that
    may be wider than the page: it gets a region of its own to scroll in. ``kinds``: css classes of the rows."""
    return html(
        "table", columns=columns, rows=[(row[0], row[1:]) for row in rows], css=css, scrolls=scrolls, kinds=kinds
    )
