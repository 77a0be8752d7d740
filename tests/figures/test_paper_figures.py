"""The paper's figures as data against their records (TEST DATA)."""

import html
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from rita_demo import figures
from rita_demo.figures import analysis
from rita_demo.figures.theme import COLOURS
from rita_demo.records import TheoremBounds
from rita_demo.records.measurement import AblationSweep, KlToOneHot
from tests.figures.clouds import NAMES, VIEWS_SHOWN, make_cloud
from tests.figures.synthetic import measured_cell
from tests.toy_model import ToyEngine

CLOUD = make_cloud()
POINTS = analysis.to_points(CLOUD)
POSITIONS = np.random.default_rng(0).normal(size=(len(POINTS.kind), 2))


def cloud(marks=POINTS, **more):
    return figures.feature_cloud(marks, POSITIONS[: len(marks.kind)], NAMES, projection="PCA", **more)


def traces(figure, name: str, x: str):
    return [t for t in figure.data if t.name == name and (t.xaxis or "x") == x]


def test_clean_pictures_attacked_ones_and_their_crops_are_at_the_positions_of_the_record() -> None:
    figure = cloud(ids=CLOUD.ids)
    (clean,), (attacked,), (crops,) = (traces(figure, kind, "x") for kind in ("clean", "attacked", "view"))
    assert len(clean.x) == len(attacked.x) == len(CLOUD.ids)
    assert len(crops.x) == len(CLOUD.ids) * VIEWS_SHOWN
    for trace in (clean, attacked, crops):
        for x, y, (i, words) in zip(trace.x, trace.y, trace.customdata):
            assert (x, y) == tuple(POSITIONS[i])
            assert POINTS.kind[i] == trace.name
            assert CLOUD.ids[POINTS.picture[i]] in words
    assert not traces(figure, "cached", "x")
    assert not traces(figure, "prompt", "x")
    assert figure.layout.meta["select"] is True


def test_attacked_pictures_are_hollow_marks_in_the_colour_and_shape_of_their_class() -> None:
    figure = cloud()
    (clean,), (attacked,) = traces(figure, "clean", "x"), traces(figure, "attacked", "x")
    assert clean.marker.color == attacked.marker.color
    assert attacked.marker.symbol == tuple(f"{symbol}-open" for symbol in clean.marker.symbol)
    assert "attacked" in figure.layout.meta["below"]
    assert "clean pictures" not in figure.layout.meta["below"]
    delivered = replace(POINTS, pictures_name="clean pictures")
    assert "attacked" not in cloud(delivered).layout.meta["below"], "nothing was attacked"


def test_the_points_of_some_classes_are_their_pictures_views_and_prompts() -> None:
    part = analysis.of_classes(POINTS, NAMES, (NAMES[0], NAMES[2]))
    for kind in set(POINTS.kind):
        mine = [i for i in np.flatnonzero(POINTS.kind == kind) if _class_of(i) in (0, 2)]
        assert np.array_equal(part.features[part.kind == kind], POINTS.features[mine]), kind
    most = analysis.of_classes(POINTS, NAMES, 1)
    assert set(most.label[most.kind == "attacked"]) == {0}, "all have as many pictures: the first"
    assert analysis.of_classes(POINTS, NAMES, None) is POINTS


def _class_of(i: int) -> int:
    """The true class of a point's picture; of a prompt its own."""
    picture = POINTS.picture[i]
    return int(POINTS.label[i] if picture < 0 else CLOUD.label[picture])


def test_a_class_has_one_colour_and_shape_and_no_other_class_has() -> None:
    looks: dict[int, set] = {}
    for kind in ("clean", "view"):
        for trace in traces(cloud(), kind, "x"):
            for (i, _), colour, symbol in zip(trace.customdata, trace.marker.color, trace.marker.symbol):
                looks.setdefault(int(POINTS.label[i]), set()).add((colour, symbol))
    assert all(len(look) == 1 for look in looks.values())
    assert len({next(iter(look)) for look in looks.values()}) == 3
    assert len({figures.class_style(k)[1:3] for k in range(100)}) == 100


