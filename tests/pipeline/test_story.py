"""The checks of a run against the engine, asked by hand."""

import numpy as np
import pytest
from PIL import Image

from rita_demo import Engine
from rita_demo.data.pictures import open_picture
from rita_demo.pipeline import example, story
from rita_demo.pipeline.run import defend
from rita_demo.process.generators import run_to_end
from rita_demo.records import CheckedAnswers, Run, StoryChecks
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run

SAME = 1e-3  # of a probability: rounding on another processor


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine(spread=0.2)


@pytest.fixture(scope="module")
def run(engine: ToyEngine) -> Run:
    return completed_run(engine)


@pytest.fixture(scope="module")
def checks(engine: ToyEngine, run: Run) -> StoryChecks:
    return run_to_end(story.story_steps(engine, run))


def test_a_jpeg_gets_the_answers_of_its_file_uploaded(engine, run, checks, tmp_path) -> None:
    found = next(one for one in checks.changes if one.name == "jpeg_75")
    for side, answers in ((run.clean, found.clean), (run.attacked, found.attacked)):
        Image.fromarray(side.picture.pixels).save(tmp_path / "file.jpg", quality=75)
        uploaded = open_picture(tmp_path / "file.jpg")
        again, _ = defend(engine, uploaded, run.class_prompts, run.cache_before, run.settings)
        for defence in story.DEFENCES:
            answer, verdict = getattr(answers, defence), again.verdicts[defence]
            assert answer.label == verdict.label
            assert answer.probability == pytest.approx(float(verdict.probability[verdict.label]), abs=1e-5)
            assert answer.reference == pytest.approx(float(verdict.probability[run.label]), abs=1e-5)


def test_a_resize_keeps_the_size_and_what_is_coarse_and_halving_loses_what_is_fine() -> None:
    columns = np.arange(64)
    fine, coarse = (
        np.repeat(np.tile(c, (64, 1))[..., None], 3, 2).astype(np.uint8) for c in (columns % 2 * 255, columns)
    )
    for factor in (0.5, story.SCREEN):
        assert np.abs(story.there_and_back(coarse, factor).astype(int) - coarse)[:, 4:-4].max() <= 1
    assert story.there_and_back(fine, 0.5).std() < 0.1 * fine.std()
    assert story.there_and_back(fine, story.SCREEN).std() > 0.4 * fine.std()


def test_the_noise_has_the_size_of_the_attack_and_does_not_turn_the_toy_model(engine, run, checks) -> None:
    assert run.attack is not None
    assert checks.noise_size == run.attack.linf == run.settings.budget
    signs = run.settings.replace(attack="noise", budget=checks.noise_size)
    moved = engine.attack(run.clean.picture, run.class_prompts, signs, run.label)
    assert checks.noise is not None
    assert checks.noise.clip.label == run.label != run.attacked.verdicts["clip"].label
    assert checks.noise.clip.probability == pytest.approx(float(moved.probability[-1].max()), abs=1e-3)


def test_checks_are_read_as_they_are_written(checks, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(story, "STORED", tmp_path / "story.zip")
    story.write(checks)
    assert story.stored() == checks


@pytest.mark.slow
@pytest.mark.parametrize("names", [("jpeg_75",), pytest.param(tuple(story.CHANGES), marks=pytest.mark.nightly)])
def test_the_stored_checks_are_those_of_the_stored_example(names: tuple[str, ...], monkeypatch) -> None:
    found, (_, run) = story.stored(), example.stored()
    assert [one.name for one in found.changes] == list(story.CHANGES)
    monkeypatch.setattr(story, "CHANGES", {name: story.CHANGES[name] for name in names})
    live = run_to_end(story.story_steps(Engine("embedded"), run))
    pairs = [(found.noise, live.noise)]
    for one, other in zip([one for one in found.changes if one.name in names], live.changes, strict=True):
        pairs += [(one.clean, other.clean), (one.attacked, other.attacked)]
    for one, other in pairs:
        assert isinstance(one, CheckedAnswers)
        for name in story.DEFENCES:
            before, now = getattr(one, name), getattr(other, name)
            assert before.label == now.label
            assert before.probability == pytest.approx(now.probability, abs=SAME)
