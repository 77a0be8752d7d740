import math

import torch

from rita_demo.method import empty, resize, update
from rita_demo.records import Confidence
from tests.method.toy_models import units


def confident_views(entropy, label, limit=0.8):
    entropy, label = torch.tensor(entropy), torch.tensor(label)
    return Confidence(torch.eye(3)[label], entropy, label, entropy <= limit, limit)


def test_cache_keeps_the_lowest_entropies_up_to_its_slots():
    x = units(0, 6, 8)
    state = empty(3, 2, 8, "k")
    state, change = update(state, x, confident_views([0.5, 0.1, 0.3, 0.9, 0.2, 0.4], [0, 0, 0, 0, 1, 0]))
    assert change.candidates == (1, 4, 2, 5, 0)
    assert [(e.label, e.slot, e.view) for e in change.events] == [(0, 0, 1), (1, 0, 4), (0, 1, 2)]
    assert state.count.tolist() == [2, 1, 0]
    assert state.pictures == 1
    after, change = update(state, x, confident_views([0.15] * 6, [0] * 6))
    assert len(change.events) == 1
    assert (change.events[0].slot, change.events[0].replaced_born) == (1, 0)
    assert after.born.tolist() == [[0, 1], [0, -1], [-1, -1]]
    torch.testing.assert_close(after.entropy[0], torch.tensor([0.1, 0.15]))
    assert math.isinf(after.entropy[2, 0])
    torch.testing.assert_close(after.features[0], x[[1, 0]])


def test_limit_per_image_holds_and_ties_prefer_the_earlier_view():
    state, change = update(empty(3, 4, 8), units(0, 3, 8), confident_views([0.2] * 3, [2] * 3), views_per_image=2)
    assert [e.view for e in change.events] == [0, 1]
    same, change = update(resize(state, 2), units(1, 1, 8), confident_views([0.2], [2]))
    assert change.events == ()
    assert same.pictures == 2


def test_resize_grows_with_padding_and_shrinks_to_the_lowest_entropies():
    state, _ = update(empty(3, 3, 8), units(0, 3, 8), confident_views([0.3, 0.1, 0.2], [0] * 3))
    state, _ = update(resize(state, 4), units(1, 1, 8), confident_views([0.05], [0]))
    torch.testing.assert_close(state.entropy[0], torch.tensor([0.1, 0.2, 0.3, 0.05]))
    small = resize(state, 2)
    torch.testing.assert_close(small.entropy[0], torch.tensor([0.1, 0.05]))
    assert small.count.tolist() == [2, 0, 0]
    assert small.features.shape == (3, 2, 8)
    big = resize(small, 5)
    assert big.view[0].tolist()[2:] == [-1] * 3
    assert resize(big, 5) is big
