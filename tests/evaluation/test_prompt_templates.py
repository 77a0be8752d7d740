"""CLIP with the prompt template of a dataset: what depends on it, and what does not."""

from pathlib import Path

import numpy as np
import pytest
import torch

from rita_demo.cli import main as cli
from rita_demo.data.datasets import DATASETS
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES, prompt_template, resolve_hand_prompt, vocabulary
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture
from rita_demo.records.errors import SettingError
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE, RECOMMENDED, Settings
from rita_demo.vlm.prompts import DEFAULT_START, encode_sentences, sentence
from tests.data.test_datasets import CONTRACT
from tests.evaluation.conftest import headers, places
from tests.evaluation.frames import overview

PETS = "a photo of a {}, a type of pet."
#: CoOp's zero-shot templates; the generated textures have DTD's class names and so its template.
OFFICIAL = dict.fromkeys(CONTRACT, "a photo of a {}.") | {
    "dtd": "{} texture.",
    "textures": "{} texture.",
    "pets": PETS,
    "flowers102": "a photo of a {}, a type of flower.",
    "aircraft": "a photo of a {}, a type of aircraft.",
    "eurosat": "a centered satellite photo of {}.",
    "ucf101": "a photo of a person doing {}.",
    "food101": "a photo of {}, a type of food.",
}
NAMES = ("cat", "dog", "cup", "brick")


def test_every_dataset_has_the_official_template() -> None:
    assert {name: DATASETS[name].template for name in OFFICIAL} == OFFICIAL
    assert sentence(DEFAULT_START, "{}") == DEFAULT_PROMPT_TEMPLATE


def test_a_template_comes_from_the_dataset_the_vocabulary_or_the_user() -> None:
    for name in OFFICIAL.keys() & VOCABULARIES.keys():
        assert prompt_template("dataset", vocabulary(name).names) == OFFICIAL[name]
    assert prompt_template("photo", NAMES) == DEFAULT_PROMPT_TEMPLATE
    assert prompt_template("a {} on a mat.", NAMES) == "a {} on a mat."
    assert resolve_hand_prompt("dataset", "pets") == PETS
    assert resolve_hand_prompt("dataset", "cars") == "photo"  # the default template: the same measurement
    for asked in (prompt_template, resolve_hand_prompt):
        with pytest.raises(SettingError, match="hand_prompt"):
            asked("dataset", "mine")


def test_an_invalid_template_gives_an_error_message() -> None:
    for text in ("", "a photo", "{} and {}", "{}\n", "x" * 250 + "{}", 3, None):
        with pytest.raises(SettingError, match=r"hand_prompt is photo or dataset, or a sentence"):
            RECOMMENDED.replace(hand_prompt=text)


def test_a_template_changes_only_the_hand_prompt_and_the_default_one_is_the_first_prompt(engine: Engine) -> None:
    usual = engine.encode_classes(NAMES, RECOMMENDED)
    assert RECOMMENDED.hand_prompt == "photo"
    assert np.array_equal(usual.template_features, usual.features[:, 0])
    for template in (DEFAULT_PROMPT_TEMPLATE, PETS):
        prompts = engine.encode_classes(NAMES, RECOMMENDED.replace(hand_prompt=template))
        expected = encode_sentences(engine._backbone, [template.format(name) for name in NAMES]).numpy()
        assert np.allclose(prompts.template_features, expected, atol=1e-6)
        assert np.array_equal(prompts.features, usual.features)
        assert (prompts.prompts, prompts.key, prompts.prompt_template) == (usual.prompts, usual.key, template)
    assert np.abs(prompts.template_features - usual.template_features).max() > 1e-3


def noise(seed: int) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return open_picture(pixels, square="model", side=64)


def test_the_methods_that_use_it_change_and_the_tuned_ones_do_not(engine: Engine) -> None:
    picture, methods = noise(0), ("clip", "ensemble", "mta", "tpt", "ctpt", "rtpt", "rita")
    few = Settings(attack="none", views=6, prompts=2, descriptions="none")
    one, other = (
        run_picture(engine, picture, NAMES, few.replace(hand_prompt=asked), methods=methods).clean.verdicts
        for asked in ("photo", PETS)
    )
    moved = {m for m in methods if not np.array_equal(one[m].probability, other[m].probability)}
    assert moved == {"clip", "ensemble", "mta"}
    prompts = engine.encode_classes(NAMES, few.replace(hand_prompt=PETS))
    logits = engine.encode_views(picture, few).features[0] @ prompts.template_features.T / prompts.temperature
    np.testing.assert_allclose(other["clip"].probability, torch.from_numpy(logits).softmax(-1), atol=1e-5)


def test_the_attack_uses_the_template_and_the_threat_model_names_it(engine: Engine) -> None:
    few = Settings(steps=3, views=4, prompts=2, descriptions="none")
    asked = {"photo": "the prompt “a photo of a …”", "{} texture.": "the prompt “… texture”"}
    runs = [run_picture(engine, noise(1), NAMES, few.replace(hand_prompt=text), label=0) for text in asked]
    assert not np.array_equal(runs[0].attack.pixels, runs[1].attack.pixels)
    for run, words in zip(runs, asked.values()):
        assert words in " ".join(run.threat_model.sentences)
    with pytest.raises(SettingError, match="hand_prompt=dataset needs a dataset's own class names"):
        run_picture(engine, noise(1), NAMES, few.replace(hand_prompt="dataset"))


def test_a_run_with_the_dataset_template_names_it_everywhere(run_evaluate, tmp_path: Path, capsys) -> None:
    more = ("--dataset", "dtd", "--allow-partial", "--methods", "clip", "--limit", "2")
    out = run_evaluate(tmp_path / "runs", *more, "--sweep", "hand_prompt=photo,dataset")
    threats = {h.facts["requested"]["hand_prompt"]: " ".join(h.facts["threat"]) for h in headers(out)}
    assert ["“a photo of a …”" in threats["photo"], "“… texture”" in threats["{} texture."]] == [True, True]
    assert len({h.columns["settings"] for h in headers(out)}) == places(out, "attacked") == 2
    text = overview(out)
    assert text.count("### dtd (val)") == 2, "the overview, and the lines of all cells"
    assert all(part in text for part in ("hand_prompt={} texture.", "“a photo of a …”", "“… texture”"))


def test_a_folder_has_no_template_of_its_own(command_line, data_root: Path, tmp_path: Path, capsys) -> None:
    folder = "caltech-101/101_ObjectCategories"
    more = ("--dataset", folder, "--split", "all", "--set", "hand_prompt=dataset")
    assert cli.main(command_line(tmp_path / "runs", *more)) == 1
    assert "There is no sentence for the folder" in capsys.readouterr().err
    more = (*more[:-1], "hand_prompt=a {} of mine.", "--methods", "clip", "--limit", "1")
    assert cli.main(command_line(tmp_path / "runs", *more)) == 0
