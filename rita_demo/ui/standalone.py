"""One story as one file: a page that needs no server, with the same pictures, words and figures.

Everything is inside (pictures, figures, plotly.js, the answers as JSON), so that it can be mailed, kept
or handed to a class, and opens without a network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape

import numpy as np

from rita_demo import plots
from rita_demo.exports import to_json
from rita_demo.film import last_step
from rita_demo.plots import css_variables
from rita_demo.plots.figure import Figure
from rita_demo.records import Story
from rita_demo.ui import caption, verdicts, words
from rita_demo.ui.pictures import pictures_value
from rita_demo.ui.plotly_view import LIBRARY, figure_html, figure_script
from rita_demo.ui.sessions import Session
from rita_demo.ui.sprite import GRID_CSS, grid_value, sheet_value
from rita_demo.ui.theme import STYLE

_LOOK = """
body { margin: 0; background: var(--rita-surface); color: var(--rita-text); line-height: 1.45;
  font-family: system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif; }
.gradio-container main { max-width: 1160px; margin: 0 auto; padding: 16px; }
.gradio-container main h2 { margin: 2.2rem 0 0.6rem; font-size: 1.25rem; }
#verdicts { overflow-x: auto; } #verdicts th { text-align: left; font-weight: 500; }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 16px; }
.three figure { margin: 0; } .three img { width: 100%; border-radius: 3px; }
.three b { font-size: 1.2rem; } .three small { display: block; color: var(--rita-quiet); }
pre { overflow: auto; max-height: 24rem; font-size: 0.8rem; } button.rita-view { cursor: default; }
"""
_DARK = (
    "if (matchMedia('(prefers-color-scheme: dark)').matches) document.body.classList.add('dark');"
)


def standalone(story: Story, crops: Mapping[str, np.ndarray]) -> str:
    """The page as HTML.

    Args:
        story: the record it is drawn from.
        crops: side -> its views for the screen, (N, s, s, 3) uint8.
    """
    session = Session()
    session.show(story)
    title = escape(f"RITA: {words.summary(story)[0]}")
    parts = [
        f"<h1>RITA <small>see an attack, see the defence</small></h1>{_pictures(session)}",
        f"<h2>Who is right?</h2>{verdicts.banner(session)}<div id='verdicts'>{verdicts.table(session)}</div>",
        *_figures(story, crops),
        f"{verdicts.heading(words.heading_memory(story), 5)}{verdicts.memory(session)}",
        f"<section id='threat'>{verdicts.threat(session)}</section>{verdicts.unknown_words(session)}",
        verdicts.times(session),
        f"<div id='figure-caption'><p>{escape(caption.caption(session))}</p></div>",
        f"<details><summary>All settings and answers, as JSON</summary>{_json(story)}</details>",
    ]
    library = LIBRARY.read_text(encoding="utf-8")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{title}</title><style>{css_variables()}{STYLE.read_text(encoding='utf-8')}{_LOOK}"
        f".grid {{{GRID_CSS}}}</style></head><body><script>{_DARK}</script><script>{library}</script>"
        f"<div class='gradio-container'><main>{''.join(parts)}</main></div></body></html>"
    )


def _pictures(session: Session) -> str:
    shown, found = pictures_value(session) or {}, ""
    for part in shown.values():
        image = (
            f"<img src='{part['src']}' alt='{escape(part['alt'])}'>"
            if part.get("src")
            else f"<p class='empty'>{escape(part['hole'])}</p>"
        )
        said = f"{escape(part.get('lead', ''))} <b>{escape(part.get('answer', ''))}</b>{escape(part.get('tail', ''))}"
        found += f"<figure>{image}<figcaption>{said}<small>{escape(part.get('share', ''))}</small></figcaption></figure>"
    return f"<div class='three'>{found}</div>"


def _figures(story: Story, crops: Mapping[str, np.ndarray]) -> list[str]:
    k = story.attacked.verdicts["rita"].label
    side = "attacked" if story.attack is not None else "clean"
    grid = sheet_value(crops[side], "grid") + grid_value(story, side)
    found = [
        f"{verdicts.heading(words.heading_views(story), 3)}<div class='grid' id='grid'>{grid}</div>",
        _figure("entropies", "Entropy of every view", 240, plots.view_entropies(story, side)),
        verdicts.heading(words.heading_costs(story), 4),
        _figure("costs", "Cost of every class", 400, plots.class_costs(story, k), 640),
        _figure("plan", "Transport plan of RITA's answer", 360, plots.plan_heatmap(story, side, k), 420),
    ]  # fmt: skip
    if story.attack is not None:
        steps = plots.attack_steps(story, (), last_step(story))
        found = ["<h2>Along the attack</h2>", _figure("steps", "Loss and verdict, by attack step", 290, steps, 360),
                 *found]  # fmt: skip
    return found


def _figure(name: str, aria: str, height: int, figure: Figure, narrow: int | None = None) -> str:
    """A figure drawn by the page's own script, which finds its element and value as Gradio would give them."""
    value = json.dumps({"value": figure.to_json()}).replace("<", "\\u003c")
    script = figure_script(aria, height, narrow or height, "")
    return (
        f"<div id='{name}' class='rita-view'>{figure_html(height, narrow or height)}"
        f"<script>((element, props, trigger, watch) => {{{script}}})("
        f"document.getElementById('{name}'), {value}, () => 0, () => 0);</script></div>"
    )


def _json(story: Story) -> str:
    return f"<pre>{escape(json.dumps(to_json(story), indent=1, ensure_ascii=False))}</pre>"
