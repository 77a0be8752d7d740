"""A run of one picture, on the embedded model and a real photograph."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo import __version__
from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import DEFAULT_METHODS, DEFENCES
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.export import arrays_file, to_arrays, to_json, used_settings
from rita_demo.pipeline.rerun import rescore
from rita_demo.pipeline.run import defend, run_picture, run_picture_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import Picture, Run
from rita_demo.records.errors import SettingError
from rita_demo.settings import PAPER, RECOMMENDED
from tests.documented import documented, example
from tests.oracles.transport import cost_matrix, solve

NAMES = ("cup", "crab", "cat", "dog", "face", "rocket")
QUICK = RECOMMENDED.replace(views=16, steps=3, square="model")


@pytest.fixture(scope="module")
def coffee(engine: Engine) -> Picture:
    return SAMPLES["coffee"].load(square="model", side=engine.info.side)


@pytest.fixture(scope="module")
def example_run(engine: Engine, coffee: Picture) -> Run:
    return run_picture(engine, coffee, NAMES, QUICK, label=0)


@pytest.mark.slow
def test_both_sides_use_one_cache_and_a_picture_updates_it_once(engine, coffee, example_run) -> None:
    assert example_run.clean.trace.cache.pictures == example_run.attacked.trace.cache.pictures == 0
    assert (example_run.cache_before.pictures, example_run.cache_after.pictures) == (0, 1)
    again = run_picture(engine, coffee, NAMES, QUICK.replace(budget=8), label=0, cache=example_run.cache_before)
    assert again.cache_after.pictures == 1
    other = Picture(coffee.pixels[::-1].copy(), "upside down")
    assert run_picture(engine, other, NAMES, QUICK, cache=again.cache_after).cache_after.pictures == 2
    renamed = run_picture(engine, coffee, ("dotted", "banded"), QUICK, cache=example_run.cache_after)
    assert renamed.cache_before.pictures == 0  # a cache of other classes is not used
    assert renamed.cache_before.features.shape[0] == 2


def test_without_attack_and_label_clips_answer_counts_as_right(engine: Engine, coffee: Picture) -> None:
    run = run_picture(engine, coffee, NAMES, QUICK.replace(attack="none"))
    assert run.attack is None
    assert run.attacked is run.clean
    assert run.cache_after.pictures == 1
    assert "No attack" in run.threat_model.sentences[0]
    assert not run.label_given
    assert run.label == run.clean.verdicts["clip"].label


@pytest.mark.parametrize("settings", [QUICK, PAPER.replace(views=16, steps=3, budget=4)])
def test_the_json_keeps_the_contract(engine: Engine, coffee: Picture, settings) -> None:
    exported = to_json(run_picture(engine, coffee, NAMES, settings, label=0))
    assert exported["classes"] == list(NAMES)
    assert set(exported) >= {"settings", "threat_model", "device", "timings", "clean", "attacked"}
    assert {"linf", "l2", "fooled"} <= set(exported["attacked"])
    for side in ("clean", "attacked"):
        methods = exported[side]["methods"]
        assert tuple(methods) == DEFAULT_METHODS
        assert all({"label", "probability", "margin"} <= set(m) for m in methods.values())
        rita = {k: np.array(v) for k, v in methods["rita"].items() if isinstance(v, list)}
        weight = exported["settings"]["cache_weight"]
        np.testing.assert_allclose(rita["total"], rita["prompt_distance"] + weight * rita["cache_distance"], atol=1e-6)


def test_the_documents_example_reads_the_decision_from_the_file_alone(example_run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "result.safetensors").write_bytes(arrays_file(example_run))
    found: dict[str, Any] = {}
    exec(example(3), found)
    verdicts = example_run.attacked.verdicts
    assert int(capsys.readouterr().out) == verdicts["rita"].label
    assert found["settings"] == used_settings(example_run).as_dict()
    exact = np.exp(found["clip"] - found["clip"].max(1, keepdims=True))
    entropy = -(p := exact / exact.sum(1, keepdims=True)) * np.log(np.maximum(p, 1e-30))
    np.testing.assert_allclose(entropy.sum(1), found["a"]["view_entropy"], atol=1e-3)
    assert set(found["a"]) == set(documented("Arrays"))


def test_every_key_of_the_json_is_documented(example_run: Run) -> None:
    exported = to_json(example_run)
    assert set(documented("Answers as JSON")) == set(exported)
    assert {name.partition(" ")[0] for name in documented("One side of the answers")} == set(exported["attacked"])
    assert exported["version"] == __version__
    assert exported["temperature"] == pytest.approx(float(to_arrays(example_run)["temperature"][0]))
    assert exported["attacked"]["masking"] is None


@pytest.mark.slow
@pytest.mark.parametrize("settings", [QUICK, PAPER.replace(steps=3)])
def test_numpy_recomputes_both_transports_with_a_filled_cache(engine, coffee, settings) -> None:
    settings, names = settings.replace(views=8, views_per_image=0, max_entropy=1.5, cache_weight=1.0), NAMES[:3]
    first = run_picture(engine, coffee, names, settings)
    other = picture_of(coffee.pixels[::-1])
    second = run_picture(engine, other, names, settings, cache=first.cache_after)
    arrays, s = to_arrays(second), second.settings
    x, a = (arrays[name].astype(float) for name in ("view_features", "view_weight"))
    total = np.zeros(len(names))
    for k, count in enumerate(arrays["cache_count"]):
        clouds = [(arrays["prompt_features"][k], arrays["prompt_weight"][k].astype(float), 1.0)]
        if count:
            clouds.append((arrays["cache_aligned"][k, :count], np.full(count, 1 / count), s.cache_weight))
        elif s.empty_class == "text_mean":
            clouds.append((arrays["text_mean"][k : k + 1], np.ones(1), s.cache_weight))
        for z, b, share in clouds:
            ended = solve(cost_matrix(x, z), a, b, s.entropy_weight, s.transported_mass, end=(3_000, 1e-8))
            total[k] += share * ended.value
    assert (arrays["cache_count"] > 0).any()
    np.testing.assert_allclose(total, second.attacked.trace.total, atol=1e-5)
    rows, columns = arrays["prompt_plan"].sum(2), arrays["prompt_plan"].sum(1) / s.transported_mass
    assert (rows <= arrays["view_weight"] + 1e-5).all()
    np.testing.assert_allclose(columns, arrays["prompt_weight"], atol=1e-5)


@pytest.mark.parametrize("roundtrip", ["round", "truncate"])
def test_the_reported_budget_holds_for_the_attacked_picture(engine: Engine, coffee: Picture, roundtrip: str) -> None:
    settings = QUICK.replace(views=1, attack="pgd", steps=7, adversarial_roundtrip=roundtrip)
    run = run_picture(engine, coffee, NAMES, settings)
    assert run.attack is not None
    said = "may add one more" in " ".join(run.threat_model.sentences)
    assert said == (roundtrip == "truncate")
    assert run.attack.linf <= settings.budget + said


@pytest.mark.parametrize(("label", "target"), [(6, None), (0, 9), (0, 0)])
def test_a_class_outside_the_vocabulary_is_an_error(engine, coffee, label, target) -> None:
    with pytest.raises(SettingError):
        run_picture(engine, coffee, NAMES, QUICK, label=label, target=target)


@pytest.mark.slow
def test_every_method_answers_from_one_encoding_and_ablations_are_parts_of_rita(
    engine: Engine, coffee: Picture, example_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine._backbone, "encode_views", None)  # the views are known by now
    names = tuple(name for name, defence in DEFENCES.items() if not defence.reads_pixels)
    run = run_picture(engine, coffee, NAMES, QUICK, label=0, methods=names)
    for side, plain in ((run.clean, example_run.clean), (run.attacked, example_run.attacked)):
        assert tuple(side.verdicts) == names
        trace, said = side.trace, side.verdicts
        for name in DEFAULT_METHODS:
            np.testing.assert_array_equal(said[name].probability, plain.verdicts[name].probability)
        best, second = np.sort(trace.cache_distance)[:2]
        assert said["rita_memory"].label == trace.cache_distance.argmin()
        assert np.isclose(said["rita_memory"].margin, second - best, atol=1e-6)
        untuned, _ = engine.decide(side.encoded_views, run.class_prompts, None, QUICK.replace(tuning_steps=0))
        assert np.isclose(said["rita_untuned"].margin, untuned.verdict.margin)


def test_descriptions_are_prompts_and_padding_moves_nothing(engine: Engine, coffee: Picture, tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"cup": ["a mug with a handle", "tea on a saucer"], "crab": ["claws"]}')
    settings = QUICK.replace(descriptions=str(path), attack="none")
    run = run_picture(engine, coffee, ("cup", "crab"), settings)
    arrays = to_arrays(run)
    assert arrays["prompt_features"].shape[:2] == (2, 4 + 2)
    np.testing.assert_allclose(arrays["prompt_weight"][1], [0.2] * 5 + [0])
    moved = arrays["prompt_plan"].sum((1, 2))
    np.testing.assert_allclose(moved, settings.transported_mass, atol=1e-5)
    assert not arrays["prompt_plan"][1, :, 5].any()


def test_an_abandoned_attack_releases_the_engine(engine: Engine, coffee: Picture) -> None:
    steps = run_picture_steps(engine, coffee, NAMES, QUICK.replace(attack_seed=5), label=0)
    next(steps), next(steps)  # the visitor leaves in the middle of the attack
    other = run_picture_steps(engine, coffee, NAMES, QUICK.replace(attack_seed=6), label=0)
    assert ThreadPoolExecutor(1).submit(run_to_end, other).result(60).attack is not None


@pytest.mark.slow
def test_concurrent_runs_use_their_own_vocabulary(engine: Engine, coffee: Picture) -> None:
    wanted = [("cup", "cat"), ("crab", "dog", "face"), ("rocket", "cup", "chair", "tree")]
    with ThreadPoolExecutor(3) as threads:
        runs = list(threads.map(lambda names: run_picture(engine, coffee, names, QUICK), wanted))
    assert [run.class_prompts.names for run in runs] == wanted
    assert [run.attacked.verdicts["rita"].probability.size for run in runs] == [2, 3, 4]


def test_features_of_another_model_are_refused(tiny_model_dir: Path, tmp_path: Path, coffee: Picture) -> None:
    """A visitor may choose another model while a picture of the first is on screen."""
    shutil.copytree(tiny_model_dir, tmp_path / "other")
    first, other = (Engine(f"local-dir:{d}", "cpu") for d in (tiny_model_dir, tmp_path / "other"))
    run = run_picture(first, coffee, ("cat", "dog"), QUICK.replace(attack="none", views=4))
    assert rescore(first, run, run.settings.replace(cache_weight=1.0)).settings.cache_weight == 1.0
    for ask in (
        lambda: rescore(other, run, run.settings.replace(cache_weight=1.0)),
        lambda: defend(other, run.clean.picture, run.class_prompts, run.cache_before, run.settings),
        lambda: other.answers(run.clean.encoded_views, run.class_prompts, run.settings),
    ):
        with pytest.raises(SettingError, match="Another model was chosen"):
            ask()
