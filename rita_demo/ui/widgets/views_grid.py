"""The views as one JPEG (a sprite), a grid of them for a saved page, and the magnified perturbation.

One sprite of 64 crops takes 2 ms to encode, 64 PNGs take more than a second. It is only shown: downloads are PNG.
"""

import html
from pathlib import Path

import numpy as np

from rita_demo.plots.decision.views import view_answers
from rita_demo.plots.labels import truncated
from rita_demo.records import ImageResult, Run
from rita_demo.ui.widgets.data_uri import jpeg_uri

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


def grid_value(run: Run, side: str) -> str:
    """The views of one side as HTML over :func:`sprite_value`, each with what it says."""
    one: ImageResult = getattr(run, side)
    says, _ = view_answers(run, side)
    cells = "".join(_cell(run, one, n, vote) for n, vote in enumerate(says))
    style = f"--size:{COLUMNS * 100}% {-(-len(says) // COLUMNS) * 100}%"
    return f'<div class="rita-views" role="group" style="{style}">{cells}</div>'


def _cell(run: Run, side: ImageResult, n: int, vote: str) -> str:
    """One view. ``n`` selects its part of the sprite; the label repeats what colour and shade say."""
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
        f"{', mirrored' * bool(side.encoded_views.views.flipped[n])}"
    )
    box = f"left:{left:.1f}%;top:{top:.1f}%;width:{right - left:.1f}%;height:{bottom - top:.1f}%"
    return (
        f'<span role="img" class="rita-view {vote} {"kept" if kept else "left"}" aria-label="{said}" title="{said}">'
        f'<span class="crop" style="background-position:{at_x:.3f}% {at_y:.3f}%">'
        f'<span class="map"><span style="{box}"></span></span></span></span>'
    )
