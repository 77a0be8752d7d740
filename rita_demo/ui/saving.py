"""The button *Save this run*: everything about the picture on screen as one zip, uploads as well.

The browser draws its figures as SVG and sends them along with the press; what it sends was perhaps
written by a stranger, and comes back to nobody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo import bundle
from rita_demo.errors import DemoError
from rita_demo.records import Story
from rita_demo.ui import archive, notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.history import shelf_of
from rita_demo.ui.sessions import Session
from rita_demo.ui.shelf import as_file
from rita_demo.ui.standalone import standalone

NAME = "rita-run.zip"
WHAT = (
    "Saves a zip: settings, answers (JSON, CSV), pictures (PNG), figures of the open tab (SVG), arrays and "
    "memory (safetensors), and the run as one page. python -m rita_demo open shows it again."
)
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
MOST_FIGURES = 24
LARGEST_FIGURE = 4 << 20  # letters of one SVG
LARGEST_FIGURES = 16 << 20  # of all
FIGURE_NAME = re.compile(r"[a-z0-9-]{1,80}")


class Save(gr.HTML):
    """The button; ``click`` brings the figures (read them with :func:`figures`), the value is the file."""

    holds_file = True  # see handing.py

    def __init__(self, **html: Any) -> None:
        template = (
            f"<button type='button' class='quiet-button' title='{WHAT}' aria-description='{WHAT}'>Save this run</button>"
            "<span role='status'></span>"
        )
        super().__init__(
            "", html_template=template, js_on_load=SCRIPT, apply_default_css=False, **html
        )

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


def figures(event: Any) -> dict[str, str]:
    """Name -> SVG, of what the browser sent; what cannot be one is left out.

    Raises:
        DemoError: they are too large together.
    """
    raw = getattr(event, "_data", None)
    sent = raw.get("figures") if isinstance(raw, dict) else None
    if not isinstance(sent, dict):
        return {}
    found = {
        name: svg
        for name, svg in list(sent.items())[:MOST_FIGURES]
        if isinstance(name, str) and FIGURE_NAME.fullmatch(name)
        and isinstance(svg, str) and svg.startswith("<svg") and len(svg) <= LARGEST_FIGURE
    }  # fmt: skip
    if sum(map(len, found.values())) > LARGEST_FIGURES:
        raise DemoError(
            f"The figures of this tab are larger than what can be saved ({LARGEST_FIGURES >> 20} MB together).",
            "Open another tab and save again: only the figures of the open tab go along.",
        )
    return {name: svg.encode(errors="replace").decode() for name, svg in found.items()}


def zipped(session: Session, engine: Any, drawn: dict[str, str]) -> bytes:
    """The visitor's run as a zip.

    Raises:
        DemoError: there is none yet, or it cannot be saved.
    """
    with session.lock:
        story, crops = session.story, dict(session.crops)
    if story is None:
        raise DemoError("There is no run to save yet.", "Choose a picture and run it first.")
    for side in ("clean", "attacked"):
        if side not in crops:
            crops[side] = engine.view_pixels(getattr(story, side).picture, story.settings)
    return bundle.pack(story, standalone(story, crops), memory_file(session, story), drawn)


def memory_file(session: Session, story: Story) -> bytes | None:
    """The memory that the story was decided from; None where it had seen no picture."""
    before = story.cache_before
    if not before.pictures:
        return None
    known = session.history.without(story.clean.picture.key)  # for the thumbnails
    shelf = shelf_of(before, story.bank.names, known, None)
    about = archive.described(shelf, story.backbone.name, story.settings, ())
    data = archive.pack(shelf, about)
    if len(data) > archive.LARGEST:
        raise DemoError(
            f"The memory of this run is larger than what could be opened again ({archive.LARGEST >> 20} MB).",
            "Empty the memory, run the picture again, and save that.",
        )
    return data


def wire_save(save: Save, desk: Desk, guard: Callable[[Any], Any]) -> None:
    """Connect the button."""
    made = [0]

    def saved(visitor: Any, event: gr.EventData) -> Updates:
        session, drawn = desk.sessions.get(visitor), figures(event)
        with desk.handing.making():
            data = zipped(session, desk.engine_of(session), drawn)
            made[0] += 1
            said = f"Saved {NAME}, {len(data) / 1e6:.1f} MB, {len(drawn)} figures of the open tab among it."
            return {save: as_file(NAME, data, made[0]), desk.status: notice.done(said)}

    save.click(guard(saved), [desk.visitor], [save, desk.notice, desk.status], **AT_ONCE)
