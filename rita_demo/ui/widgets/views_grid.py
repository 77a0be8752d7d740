"""The views as one JPEG with a grid of buttons over it, and the magnified perturbation.

One sprite of 64 crops takes 2 ms to encode, 64 PNGs take more than a second. It is only shown: downloads are PNG.
"""

import html
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.plots.decision.views import view_answers
from rita_demo.plots.labels import truncated
from rita_demo.records import ImageResult, Run
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.html_buttons import HtmlWidget
from rita_demo.ui.widgets.plotly_view import with_constants

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
GRID_CSS = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
COLUMNS = 8  # of the sprite (not of the page, which fits as many as it can)
VOTE_TEXT = {"true": "the true class", "fooled": "the wrong class", "another": "another class"}


def tiled(views: np.ndarray, columns: int) -> np.ndarray:
    """``views`` (N, s, s, 3) uint8 side by side in rows of ``columns``, as one picture. Empty cells are grey."""
    count, high, wide = views.shape[:3]
    rows = -(-count // columns)
    sheet = np.full((rows * columns, high, wide, 3), 128, np.uint8)
    sheet[:count] = views
    sheet = sheet.reshape(rows, columns, high, wide, 3).transpose(0, 2, 1, 3, 4)
    return sheet.reshape(rows * high, columns * wide, 3)


def magnified_perturbation(clean_pixels: np.ndarray, attacked_pixels: np.ndarray, gain: float = 20) -> np.ndarray:
    """What the attack added, (H, W, 3) uint8: mid-grey 128 is no change, ``gain`` levels per level, signed."""
    change = np.asarray(attacked_pixels, np.float32) - np.asarray(clean_pixels, np.float32)
    return np.clip(np.rint(128 + gain * change), 0, 255).astype(np.uint8)


def sprite_value(views: np.ndarray | None, element_id: str) -> str:
    """``views`` (N, s, s, 3) uint8 as one JPEG in rows of ``COLUMNS``: a style rule for the grid ``element_id``; ""
    without ``views``. They are sent apart from the buttons (:func:`grid_value`): half a megabyte that no selection
    changes. (As a variable the browser would read its address again for each crop at every change of a button.)"""
    return (
        ""
        if views is None
        else f"<style>#{element_id} .crop {{ background-image: url({jpeg_uri(tiled(views, COLUMNS))}) }}</style>"
    )


def grid_value(run: Run, side: str, *, selected: int | None = None, excluded: frozenset[int] = frozenset()) -> str:
    """The buttons of one side's views as HTML: what a :class:`ViewsGrid` shows over :func:`sprite_value`. The
    ``selected`` view is pressed; views that a what-if leaves out (``excluded``) are struck through and labelled."""
    one: ImageResult = getattr(run, side)
    says, _ = view_answers(run, side)
    focus = selected if selected in range(len(says)) else 0
    cells = ""
    for n, vote in enumerate(says):
        state = f'aria-pressed="{str(n == selected).lower()}" tabindex="{0 if n == focus else -1}"'
        cells += _cell(run, one, n, vote, state, n in excluded)
    rows = -(-len(says) // COLUMNS)
    style = f"--size:{COLUMNS * 100}% {rows * 100}%"
    return f'<div class="rita-views" role="group" style="{style}">{cells}</div>'


def _cell(run: Run, side: ImageResult, n: int, vote: str, state: str, excluded: bool) -> str:
    """One button. ``n`` selects its part of the sprite; the label repeats what colour and shade say."""
    confidence = side.trace.confidence
    entropy = float(confidence.entropy[n])
    kept = entropy <= float(confidence.limit)  # a view that is left out may still be confident
    left, top, right, bottom = (100 * float(v) for v in side.encoded_views.views.boxes[n])
    rows = -(-len(confidence.entropy) // COLUMNS)
    at_x, at_y = 100 * (n % COLUMNS) / (COLUMNS - 1), 100 * (n // COLUMNS) / max(rows - 1, 1)
    said = html.escape(
        f"View {n}: says {truncated(run.class_prompts.names[int(confidence.label[n])], 60)}, {VOTE_TEXT[vote]}; entropy "
        f"{entropy:.2f} nats, {'confident' if kept else 'not confident'}; covers "
        f"{(right - left) * (bottom - top) / 100:.0f} % of the picture"
        f"{', mirrored' * bool(side.encoded_views.views.flipped[n])}{'; left out of the decision' * excluded}"
    )
    box = f"left:{left:.1f}%;top:{top:.1f}%;width:{right - left:.1f}%;height:{bottom - top:.1f}%"
    return (
        f'<button type="button" class="rita-view {vote} {"out" if excluded else "kept" if kept else "left"}" '
        f'data-view="{n}" aria-label="{said}" title="{said}" {state}>'
        f'<span class="crop" style="background-position:{at_x:.3f}% {at_y:.3f}%">'
        f'<span class="map"><span style="{box}"></span></span></span></button>'
    )


class ViewsGrid(HtmlWidget):
    """The views as buttons; ``click`` reports {"view": number}. The bar under a crop shows
    its answer (true class: line, the attack's class: dashes, another: dots). Grey ones are not confident, striped ones
    are left out, and the small square shows where the crop was. ``aria``: the accessible name of the group; ``html``:
    any other argument of ``gr.HTML``."""

    selects = ("click",)

    def __init__(self, value: str | None = None, *, aria: str = "Views", **html: Any) -> None:
        self.aria = aria  # read back by Gradio, see HtmlWidget
        super().__init__(value, css_template=GRID_CSS, js_on_load=with_constants(SCRIPT, aria=aria), **html)

    def postprocess(self, value: str | None) -> str:
        return value or '<p class="rita-views-empty"></p>'
