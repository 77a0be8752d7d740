"""Truncated texts give exact features, and only contexts receive a gradient."""

from pathlib import Path

import open_clip
import pytest
import torch

from rita_demo.records import SamePrompt
from rita_demo.records.errors import BackboneError, VocabularyError
from rita_demo.settings import PAPER, RECOMMENDED
from rita_demo.vlm import prompt_encoder
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.prompts import (
    CONTEXT_LENGTH,
    DEFAULT_START,
    TEMPLATES,
    PromptSet,
    build_prompts,
    encode_sentences,
    unknown_words,
)
from rita_demo.vlm.registry import load
from rita_demo.vlm.shared_prefix import can_share_prefix
from tests.vlm.comparison import NAMES, assert_same_text_features, randomise_weights

VISION = {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16}
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 2}
TOWERS = {
    "causal": {},
    "quick gelu": {"quick_gelu": True},
    "sixteen tokens": {"text_cfg": {"context_length": 16}},
    "sees everything": {"text_cfg": {"no_causal_mask": True}},
    "pooled at the last token": {"text_cfg": {"pool_type": "last"}},
    "pooled at an end id": {"text_cfg": {"pool_type": "eos", "eos_id": 49407}},
    "linear projection": {"text_cfg": {"proj_bias": True}},
    "no projection": {"text_cfg": {"proj_type": "none"}},
    "custom blocks": {"text_cfg": {"qk_norm": True, "scale_heads": True}},
    "layer scale": {"text_cfg": {"ls_init_value": 0.1}},
}


def tiny_model(kind: type, changes: dict) -> torch.nn.Module:
    config = {"embed_dim": 32, "vision_cfg": VISION, "text_cfg": TEXT} | changes
    config["text_cfg"] = TEXT | changes.get("text_cfg", {})
    torch.manual_seed(0)
    return randomise_weights(kind(**config))


def wrapped(model: torch.nn.Module, length: int = 77) -> Backbone:
    return Backbone(model, open_clip.SimpleTokenizer(context_length=length), name="tiny", title="t")


@pytest.fixture(scope="module")
def backbone(tiny_model_dir: Path) -> Backbone:
    return load(f"local-dir:{tiny_model_dir}", device="cpu", precision="float32")


NOT_SHARED = {"sees everything", "pooled at the last token", "custom blocks"}


