"""The attack's steps as data, against their records (TEST DATA)."""

import numpy as np
import pytest

from rita_demo.figures import attack_steps
from rita_demo.figures.attack.attack_steps import MIN_LABEL_GAP, _spread_labels
from rita_demo.records import Run
from tests.figures.synthetic import make_attack_steps


def _trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_every_method_is_drawn_at_its_probability_of_the_true_class_and_wrong_answers_are_crosses(example_run: Run):
    step_results = make_attack_steps(example_run)
    figure = attack_steps(example_run, step_results, 3)
    for method, name in (("clip", "CLIP"), ("ensemble", "Ensemble"), ("rita", "RITA")):
        line, answers = _trace(figure, name), [f.image_result.verdicts[method] for f in step_results]
        assert line.y == pytest.approx([100 * answer.probability[example_run.label] for answer in answers])
        assert list(line.x) == [f.step for f in step_results]
        right = [answer.label == example_run.label for answer in answers]
        assert list(line.marker.symbol) == ["circle" if r else "x-thin" for r in right]
        assert all(right) == (method != "clip")


def test_without_step_results_loss_and_clip_are_drawn_from_the_attack_and_they_may_be_unordered(example_run: Run):
    figure = attack_steps(example_run, [], 0)
    assert _trace(figure, "loss").y == pytest.approx(np.asarray(example_run.attack.loss))
    assert figure.layout.yaxis2.title.text == "nats"
    assert _trace(figure, "CLIP").y == pytest.approx(100 * example_run.attack.probability[:, example_run.label])
    assert len(_trace(figure, "RITA").x or ()) == 0
    step_results = make_attack_steps(example_run)
    figure = attack_steps(example_run, [step_results[4], step_results[0]], 0)
    assert list(_trace(figure, "RITA").x) == [0, 4]


def test_the_cursor_is_at_the_step_clipped_to_the_range_and_changes_no_axis(example_run: Run):
    first, *others = (attack_steps(example_run, make_attack_steps(example_run), step).layout for step in (-5, 3, 99))
    assert [layout.shapes[0].x0 for layout in (first, *others)] == [0, 3, 7]
    for other in others:
        assert (other.xaxis, other.yaxis, other.yaxis2) == (first.xaxis, first.yaxis, first.yaxis2)


def test_labels_that_would_overlap_are_moved_apart_in_their_order():
    placed = _spread_labels({"clip": (7, 50.0), "rita": (7, 52.0), "ensemble": (7, 51.0)})
    heights = [placed[m] for m in ("clip", "ensemble", "rita")]
    assert np.diff(heights) == pytest.approx([MIN_LABEL_GAP, MIN_LABEL_GAP])
    assert max(_spread_labels({"a": (0, 100.0), "b": (0, 100.0)}).values()) <= 100
