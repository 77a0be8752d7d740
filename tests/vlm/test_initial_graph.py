"""The kept graph gives the gradients of a new forward pass, for one vocabulary at a time."""

import pytest
import torch

from rita_demo.settings import RECOMMENDED
from rita_demo.vlm import prompt_encoder
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompt_encoder import PromptEncoder
from rita_demo.vlm.prompts import PromptSet, build_prompts
from rita_demo.vlm.registry import load
from tests.vlm.comparison import NAMES


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    return load("embedded")


@pytest.fixture
def prompts(backbone: Backbone) -> PromptSet:
    return build_prompts(backbone, NAMES, RECOMMENDED)


def gradient(prompts: PromptSet, context: torch.Tensor, weight: torch.Tensor, keep: bool) -> torch.Tensor:
    """The gradient of a weighted sum of the features, through the kept graph or a new one."""
    leaf = context.clone().requires_grad_()
    encode = prompts.encode_contexts if keep else prompts.encoder
    (found,) = torch.autograd.grad((encode(leaf) * weight).sum(), leaf)
    return found


@pytest.mark.parametrize("count", [1, 4])
def test_gradients_are_those_of_a_new_graph_again_and_again(prompts: PromptSet, count: int) -> None:
    context, generator = prompts.context[:count], torch.Generator().manual_seed(0)
    for _ in range(3):
        weight = torch.randn(len(NAMES), count, prompts.features.shape[2], generator=generator)
        kept, new = (gradient(prompts, context, weight, keep) for keep in (True, False))
        torch.testing.assert_close(kept, new, atol=1e-6, rtol=1e-5)
    leaf = context.clone().requires_grad_()
    torch.testing.assert_close(prompts.encode_contexts(leaf).detach(), prompts.features[:, :count])


def test_the_tower_is_run_once_for_the_initial_contexts_and_always_for_others(
    prompts: PromptSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, real = list[int](), PromptEncoder.__call__
    monkeypatch.setattr(PromptEncoder, "__call__", lambda *given: (runs.append(1), real(*given))[1])
    for moved in (0.0, 0.0, 0.1, 0.1, 0.0):
        prompts.encode((prompts.context + moved).requires_grad_())
    assert len(runs) == 3
    with torch.no_grad():
        prompts.encode(prompts.context)
    assert len(runs) == 4


def test_what_is_returned_may_be_changed_and_only_one_vocabulary_keeps_its_graph(
    prompts: PromptSet, backbone: Backbone
) -> None:
    leaf = prompts.context.clone().requires_grad_()
    first = prompts.encode_contexts(leaf)
    first.detach().zero_()
    assert prompts.encode_contexts(leaf).detach().abs().sum() > 0
    other = build_prompts(backbone, NAMES[:2], RECOMMENDED)
    other.encode_contexts(other.context.clone().requires_grad_())
    assert other.graph.graphs
    assert not prompts.graph.graphs


def test_a_graph_that_is_too_large_is_not_kept(prompts: PromptSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_encoder, "GRAPH_BYTES", {"cpu": 0})
    prompts.encode_contexts(prompts.context.clone().requires_grad_())
    assert not prompts.graph.graphs
