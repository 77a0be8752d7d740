"""What a GPU records is the same work on a CPU, and never needs a number on the host."""

import copy
from functools import partial

import pytest
import torch

from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.method import Prompts, cosine_cost, sinkhorn, sinkhorn_newton, transport, transport_options, tune
from rita_demo.process.gpu import CudaGraphs, same_numbers
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm import prompt_encoder
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.initial_graph import InitialGraph
from rita_demo.vlm.prompt_encoder import PromptEncoder
from rita_demo.vlm.prompts import build_prompts
from rita_demo.vlm.registry import untrained

META = torch.device("meta")  # no numbers at all: whoever asks for one fails


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return untrained("ViT-S-32-alt", "cpu", "float32")


def test_a_recording_with_other_numbers_is_found() -> None:
    right = torch.tensor([0.2, -0.1, float("nan")])
    assert same_numbers([right, torch.ones(0)], [right.clone(), torch.ones(0)])
    assert same_numbers([right + 0.002], [right])
    assert not same_numbers([right + 0.02], [right])
    assert not same_numbers([torch.zeros(3)], [right])


def test_steps_taken_together_reach_the_plan_of_single_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    x, z = (torch.randn(*shape, generator=generator) for shape in ((64, 32), (9, 5, 32)))
    weight = torch.full((64,), 1 / 64), torch.full((9, 5), 0.2)
    for weight_of_entropy, mass in ((0.1, 1.0), (0.01, 0.35), (0.001, 1.0), (0.001, 0.35)):
        solve = partial(transport, cosine_cost(x, z), *weight, entropy_weight=weight_of_entropy, transported_mass=mass)
        single = solve()
        monkeypatch.setattr(sinkhorn_newton, "TOGETHER", {"cpu": 4})
        together = solve()
        monkeypatch.undo()
        assert together.converged == single.converged
        torch.testing.assert_close(together.distance, single.distance, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(together.plan, single.plan, atol=1e-6, rtol=1e-4)
        assert together.residual[-1] <= 1e-6
        assert len(together.residual) == len(single.residual)


@pytest.mark.parametrize(
    ("empty", "tolerance"), [((), 1e-6), ((0,), 1e-6), (range(9), 1e-6), ((), 1e-12)], ids=["", "one", "all", "stalled"]
)
def test_problems_solved_together_have_the_records_of_single_ones(monkeypatch, empty, tolerance) -> None:
    """The third one has the shape of the first; some classes of the second one have no mass; or no problem comes within the
    tolerance."""
    generator = torch.Generator().manual_seed(1)
    x, views = torch.randn(64, 32, generator=generator), torch.full((64,), 1 / 64)
    second = torch.tensor([[1.0, 0, 0]] * 3 + [[1, 1, 1]] * 6)
    second[list(empty)] = 0
    costs = [cosine_cost(x, torch.randn(9, M, 32, generator=generator)) for M in (5, 3, 5)]
    third = torch.rand(9, 5, generator=generator)
    problems = [(C, views, b) for C, b in zip(costs, (torch.full((9, 5), 0.2), second, third))]
    options = transport_options(RECOMMENDED) | {"tolerance": tolerance}
    together = sinkhorn.transports(problems, **options)
    monkeypatch.setitem(sinkhorn.TOGETHER, "cpu", 0)
    for one, other in zip(together, sinkhorn.transports(problems, **options), strict=True):
        torch.testing.assert_close(one.plan, other.plan, atol=1e-7, rtol=1e-4)
        torch.testing.assert_close(one.distance, other.distance, atol=1e-7, rtol=1e-5)
        assert torch.equal(one.cost, other.cost)
        assert torch.equal(one.row_weight, other.row_weight)
        assert torch.equal(one.column_weight, other.column_weight)
        torch.testing.assert_close(one.residual, other.residual, atol=1e-6, rtol=1e-3)
        assert (one.converged, one.outcome.split("(")[0]) == (other.converged, other.outcome.split("(")[0])
    assert together[0].converged == (tolerance == 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_a_prompt_update_needs_no_number(backbone: Backbone, monkeypatch: pytest.MonkeyPatch, kept: bool) -> None:
    """Neither with a first forward pass of its own, nor with the one that is kept."""
    monkeypatch.setitem(prompt_encoder.GRAPH_BYTES, "meta", 1 << 30)
    built = build_prompts(backbone, ("a cat", "a very long name of a class", "dog"), RECOMMENDED)
    encoder, graph = _on_meta(built.encoder, len(built.context)), InitialGraph(recorded=True)
    prompts = Prompts(
        encode=encoder,
        context=torch.empty_like(built.context, device=META),
        features=torch.empty_like(built.features, device=META),
        weight=torch.empty_like(built.weight, device=META),
        temperature=0.01,
        initial=lambda: graph.of(encoder, torch.empty_like(built.context, device=META)) if kept else None,
        recorded=CudaGraphs(enabled=True),
    )
    found = tune(prompts, torch.empty(64, backbone.info.width, device=META), RECOMMENDED)
    assert (found.features.shape, found.loss.shape) == (built.features.shape, (2,))


@pytest.mark.parametrize("goal", sorted(components.COMPONENTS["goal"]))
def test_a_step_of_an_attack_needs_no_number(backbone: Backbone, goal: str) -> None:
    pixels = torch.empty(2, 3, backbone.side, backbone.side, device=META)
    label = torch.empty(2, dtype=torch.long, device=META)
    visual = copy.deepcopy(backbone._visual).to(META)
    mean, std = (one.to(META) for one in (backbone._mean, backbone._std))
    template = torch.empty(5, backbone.info.width, device=META)
    answer, loss, slope = gradient_loop.loss_and_gradient(
        lambda p: torch.nn.functional.normalize(visual((p - mean) / std), dim=-1) @ template.T,
        pixels,
        lambda logits: components.COMPONENTS["goal"][goal](logits, label, None),
        True,
    )
    assert (answer.shape, loss.shape, slope.shape) == ((2, 5), (2,), pixels.shape)


def _on_meta(encoder: PromptEncoder, contexts: int) -> PromptEncoder:
    moved = copy.copy(encoder)
    moved.tower = copy.deepcopy(encoder.tower)
    for name in ("transformer", "token_embedding", "ln_final"):
        getattr(moved.tower, name).to(META)
    for name in ("positional_embedding", "mask", "projection"):
        object.__setattr__(moved.tower, name, getattr(moved.tower, name).detach().to(META))
    chunks, order = encoder._plan(contexts)
    moved._plans = {contexts: ([type(c)(*(v.to(META) for v in vars(c).values())) for c in chunks], order.to(META))}
    return moved
