"""How visible a change of a picture is: SSIM (Wang et al. 2004) and CIEDE2000 (Sharma et al. 2005), by scikit-image."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class VisibleChange:
    """``ssim``: mean structural similarity over the channels, 1 for the same picture. ``ciede2000``: mean colour difference
    of the pixels, ``ciede2000_max`` the largest; about 1 is just noticeable side by side."""

    ssim: float
    ciede2000: float
    ciede2000_max: float


def visible_change(before: np.ndarray, after: np.ndarray) -> VisibleChange:
    """The change between two pictures (H, W, 3) uint8, sRGB, of at least 7 pixels a side."""
    from skimage.color import deltaE_ciede2000, rgb2lab  # late: a second to import
    from skimage.metrics import structural_similarity

    ssim = structural_similarity(before, after, channel_axis=2, data_range=255)
    difference = deltaE_ciede2000(rgb2lab(before), rgb2lab(after))
    return VisibleChange(float(ssim), float(difference.mean()), float(difference.max()))
