"""CLIP with the prompt template of a dataset: what depends on it, and what does not."""

from pathlib import Path

import numpy as np
import pytest
import torch

from rita_demo.cli import main as cli
from rita_demo.data.datasets import DATASETS
from rita_demo.data.pictures import open_picture
from rita_demo.data.prompt_templates import prompt_template, resolve_hand_prompt
from rita_demo.data.vocabularies import VOCABULARIES, vocabulary
from rita_demo.engine.engine import Engine
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.dataset_settings import settings_for
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.planned_cells import ModelIdentity
from rita_demo.evaluation.request import Request, points
from rita_demo.pipeline.run import run_picture
from rita_demo.records.errors import SettingError
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE, RECOMMENDED, Settings
from rita_demo.vlm.prompts import DEFAULT_START, encode_sentences, sentence
from tests.evaluation.conftest import headers

PETS = "a photo of a {}, a type of pet."
#: CoOp's zero-shot templates; the generated textures have DTD's class names and so its template.
OFFICIAL = dict.fromkeys(DATASETS, "a photo of a {}.") | {
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
    assert {name: row.template for name, row in DATASETS.items()} == OFFICIAL
    assert sentence(DEFAULT_START, "{}") == DEFAULT_PROMPT_TEMPLATE


def test_a_template_comes_from_the_dataset_the_vocabulary_or_the_user() -> None:
    for name in VOCABULARIES:
        assert prompt_template("dataset", vocabulary(name).names) == OFFICIAL[name]
    assert prompt_template("photo", NAMES) == DEFAULT_PROMPT_TEMPLATE
    assert prompt_template("a {} on a mat.", NAMES) == "a {} on a mat."
    assert resolve_hand_prompt("dataset", "pets") == PETS
    assert resolve_hand_prompt("dataset", "cars") == "photo"  # the default template: the same measurement
    for asked in (prompt_template, resolve_hand_prompt):
        with pytest.raises(SettingError, match="hand_prompt"):
            asked("dataset", "mine")


@pytest.mark.parametrize("text", ["", "a photo", "{} and {}", "{}\n", "x" * 250 + "{}", 3, None])
def test_an_invalid_template_gives_an_error_message(text: object) -> None:
    with pytest.raises(SettingError, match=r"hand_prompt is photo or dataset, or a sentence"):
        RECOMMENDED.replace(hand_prompt=text)


def test_the_default_template_gives_the_features_of_the_first_prompt(engine: Engine) -> None:
    class_prompts = engine.encode_classes(NAMES, RECOMMENDED)
    spelled = engine.encode_classes(NAMES, RECOMMENDED.replace(hand_prompt=DEFAULT_PROMPT_TEMPLATE))
    assert RECOMMENDED.hand_prompt == "photo"
    assert np.array_equal(class_prompts.template_features, class_prompts.features[:, 0])
    assert np.array_equal(spelled.template_features, class_prompts.template_features)


def test_another_template_changes_only_the_hand_prompt(engine: Engine) -> None:
    usual = engine.encode_classes(NAMES, RECOMMENDED)
    class_prompts = engine.encode_classes(NAMES, RECOMMENDED.replace(hand_prompt=PETS))
    said = [f"a photo of a {name}, a type of pet." for name in NAMES]
    expected = encode_sentences(engine._backbone, said).numpy()
    assert np.array_equal(class_prompts.template_features, expected)
    assert np.abs(class_prompts.template_features - usual.template_features).max() > 1e-3
    assert np.array_equal(class_prompts.features, usual.features)
    assert (class_prompts.prompts, class_prompts.key) == (usual.prompts, usual.key)
    assert (usual.prompt_template, class_prompts.prompt_template) == (DEFAULT_PROMPT_TEMPLATE, PETS)


def test_the_methods_that_use_it_change_and_the_tuned_ones_do_not(engine: Engine) -> None:
    rng = np.random.default_rng(0)
    picture = open_picture(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8), square="model", side=64)
    methods = ("clip", "ensemble", "mta", "tpt", "ctpt", "rtpt", "rita")
    few = Settings(attack="none", views=6, prompts=2, descriptions="none")
    one, other = (
        run_picture(engine, picture, NAMES, few.replace(hand_prompt=asked), methods=methods).clean.verdicts
        for asked in ("photo", PETS)
    )
    moved = {m for m in methods if not np.array_equal(one[m].probability, other[m].probability)}
    assert moved == {"clip", "ensemble", "mta"}
    by_hand = (
        engine.encode_views(picture, few).features[0]
        @ engine.encode_classes(NAMES, few.replace(hand_prompt=PETS)).template_features.T
    )
    logits = torch.from_numpy(by_hand) / engine.encode_classes(NAMES, few).temperature
    np.testing.assert_allclose(other["clip"].probability, logits.softmax(-1), atol=1e-5)