def test_class_names_stand_beside_their_points_with_a_picture_and_cover_each_other_nowhere() -> None:
    assert not cloud().layout.images
    assert not cloud().layout.annotations, "in print no words stand inside the plot"
    figure = cloud(pictures=["data:image/jpeg;base64,0", "", "data:image/jpeg;base64,2", ""])
    assert [image.source[-1] for image in figure.layout.images] == ["0", "2"]
    names = [note.text for note in figure.layout.annotations]
    assert names == [f"<b>{html.escape(name)}</b>" for name in NAMES[:3]]
    places = [(note.x, note.y) for note in figure.layout.annotations]
    assert len(set(places)) == 3
    assert all(0 < x < 1 and 0 < y < 1 for x, y in places)


def test_unselected_classes_are_grey_not_removed() -> None:
    figure = cloud(k=1)
    (clean,) = traces(figure, "clean", "x")
    grey = [c == COLOURS["faint"] for c in clean.marker.color]
    assert grey == [POINTS.label[i] != 1 for i, _ in clean.customdata]
    assert NAMES[1] in figure.meta["alt"]


def test_a_line_leads_from_the_clean_to_the_attacked_picture_and_its_crops_are_ringed() -> None:
    mine = POINTS.picture == 2
    at = {kind: POSITIONS[(POINTS.kind == kind) & mine] for kind in ("clean", "attacked", "view")}
    figure = cloud(picture=2)
    (path,), (rings,), (chosen,) = (traces(figure, name, "x") for name in ("path", "its crops", "chosen"))
    assert np.allclose(np.stack([path.x, path.y], 1), [at["clean"][0], at["attacked"][0]])
    assert np.allclose(np.stack([rings.x, rings.y], 1), at["view"])
    assert np.allclose([chosen.x[0], chosen.y[0]], at["attacked"][0])
    point = int(np.flatnonzero(mine & (POINTS.kind == "view"))[1])
    (chosen,) = traces(cloud(picture=2, point=point), "chosen", "x")
    assert np.allclose([chosen.x[0], chosen.y[0]], POSITIONS[point])
    assert not traces(cloud(), "path", "x")


def test_the_kl_figure_draws_every_class_the_record_has_and_its_medians() -> None:
    one = analysis.kl_to_one_hot(CLOUD, ToyEngine().kl_to_one_hot)
    figure = figures.kl_to_one_hot(one, analysis.density, selected=1)
    (scatter,) = traces(figure, "crops in the memory, as filed", "x2")
    ks = [k for k, _ in scatter.customdata]
    assert ks == sorted((0, 1), key=lambda k: -one.original[k])
    assert np.allclose(scatter.x, one.cached[ks])
    assert scatter.marker.color[ks.index(0)] == COLOURS["other"]
    rows = figure.layout.yaxis2.ticktext  # bottom row first
    assert [NAMES[k] in rows[round(y)] for k, y in zip(ks, scatter.y)] == [k != 1 for k in ks]
    assert f"<b>{html.escape(NAMES[1])}</b>" in rows
    assert f"{one.medians[0]:.2f} nats" in figure.meta["alt"]
    none = analysis.kl_to_one_hot(make_cloud(cached=False), lambda *_: np.full(4, np.nan))
    assert "nothing" in figures.kl_to_one_hot(none, analysis.density).meta["alt"]


def test_seven_classes_have_a_density_and_six_have_points() -> None:
    for n in (6, 7):
        values = np.linspace(1, 4, n)
        one = KlToOneHot(("a",) * n, values, values / 2, values / 3, (2.5, 1.2, 0.8), 1.0, 1.0, n, n)
        figure = figures.kl_to_one_hot(one, analysis.density)
        curves = [t for t in figure.data if t.mode == "lines" and t.name != "change"]
        assert len(curves) == 3 * (n == 7)
        if curves:
            raw = analysis.density(values, np.array(curves[0].x))
            assert np.allclose(curves[0].y, raw / raw.max())


def test_two_classes_have_a_row_each_over_the_whole_width_and_no_empty_density() -> None:
    values = np.array([1.0, 2.0])
    one = KlToOneHot(NAMES[:2], values, values / 2, values / 3, (1.5, 0.75, 0.5), 1.0, 1.0, 2, 2)
    figure = figures.kl_to_one_hot(one, analysis.density)
    assert {trace.xaxis for trace in figure.data} == {"x2"}
    assert "domain" not in figure.to_json().partition('"xaxis2"')[2].partition("}")[0]
    (scatter,) = traces(figure, "crops in the memory, as filed", "x2")
    assert sorted(scatter.x) == [0.5, 1.0]
    assert "1.50 nats" in figure.layout.annotations[0].text


