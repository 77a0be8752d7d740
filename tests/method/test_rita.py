from dataclasses import replace
from operator import attrgetter

import pytest
import torch

from rita_demo.method import Prompts, Views, decide, decide_in_turn, empty, sinkhorn, tune, tuning
from rita_demo.process.gpu import CudaGraphs
from rita_demo.settings import PAPER, RECOMMENDED
from tests.method.toy_models import prompts, views

TENSORS = ("features", "entropy", "born", "view", "count")


def same(a, b):
    return all(torch.equal(getattr(a, n), getattr(b, n)) for n in TENSORS)


def filled(p, settings, pictures=3):
    cache = empty(5, settings.slots, 16)
    for k in range(pictures):
        _, cache = decide(views(p.features[k, 0], seed=k), p, cache, settings)
    return cache


@pytest.mark.parametrize(("K", "N", "M"), [(1, 1, 1), (1, 8, 3), (5, 1, 1)])
@pytest.mark.parametrize("settings", [RECOMMENDED, PAPER], ids=["recommended", "paper"])
def test_the_smallest_problems_work(K, N, M, settings):
    p = prompts(K=K, M=M)
    trace, _ = decide(views(p.features[0, 0], N), p, empty(K, 2, 16), settings)
    assert trace.total.isfinite().all()
    assert (trace.verdict.margin == 0) == (K == 1)
    if K == 1:  # one class is certain
        assert (trace.confidence.entropy == 0).all()
        assert trace.confidence.kept.all()


def test_nothing_that_goes_in_is_changed_and_half_precision_is_accepted():
    p = prompts()
    x, cache = views(p.features[1, 0]), filled(p, RECOMMENDED)
    inputs = (x, p.context, p.features, *(getattr(cache, n) for n in TENSORS))
    copies = [one.clone() for one in inputs]
    full, _ = decide(x, p, cache, PAPER.replace(slots=3))
    assert all(torch.equal(one, copy) for one, copy in zip(inputs, copies, strict=True))
    assert not p.context.requires_grad
    half = Prompts(p.encode, p.context, p.features, p.weight.half(), p.temperature)
    trace, _ = decide(x.half(), half, cache, PAPER.replace(slots=3))
    torch.testing.assert_close(trace.total, full.total, atol=2e-3, rtol=0)
    assert trace.total.dtype == torch.float32


@pytest.mark.parametrize("change", [{}, {"order": "predict_first"}, {"protocol": "off"}], ids=str)
@pytest.mark.parametrize("numbers", [0, 1500, 400_000], ids="numbers {}".format)
def test_pictures_decided_in_turn_have_the_bits_of_single_decisions(monkeypatch, change, numbers):
    """``numbers`` of cost at once: each transport alone, those of two pictures, all."""
    settings, p = RECOMMENDED.replace(max_entropy=9.0, **change), prompts()
    pictures = [
        Views(views(p.features[k, 0], seed=k, noise=0.1 + k), area_fraction=torch.linspace(0.1, 1, 8)) for k in range(4)
    ]
    pictures[1] = replace(pictures[1], tuning=tune(p, pictures[1].features, settings.replace(tuning_steps=3)))
    pictures[2] = replace(pictures[2], mask=torch.arange(8) != 3)
    before = cache = filled(p, settings)
    monkeypatch.setitem(sinkhorn.TOGETHER, "cpu", numbers)
    found = decide_in_turn(pictures, p, before, settings)
    monkeypatch.undo()
    assert len(found) == len(pictures)
    for one, (trace, after) in zip(pictures, found):
        alone, cache = decide(one.features, p, cache, settings, one.tuning, one.mask, one.area_fraction)
        for name in ("total", "prompt_transport.plan", "prompt_transport.residual", "cache_distance", "view_weight"):
            assert torch.equal(attrgetter(name)(trace), attrgetter(name)(alone)), name
        assert (trace.verdict.label, trace.cache_update) == (alone.verdict.label, alone.cache_update)
        assert same(after, cache)
        assert set(trace.seconds) == set(alone.seconds)
    assert (cache.pictures > before.pictures) == (settings.protocol != "off")


class Replayed(CudaGraphs):
    """As a recording on a GPU: what a key gave once, it gives again."""

    def run(self, key, function, *inputs):
        self._recorded.setdefault(key, function(*inputs))
        return self._recorded[key]


def test_a_recorded_prompt_update_is_made_again_for_another_value_of_any_of_its_settings(add_setting, monkeypatch):
    name, loss = add_setting("tuning"), tuning.tuning_loss
    monkeypatch.setattr(tuning, "tuning_loss", lambda x, z, w, s, tau: getattr(s, name) * loss(x, z, w, s, tau))
    p = replace(prompts(), recorded=Replayed())
    x = views(p.features[1, 0])
    changes = {name: 0.3, "tuning_steps": 2, "tuning_rate": 0.1, "tuning_loss": "pointwise", "subset_size": 2}
    found = [tune(p, x, RECOMMENDED.replace(**change)).loss for change in ({}, *({n: v} for n, v in changes.items()))]
    assert len({tuple(loss.tolist()) for loss in found}) == 1 + len(changes)