def test_the_attack_uses_the_template_and_the_threat_model_names_it(engine: Engine) -> None:
    rng = np.random.default_rng(1)
    picture = open_picture(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8), square="model", side=64)
    few = Settings(steps=3, views=4, prompts=2, descriptions="none")
    stories = {
        asked: run_picture(engine, picture, NAMES, few.replace(hand_prompt=asked), label=0)
        for asked in ("photo", "{} texture.")
    }
    photo, texture = stories.values()
    assert not np.array_equal(photo.attack.pixels, texture.attack.pixels)
    assert "the prompt “a photo of a …”" in " ".join(photo.threat_model.sentences)
    assert "the prompt “… texture”" in " ".join(texture.threat_model.sentences)
    with pytest.raises(SettingError, match="hand_prompt=dataset needs a dataset's own class names"):
        run_picture(engine, picture, NAMES, few.replace(hand_prompt="dataset"))


MODEL = ModelIdentity("tiny", "weights")


def cells(attacks: str, data_root: Path, dataset: str = "dtd") -> tuple[list[planned_cells.Cell], PictureSet]:
    found, fixed = points(attacks=attacks, budget="4", protocols="off", sweeps=["hand_prompt=photo,dataset"])
    methods = ("clip", "ensemble", "tpt", "mta", "rita")
    request = Request((dataset,), "val", methods, found, Path("unused"), fixed_seeds=fixed)
    collection = collect(dataset, data_root, "val", limit=None, allow_partial=True)
    return list(planned_cells.cells_of(settings_for(request, dataset), 0)), collection


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
def test_exactly_the_cells_that_depend_on_the_template_are_measured_again(
    data_root: Path, attack: str, twice: set[str], squares: int
) -> None:
    found, collection = cells(attack, data_root)
    of = {m: [c for c in found if c.method == m] for m in ("clip", "ensemble", "tpt", "mta", "rita")}
    assert {m for m, some in of.items() if len(some) == 2} == twice
    assert all(len(some) in (1, 2) for some in of.values())
    for key in (planned_cells.attack_key, planned_cells.views_key):
        assert len({key(c, collection, MODEL) for c in of["clip"]}) == squares
    assert len({planned_cells.settings_hash(c, collection, MODEL) for c in of["clip"]}) == 2
    assert {c.settings.hand_prompt for c in of["clip"]} == {"photo", "{} texture."}


def test_a_dataset_with_the_default_template_is_measured_once(data_root: Path) -> None:
    found, _ = cells("pgd", data_root, "caltech101")
    assert len(found) == 5
    assert {c.requested.hand_prompt for c in found} == {"photo"}


def test_runs_stored_before_the_template_setting_are_found(data_root: Path) -> None:
    found, collection = cells("pgd", data_root)
    usual = next(c for c in found if (c.method, c.settings.hand_prompt) == ("clip", "photo"))
    settings = {n: v for n, v in usual.settings.as_dict().items() if n not in planned_cells.COLUMNS}
    del settings["hand_prompt"]
    settings["descriptions"] = planned_cells._description_content(usual, collection)
    pictures = planned_cells.digest(sorted((e.id, e.size) for e in collection.items))
    then = {"format": planned_cells.FORMAT, "knobs": settings, "fixed": [], "names": collection.names}
    then |= {"pictures": pictures, "weights": MODEL.weights}
    assert planned_cells.settings_hash(usual, collection, MODEL) == planned_cells.digest(then)


def test_a_run_with_the_dataset_template_names_it_everywhere(run_evaluate, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    more = ("--dataset", "dtd", "--allow-partial", "--methods", "clip", "--limit", "2")
    out = run_evaluate(tmp_path / "runs", *more, "--sweep", "hand_prompt=photo,dataset")
    found_headers = headers(out)
    said = {h["knobs"]["hand_prompt"]: " ".join(h["threat_model"]["sentences"]) for h in found_headers}
    assert set(said) == {"photo", "{} texture."}
    assert "“a photo of a …”" in said["photo"]
    assert "“… texture”" in said["{} texture."]
    assert len({h["pool"] for h in found_headers}) == 2
    assert len(list(out.glob("attacked/*"))) == 2
    capsys.readouterr()
    assert cli.main(["tables", str(out)]) == 0
    text = capsys.readouterr().out
    assert "hand_prompt={} texture." in text
    assert text.count("### dtd (val)") == 3, "the overview, and a table for each of two threat models"


def test_a_folder_has_no_template_of_its_own(command_line, data_root: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    folder = "caltech-101/101_ObjectCategories"
    more = ("--dataset", folder, "--split", "all", "--set", "hand_prompt=dataset")
    assert cli.main(command_line(tmp_path / "runs", *more)) == 1
    assert "There is no sentence for the folder" in capsys.readouterr().err
    more = (*more[:-1], "hand_prompt=a {} of mine.", "--methods", "clip", "--limit", "1")
    assert cli.main(command_line(tmp_path / "runs", *more)) == 0
