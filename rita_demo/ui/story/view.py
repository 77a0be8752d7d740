"""The Story as one component: the browser draws it from a few JSON values."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import RunProgress
from rita_demo.records import Picture, Run
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.measured import measured
from rita_demo.ui.story.notes import notes_by_slide
from rita_demo.ui.story.record import crossing_value, story_checks, story_crops, story_steps, story_value
from rita_demo.ui.widgets.data_uri import lossless_uri
from rita_demo.ui.widgets.html_buttons import JsonWidget
from rita_demo.ui.widgets.plotly_view import with_constants

_FOLDER = Path(__file__).parent
TEMPLATE = (_FOLDER / "story.html").read_text(encoding="utf-8")
STORY_CSS = (_FOLDER / "story.css").read_text(encoding="utf-8")
#: In this order: figures are laid out after a question has shown or hidden them, and the last one starts.
PARTS = ("core", "hero", "predict", "attack", "push", "field", "plan", "checks", "share", "lecture", "measured")


class StoryView(JsonWidget):
    """Values, each a dict or None: ``value``: :func:`story_value`; ``steps``: :func:`story_steps`; ``crops``:
    :func:`story_crops`; ``checks``: :func:`story_checks`; ``partial``: the picture of a run that is being computed,
    ``crossing``: its crops (:func:`crossing_value`).

    ``release`` reports {"step": a stored step}, ``click`` {"view": a crop, "atom": -1}, ``select`` {"name": the
    true class}; ``submit`` asks for the attacker who knows RITA, ``undo`` for the attack before it."""

    selects = ("click", "release")
    template, css = TEMPLATE, STORY_CSS

    def __init__(self, value: dict[str, Any] | str | None = None, **html: Any) -> None:
        self.script = story_script()
        super().__init__(
            value, **{"steps": "", "crops": "", "checks": "", "partial": "", "crossing": "", "elem_id": "story"} | html
        )


@cache
def story_script() -> str:
    """The script of the Story, with what was measured on many pictures."""
    return with_constants(
        "\n".join((_FOLDER / f"{part}.js").read_text("utf-8") for part in PARTS), **measured(), notes=notes_by_slide()
    )


def build_story(panels: PanelRegistry) -> StoryView:
    """The view, drawn again with the run, its steps, its crops and its checks."""
    view = StoryView()

    def part(name: str, draw: Callable[[Session], dict[str, Any] | None], *topics: str) -> None:
        def update(session: Session) -> dict[str, Any]:
            values: dict[str, Any] = {name: dump(draw(session))}
            return gr.update(**values)

        panels.add(view, update, *topics)

    part("value", story_value, "story")
    part("steps", story_steps, "attack_steps")
    part("crops", story_crops)
    part("checks", story_checks, "checks")
    for name in ("partial", "crossing"):
        part(name, lambda session: None, "story")
    return view


def loading(picture: Picture) -> dict[str, Any]:
    """The update that shows a picture before it is run."""
    return gr.update(partial=dump({"clean": lossless_uri(picture.pixels)}))


def crossing(engine: Engine, run: Run, picture: Picture, at: RunProgress) -> dict[str, Any]:
    """The update that moves the crops of the run on screen while its ``picture`` is attacked anew; none for another picture,
    other class names or another model."""
    same = at.class_prompts is not None and at.class_prompts.key == run.class_prompts.key
    if at.square is None or not same or picture.key != run.clean.picture.key:
        return gr.skip()
    return gr.update(crossing=dump(crossing_value(engine, run, at.square)))


def dump(value: Any) -> str:
    """JSON; "" for nothing (Gradio does not tell the browser that a property became None)."""
    return "" if value is None else json.dumps(value, ensure_ascii=False)
