"""The step from the whole square towards its crops: its effect, and when there is none."""

import pytest
import torch

from rita_demo.method import decide, empty, step_back
from rita_demo.method.step_back import crop_offset
from rita_demo.settings import RECOMMENDED
from tests.method.toy_models import prompts, views

AREA_FRACTION = torch.cat([torch.ones(1), torch.linspace(0.9, 0.1, 11)])
SETTINGS = RECOMMENDED.replace(protocol="off", tuning_steps=0, step_back=2.0)


def attacked(towards: int = 3) -> torch.Tensor:
    """Twelve views of class 0 whose whole square looks like another class."""
    p = prompts()
    x = views(p.features[0, 0], N=12)
    x[0] = p.features[towards, 0]
    return x


@pytest.mark.parametrize("case", ["no strength", "no shares", "no whole square", "no crop"])
def test_without_a_whole_square_and_crops_no_step_is_taken(case: str) -> None:
    x, strength, shown, present = attacked(), 2.0, AREA_FRACTION, None
    if case == "no strength":
        strength = 0.0
    elif case == "no shares":
        shown = None
    elif case == "no whole square":
        present = torch.arange(12) > 0
    else:
        present = torch.arange(12) == 0
    torch.testing.assert_close(step_back(x, strength, shown, present), x)


def test_an_excluded_crop_equals_a_crop_that_never_existed() -> None:
    x, present = attacked(), torch.ones(12, dtype=torch.bool)
    present[[4, 9]] = False
    all_of_them = step_back(x, 2.0, AREA_FRACTION, present)
    torch.testing.assert_close(all_of_them[present], step_back(x[present], 2.0, AREA_FRACTION[present]))


def test_the_step_recovers_the_attacked_class() -> None:
    p, x = prompts(), attacked()
    state = empty(5, SETTINGS.slots, 16)
    plain, _ = decide(x, p, state, SETTINGS.replace(step_back=0.0), area_fraction=AREA_FRACTION)
    back, _ = decide(x, p, state, SETTINGS, area_fraction=AREA_FRACTION)
    ahead = [float(t.total[3] - t.total[0]) for t in (plain, back)]
    assert ahead[1] > ahead[0] + 0.01
    torch.testing.assert_close(back.view_features, step_back(x, 2.0, AREA_FRACTION))
    torch.testing.assert_close(plain.view_features, x)
    rest = 1 - AREA_FRACTION[1:]
    d = (rest[:, None] * x[1:]).sum(0) / rest.sum() - x[0]
    assert plain.crop_offset == back.crop_offset == pytest.approx(float(d.norm()), abs=1e-5)
    assert plain.step_back_distance == 0
    assert back.step_back_distance == pytest.approx(2 * float(d.norm()) ** 3, abs=1e-4)


def test_which_views_are_crops_is_known_without_the_device_of_the_features() -> None:
    """Features without numbers stand for those of a GPU: code that reads one of them fails."""
    far = torch.empty(12, 16, device="meta")
    for present in (None, torch.arange(12) != 4):
        assert crop_offset(far, AREA_FRACTION, present).device.type == "meta"
