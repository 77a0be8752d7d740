"""Parts of the method where the oracles do not look: edges, bookkeeping and sentences."""

import math

import pytest
import torch

from rita_demo.method import align, apply_to_views, decide, empty, remove, resize, step_back, transport, update
from rita_demo.method.cost import unit
from rita_demo.records import Confidence, Exclusions
from rita_demo.records.errors import SettingError
from rita_demo.settings import PAPER, RECOMMENDED
from tests.method.toy_models import prompts, units, views

# --- transport

COST = torch.rand(3, 8, 4, generator=torch.Generator().manual_seed(0))
ROWS, COLUMNS = torch.ones(8), torch.ones(3, 4)


def test_potentials_rebuild_the_plan():
    result = transport(COST.double(), ROWS, COLUMNS, entropy_weight=0.02, transported_mass=0.5, tolerance=1e-12)
    f, g = result.potentials
    kernel = ((f[:, :, None] + g[:, None] - result.cost) / 0.02).exp()
    torch.testing.assert_close(result.row_weight[:, :, None] * result.column_weight[:, None] * kernel, result.plan)


# --- cache


def confident(entropy, label, limit=0.8):
    entropy, label = torch.tensor(entropy), torch.tensor(label)
    return Confidence(torch.eye(3)[label], entropy, label, entropy <= limit, limit)


def test_resize_grows_with_padding_and_shrinks_to_the_lowest_entropies():
    state, _ = update(empty(3, 3, 8), units(0, 3, 8), confident([0.3, 0.1, 0.2], [0] * 3))
    state, _ = update(resize(state, 4), units(1, 1, 8), confident([0.05], [0]))
    torch.testing.assert_close(state.entropy[0], torch.tensor([0.1, 0.2, 0.3, 0.05]))
    small = resize(state, 2)
    torch.testing.assert_close(small.entropy[0], torch.tensor([0.1, 0.05]))
    assert (small.count.tolist(), small.features.shape) == ([2, 0, 0], (3, 2, 8))
    assert resize(small, 5).view[0].tolist()[2:] == [-1] * 3


# --- exclusions: what is left out equals what never was


@pytest.mark.parametrize("weights", ["confidence", "agreement"])
def test_an_excluded_view_equals_a_view_that_never_existed(weights) -> None:
    p, settings = prompts(), PAPER.replace(view_weight=weights)
    x, present = views(p.features[3, 0], N=12), torch.ones(12, dtype=torch.bool)
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
    less = remove(state, k, 1)
    assert (int(state.count[k]), int(less.count[k])) == (3, 2), "the input is not changed"
    assert torch.equal(less.features[k], torch.stack([*state.features[k, [0, 2]], torch.zeros(16)]))
    assert torch.isinf(less.entropy[k, 2])
    with pytest.raises(ValueError, match="is empty"):
        remove(less, k, 2)


@pytest.mark.parametrize("left_out", [{"views": frozenset(range(4))}, {"prompts": frozenset({(0, 0), (0, 1)})}])
def test_excluding_everything_is_refused(left_out) -> None:
    with pytest.raises(SettingError, match="must stay"):
        apply_to_views(Exclusions(**left_out), 4, torch.full((2, 2), 0.5))


# --- alignment


@pytest.mark.parametrize("gap", [1e-7, 1e-3])
def test_nearly_parallel_and_nearly_opposite_directions_stay_exact(gap):
    u, aside = units(0, 16), units(1, 16)
    zbar = torch.stack([u + gap * aside, -u + max(gap, 1e-3) * aside])
    result = align(u.expand(2, 1, 16), torch.tensor([1, 1]), zbar)
    torch.testing.assert_close(result.aligned[:, 0], unit(zbar), atol=1e-6, rtol=0)


def test_opposite_directions_and_cancelling_views_are_not_rotated_and_reported():
    u = units(0, 16)
    X = torch.stack([torch.stack([u, u]), torch.stack([u, -u]), torch.stack([u, u])])
    result = align(X, torch.tensor([2, 2, 2]), torch.stack([-u, units(1, 16), torch.zeros(16)]))
    torch.testing.assert_close(result.aligned, X)
    assert all(word in note for word, note in zip(("away", "cancel", "no direction"), result.notes, strict=True))
    assert result.angle[0] == pytest.approx(math.pi)


# --- the step from the whole square towards its crops

AREA_FRACTION = torch.cat([torch.ones(1), torch.linspace(0.9, 0.1, 11)])
FIRST = torch.arange(12) == 0


def attacked() -> torch.Tensor:
    """Twelve views of class 0 whose whole square looks like class 3."""
    p = prompts()
    return torch.cat([p.features[3, :1], views(p.features[0, 0], N=12)[1:]])


@pytest.mark.parametrize(
    ("strength", "shown", "present"),
    [(0.0, AREA_FRACTION, None), (2.0, None, None), (2.0, AREA_FRACTION, ~FIRST), (2.0, AREA_FRACTION, FIRST)],
    ids=["no strength", "no shares", "no whole square", "no crop"],
)
def test_without_a_whole_square_and_crops_no_step_is_taken(strength, shown, present) -> None:
    torch.testing.assert_close(step_back(attacked(), strength, shown, present), attacked())


def test_the_step_recovers_the_attacked_class_and_the_trace_says_how_long_it_is() -> None:
    p, x, settings = prompts(), attacked(), RECOMMENDED.replace(protocol="off", tuning_steps=0, step_back=2.0)
    state = empty(5, settings.slots, 16)
    plain, _ = decide(x, p, state, settings.replace(step_back=0.0), area_fraction=AREA_FRACTION)
    back, _ = decide(x, p, state, settings, area_fraction=AREA_FRACTION)
    ahead = [float(t.total[3] - t.total[0]) for t in (plain, back)]
    assert ahead[1] > ahead[0] + 0.01
    assert plain.label_before_step is None
    assert torch.equal(back.label_before_step, plain.confidence.label)
    rest = 1 - AREA_FRACTION[1:]
    d = float(((rest[:, None] * x[1:]).sum(0) / rest.sum() - x[0]).norm())
    assert plain.crop_offset == back.crop_offset == pytest.approx(d, abs=1e-5)
    assert (plain.step_back_distance, back.step_back_distance) == (0, pytest.approx(2 * d**3, abs=1e-4))
