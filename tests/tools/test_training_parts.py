"""Parts of the training against slow or direct implementations."""

import json
import re
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from torch.nn import functional as F

from rita_demo.vlm.words import word_list
from tests.tools.drawn_data import TINY, draw_data
from tools import textures
from tools.train import Recipe
from tools.train.batches import Sampler, random_box
from tools.train.corpus import DTD_NAMES, Corpus, display_name, load_corpus, seen_words, write_seen_words
from tools.train.evaluate import Split, calibrated_scale, report
from tools.train.loss import anchor_loss, contrastive_loss
from tools.train.model_config import ANCHORS, build_model, encode_image, encode_text, export
from tools.train.recipe import learning_rate, picture_size


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    data = draw_data(tmp_path_factory.mktemp("data"))
    return load_corpus(data, tmp_path_factory.mktemp("cache"))


def unit_features(*rows: int) -> list[torch.Tensor]:
    """Random unit features (rows, 16), the same on every call."""
    generator = torch.Generator().manual_seed(0)
    return [F.normalize(torch.randn(count, 16, generator=generator), dim=1) for count in rows]


def test_short_texts_give_the_features_of_open_clip() -> None:
    model = build_model(TINY, seed=1).eval()
    texts = ["a photo of a cat.", "banded", "a photo of the soy milk carton."]
    tokens = open_clip.SimpleTokenizer()(texts)
    pixels = torch.randn(2, 3, 96, 96, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = model.encode_text(tokens, normalize=True)
        torch.testing.assert_close(encode_text(model, tokens[:, :12]), expected)
        torch.testing.assert_close(encode_image(model, pixels), model.encode_image(pixels, normalize=True))
        assert encode_image(model, pixels[..., :64, :64]).shape == (2, 16)


def test_a_batch_depends_on_seed_and_step_only(corpus: Corpus) -> None:
    recipe = Recipe(batch=16, texts=12)
    one, same, other = (Sampler(corpus, recipe, seed).draw(7, 0.5) for seed in (5, 5, 6))
    assert torch.equal(one.pixels, same.pixels)
    assert torch.equal(one.prompts, same.prompts)
    assert not torch.equal(one.pixels, other.pixels)


def test_every_picture_is_paired_with_a_text_of_its_class(corpus: Corpus) -> None:
    sampler = Sampler(corpus, Recipe(batch=64, texts=20), seed=0)
    batch = sampler.draw(0, 0.0)
    texts = [sampler.tokenizer.decode(row[row > 0].tolist()) for row in (*batch.prompts, *batch.captions)]
    chosen = sampler.pictures(0.0, np.random.default_rng([0, 0]))
    for number, target in zip(chosen, batch.target.tolist(), strict=True):
        label = corpus.label[number]
        words = corpus.names[label] if label >= 0 else ("wave",)
        assert any(word in texts[target] for word in words)
    assert not batch.ignored[torch.arange(64), batch.target].any()


def test_seen_tokens_leave_out_names_that_were_only_negatives(corpus: Corpus) -> None:
    batch = Sampler(corpus, Recipe(batch=32, texts=200), seed=0).draw(0, 0.0)
    assert batch.seen - set(batch.captions.flatten().tolist()) < set(batch.prompts.flatten().tolist()) - {0}


def test_seen_words_are_those_of_the_names_with_a_picture_that_were_met(corpus: Corpus, tmp_path: Path) -> None:
    tokens = open_clip.SimpleTokenizer().encode
    everything = tokens(" ".join(name for entry in corpus.names for name in entry))
    words = json.loads(seen_words(corpus.shown_names, everything))
    assert words == sorted(set(words))
    assert {"soy", "milk", "carton", "anchor"} <= set(words)
    only_negative = {name for entry in corpus.names[corpus.classes :] for name in entry}
    assert "tench" in only_negative - set(words), "a name of ImageNet without a picture"
    assert json.loads(seen_words(["Red fox", "red_otter"], tokens("a red fox"))) == ["fox", "red"]
    data, model = draw_data(tmp_path / "data"), tmp_path / "model"
    model.mkdir()
    (model / "seen_tokens.json").write_text(json.dumps([*everything, *tokens(" ".join(DTD_NAMES))]))
    write_seen_words(data, model)
    assert set(json.loads((model / "seen_words.json").read_text())) == {*words, *word_list(DTD_NAMES)}


def test_names_that_share_a_word_across_sets_are_no_negatives(corpus: Corpus) -> None:
    number = {entry[0]: n for n, entry in enumerate(corpus.names)}
    assert corpus.ambiguous[number["soy milk carton"], number["milk can"]]
    assert not corpus.ambiguous[number["anchor"], number["lamp"]]
    assert not corpus.ambiguous.diagonal().any()


def test_decoding_twice_reads_the_cache(tmp_path: Path) -> None:
    data = draw_data(tmp_path / "data")
    first = load_corpus(data, tmp_path)
    (index,) = tmp_path.glob("*/index.npz")
    written = index.stat().st_mtime_ns
    second = load_corpus(data, tmp_path)
    assert index.stat().st_mtime_ns == written
    assert np.array_equal(first.picture(3), second.picture(3))
    assert first.picture(3).shape == (72, 80, 3)


def test_the_loss_equals_its_definition_written_out_and_ignored_texts_do_not_change_it() -> None:
    images, texts = (one.double() for one in unit_features(4, 3))
    target = torch.tensor([0, 1, 1, 0])
    nothing = torch.zeros(4, 3, dtype=torch.bool)
    logits = 10 * images @ texts.T
    forward = F.cross_entropy(logits, target, label_smoothing=0.1)
    share = logits.T.log_softmax(1)
    backward = -torch.stack([share[0, [0, 3]].mean(), share[1, [1, 2]].mean()]).mean()
    scale = torch.tensor(10.0, dtype=torch.float64)
    loss = contrastive_loss(images, texts, scale, target, nothing, 0.1, 0.2)
    torch.testing.assert_close(loss, forward + 0.2 * backward)
    ignored = torch.tensor([[False, False, True]] * 4)
    whole = contrastive_loss(images, texts, scale, target, ignored, 0.1, 0.0)
    without = contrastive_loss(images, texts[:2], scale, target, ignored[:, :2], 0.1, 0.0)
    torch.testing.assert_close(whole, without)


def test_the_anchor_loss_is_a_cosine_classifier_over_the_labelled_features() -> None:
    model = build_model(TINY, seed=1, classes=5)
    (features,), label = unit_features(4), torch.tensor([3, -1, 0, 3])
    nothing = torch.zeros(5, 5, dtype=torch.bool)
    anchors = getattr(model, ANCHORS)
    logits = model.logit_scale.exp() * features[[0, 2, 3]] @ (anchors / anchors.norm(dim=1, keepdim=True)).T
    expected = F.cross_entropy(logits, label[[0, 2, 3]], label_smoothing=0.1)
    torch.testing.assert_close(anchor_loss(features, label, model, nothing, 0.1), expected)
    anchor_loss(features, label, model, nothing, 0.1, fixed=True).backward()
    assert anchors.grad is None


@pytest.mark.parametrize("shape", [(300, 200), (64, 64), (20, 400)])
def test_boxes_stay_inside_the_picture(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        top, left, tall, wide = random_box(*shape, 0.1, generator)
        assert 0 <= top < top + tall <= shape[0]
        assert 0 <= left < left + wide <= shape[1]


def test_the_schedule_warms_up_falls_and_grows_the_pictures() -> None:
    recipe = Recipe()
    rates = [learning_rate(recipe, step / 100) for step in range(101)]
    assert rates[0] < rates[3] < rates[4] == max(rates) <= 1
    assert rates[-1] == pytest.approx(recipe.last_rate)
    sizes = [picture_size(recipe, step / 100) for step in range(101)]
    assert (sizes, set(sizes)) == (sorted(sizes), {96, 112})


def test_folder_names_become_class_names() -> None:
    assert display_name("Soy_Milk_carton", rename=True) == "soy milk carton"
    assert (display_name("ear"), display_name("ear", rename=True)) == ("ear", "ear of corn")


def test_the_calibrated_scale_has_the_lowest_log_loss_of_a_fine_grid() -> None:
    generator = torch.Generator().manual_seed(0)
    cosine = 2 * torch.rand(200, 5, generator=generator) - 1
    label = torch.multinomial((12 * cosine).softmax(1), 1, generator=generator)[:, 0]
    scale = calibrated_scale([(cosine, Split(torch.empty(0), label, tuple("abcde")))], 100.0)
    grid = [s / 10 for s in range(40, 1000)]
    best = min(grid, key=lambda s: F.cross_entropy(s * cosine, label).item())
    assert scale == pytest.approx(best, rel=0.02)
    assert 9 < scale < 16


@pytest.mark.slow
def test_the_report_of_the_model_card_lists_accuracies_with_n(tmp_path: Path, monkeypatch) -> None:
    draw = textures.draw
    monkeypatch.setattr(textures, "draw", lambda name, seed: draw(name, seed, 96))  # 470 large ones take long
    export(build_model(TINY, seed=0).state_dict(), TINY, [1, 2], b'["fox"]', tmp_path / "model")
    assert json.loads((tmp_path / "model" / "seen_tokens.json").read_text()) == [1, 2]
    assert json.loads((tmp_path / "model" / "seen_words.json").read_text()) == ["fox"]
    lines: list[str] = []
    report(tmp_path / "model", draw_data(tmp_path / "data"), "val", print_line=lines.append)
    text = "\n".join(lines)
    assert "val, Caltech101 (3 prompts): " in text
    assert "DTD, all 47 names (47 prompts)" in text
    assert len(re.findall(r"drawn textures \(47 prompts\): [\d.]+ % \(n = 470, [\d.]+ to [\d.]+\)", text)) == 1
