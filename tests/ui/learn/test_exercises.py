"""The exercises: their links open, and their answers are read from the run on screen."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.ui.learn.exercises import EXERCISES, NO_PREDICTION, NOT_SET_UP, Exercise, revealed
from rita_demo.ui.session.run_request import parse_request
from rita_demo.ui.session.session import AttackDefendState, Session
from tests.toy_model import ToyEngine

BY_TITLE = {one.title: one for one in EXERCISES}
SMALL = "&views=8&adaptive.steps=2&adaptive.restarts=1&attack_views=2"


def run_of(exercise: Exercise, engine: ToyEngine) -> Session:
    link = exercise.link
    request = parse_request(link.form, AttackDefendState(sample=link.sample), engine.info.side, attack=link.attack)
    picture = SAMPLES[link.sample].load(square="model", side=64)
    session = Session()
    session.show(run_to_end(replace(request, picture=picture).run_steps(engine)), sample=link.sample)
    return session


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.title)
def test_the_answer_needs_its_own_run_and_a_prediction(exercise: Exercise) -> None:
    assert len(EXERCISES) == len(BY_TITLE) == 6
    assert len(set(exercise.choices)) == 3
    assert exercise.link.sample in SAMPLES
    exercise = replace(exercise, query=exercise.query + SMALL)
    session = run_of(exercise, ToyEngine())
    assert NOT_SET_UP in revealed(Session(), exercise, exercise.choices[0])
    assert NO_PREDICTION in revealed(session, exercise, None)
    assert NO_PREDICTION in revealed(session, exercise, "all of them")
    right, sentence = exercise.answer(session.run)
    for n, choice in enumerate(exercise.choices):
        said = revealed(session, exercise, choice)
        assert ("As you predicted" in said) == (n == right)
        assert any(letter.isdigit() for letter in sentence)
    session.run = replace(session.run, settings=session.run.settings.replace(views=32))
    assert NOT_SET_UP in revealed(session, exercise, exercise.choices[0])


@pytest.mark.parametrize(("share", "right"), [(0.1, 0), (0.5, 1), (0.9, 2)])
def test_the_crops_are_counted_in_the_run(example_run: Run, share: float, right: int) -> None:
    side = example_run.attacked
    count = len(side.encoded_views.features)
    labels = np.where(np.arange(count) < round(share * count), example_run.label, example_run.label + 1)
    confidence = replace(side.trace.confidence, label=labels)
    trace = replace(side.trace, confidence=confidence, label_before_step=None)
    choice, said = BY_TITLE["The crops"].answer(replace(example_run, attacked=replace(side, trace=trace)))
    assert choice == right
    assert said.startswith(f"{round(share * count)} of {count} crops")


def test_with_all_mass_and_a_large_lambda_the_cost_is_the_plain_mean(engine: ToyEngine) -> None:
    one = BY_TITLE["The flat plan"]
    run = run_of(replace(one, query="sample=motorcycle&entropy_weight=10&transported_mass=1"), engine).run
    right, said = one.answer(run)
    assert right == 0
    assert f"{run.attacked.trace.prompt_transport.distance[run.attacked.verdicts['rita'].label]:.4f}" in said
