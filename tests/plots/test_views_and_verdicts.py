"""Views, verdicts and draws as data, against the records they draw (TEST DATA stories)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rita_demo.plots import draws, plain, verdict_bars, view_entropies, what_views_say
from rita_demo.records import Story
from tests.plots.synthetic import make_draws, make_story


def test_every_view_has_one_bar_as_high_as_its_entropy(story: Story):
    confidence = story.attacked.trace.confidence
    figure = view_entropies(story, "attacked")
    order = [d[0] for d in figure.data[-1].customdata]
    bars = {x: y for t in figure.data[:-1] for x, y in zip(t.x, t.y)}
    assert sorted(order) == list(range(64))
    assert [bars[i] for i in range(64)] == pytest.approx(confidence.entropy[order])


def test_a_chosen_view_keeps_its_colour_and_the_others_go_pale(story: Story):
    figure = view_entropies(story, "attacked", selected=7)
    place = [d[0] for d in figure.data[-1].customdata].index(7)
    alpha = {x: a for t in figure.data[:-1] for x, a in zip(t.x, t.marker.opacity)}
    assert [x for x, a in alpha.items() if a == 1] == [place]
    assert min(alpha.values()) > 0.2


def test_views_are_split_into_the_true_class_the_attacks_class_and_others(story: Story):
    says, wrong = what_views_say(story, "attacked")
    labels = story.attacked.trace.confidence.label
    assert wrong == story.attacked.verdicts["clip"].label == 1
    assert [s == "true" for s in says] == [k == story.label for k in labels]
    assert [s == "fooled" for s in says] == [k == 1 for k in labels]


def test_the_limit_and_the_largest_entropy_set_the_axis(story: Story):
    figure = view_entropies(story, "clean")
    assert figure.layout.shapes[0].y0 == story.clean.trace.confidence.limit
    assert figure.layout.yaxis.range[1] >= math.log(len(story.bank.names))


def test_without_an_attack_no_view_counts_as_fooled():
    says, wrong = what_views_say(make_story(attack=False), "clean")
    assert wrong is None
    assert "fooled" not in says


def test_verdict_bars_are_the_probability_of_the_true_class(story: Story):
    for trace, side in zip(verdict_bars(story).data, ("clean", "attacked")):
        verdicts = getattr(story, side).verdicts
        wanted = [100 * verdicts[m].probability[story.label] for m in ("rita", "ensemble", "clip")]
        assert trace.x == pytest.approx(wanted)
        assert [d[0] for d in trace.customdata] == [
            verdicts[m].label for m in ("rita", "ensemble", "clip")
        ]


def test_draws_are_counted_in_marks_and_in_words(story: Story):
    repeats = make_draws(story, 10)
    right = sum(d.verdicts["rita"].label == story.label for d in repeats)
    figure = draws(story, repeats)
    rita = next(t for t in figure.data if t.name == "RITA")
    assert list(rita.marker.symbol).count("circle") == right
    assert f"RITA {right} of 10" in plain(figure)
    assert any(a.text == f"<b>{right}</b> of 10" for a in figure.layout.annotations)


def test_no_draws_yet_is_a_sentence(story: Story):
    assert "not been tried" in plain(draws(story, []))


def test_what_is_drawn_is_finite(story: Story):
    for figure in (view_entropies(story, "clean"), verdict_bars(story)):
        for trace in figure.data:
            assert np.all(np.isfinite(np.asarray(trace.x, float)))


def test_the_limit_stands_beside_its_line_where_no_bar_can_be(story: Story):
    words = view_entropies(story, "clean").layout.annotations[1]
    assert words.text.startswith("limit γ")
    assert (words.xref, words.x, words.xanchor) == ("paper", 1, "left")
    assert words.y == story.clean.trace.confidence.limit


def test_a_class_nobody_named_is_called_assumed(story: Story):
    from dataclasses import replace

    assert "(true)" in view_entropies(story, "clean").layout.annotations[0].text
    unnamed = replace(story, label_given=False)
    assert "(assumed)" in view_entropies(unnamed, "clean").layout.annotations[0].text


def test_every_view_gets_one_column_however_few_say_the_same(story: Story):
    bars = [trace for trace in view_entropies(story, "attacked").data if trace.name != "pick"]
    assert len(bars) == 3
    assert all(trace.width == 0.85 for trace in bars)
