"""The button *Save this run*: everything about the run on screen as one zip, also of an upload.

The browser sends the figures as SVG with the click. They are untrusted input, and only the same visitor gets them back.
"""

import re
from itertools import count
from pathlib import Path

import gradio as gr

from rita_demo.data import memory_file
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.export import arena_csv, arena_json, write_bundle
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.header.standalone_page import standalone
from rita_demo.ui.session.session import SIDES, Session
from rita_demo.ui.widgets.html_buttons import HtmlWidget, download_value, event_data

ZIP_NAME = "rita-run.zip"
HELP_TEXT = """Saves a zip: settings, answers (JSON, CSV), pictures (PNG), figures of the open room (SVG), arrays
(safetensors), and the run as one page. python -m rita_demo open shows it again."""
BUTTON = f"<button type='button' class='quiet-button' title='{HELP_TEXT}' aria-description='{HELP_TEXT}'>Save this run</button>"
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
MAX_FIGURES = 24
MAX_FIGURE_LENGTH = 4 << 20  # characters of one SVG
MAX_TOTAL_LENGTH = 16 << 20  # of all
FIGURE_NAME = re.compile(r"[a-z0-9-]{1,80}")


class SaveButton(HtmlWidget):
    """The button; ``click`` sends the figures (read them with :func:`posted_figures`), the value is the file."""

    template, script = f"{BUTTON}<span role='status'></span>", SCRIPT


def posted_figures(event: gr.EventData) -> dict[str, str]:
    """Name -> SVG of an untrusted event; what is no SVG is left out. Raises DemoError: they are too large together."""
    sent = event_data(event).get("figures")
    found = {}
    for name, svg in list(sent.items())[:MAX_FIGURES] if isinstance(sent, dict) else ():
        named = isinstance(name, str) and FIGURE_NAME.fullmatch(name)
        if named and isinstance(svg, str) and svg.startswith("<svg") and len(svg) <= MAX_FIGURE_LENGTH:
            found[name] = svg
    if sum(map(len, found.values())) > MAX_TOTAL_LENGTH:
        raise DemoError(
            f"The figures of this tab are larger than what can be saved ({MAX_TOTAL_LENGTH >> 20} MB together).",
            "Open another room and save again: only the figures of the open room are saved.",
        )
    return {name: svg.encode(errors="replace").decode() for name, svg in found.items()}


def run_zip(session: Session, engine: Engine, figures: dict[str, str]) -> bytes:
    """The visitor's run as a zip. Raises DemoError: there is none yet, or it cannot be saved."""
    with session.lock:
        run, crops, steps, arena = session.run, dict(session.crops), session.attack_steps, session.arena
    if run is None:
        raise DemoError("There is no run to save yet.", "Choose a picture and run it first.")
    for side in SIDES:
        if side not in crops:
            crops[side] = engine.view_pixels(getattr(run, side).picture, run.settings)
    tables = {}
    if arena is not None and arena.fits(run):
        tables = {"arena.csv": arena_csv(arena), "arena.json": arena_json(arena)}
    return write_bundle(
        run, standalone(run, crops, steps, session.checks), cache_before_run(session, run), figures, tables
    )


def cache_before_run(session: Session, run: Run) -> bytes | None:
    """The cache that the run was decided from, as a file; None if it was empty from the start."""
    before = run.cache_before
    if not before.pictures:
        return None
    memory = session.history.with_state("Saved", before, run.class_prompts.names)  # what is known of its views is kept
    data = memory_file.pack(memory, run.backbone.name, run.settings, alone=True)
    if len(data) > memory_file.MAX_FILE_BYTES:
        raise DemoError(
            f"The memory of this run is larger than what could be opened again ({memory_file.MAX_FILE_BYTES >> 20} MB).",
            "Empty the memory, run the picture again, and save that.",
        )
    return data


def bind_save(button: SaveButton, context: AppContext) -> None:
    """Connect the button."""
    made = count(1)

    def on_save(visitor: str, event: gr.EventData) -> Updates:
        session, drawn = context.sessions.get(visitor), posted_figures(event)
        with context.downloads:
            data = run_zip(session, context.engine_of(session), drawn)
            said = f"Saved {ZIP_NAME}: {len(data) / 1e6:.1f} MB, with {len(drawn)} figures of the open room. Open page.html in it."
            return {button: download_value(ZIP_NAME, data, next(made)), context.status: notice.done_html(said)}

    outputs = [button, context.error_banner, context.status]
    button.click(notice.handle_errors(context.error_banner)(on_save), [context.visitor], outputs, **IMMEDIATE_EVENT)
