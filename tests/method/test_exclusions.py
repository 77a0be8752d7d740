"""Exclusions of a "what if" equal the absence of what they exclude."""

import pytest
import torch

from rita_demo.method import apply_to_views, decide, empty, remove
from rita_demo.records import Exclusions
from rita_demo.records.errors import SettingError
from rita_demo.settings import PAPER, RECOMMENDED
from tests.method.toy_models import prompts, views


@pytest.mark.parametrize("weights", ["uniform", "confidence", "agreement"])
@pytest.mark.parametrize("preset", [RECOMMENDED, PAPER], ids=["recommended", "paper"])
def test_an_excluded_view_equals_a_view_that_never_existed(preset, weights) -> None:
    p, settings = prompts(), preset.replace(view_weight=weights)
    x = views(p.features[3, 0], N=12)
    present = torch.ones(12, dtype=torch.bool)
    present[[0, 5, 11]] = False
    trace, after = decide(x, p, empty(5, settings.slots, 16), settings, view_mask=present)
    fewer, expected = decide(x[present], p, empty(5, settings.slots, 16), settings)
    torch.testing.assert_close(trace.total, fewer.total, atol=1e-5, rtol=0)
    torch.testing.assert_close(trace.prompt_transport.plan[:, present], fewer.prompt_transport.plan, atol=1e-4, rtol=0)
    torch.testing.assert_close(after.features, expected.features)
    assert not trace.prompt_transport.plan[:, ~present].any()
    assert not trace.confidence.kept[~present].any()


def test_removing_a_cache_item_leaves_no_gap() -> None:
    p, settings = prompts(), PAPER.replace(slots=3, max_entropy=10.0)
    _, state = decide(views(p.features[2, 0]), p, empty(5, 3, 16), settings)
    k = int(state.count.argmax())
    assert int(state.count[k]) == 3
    less = remove(state, k, 1)
    assert int(less.count[k]) == 2
    assert torch.equal(less.features[k, 0], state.features[k, 0])
    assert torch.equal(less.features[k, 1], state.features[k, 2])
    assert not less.features[k, 2].any()
    assert torch.isinf(less.entropy[k, 2])
    assert int(state.count[k]) == 3, "the input is not changed"
    with pytest.raises(ValueError, match="is empty"):
        remove(less, k, 2)


@pytest.mark.parametrize("left_out", [{"views": frozenset(range(4))}, {"prompts": frozenset({(0, 0), (0, 1)})}])
def test_excluding_everything_is_refused(left_out) -> None:
    with pytest.raises(SettingError, match="must stay"):
        apply_to_views(Exclusions(**left_out), 4, torch.full((2, 2), 0.5))
