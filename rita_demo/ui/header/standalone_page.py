"""One run as one HTML file with the same pictures, texts and figures; it needs no server and no network.

Pictures, figures, plotly.js and the answers as JSON are inside.
"""

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo import plots
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.pipeline.export import to_json
from rita_demo.plots import css_variables
from rita_demo.plots.figure import PLOTLY_JS, Figure
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
_DARK = "if (matchMedia('(prefers-color-scheme: dark)').matches) document.body.classList.add('dark');"


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
    title = escape(f"RITA: {wording.verdict_sentence(run)[0]}")
    answers = escape(json.dumps(to_json(run), indent=1, ensure_ascii=False))
    session.crops = dict(crops)
    values = {"value": story_value, "steps": story_steps, "crops": story_crops, "checks": story_checks}
    story = {name: dump(value(session)) for name, value in values.items()}
    parts = [
        f"<h1>RITA</h1>{_widget('story', '', TEMPLATE, story, story_script())}",
        f"<h2>Who is right?</h2><div id='verdicts'>{verdict_table.table(run)}</div>{verdict_table.explanation(run)}",
        *_figures(session, run, crops),
        f"{verdict_table.heading_html(wording.heading_cache(run), 3)}{verdict_table.cache_effect(run)}"
        f"{verdict_table.cache_contents(session)}",
        f"<section id='threat'>{verdict_table.threat(run, is_open=True)}</section>",
        verdict_table.times(run),
        f"<div id='figure-caption'><p>{escape(figure_caption.caption(session))}</p></div>",
        f"<details><summary>All settings and answers, as JSON</summary><pre>{answers}</pre></details>",
    ]
    library = PLOTLY_JS.read_text(encoding="utf-8")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{title}</title><style>{font_face(data_uri(FACE, 'font/woff2'))}{css_variables()}{STYLE.read_text(encoding='utf-8')}{STORY_CSS}{CSS}"
        f".grid {{{GRID_CSS}}}</style>{FIGURE_HEAD}</head><body><script>{_DARK}</script><script>{library}</script>"
        f"<script type='module'>{TOUCH.read_text(encoding='utf-8')}</script>"
        f"<div class='gradio-container'><main>{''.join(parts)}</main></div></body></html>"
    )


def _figures(session: Session, run: Run, crops: Mapping[str, np.ndarray]) -> list[str]:
    k, side = run.attacked.verdicts["rita"].label, "clean"
    steps = []
    if run.attack is not None:
        side, drawn = "attacked", plots.attack_steps(run, session.attack_steps, last_step(run))
        steps = ["<h2>Along the attack</h2>", _figure("steps", "Loss and verdict, by attack step", 290, drawn, 360)]
    grid = sprite_value(crops[side], "grid") + grid_value(run, side)
    return [
        *steps,
        f"{verdict_table.heading_html(wording.heading_views(run), 1)}<div class='grid' id='grid'>{grid}</div>",
        _figure("entropies", "Entropy of every view", 240, plots.view_entropies(run, side), 240),
        verdict_table.heading_html(wording.heading_costs(run), 2),
        _figure("costs", "Cost of every class", 400, plots.class_costs(run, k, along=session.attacked_by_step), 640),
        _figure("plan", "Transport plan of RITA's answer", 360, plots.plan_heatmap(run, side, k), 420),
    ]


def _figure(name: str, aria: str, height: int, figure: Figure, narrow: int) -> str:
    script = figure_script(aria=aria, height=height, narrow_height=narrow, empty="")
    return _widget(name, "rita-view", FIGURE.format(height, narrow), {"value": figure.to_json()}, script)


def _widget(name: str, css: str, template: str, props: dict[str, Any], script: str) -> str:
    """An element drawn by its own script, which gets the element and its properties as from Gradio."""
    value = json.dumps(props, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f"<div id='{name}' class='{css}'>{template}<script>((element, props, trigger, watch) => {{{script}}})("
        f"document.getElementById('{name}'), {value}, () => 0, () => 0);</script></div>"
    )
