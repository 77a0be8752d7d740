"""CLIP asked with a dataset's own sentence: what it changes, what it leaves alone, what is never mixed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from rita_demo import cli
from rita_demo.data.datasets import DATASETS
from rita_demo.data.hand_prompts import hand_sentence, of_dataset
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES, vocabulary
from rita_demo.engine import Engine
from rita_demo.errors import SettingError
from rita_demo.evaluation import plan
from rita_demo.evaluation.by_dataset import on
from rita_demo.evaluation.collection import Collection, collect
from rita_demo.evaluation.plan import Model
from rita_demo.evaluation.request import Request, points
from rita_demo.settings import HAND_SENTENCE, RECOMMENDED, Settings
from rita_demo.story import tell
from rita_demo.vlm import encode_sentences
from rita_demo.vlm.templates import HAND, sentence

PETS = "a photo of a {}, a type of pet."
#: CoOp's own, from its zero-shot CLIP; the drawn textures carry DTD's words and so DTD's sentence.
OFFICIAL = {
    "caltech101": "a photo of a {}.",
    "dtd": "{} texture.",
    "textures": "{} texture.",
    "pets": PETS,
    "cars": "a photo of a {}.",
    "flowers102": "a photo of a {}, a type of flower.",
    "aircraft": "a photo of a {}, a type of aircraft.",
    "eurosat": "a centered satellite photo of {}.",
    "ucf101": "a photo of a person doing {}.",
    "sun397": "a photo of a {}.",
    "food101": "a photo of {}, a type of food.",
    "imagenet": "a photo of a {}.",
    "imagenet_a": "a photo of a {}.",
    "imagenet_v2": "a photo of a {}.",
    "imagenet_r": "a photo of a {}.",
    "imagenet_sketch": "a photo of a {}.",
}
NAMES = ("cat", "dog", "cup", "brick")


@pytest.fixture(scope="module")
def engine(tiny_model_dir: Path) -> Engine:
    return Engine(f"local-dir:{tiny_model_dir}", "cpu")


def test_every_dataset_has_the_official_sentence() -> None:
    assert {name: row.template for name, row in DATASETS.items()} == OFFICIAL
    assert sentence(HAND, "{}") == HAND_SENTENCE


def test_a_sentence_is_that_of_the_dataset_of_a_ready_list_or_any_other() -> None:
    for name in VOCABULARIES:
        assert hand_sentence("dataset", vocabulary(name).names) == OFFICIAL[name]
    assert hand_sentence("photo", NAMES) == HAND_SENTENCE
    assert hand_sentence("a {} on a mat.", NAMES) == "a {} on a mat."
    assert of_dataset("dataset", "pets") == PETS
    assert of_dataset("dataset", "cars") == "photo"  # the same sentence: the same measurement
    for asked in (hand_sentence, of_dataset):
        with pytest.raises(SettingError, match="hand_prompt"):
            asked("dataset", "mine")


@pytest.mark.parametrize("text", ["", "a photo", "{} and {}", "{}\n", "x" * 250 + "{}", 3, None])
def test_a_sentence_that_cannot_be_one_is_told(text: object) -> None:
    with pytest.raises(SettingError, match=r"hand_prompt is photo or dataset, or a sentence"):
        RECOMMENDED.but(hand_prompt=text)


def test_the_usual_sentence_gives_the_very_features_of_the_first_prompt(engine: Engine) -> None:
    bank = engine.classes(NAMES, RECOMMENDED)
    spelled = engine.classes(NAMES, RECOMMENDED.but(hand_prompt=HAND_SENTENCE))
    assert RECOMMENDED.hand_prompt == "photo"
    assert np.array_equal(bank.hand, bank.features[:, 0])
    assert np.array_equal(spelled.hand, bank.hand)


def test_another_sentence_is_encoded_whole_and_moves_the_hand_prompt_alone(engine: Engine) -> None:
    usual = engine.classes(NAMES, RECOMMENDED)
    bank = engine.classes(NAMES, RECOMMENDED.but(hand_prompt=PETS))
    said = [f"a photo of a {name}, a type of pet." for name in NAMES]
    expected = encode_sentences(engine._backbone, said).numpy()
    assert np.array_equal(bank.hand, expected)
    assert np.abs(bank.hand - usual.hand).max() > 1e-3
    assert np.array_equal(bank.features, usual.features)
    assert (bank.prompts, bank.key) == (usual.prompts, usual.key)
    assert (usual.hand_sentence, bank.hand_sentence) == (HAND_SENTENCE, PETS)


def test_the_methods_that_use_it_change_and_the_tuned_ones_do_not(engine: Engine) -> None:
    rng = np.random.default_rng(0)
    picture = open_picture(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8), square="model", side=64)  # fmt: skip
    methods = ("clip", "ensemble", "mta", "tpt", "ctpt", "rtpt", "rita")
    few = Settings(attack="none", views=6, prompts=2, descriptions="none")
    one, other = (
        tell(engine, picture, NAMES, few.but(hand_prompt=asked), methods=methods).clean.verdicts
        for asked in ("photo", PETS)
    )
    moved = {m for m in methods if not np.array_equal(one[m].probability, other[m].probability)}
    assert moved == {"clip", "ensemble", "mta"}
    by_hand = engine.look(picture, few).features[0] @ engine.classes(NAMES, few.but(hand_prompt=PETS)).hand.T  # fmt: skip
    logits = torch.from_numpy(by_hand) / engine.classes(NAMES, few).temperature
    np.testing.assert_allclose(other["clip"].probability, logits.softmax(-1), atol=1e-5)


def test_the_attacker_attacks_the_sentence_and_the_threat_model_says_it(engine: Engine) -> None:
    rng = np.random.default_rng(1)
    picture = open_picture(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8), square="model", side=64)  # fmt: skip
    few = Settings(steps=3, views=4, prompts=2, descriptions="none")
    stories = {
        asked: tell(engine, picture, NAMES, few.but(hand_prompt=asked), label=0)
        for asked in ("photo", "{} texture.")
    }
    photo, texture = stories.values()
    assert not np.array_equal(photo.attack.pixels, texture.attack.pixels)
    assert "the prompt “a photo of a …”" in " ".join(photo.threat.sentences)
    assert "the prompt “… texture”" in " ".join(texture.threat.sentences)
    with pytest.raises(SettingError, match="hand_prompt=dataset needs a dataset's own class names"):
        tell(engine, picture, NAMES, few.but(hand_prompt="dataset"))


MODEL = Model("tiny", "weights")


def cells(
    attacks: str, data_root: Path, dataset: str = "dtd"
) -> tuple[list[plan.Cell], Collection]:
    found, fixed = points(
        attacks=attacks, budget="4", protocols="off", sweeps=["hand_prompt=photo,dataset"]
    )
    methods = ("clip", "ensemble", "tpt", "mta", "rita")
    request = Request((dataset,), "val", methods, found, Path("unused"), fixed=fixed)
    collection = collect(dataset, data_root, "val", limit=None, allow_partial=True)
    return list(plan.cells_of(on(request, dataset), 0)), collection


@pytest.mark.parametrize(
    ("attack", "twice", "squares"),
    [
        ("none", {"clip", "ensemble", "mta"}, 1),
        ("noise", {"clip", "ensemble", "mta"}, 1),
        ("defence", {"clip", "ensemble", "mta"}, 1),
        ("pgd", {"clip", "ensemble", "tpt", "mta", "rita"}, 2),
        ("eot", {"clip", "ensemble", "tpt", "mta", "rita"}, 2),
    ],
)
def test_exactly_what_depends_on_the_sentence_is_measured_again(
    data_root: Path, attack: str, twice: set[str], squares: int
) -> None:
    found, collection = cells(attack, data_root)
    of = {
        m: [c for c in found if c.method == m] for m in ("clip", "ensemble", "tpt", "mta", "rita")
    }
    assert {m for m, some in of.items() if len(some) == 2} == twice
    assert all(len(some) in (1, 2) for some in of.values())
    for key in (plan.attack_key, plan.look_key):
        assert len({key(c, collection, MODEL) for c in of["clip"]}) == squares
    assert len({plan.settings_hash(c, collection, MODEL) for c in of["clip"]}) == 2
    assert {c.settings.hand_prompt for c in of["clip"]} == {"photo", "{} texture."}


def test_a_dataset_with_the_usual_sentence_is_measured_once(data_root: Path) -> None:
    found, _ = cells("pgd", data_root, "caltech101")
    assert len(found) == 5
    assert {c.asked.hand_prompt for c in found} == {"photo"}


def test_what_was_stored_before_there_was_a_choice_is_found(data_root: Path) -> None:
    found, collection = cells("pgd", data_root)
    usual = next(c for c in found if (c.method, c.settings.hand_prompt) == ("clip", "photo"))
    knobs = {n: v for n, v in usual.settings.as_dict().items() if n not in plan.COLUMNS}
    del knobs["hand_prompt"]
    knobs["descriptions"] = plan._described(usual, collection)
    pictures = plan.digest(sorted((e.id, e.size) for e in collection.entries))
    then = {"format": plan.FORMAT, "knobs": knobs, "fixed": [], "names": collection.names}
    then |= {"pictures": pictures, "weights": MODEL.weights}
    assert plan.settings_hash(usual, collection, MODEL) == plan.digest(then)


def test_a_run_with_the_datasets_sentence_says_so_everywhere(
    measure, tmp_path: Path, capsys
) -> None:  # type: ignore[no-untyped-def]
    more = ("--dataset", "dtd", "--allow-partial", "--methods", "clip", "--limit", "2")
    out = measure(tmp_path / "runs", *more, "--sweep", "hand_prompt=photo,dataset")
    headers = [json.loads(p.read_text()) for p in out.glob("cells/*/header.json")]
    said = {h["knobs"]["hand_prompt"]: " ".join(h["threat_model"]["sentences"]) for h in headers}
    assert set(said) == {"photo", "{} texture."}
    assert "“a photo of a …”" in said["photo"]
    assert "“… texture”" in said["{} texture."]
    assert len({h["pool"] for h in headers}) == 2
    assert len(list(out.glob("attacked/*"))) == 2
    capsys.readouterr()
    assert cli.main(["tables", str(out)]) == 0
    text = capsys.readouterr().out
    assert "hand_prompt={} texture." in text
    assert text.count("### dtd (val)") == 2  # two threat models, two tables


def test_a_folder_has_no_sentence_of_its_own(
    words, data_root: Path, tmp_path: Path, capsys
) -> None:  # type: ignore[no-untyped-def]
    folder = "caltech-101/101_ObjectCategories"
    more = ("--dataset", folder, "--split", "all", "--set", "hand_prompt=dataset")
    assert cli.main(words(tmp_path / "runs", *more)) == 1
    assert "There is no sentence for the folder" in capsys.readouterr().err
    more = (*more[:-1], "hand_prompt=a {} of mine.", "--methods", "clip", "--limit", "1")
    assert cli.main(words(tmp_path / "runs", *more)) == 0
