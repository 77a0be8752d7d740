"""The preset ``paper`` per dataset and tower, and the prompt templates of datasets: what depends on them."""

import numpy as np
import pytest
import torch

from rita_demo.cli import main as cli
from rita_demo.cli.evaluate import request_of
from rita_demo.data.datasets import DATASETS
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES, prompt_template, resolve_hand_prompt, vocabulary
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.planned_cells import dataset_defaults, settings_for
from rita_demo.evaluation.request import Request
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture
from rita_demo.records.errors import SettingError
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE, PAPER, RECOMMENDED, Settings
from rita_demo.vlm.prompts import DEFAULT_START, sentence
from tests.data.test_datasets import CONTRACT

IMAGENET = ("imagenet", "imagenet_a", "imagenet_v2", "imagenet_r", "imagenet_sketch")


def parse_request(*more: str) -> Request:
    words = ["evaluate", "--dataset", "dtd,imagenet_a", "--methods", "ctpt", "--attack", "none"]
    words += ["--budget", "1", "--out", "unused", *more]
    return request_of(cli.build_parser().parse_args(words))


def values(request: Request, dataset: str) -> set[tuple[bool, float]]:
    return {(p.subset_size, p.ctpt_weight) for p in settings_for(request, dataset).points}


#: Appendix B of the paper: |S| and the class descriptors, by dataset and tower; all others have 64 and all of them.
APPENDIX_B = {
    ("eurosat", "ViT-B/16"): (32, "none"),
    ("eurosat", "ViT-B/32"): (32, "built_in"),
    **{("imagenet_a", tower): (32, "built_in") for tower in ("ViT-B/16", "ViT-B/32", "RN50")},
    **{("imagenet_r", tower): (32, "built_in") for tower in ("ViT-B/16", "ViT-B/32", "RN50")},
    **{("imagenet_sketch", tower): (32, "none") for tower in ("ViT-B/16", "ViT-B/32", "RN50")},
}
TOWERS = {
    "ViT-B/16": ("ViT-B/16", "ViT-B-16-quickgelu:openai"),
    "ViT-B/32": ("ViT-B/32", "ViT-B-32-quickgelu:openai", "ViT-B-32-quickgelu:openai+tecoa.pt"),
    "RN50": ("RN50", "RN50-quickgelu:openai", "embedded", "EVA02-B-16:merged2b_s8b_b131k"),
}


@pytest.mark.parametrize(("tower", "backbone"), [(tower, name) for tower, names in TOWERS.items() for name in names])
@pytest.mark.parametrize("name", [*CONTRACT, "a/folder of mine", "imagenet_r:present", "eurosat:present"])
def test_the_preset_paper_is_appendix_b_to_the_letter(name: str, tower: str, backbone: str) -> None:
    base = name.partition(":")[0]
    size, descriptions = APPENDIX_B.get((base, tower), (64, "built_in"))
    request = parse_request("--preset", "paper", "--backbone", backbone)
    for point in settings_for(request, name).points:
        assert (point.subset_size, point.descriptions, point.views_augmix) == (size, descriptions, True)
        assert point.ctpt_weight == (20.0 if base in IMAGENET else 50.0), "its authors' value, not in the paper"
        given = {"attack": "none", "budget": 1, "protocol": point.protocol}
        assert point == PAPER.replace(**given, **dataset_defaults(request, name)), "nothing else differs"
    for point in settings_for(parse_request("--backbone", backbone), name).points:
        assert (point.subset_size, point.ctpt_weight, point.views_augmix) == (64, 50.0, False)


def test_explicit_settings_override_the_preset() -> None:
    explicit = parse_request("--preset", "paper", "--set", "subset_size=64", "--sweep", "ctpt_weight=5,50")
    assert values(explicit, "imagenet_a") == {(64, 5.0), (64, 50.0)}
    half = parse_request("--preset", "paper", "--set", "ctpt_weight=50")  # the preset's value, but explicit
    assert values(half, "imagenet_r") == {(32, 50.0)}
    assert dataset_defaults(half, "imagenet_r") == {"subset_size": 32}
    assert dataset_defaults(parse_request(), "imagenet") == {}


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
