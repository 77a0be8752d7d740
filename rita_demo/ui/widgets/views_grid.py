"""The views as one JPEG with a grid of buttons over it, and the magnified perturbation.

One sprite of 64 crops takes 2 ms to encode, 64 PNGs take more than a second. The JPEG is only shown: downloaded
attacked pictures are PNG.
"""

from __future__ import annotations

import base64
import html
import io
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from rita_demo.plots.decision.cells import view_order
from rita_demo.plots.decision.views import view_answers
from rita_demo.plots.labels import printable, truncated
from rita_demo.records import ImageResult, Run
from rita_demo.ui.widgets.html_buttons import HtmlWidget
from rita_demo.ui.widgets.plotly_view import event_data, parse_int, with_constants

SCRIPT = Path(__file__).with_name("views_grid.js").read_text(encoding="utf-8")
_SPRITES: dict[tuple[int, int], tuple[weakref.ref, str]] = {}  # (id, columns) -> the array, its sprite
VOTE_TEXT = {"true": "the true class", "fooled": "the attack’s class", "another": "another class"}


def sprite_jpeg(views: np.ndarray, columns: int = 8, quality: int = 85) -> bytes:
    """``views`` (N, s, s, 3) uint8 side by side in rows of ``columns``, as one JPEG. Empty cells are grey."""
    views = np.asarray(views)
    if views.ndim != 4 or views.shape[-1] != 3 or views.dtype != np.uint8 or not len(views):
        raise ValueError(f"views: (N, s, s, 3) uint8 expected, got {views.shape} {views.dtype}")
    count, high, wide = views.shape[:3]
    rows = -(-count // columns)
    sheet = np.full((rows * columns, high, wide, 3), 128, np.uint8)
    sheet[:count] = views
    sheet = sheet.reshape(rows, columns, high, wide, 3).transpose(0, 2, 1, 3, 4)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(sheet).reshape(rows * high, columns * wide, 3)).save(
        file, "JPEG", quality=quality
    )
    return file.getvalue()


def views_sprite(views: np.ndarray, columns: int = 8) -> str:
    """The sprite of :func:`sprite_jpeg` as a ``data:`` address, for CSS and ``img``.

    It is made once per array and kept as long as the array: the views do not change, while their grid is drawn again
    with every selection and what-if.
    """
    key = (id(views), columns)
    kept = _SPRITES.get(key)
    if kept is not None and kept[0]() is views:
        return kept[1]
    code = base64.b64encode(sprite_jpeg(views, columns)).decode("ascii")
    uri = f"data:image/jpeg;base64,{code}"
    _SPRITES[key] = weakref.ref(views, lambda _: _SPRITES.pop(key, None)), uri
    return uri


def magnified_perturbation(clean_pixels: np.ndarray, attacked_pixels: np.ndarray, gain: float = 20) -> np.ndarray:
    """What the attack added, (H, W, 3) uint8: mid-grey 128 is no change, ``gain`` levels per level, signed."""
    change = np.asarray(attacked_pixels, np.float32) - np.asarray(clean_pixels, np.float32)
    return np.clip(np.rint(128 + gain * change), 0, 255).astype(np.uint8)


def sprite_value(views: np.ndarray | None, element_id: str, columns: int = 8) -> str:
    """The pictures of a grid as HTML: a style rule for the element ``element_id``; "" without ``views``.

    They are sent apart from the buttons (:func:`grid_value`): half a megabyte that no selection changes.
    """
    if views is None:
        return ""
    return f"<style>#{element_id} {{ --sheet: url({views_sprite(views, columns)}) }}</style>"


