"""The pictures on which only one of RITA and the average is right: the rule, and the stored ones made again."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from rita_demo import Engine
from rita_demo.data import samples
from rita_demo.pipeline.differing import Source, stored
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run
from tools import textures
from tools.story import differing

SOURCE = Source("motorcycle", "motorbike", None)


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine(spread=0.2)


def with_answers(run: Run, **wrong: int) -> Run:
    """The run in which these defences answer with these classes on the attacked picture, by a clear lead."""
    side, k = run.attacked, len(run.class_prompts.names)
    verdicts = dict(side.verdicts)
    for name, label in wrong.items():
        verdicts[name] = replace(verdicts[name], label=label, probability=np.eye(k)[label])
    total = np.where(np.arange(k) == verdicts["rita"].label, 0.1, 0.5)
    trace = replace(side.trace, total=total, verdict=verdicts["rita"])
    return replace(run, attacked=replace(side, verdicts=verdicts, trace=trace))


def test_a_picture_counts_where_clip_falls_and_one_of_the_two_holds(engine: ToyEngine) -> None:
    run = completed_run(engine)
    truth, crab = run.label, 1
    found = differing.differing(engine, with_answers(run, clip=crab, ensemble=crab, rita=truth), SOURCE)
    assert found is not None
    assert (found.right, found.rival) == ("rita", "crab")
    assert len(found.clean) == len(found.attacked) == len(found.weight["rita"]) == run.settings.views
    other = differing.differing(engine, with_answers(run, clip=crab, ensemble=truth, rita=crab), SOURCE)
    assert other is not None
    assert (other.right, other.answers["rita"]) == ("average", "crab")
    for wrong in ({"clip": truth, "ensemble": crab}, {"clip": crab}, {"clip": crab, "ensemble": crab, "rita": crab}):
        answers = {"ensemble": truth, "rita": truth} | wrong
        assert differing.differing(engine, with_answers(run, **answers), SOURCE) is None


def test_a_lead_that_rounding_may_turn_does_not_count(engine: ToyEngine) -> None:
    run = with_answers(completed_run(engine), clip=1, ensemble=1, rita=0)
    near = replace(run.attacked.verdicts["ensemble"], probability=np.array([0.494, 0.506, 0, 0]))
    verdicts = run.attacked.verdicts | {"ensemble": near}
    assert differing.differing(engine, replace(run, attacked=replace(run.attacked, verdicts=verdicts)), SOURCE) is None


def test_samples_are_tried_first_then_textures_seed_after_seed_at_the_strength_of_the_page() -> None:
    order = list(differing.sources(2))
    keys = list(samples.available())
    assert [one.sample for one in order[: len(keys)]] == keys
    rest = order[len(keys) :]
    assert [one.label for one in rest] == 2 * list(textures.CLASSES)
    assert len({one.seed for one in rest[: len(textures.CLASSES)]}) == 1
    assert sorted(differing.BUDGETS) == list(range(1, 9))
    tried = islice(differing.search(ToyEngine(), 0), 2)
    assert [(source, budget) for source, budget, _ in tried] == [(one, RECOMMENDED.budget) for one in order[:2]]


def test_the_stored_pictures_still_differ_as_they_say() -> None:
    engine, found = Engine("embedded"), stored()
    assert len({one.right for one in found}) == len(found) > 0
    for one in found:
        picture, names = differing.opened(one.source, engine)
        settings = RECOMMENDED.replace(budget=one.budget)
        run = run_picture(engine, picture, names, settings, label=names.index(one.source.label))
        again = differing.differing(engine, run, one.source)
        assert again is not None
        assert (again.right, again.answers, again.weights) == (one.right, one.answers, one.weights)
        assert np.abs(np.subtract(again.attacked, one.attacked)).max() < 0.05
        assert np.abs(np.subtract(again.clean, one.clean)).max() < 1e-3
