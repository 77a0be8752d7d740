"""One run as one HTML file with the same pictures, texts and figures; it needs no server and no network.

Pictures, figures, plotly.js and the answers as JSON are inside.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from rita_demo import plots
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.pipeline.export import to_json
from rita_demo.plots import css_variables
from rita_demo.plots.figure import PLOTLY_JS, Figure
from rita_demo.plots.labels import sides_of
from rita_demo.process.templates import html
from rita_demo.records import AttackStepResult, Run, StoryChecks
from rita_demo.ui.panels import figure_caption, verdict_table
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.checks import story_checks
from rita_demo.ui.story.record import story_crops, story_steps, story_value
from rita_demo.ui.story.view import STORY_CSS, TEMPLATE, dump, story_script
from rita_demo.ui.theme import FACE, STYLE, TOUCH, font_face
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import data_uri
from rita_demo.ui.widgets.plotly_view import FIGURE, FIGURE_HEAD, figure_script
from rita_demo.ui.widgets.views_grid import GRID_CSS, grid_value, sprite_value

CSS = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def standalone(
    run: Run,
    crops: Mapping[str, np.ndarray],
    steps: tuple[AttackStepResult, ...] = (),
    checks: StoryChecks | None = None,
) -> str:
    """The page of a run as HTML. ``crops``: side -> its views for the screen, (N, s, s, 3) uint8; ``steps``: the stored
    steps of its attack; ``checks``: what the Story asked of its pictures."""
    session = Session()
    session.show(run)
    session.attack_steps, session.checks = steps, checks
    session.crops = dict(crops)
    values = {"value": story_value, "steps": story_steps, "crops": story_crops, "checks": story_checks}
    shown = {name: dump(value(session)) for name, value in values.items()}
    css = (
        f"{font_face(data_uri(FACE, 'font/woff2'))}{css_variables()}{STYLE.read_text(encoding='utf-8')}{STORY_CSS}{CSS}"
    )
    side = sides_of(run)[-1]
    page = html(
        "page",
        run=run,
        session=session,
        side=side,
        last=last_step(run),
        head=Markup(f"<style>{css}.grid {{{GRID_CSS}}}</style>{FIGURE_HEAD}"),
        scripts=[Markup(file.read_text(encoding="utf-8")) for file in (PLOTLY_JS, TOUCH)],
        story=_widget("story", "", TEMPLATE, shown, story_script()),
        grid=Markup(sprite_value(crops[side], "grid") + grid_value(run, side)),
        figure=_figure,
        plots=plots,
        panels=verdict_table,
        wording=wording,
        caption=figure_caption.caption(session),
        answers=json.dumps(to_json(run), indent=1, ensure_ascii=False),
    )
    return str(page)  # no Markup: a notebook escapes the page once more


def _figure(name: str, aria: str, height: int, figure: Figure, narrow: int) -> Markup:
    script = figure_script(aria=aria, height=height, narrow_height=narrow, empty="")
    return _widget(name, "rita-view", FIGURE.format(height, narrow), {"value": figure.to_json()}, script)


def _widget(name: str, css: str, template: str, props: dict[str, Any], script: str) -> Markup:
    """An element drawn by its own script, which gets the element and its properties as from Gradio."""
    value = json.dumps(props, ensure_ascii=False).replace("<", "\\u003c")
    return Markup(
        f"<div id='{name}' class='{css}'>{template}<script>((element, props, trigger, watch) => {{{script}}})("
        f"document.getElementById('{name}'), {value}, () => 0, () => 0);</script></div>"
    )
