"""What a "what if" leaves out is as if it had never been there."""

import pytest
import torch

from rita_demo.method import decide, empty, without
from rita_demo.settings import PAPER, RECOMMENDED
from tests.method.worlds import prompts, views


@pytest.mark.parametrize("weights", ["uniform", "confidence", "agreement"])
@pytest.mark.parametrize("preset", [RECOMMENDED, PAPER], ids=["recommended", "paper"])
def test_an_absent_view_is_as_if_it_had_never_been_taken(preset, weights) -> None:
    p, settings = prompts(), preset.but(view_weight=weights)
    x = views(p.features[3, 0], N=12)
    present = torch.ones(12, dtype=torch.bool)
    present[[0, 5, 11]] = False
    trace, after = decide(x, p, empty(5, settings.slots, 16), settings, present=present)
    fewer, expected = decide(x[present], p, empty(5, settings.slots, 16), settings)
    torch.testing.assert_close(trace.total, fewer.total, atol=1e-5, rtol=0)
    torch.testing.assert_close(trace.prompt.plan[:, present], fewer.prompt.plan, atol=1e-4, rtol=0)
    torch.testing.assert_close(after.features, expected.features)
    assert not trace.prompt.plan[:, ~present].any()
    assert not trace.confidence.kept[~present].any()


def test_leaving_out_every_view_is_refused() -> None:
    p = prompts()
    x, none = views(p.features[0, 0]), torch.zeros(8, dtype=torch.bool)
    with pytest.raises(ValueError, match="at least one"):
        decide(x, p, empty(5, 3, 16), RECOMMENDED, present=none)


def test_a_removed_item_leaves_no_gap_and_no_trace() -> None:
    p, settings = prompts(), PAPER.but(slots=3, max_entropy=10.0)
    _, state = decide(views(p.features[2, 0]), p, empty(5, 3, 16), settings)
    k = int(state.count.argmax())
    assert int(state.count[k]) == 3
    less = without(state, k, 1)
    assert int(less.count[k]) == 2
    assert torch.equal(less.features[k, 0], state.features[k, 0])
    assert torch.equal(less.features[k, 1], state.features[k, 2])
    assert not less.features[k, 2].any()
    assert torch.isinf(less.entropy[k, 2])
    assert int(state.count[k]) == 3, "the state that came in is a value and stays"
    with pytest.raises(ValueError, match="holds nothing"):
        without(less, k, 2)
