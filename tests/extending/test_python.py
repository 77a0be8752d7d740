"""docs/extending.md, what is extended from Python, to the letter and from an empty folder; and that its numbers are right."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo import Engine, evaluate, own_model, run
from rita_demo.data.pictures import png_bytes
from rita_demo.engine.engine import Engine as EngineType
from rita_demo.records.errors import DataError, VocabularyError
from rita_demo.vlm.registry import load
from tests.extending.page import code_blocks, picture
from tests.textures import texture

pytestmark = pytest.mark.slow


def test_an_array_is_a_picture(folder: Path, output_of) -> None:
    (code,) = code_blocks("A picture as an array")
    said = output_of(code)
    assert "clean_answer" in said
    assert said.split()[-1] in ("cup", "crab", "cat")
    assert (folder / "run.zip").stat().st_size > 500_000


def test_functions_of_a_notebook_are_rows_and_columns(output_of) -> None:
    (code,) = code_blocks("From a notebook")
    quick = code.replace("[:2]", "[:1]").replace('.steps": 3', '.steps": 1, "attack_views": 2, "adaptive.restarts": 1')
    answers, rows = output_of(quick).split("method    attack")
    assert "\nmedian " in answers
    assert all(word in rows for word in ("median", "ensemble", "adaptive", "halved_step"))


def test_pairs_are_a_dataset(folder: Path, output_of) -> None:
    said = output_of(code_blocks("A dataset")[-1])
    assert all(name in said for name in ("clip", "rita", "pgd", "none")), said
    assert not list(folder.iterdir())


def test_a_module_is_a_model(folder: Path, output_of) -> None:
    picture(folder)
    (code,) = code_blocks("A model")
    said = output_of(code)
    assert "RunResult, attack pgd" in said
    assert "\nrita " in said


class Wrapped(torch.nn.Module):
    """A model of which only the two functions are known."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.inside = model

    def encode_image(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.inside.encode_image(pixels)

    def encode_text(self, ids: torch.Tensor) -> torch.Tensor:
        return self.inside.encode_text(ids)


def test_the_embedded_model_as_a_module_gives_its_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attack, prompt update and decision of a wrapped model equal those of the same weights loaded by name."""
    built = []
    monkeypatch.setattr("rita_demo.vlm.registry.Backbone", lambda *parts, **more: built.append((*parts, more)))
    load("embedded", "cpu")
    monkeypatch.undo()
    ((model, tokenizer, more),) = built
    known = {name: more[name] for name in ("mean", "std", "interpolation")}
    temperature = float(model.logit_scale.detach().exp()) ** -1
    side = model.visual.image_size[0] if isinstance(model.visual.image_size, tuple) else model.visual.image_size
    own = own_model(Wrapped(model), tokenizer, name="mine", side=side, temperature=temperature, device="cpu", **known)
    asked = {"label": "woven", "methods": ["tpt"], "settings": {"views": 8, "steps": 3}}
    pixels = texture("woven", 3)
    mine, theirs = (
        run(pixels, ["banded", "dotted", "woven"], engine=Engine(one), **asked)
        for one in (own, load("embedded", "cpu"))
    )
    for side_name, tolerance in (("clean", 2e-5), ("attacked", 1e-3)):  # PGD takes signs of gradients near zero
        a, b = (getattr(one.run, side_name) for one in (mine, theirs))
        np.testing.assert_allclose(a.trace.total, b.trace.total, atol=tolerance)
        for method in ("clip", "tpt", "rita"):
            np.testing.assert_allclose(
                a.verdicts[method].probability, b.verdicts[method].probability, atol=5 * tolerance
            )
    assert mine.to_json()["backbone"] == "mine"


@pytest.fixture(scope="module")
def engine() -> EngineType:
    return Engine("embedded")


ASKED = {"methods": "clip,ensemble,rita", "attack": "none,pgd", "budget": 4, "settings": {"views": 4, "steps": 2}}


def test_pairs_have_the_answers_of_a_folder_with_the_same_pictures(engine: EngineType, tmp_path: Path) -> None:
    """Seeds follow from the pictures' names, which differ: with fixed seeds every number is the same."""
    fixed = {"view_seed": 1, "attack_seed": 2}
    asked = ASKED | {"protocols": "off", "engine": engine, "settings": ASKED["settings"] | fixed}
    pairs = [(texture(name, seed, 96), name) for seed in (1, 2) for name in ("dotted", "woven")]
    for number, (pixels, name) in enumerate(pairs):
        (tmp_path / "toys" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "toys" / name / f"{number}.png").write_bytes(png_bytes(pixels))
    own = evaluate(iter(pairs), ["dotted", "woven"], **asked)
    folder = evaluate("toys", data_root=tmp_path, split="all", out=tmp_path / "runs", **asked)
    assert len(own) == len(folder) == 4 * 3 * 2
    key = ["method", "attack", "label", "probability", "margin", "linf", "l2", "right"]
    numbers = [frame[key].sort_values(key).reset_index(drop=True) for frame in (own, folder)]
    assert (numbers[0] == numbers[1]).all(axis=None)


@pytest.mark.parametrize(
    ("pairs", "error", "sentence"),
    [
        ("textures", VocabularyError, "A named dataset has its own class names."),
        ([np.zeros((8, 8, 3), np.uint8)], DataError, r"Item 0 is a pair \(picture, label\)"),
        ([(np.zeros((8, 8, 3), np.uint8), "crib")], VocabularyError, "Closest: 'crab'"),
    ],
)
def test_pairs_that_cannot_be_used_get_a_sentence(pairs: Any, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        evaluate(pairs, ["cup", "crab"], **ASKED)
