"""The form of the benchmark's reports; the reference implementation gives the engine's answers."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load
from tests.oracles.algorithm1 import ReferenceRita, cut_views
from tools.bench import __main__ as bench
from tools.bench import gpu, page

SETTINGS = bench.SETTINGS.replace(views=6, prompts=2)


@pytest.fixture(scope="module")
def backbone(tiny_model_dir: Path) -> Backbone:
    return load(f"local-dir:{tiny_model_dir}", "cpu", "float32")


@pytest.mark.slow
def test_the_report_has_the_contracts_form(backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"CLASSES": 6, "SIDE": 96, "SETTINGS": SETTINGS.replace(views=5), "ROUNDS": 2, "SLOW_ROUNDS": 1}
    for name, value in small.items():
        monkeypatch.setattr(bench, name, value)
    monkeypatch.setattr(page, "measure", lambda spec: ({}, ["No browser."]))
    report, notes = bench.run(backbone, "tiny", print, ["stages", "page"])
    written = json.loads(json.dumps(report, allow_nan=False))
    assert list(written) == ["machine", "config", "stages", "ratios"]
    found, ratios = written["stages"], written["ratios"]
    assert min(found.values()) > 0
    assert {"views", "encoding", "floor", "image", "decision", "plain", "re-score"} <= set(found)
    assert ratios["decision_over_floor"] == pytest.approx(found["decision"] / found["floor"])
    assert ratios["plain_over_image"] > 0  # how much: the machine is busy with other tests
    assert "\nplain_over_image" in bench.as_text(report, notes)


@pytest.mark.nightly
@pytest.mark.slow
def test_the_rows_of_a_gpu_say_what_stands_in_the_way_of_their_goal(backbone: Backbone) -> None:
    settings = gpu.SETTINGS.replace(views=6, steps=2, **{"attack_views": 2, "adaptive.steps": 1})
    found = gpu.measure(backbone, backbone.unfused(), groups=(1, 2), rounds=1, compared=2, settings=settings)
    found = json.loads(json.dumps(found))
    assert [row["name"] for row in found["rows"]][:4] == list(gpu.GOALS)
    for row in found["rows"]:
        assert (row["in_the_way"] == "met") == (row["seconds"] <= row["goal"])
        if "visitors" not in row["name"]:  # in other threads, which a CPU's profiler does not see
            assert row["profile"]["busy"] > 0
            assert len(row["profile"]["kernels"]) == 20
    assert (found["agreement"]["pictures"], found["agreement"]["other_labels"]) == (4, 0)
    assert found["agreement"]["largest_relative_gap"] < 1e-3
    assert "0 other labels" in gpu.as_text(found)


NAMES = ("cat", "dog", "cup", "a brick", "grass lawn", "polka-dotted")
SMALL = {"views": 12, "prompts": 3, "subset_size": 8, "slots": 2}
PLAIN = SMALL | {"completion": "svd", "descriptions": "none"}
CASES = {"paper": PAPER.replace(**SMALL), "recommended": RECOMMENDED.replace(**PLAIN)}


def squares(count: int) -> list[np.ndarray]:
    """Coarse coloured patterns (96, 96, 3), so that views differ from one another."""
    generator = np.random.default_rng(3)
    return [
        np.kron(generator.integers(0, 256, (8, 8, 3), np.uint8), np.ones((12, 12, 1), np.uint8)) for _ in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_labels_and_distances_agree_with_the_engine_over_a_stream(tiny_model_dir: Path, settings: Settings) -> None:
    """Both decide from the reference's features.

    Where a class holds several views, an SVD fills the free dimensions of the rotation with rounding
    noise, hence the wider tolerance of the cache distance."""
    name = f"local-dir:{tiny_model_dir}"
    engine, plain = Engine(name, "cpu"), ReferenceRita(load(name, "cpu"), NAMES, settings)
    class_prompts = engine.encode_classes(NAMES, settings)
    np.testing.assert_allclose(plain.initial_prompts, class_prompts.features, atol=1e-5)
    cache = engine.empty_cache(class_prompts, settings)
    for square in squares(4):
        features = plain.encode_image(cut_views(square, settings, engine.info.side)).astype(np.float32)
        encoded_views = replace(engine.encode_views(picture_of(square), settings), features=features)
        trace, cache = engine.decide(encoded_views, class_prompts, cache, settings)
        prompt_distance, cache_distance, total = plain(square)
        assert total.argmin() == trace.verdict.label
        np.testing.assert_allclose(prompt_distance, trace.prompt_transport.distance, atol=2e-5)
        np.testing.assert_allclose(cache_distance, trace.cache_distance, atol=1e-3)
        np.testing.assert_allclose(total, trace.total, atol=1e-3)
    assert [len(items) for items in plain.cache.classes] == cache.count.tolist()