def grid_value(
    run: Run,
    side: str,
    *,
    selected: int | None = None,
    order: str = "index",
    columns: int = 8,
    excluded: frozenset[int] = frozenset(),
) -> str:
    """The buttons of one side's views as HTML: what a :class:`ViewsGrid` shows over :func:`sprite_value`.

    Args:
        run: where names, entropies, pseudo-labels and boxes come from.
        side: ``"clean"`` or ``"attacked"``.
        selected: the view that is pressed.
        order: ``"index"``, or ``"entropy"`` with the lowest first.
        columns: of the sprite (not of the page, which fits as many as it can).
        excluded: views that a what-if leaves out: struck through and labelled, whatever their entropy.
    """
    one: ImageResult = getattr(run, side)
    count = len(one.trace.confidence.entropy)
    says, _ = view_answers(run, side)
    places = view_order(one, order).tolist()
    current = selected if selected in places else places[0]
    cells = "".join(_cell(run, one, n, says[n], n == selected, n == current, columns, n in excluded) for n in places)
    rows = -(-count // columns)
    style = f"--size:{columns * 100}% {rows * 100}%"
    return f'<div class="rita-views" role="group" style="{style}">{cells}</div>'


def _cell(
    run: Run, side: ImageResult, n: int, vote: str, pressed: bool, focus: bool, columns: int, excluded: bool
) -> str:
    """One button. ``n`` selects its part of the sprite; the label repeats what colour and shade say."""
    confidence = side.trace.confidence
    name = run.class_prompts.names[int(confidence.label[n])]
    entropy = float(confidence.entropy[n])
    kept = entropy <= float(confidence.limit)  # a view that is left out may still be confident
    left, top, right, bottom = (float(v) for v in side.encoded_views.views.boxes[n])
    flipped = bool(side.encoded_views.views.flipped[n])
    rows = -(-len(confidence.entropy) // columns)
    at_x = 100 * (n % columns) / max(columns - 1, 1)
    at_y = 100 * (n // columns) / max(rows - 1, 1)
    words = (
        f"View {n}: says {truncated(name, 60)}, {VOTE_TEXT[vote]}; entropy {entropy:.2f} nats, "
        f"{'confident' if kept else 'not confident'}; covers "
        f"{100 * (right - left) * (bottom - top):.0f} % of the picture{', mirrored' if flipped else ''}"
        f"{'; left out of the decision' if excluded else ''}"
    )
    box = (
        f"left:{100 * left:.1f}%;top:{100 * top:.1f}%;"
        f"width:{100 * (right - left):.1f}%;height:{100 * (bottom - top):.1f}%"
    )
    classes = f"rita-view {vote} {'out' if excluded else 'kept' if kept else 'left'}"
    said = html.escape(words)
    return (
        f'<button type="button" class="{classes}" data-index="{n}" aria-label="{said}" title="{said}" '
        f'aria-pressed="{str(pressed).lower()}" tabindex="{0 if focus else -1}">'
        f'<span class="crop" style="background-position:{at_x:.3f}% {at_y:.3f}%">'
        f'<span class="map"><span style="{box}"></span></span></span>'
        f'<span class="says">{html.escape(truncated(printable(name), 24))}</span>'
        f'<span class="number">{"left out" if excluded else f"{entropy:.2f}"}</span></button>'
    )


GRID_CSS = """
width: 100%; padding: 0;
.rita-views { display: grid; grid-template-columns: repeat(auto-fill, minmax(52px, 1fr)); gap: 6px; }
.rita-view { display: block; min-width: 0; padding: 2px; margin: 0; border: 0; border-radius: 4px;
  background: none; color: var(--rita-text, #20242b); text-align: left; cursor: pointer;
  font: inherit; font-size: 11px; line-height: 1.25; }
.rita-view .crop { position: relative; display: block; aspect-ratio: 1; border-radius: 2px;
  background-image: var(--sheet); background-size: var(--size); border-bottom: 3px solid; }
.rita-view.true .crop { border-bottom-color: var(--rita-clean, #0072b2); }
.rita-view.fooled .crop { border-bottom: 3px dashed var(--rita-attack, #d55e00); }
.rita-view.another .crop { border-bottom: 3px dotted var(--rita-other, #b4b9c0); }
.rita-view.left .crop { filter: grayscale(0.85); opacity: 0.5; }
.rita-views:has([aria-pressed="true"]) [aria-pressed="false"] .crop { filter: grayscale(0.7); opacity: 0.7; }
.rita-views:has([aria-pressed="true"]) [aria-pressed="false"].left .crop { opacity: 0.35; }
.rita-view.out .crop::after { content: ""; position: absolute; inset: 0;
  outline: 2px dashed var(--rita-text, #20242b); outline-offset: -2px;
  background: repeating-linear-gradient(45deg, transparent 0 5px, rgba(255, 255, 255, 0.85) 5px 9px); }
.rita-view.out .says { text-decoration: line-through; }
.rita-view .map { position: absolute; right: 2px; top: 2px; width: 16px; height: 16px;
  background: rgba(255, 255, 255, 0.65); outline: 1px solid rgba(0, 0, 0, 0.45); }
.rita-view .map span { position: absolute; background: rgba(20, 24, 30, 0.75); }
.rita-view .says, .rita-view .number { display: block; overflow: hidden; white-space: nowrap;
  text-overflow: ellipsis; }
.rita-view .number { color: var(--rita-quiet, #5f6670); font-variant-numeric: tabular-nums; }
.rita-view:hover { background: var(--rita-grid, #e8eaee); }
.rita-view[aria-pressed="true"] { background: var(--rita-faint, #d9dce1);
  box-shadow: 0 0 0 2px var(--rita-text, #20242b); }
.rita-view:focus-visible { outline: 2px solid var(--rita-clean, #0072b2); outline-offset: 2px; }
.rita-views-empty { color: var(--rita-quiet, #5f6670); padding: 1rem; text-align: center; }
"""


class ViewsGrid(HtmlWidget):
    """The views as buttons; ``click`` reports which one (read it with :func:`clicked_view`).

    The bar under a crop shows its answer (true class: line, the attack's class: dashes, another: dots). Grey ones are
    not confident, striped ones are left out, and the small square shows where the crop was.

    Args:
        value: from :func:`grid_value`, or None.
        aria: accessible name of the group.
        empty: the sentence while there is nothing to show.
        **html_arguments: any other argument of ``gr.HTML``.
    """

    def __init__(
        self, value: str | None = None, *, aria: str = "Views", empty: str = "", **html_arguments: Any
    ) -> None:
        self.aria, self.empty = aria, empty  # read back by Gradio, see PlotlyView
        super().__init__(
            value,
            html_template="${value}",
            css_template=GRID_CSS,
            js_on_load=with_constants(SCRIPT, aria=aria),
            apply_default_css=False,
            **html_arguments,
        )

    def postprocess(self, value: str | None) -> str:
        return value or f'<p class="rita-views-empty">{html.escape(self.empty)}</p>'

    def preprocess(self, payload: Any) -> None:
        return None


def clicked_view(event: Any, count: int) -> int | None:
    """The view that an untrusted event names, in ``range(count)``, else None."""
    return parse_int(event_data(event).get("index"), 0, count)
