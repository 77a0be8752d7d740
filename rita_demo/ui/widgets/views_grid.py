"""The views as one JPEG (a sprite), a grid of them for a saved page, and the magnified perturbation.

One sprite of 64 crops takes 2 ms to encode, 64 PNGs take more than a second. It is only shown: downloads are PNG.
"""

import numpy as np

from rita_demo.ui.widgets.data_uri import jpeg_uri

COLUMNS = 8  # of the sprite (not of the page, which fits as many as it can)


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
