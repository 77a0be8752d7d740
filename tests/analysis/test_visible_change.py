"""SSIM and CIEDE2000 against their closed forms on uniform greys, and on pictures that are equal."""

import math

import numpy as np
import pytest

from rita_demo.analysis.visible_change import visible_change


def lightness(grey: int) -> float:
    """CIE L* of an sRGB grey."""
    v = grey / 255
    linear = v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
    return 116 * linear ** (1 / 3) - 16 if linear > (6 / 29) ** 3 else 116 * (841 / 108 * linear + 4 / 29) - 16


def ciede2000(one: int, other: int) -> float:
    """Of two greys: only the lightness differs."""
    a, b = lightness(one), lightness(other)
    middle = (a + b) / 2 - 50
    return abs(a - b) / (1 + 0.015 * middle**2 / math.sqrt(20 + middle**2))


@pytest.mark.parametrize(("one", "other"), [(0, 255), (100, 104), (20, 12), (250, 251), (77, 77)])
def test_uniform_greys_have_their_closed_forms(one: int, other: int) -> None:
    before, after = (np.full((16, 16, 3), grey, np.uint8) for grey in (one, other))
    found, c = visible_change(before, after), (0.01 * 255) ** 2
    assert found.ssim == pytest.approx((2 * one * other + c) / (one**2 + other**2 + c), abs=1e-6)
    assert found.ciede2000 == pytest.approx(ciede2000(one, other), abs=0.02)  # the white point's a* is not exactly 0
    assert found.ciede2000_max == pytest.approx(found.ciede2000)


def test_a_change_is_the_more_visible_the_larger_it_is() -> None:
    before = np.random.default_rng(0).integers(20, 236, (32, 32, 3)).astype(np.uint8)
    signs = np.random.default_rng(1).choice([-1, 1], before.shape)
    found = [visible_change(before, (before + n * signs).astype(np.uint8)) for n in (0, 1, 4, 16)]
    assert (found[0].ssim, found[0].ciede2000, found[0].ciede2000_max) == (1, 0, 0)
    assert [one.ssim for one in found] == sorted((one.ssim for one in found), reverse=True)
    assert [one.ciede2000 for one in found] == sorted(one.ciede2000 for one in found)
    one_place = before.copy()
    one_place[3, 4] = 255 - one_place[3, 4]
    changed = visible_change(before, one_place)
    assert changed.ciede2000_max == pytest.approx(changed.ciede2000 * 32 * 32)