@pytest.mark.parametrize("kind", [open_clip.CLIP, open_clip.CustomTextCLIP])
@pytest.mark.parametrize("what", TOWERS)
def test_text_features_equal_open_clip_and_the_shared_prefix_changes_neither_them_nor_gradients(
    kind: type, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny_model(kind, TOWERS[what])
    ours = wrapped(model, TOWERS[what].get("text_cfg", {}).get("context_length", 77))
    assert_same_text_features(model, ours)
    assert can_share_prefix(ours.tower) == (what not in NOT_SHARED)
    prompts = build_prompts(ours, NAMES, RECOMMENDED)
    goal = torch.randn(prompts.features.shape, generator=torch.Generator().manual_seed(1))
    results = []
    for share in (can_share_prefix, lambda tower: False):
        monkeypatch.setattr(prompt_encoder, "can_share_prefix", share)
        prompts = build_prompts(ours, NAMES, RECOMMENDED)
        context = prompts.context.clone().requires_grad_()
        features = prompts.encode(context)
        (gradient,) = torch.autograd.grad((features * goal).sum(), context)
        results.append((features.detach(), gradient))
    torch.testing.assert_close(results[0], results[1], atol=1e-5, rtol=1e-4)


def test_a_tower_with_a_class_token_is_refused() -> None:
    model = tiny_model(open_clip.CustomTextCLIP, {"text_cfg": {"embed_cls": True}})
    with pytest.raises(BackboneError, match="not supported here"):
        wrapped(model)


def test_every_template_is_four_different_tokens_long() -> None:
    tokenizer = open_clip.SimpleTokenizer()
    assert len(TEMPLATES) == len(set(TEMPLATES)) == 32
    assert TEMPLATES[0] == DEFAULT_START == "a photo of a"
    assert {len(tokenizer.encode(start)) for start in TEMPLATES} == {CONTEXT_LENGTH}


@pytest.mark.parametrize("settings", [RECOMMENDED, PAPER], ids=["templates", "noise"])
def test_prompt_zero_is_the_hand_prompt(backbone: Backbone, settings) -> None:
    prompts = build_prompts(backbone, NAMES, settings)
    hand = encode_sentences(backbone, [f"a photo of a {name}." for name in NAMES])
    torch.testing.assert_close(prompts.features[:, 0], hand, atol=1e-6, rtol=0)
    torch.testing.assert_close(prompts.template_features, prompts.features[:, 0], atol=0, rtol=0)
    assert prompts.features.shape == (len(NAMES), settings.prompts, 32)
    assert [row[0] for row in prompts.prompts] == [f"a photo of a {name}." for name in NAMES]
    torch.testing.assert_close(prompts.weight.sum(1), torch.ones(len(NAMES)))


def test_noisy_contexts_differ_by_a_tenth_of_the_embeddings_spread(backbone: Backbone) -> None:
    context = build_prompts(backbone, ("cat",), PAPER.replace(prompts=32)).context
    spread = backbone.tower.token_embedding.weight.std()
    assert abs(float((context[1:] - context[0]).std() / spread) - 0.1) < 0.01
    again = build_prompts(backbone, ("dog",), PAPER.replace(prompts=32)).context
    assert torch.equal(context, again)
    other = build_prompts(backbone, ("dog",), PAPER.replace(prompts=32, context_seed=1)).context
    assert torch.equal(context[0], other[0])
    assert not torch.equal(context[1:], other[1:])


def test_only_the_contexts_receive_a_gradient_and_it_agrees_with_finite_differences(backbone: Backbone) -> None:
    prompts = build_prompts(backbone, ("cat", "soy milk carton"), RECOMMENDED)
    torch.manual_seed(0)
    goal = torch.randn(prompts.features.shape)
    context = prompts.context.clone().requires_grad_()
    (prompts.encode(context) * goal).sum().backward()
    direction = context.grad / context.grad.norm()
    step = 1e-3
    with torch.no_grad():
        ahead, behind = (prompts.encode(prompts.context + s * direction) for s in (step, -step))
    slope = float(((ahead - behind).double() * goal).sum() / (2 * step))
    assert abs(slope - float(context.grad.norm())) < 0.02 * abs(slope)
    assert (context.grad.abs().sum((1, 2)) > 0).all()
    assert not prompts.context.requires_grad
    assert all(p.grad is None for p in backbone.tower.transformer.parameters())
    assert backbone.tower.token_embedding.weight.grad is None


def test_descriptions_are_frozen_prompts_after_the_contexts(backbone: Backbone) -> None:
    sentences = (("a tail and two ears.", "it purrs"), ("many dots",), ("black type on paper",))
    names = ("cat", "polka-dotted", "soy milk carton")
    plain = build_prompts(backbone, names, RECOMMENDED)
    each = RECOMMENDED.replace(descriptions="built_in")
    prompts = build_prompts(backbone, names, each, sentences)
    assert prompts.features.shape == (3, 4 + 2, 32)
    assert torch.equal(prompts.features[:, :4], plain.features)
    for k, own in enumerate(sentences):
        expected = encode_sentences(backbone, list(own))
        torch.testing.assert_close(prompts.features[k, 4 : 4 + len(own)], expected)
        torch.testing.assert_close(prompts.weight[k, : 4 + len(own)].unique(), torch.tensor([1 / (4 + len(own))]))
        assert not prompts.features[k, 4 + len(own) :].any()
        assert not prompts.weight[k, 4 + len(own) :].any()
        assert prompts.prompts[k][4:] == own + ("",) * (2 - len(own))
    moved = prompts.encode(prompts.context + 0.1)
    assert torch.equal(moved[:, 4:], prompts.features[:, 4:])
    assert not torch.equal(moved[:, :4], prompts.features[:, :4])
    mean = build_prompts(backbone, names, RECOMMENDED, sentences)  # as one prompt: their mean direction
    for k, own in enumerate(sentences):
        direction = encode_sentences(backbone, list(own)).mean(0)
        torch.testing.assert_close(mean.features[k, 4], direction / direction.norm())
    assert torch.equal(mean.weight, torch.full((3, 5), 1 / 5))
    assert mean.prompts[0][4] == "a tail and two ears. (and 1 more: their mean)"
    assert mean.prompts[1][4] == "many dots"
    assert torch.equal(mean.encode(mean.context + 0.1)[:, 4:], mean.features[:, 4:])


def test_chunks_and_recomputation_change_nothing(backbone: Backbone, monkeypatch) -> None:
    results = []
    for tokens, padding, graph in ((10**6, 10**6, 10**12), (64, 10**6, 0), (10**6, 0, 0)):
        monkeypatch.setattr(prompt_encoder, "CHUNK_TOKENS", tokens)
        monkeypatch.setattr(prompt_encoder, "MAX_PADDING_TOKENS", {"cpu": padding})
        monkeypatch.setattr(prompt_encoder, "GRAPH_BYTES", {"cpu": graph})
        prompts = build_prompts(backbone, NAMES, RECOMMENDED)
        context = prompts.context.clone().requires_grad_()
        features = prompts.encode(context)
        features[..., 0].sum().backward()
        results.append((features.detach(), context.grad))
    for other in results[1:]:
        torch.testing.assert_close(results[0], other, atol=1e-5, rtol=1e-4)


#: A name, and those of its words that the model was not trained with.
WORDS = {
    **dict.fromkeys(("CAT", "grass-cat", "brick_cat", "cat, grass & brick", "a cat", "photo of a cat"), ()),
    **{word: (word,) for word in ("cats", "Pferd", "catgrass", "ca", "猫", "?!")},
    "cat 🐈": ("🐈",),
    "The cat on an old brick": ("old",),
}


def test_a_word_is_known_as_a_whole_in_any_capitals_and_its_pieces_do_not_count(backbone: Backbone) -> None:
    assert {name: unknown_words(backbone, name) for name in WORDS} == WORDS
    assert build_prompts(backbone, tuple(WORDS), RECOMMENDED).unknown == tuple(WORDS.values())
    nothing_known = wrapped(tiny_model(open_clip.CLIP, {}))
    assert not any(unknown_words(nothing_known, name) for name in WORDS)


@pytest.mark.parametrize("names", [(), ("cat", " "), ("cat", "x" * 1001)])
def test_unusable_names_give_an_error_message(backbone: Backbone, names) -> None:
    with pytest.raises(VocabularyError, match=r"\.$"):
        build_prompts(backbone, names, RECOMMENDED)


LONG = "一只生活在海边岩石上的长着红色硬壳和一对巨大钳子的螃蟹它的颜色是"


def test_names_whose_prompts_are_the_same_are_found(backbone: Backbone) -> None:
    cut, alike = (LONG + "鲜艳的红", LONG + "深沉的蓝"), ("ﬁg &amp; plum", "fig & plum")
    names = ("cup", "crab", *cut, LONG[:9] + "红", LONG[:9] + "蓝", *alike)
    prompts = build_prompts(backbone, names, RECOMMENDED)
    assert prompts.same_prompts == (SamePrompt(cut, 77), SamePrompt(alike, 0))
    for first, second in (cut, alike):
        same = (prompts.template_features[names.index(name)] for name in (first, second))
        torch.testing.assert_close(*same, atol=1e-5, rtol=0)


# --- the graph of the initial contexts is kept, for one vocabulary at a time


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