def test_a_much_higher_density_does_not_hide_the_other() -> None:
    spread, spike = np.linspace(1, 4, 9), 0.01234 + np.linspace(0, 4e-4, 9)
    one = KlToOneHot(NAMES[:1] * 9, spread, spike, spike, (2.5, 0.0, 0.0), 1.0, 1.0, 9, 9)
    peaks = [c.max() for c in (analysis.density(spread, spread), analysis.density(spike, spike))]
    assert peaks[1] > 1000 * peaks[0]
    figure = figures.kl_to_one_hot(one, analysis.density)
    pictures, remembered, again = (t for t in figure.data if t.mode == "lines" and t.name != "change")
    assert max(pictures.y) == max(remembered.y) == max(again.y) == 1
    assert spread.min() < pictures.x[np.argmax(pictures.y)] < spread.max()
    assert spike.min() <= remembered.x[np.argmax(remembered.y)] <= spike.max()
    assert "maximum = 1" in figure.layout.yaxis.title.text


def test_an_ablation_draws_its_values_in_order_with_intervals() -> None:
    lines = [
        AblationSweep("slots", (1, 3, 16), (measured_cell(10), measured_cell(20), measured_cell(30))),
        AblationSweep("slots", (3, 8), (measured_cell(50, attack="none"), measured_cell(60, attack="none"))),
    ]
    figure = figures.sweep_lines(lines, "Places per class J", recommended=3)
    first, second = figure.data
    assert list(figure.layout.xaxis.ticktext) == ["1", "3<br>recommended", "8", "16"]
    assert ([round(x) for x in first.x], list(first.y)) == ([0, 1, 3], [10, 20, 30])
    assert [round(x) for x in second.x] == [1, 2]
    assert first.x[1] != second.x[0], "two lines' bars do not cover each other"
    assert list(first.error_y.array) == [4, 4, 4]
    assert list(first.error_y.arrayminus) == [5, 5, 5]
    assert first.line.color == COLOURS["attack"] != second.line.color == COLOURS["clean"]
    assert figure.layout.shapes[0].x0 == 1
    assert "3: 20.0 %" in figure.meta["alt"]
    assert "No run" in figures.sweep_lines([], "x").meta["alt"]
    near = [AblationSweep("slots", (1, 3), (measured_cell(70), measured_cell(72)))]
    axis = figures.sweep_lines(near, "Places per class J").layout.yaxis
    assert axis.range[0] > 60, "the axis shows the difference"
    assert "axis from 65 %" in axis.title.text


def test_theorem_bounds_are_a_line_with_the_exact_cost_on_it() -> None:
    lower = np.random.default_rng(5).random(4)
    b = TheoremBounds(lower, lower + 1, lower / 2, lower / 2, lower + 0.4, lower + 0.9)
    figure = figures.theorem_bounds({"clean": b, "attacked": b}, NAMES, [2, 0, 1], selected=0, label=1)
    spans = [t for t in figure.data if t.name == "attacked bracket"]
    assert [list(t.x) for t in spans] == [[lower[k], lower[k] + 1] for k in (2, 0, 1)]
    (exact,) = [t for t in figure.data if t.name == "clean exact"]
    assert list(exact.x) == [lower[k] + 0.4 for k in (2, 0, 1)]
    assert [k for k, _ in exact.customdata] == [2, 0, 1]
    assert f"as decided {lower[2] + 0.9:.4f}" in exact.customdata[0][1]
    assert list(exact.y) == sorted(exact.y, reverse=True)
    assert figure.layout.yaxis.ticktext[0].endswith("✓")
    assert "&lt;b&gt;" in figure.layout.yaxis.ticktext[0]


def test_what_the_paper_prints_stands_beside_what_was_measured() -> None:
    about = {
        "method": "RITA",
        "attack": "PGD",
        "budget": 1,
        "printed": 40.1,
        "backbone": "ViT-B/32",
        "model": "embedded",
    }
    figure = figures.printed_beside_measured([SimpleNamespace(**about, cell=measured_cell(70))], "nothing")
    paper, here, intervals = figure.data
    assert list(intervals.error_y.array) == [4]
    assert (paper.y, here.y) == ((40.1,), (70,))
    assert paper.x[0] < here.x[0]
    assert paper.error_y.array is None
    assert list(here.error_y.array) == [4]
    assert "printed 40.1 % (ViT-B/32), measured 70.0 %" in figure.meta["alt"]
    assert figures.printed_beside_measured([], "nothing").meta["alt"] == "nothing"
