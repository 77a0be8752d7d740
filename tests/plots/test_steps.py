"""The attack's steps as data, against the records they draw (TEST DATA stories)."""

from __future__ import annotations

import numpy as np
import pytest

from rita_demo.plots import attack_steps, plain
from rita_demo.plots.steps import GAP, _spread
from rita_demo.records import Story
from tests.plots.synthetic import make_film, make_story


def _trace(figure, name):
    return next(t for t in figure.data if t.name == name)


def test_every_method_is_drawn_at_the_films_probability_of_the_true_class(story: Story):
    film = make_film(story)
    figure = attack_steps(story, film, 3)
    for method, name in (("clip", "CLIP"), ("ensemble", "Ensemble"), ("rita", "RITA")):
        wanted = [100 * f.side.verdicts[method].probability[story.label] for f in film]
        assert _trace(figure, name).y == pytest.approx(wanted)
        assert list(_trace(figure, name).x) == [f.step for f in film]


def test_the_loss_is_the_attacks_own_in_nats(story: Story):
    figure = attack_steps(story, [], 0)
    assert _trace(figure, "loss").y == pytest.approx(np.asarray(story.attack.loss))
    assert figure.layout.yaxis2.title.text == "nats"


def test_without_a_film_clip_is_drawn_from_the_attack_alone(story: Story):
    figure = attack_steps(story, [], 0)
    assert _trace(figure, "CLIP").y == pytest.approx(100 * story.attack.probability[:, story.label])
    assert len(_trace(figure, "RITA").x or ()) == 0


def test_a_wrong_answer_is_a_cross_and_a_right_one_a_circle(story: Story):
    trace = _trace(attack_steps(story, make_film(story), 0), "CLIP")
    right = [f.side.verdicts["clip"].label == story.label for f in make_film(story)]
    assert list(trace.marker.symbol) == ["circle" if r else "x-thin" for r in right]
    assert not all(right)


@pytest.mark.parametrize(("asked", "marked"), [(-5, 0), (3, 3), (99, 7)])
def test_the_cursor_stands_at_the_step_brought_into_range(story: Story, asked, marked):
    assert attack_steps(story, [], asked).layout.shapes[0].x0 == marked


def test_moving_the_step_moves_no_axis(story: Story):
    one, two = (attack_steps(story, make_film(story), s).layout for s in (0, 5))
    assert (one.xaxis, one.yaxis, one.yaxis2) == (two.xaxis, two.yaxis, two.yaxis2)


def test_frames_may_come_in_any_order_and_only_some_of_them(story: Story):
    film = make_film(story)
    figure = attack_steps(story, [film[4], film[0]], 0)
    assert list(_trace(figure, "RITA").x) == [0, 4]


def test_a_story_without_an_attack_says_so():
    assert "only defended" in plain(attack_steps(make_story(attack=False), [], 0))


def test_labels_that_would_overlap_are_moved_apart_in_their_order():
    placed = _spread({"clip": (7, 50.0), "rita": (7, 52.0), "ensemble": (7, 51.0)})
    heights = [placed[m] for m in ("clip", "ensemble", "rita")]
    assert np.diff(heights) == pytest.approx([GAP, GAP])
    assert max(_spread({"a": (0, 100.0), "b": (0, 100.0)}).values()) <= 100
