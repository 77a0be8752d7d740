"""Pictures attacked and encoded in batches: the same rows in the same order, with the same cache."""

from typing import Any

import numpy as np
import pytest

from rita_demo.data.datasets import read_dataset
from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.evaluation import evaluate_picture
from rita_demo.settings import RECOMMENDED
from tests.textures import texture

BATCH = 3


def counted(monkeypatch: pytest.MonkeyPatch, method: str) -> list[int]:
    """The sizes of the batches that an engine's method gets from now on."""
    sizes: list[int] = []
    whole = getattr(Engine, method)

    def count(self: Engine, pictures: Any, *rest: Any) -> Any:
        sizes.append(len(pictures))
        return whole(self, pictures, *rest)

    monkeypatch.setattr(Engine, method, count)
    return sizes


@pytest.fixture
def batch_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Batches of three pictures; returns the sizes of the encoded batches."""
    monkeypatch.setitem(evaluate_picture.VIEW_BATCH, "cpu", BATCH)
    return counted(monkeypatch, "encode_views_batch")


def assert_same_runs(found: dict, wanted: dict) -> None:
    assert list(found) == list(wanted)
    for name, rows in wanted.items():
        for row, alone in zip(found[name], rows, strict=True):
            for column in ("picture", "answer", "right", "already_wrong", "picture_seed", "target"):
                assert row[column] == alone[column], (name, column)
            assert row["linf"] == pytest.approx(alone["linf"], abs=1)
            assert np.isclose(row["probability"], alone["probability"], atol=5e-3)
            assert [entered[:3] for entered in row["entered"]] == [entered[:3] for entered in alone["entered"]]


@pytest.mark.slow
def test_batches_give_the_same_rows_as_single_pictures(run_evaluate, rows_of, tmp_path, batch_sizes, monkeypatch):
    more = ["--attack", "none,pgd,di"]
    decided = counted(monkeypatch, "decide_in_turn")
    found = rows_of(run_evaluate(tmp_path / "batches", *more, "--limit", "7"))
    assert max(batch_sizes) == BATCH
    assert decided == [3, 3, 1] * 3
    batches = list(batch_sizes)
    monkeypatch.setitem(evaluate_picture.VIEW_BATCH, "cpu", 1)
    assert_same_runs(found, rows_of(run_evaluate(tmp_path / "single", *more, "--limit", "7")))
    assert batch_sizes == batches


@pytest.mark.parametrize("attack", ["pgd", "di"])
def test_attacks_side_by_side_have_the_bits_of_single_ones(engine: Engine, attack: str) -> None:
    settings = RECOMMENDED.replace(attack=attack, square="model", steps=3)
    prompts = engine.encode_classes(read_dataset("textures", None).names, settings)
    pictures = [picture_of(texture("dotted", seed)[:128, :128]) for seed in range(3)]
    together = engine.attack_batch(pictures, prompts, settings, [10, 11, 12], [5, 6, 7])
    for picture, label, seed, one in zip(pictures, [10, 11, 12], [5, 6, 7], together, strict=True):
        alone = engine.attack(picture, prompts, settings.replace(attack_seed=seed), label)
        assert np.array_equal(one.frames, alone.frames)
        assert np.array_equal(one.loss, alone.loss)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("attack", "expected", "more"),
    [
        ("pgd", [3, 3, 3, 3], ()),
        ("adaptive", [], ("--methods", "rita", "--set", "adaptive.steps=2", "--limit", "4")),  # it uses the memory
    ],
)
def test_on_a_cpu_the_next_pictures_are_attacked_together(run_evaluate, tmp_path, monkeypatch, attack, expected, more):
    sizes, views = counted(monkeypatch, "attack_batch"), counted(monkeypatch, "encode_views_batch")
    monkeypatch.setattr(Engine, "attacks_together", BATCH)
    if attack == "adaptive":
        monkeypatch.setitem(evaluate_picture.VIEW_BATCH, "cpu", BATCH)
    run_evaluate(tmp_path / "runs", "--attack", attack, "--set", "attack_views=2", *more)
    assert (sizes, views) == (expected, [])
