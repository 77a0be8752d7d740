"""Mixed traffic, resuming, and the trajectory and the remembered views of a stream against a slow second reading of its files."""

import json
import math
from collections import Counter, deque
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from rita_demo import stored_views
from rita_demo.cli import main as cli
from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.pictures import DatasetItem, PictureSet, collect, find_picture
from rita_demo.evaluation.report.cells import cells as table_of
from rita_demo.evaluation.request import Request, Traffic, points
from rita_demo.evaluation.rows import FILE, Rows
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.evaluation.stored_views import COLUMNS
from rita_demo.evaluation.stream_trajectory import (
    WITHOUT_CACHE,
    accuracy_summaries,
    classes_after,
    compare_answers,
    remembered_views,
    trajectory_of,
    view_boxes,
)
from rita_demo.evaluation.streams import StreamRun, find_stream_run, stream_runs
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import StreamTrajectory
from rita_demo.settings import RECOMMENDED
from tests.evaluation.conftest import cells
from tests.evaluation.test_rows import FACTS, key
from tests.evaluation.test_rows import row as row_of


@pytest.fixture(scope="module")
def request_(data_root: Path, engine: Engine):
    def make(out: Path, attack: str = "pgd", **changes: Any) -> Request:
        few = ["views=6", "prompts=2", "max_entropy=9", "slots=2", "views_per_image=2", "attack_views=2"]
        settings, _ = points(attacks=attack, budget="4", steps="1", protocols="stream", assignments=few)
        values = {
            "methods": ("clip", "ensemble", "rita"),
            "traffic": Traffic(50),
            "backbone": engine.info.name,
        } | changes
        return Request(("caltech101",), "val", points=settings, out=out, data_root=data_root, **values)

    return make


def run_all(request: Request, engine: Engine) -> StreamRun:
    """The one stream of a request's parent folder, after it has ended."""
    deque(evaluate_steps(request, engine), maxlen=0)
    (found,) = stream_runs(request.out.parent)
    return found


def interrupt(request: Request, engine: Engine) -> None:
    """Two steps."""
    with closing(evaluate_steps(request, engine, together=True)) as steps:
        next(steps)
        next(steps)


@pytest.fixture(scope="module")
def stream_run(tmp_path_factory: pytest.TempPathFactory, engine: Engine, request_) -> StreamRun:
    """One stream of 12 pictures, half of them attacked."""
    return run_all(request_(tmp_path_factory.mktemp("runs") / "one"), engine)


@pytest.fixture(scope="module")
def trajectory(stream_run: StreamRun) -> StreamTrajectory:
    return trajectory_of(stream_run)


def test_mixed_traffic_attacks_its_share_and_a_picture_is_the_same_in_pure_traffic(
    stream_run, engine, request_, tmp_path
) -> None:
    rows = stream_run.rows()
    assert Counter(row["attack"] for row in rows) == {"pgd": 6, "none": 6}
    for row in rows:
        attacked = row["attack"] == "pgd"
        assert (row["budget"], row["linf"] > 0, row["already_wrong"] is None) == (4 * attacked, attacked, not attacked)
    assert stream_run.columns["attack"] == "pgd:50"
    assert "50 % of the pictures" in stream_run.header.facts["threat"][-1]
    assert set(table_of(stream_run.folder).attack) == {"pgd:50"}
    pure = run_all(request_(tmp_path / "all", traffic=Traffic()), engine)
    names = ("answer", "linf", "picture_seed", "probability")
    for method in ("clip", "ensemble"):
        attacked = {row["picture"]: row for row in pure.rows(method)}
        for row in (row for row in stream_run.rows(method) if row["attack"] == "pgd"):
            assert [row[name] for name in names] == [attacked[row["picture"]][name] for name in names]


@pytest.mark.parametrize(("count", "share", "attacked"), [(15, 50, 8), (1000, 30, 300), (7, 100, 7), (12, 1, 1)])
def test_exactly_the_share_that_was_asked_for_is_attacked(count: int, share: int, attacked: int) -> None:
    items = tuple(DatasetItem(f"cup/{n}.png", 0) for n in range(count))
    pictures, turned = (PictureSet("d", "test", ("cup",), listed, count, 1) for listed in (items, items[::-1]))
    drawn = [pictures.attacked(seed, share) for seed in range(20)]
    assert {len(one) for one in drawn} == {attacked}
    assert share == 100 or len(set(drawn)) > 1, "the seed draws"
    assert [turned.attacked(seed, share) for seed in range(20)] == drawn


@pytest.mark.slow
def test_mixed_traffic_with_an_attack_that_uses_the_cache(engine, request_, data_root, tmp_path) -> None:
    methods = ("clip", "rita", "rita_memory")
    wish = request_(tmp_path / "one", "adaptive", methods=methods, limit=6)
    few = {"adaptive.against": "rita", "adaptive.steps": 2, "adaptive.restarts": 1, "attack_views": 2}
    points = [one.replace(**few) for one in wish.points]
    wish = replace(wish, points=(*points, points[0].replace(protocol="reset")))
    for _ in range(2):  # closed and resumed: all groups advance together
        interrupt(wish, engine)
        assert len({len(rows) for rows in cells(tmp_path / "one").values()}) == 1
    found = run_all(wish, engine)
    assert found.attack_uses_cache
    assert set(found.cells) == {*methods, "rita:reset", "rita_memory:reset"}
    assert all((answer >= 0).all() for answer in trajectory_of(found).answers.values())
    rows = found.rows()
    assert [row["linf"] > 0 for row in rows] == [row["attack"] == "adaptive" for row in rows]
    assert sum(row["linf"] > 0 for row in rows) == 3
    empty = engine.empty_cache(engine.encode_classes(found.names, found.header.requested), found.header.requested)
    entries = {item.id: item for item in collect("caltech101", data_root, "val", limit=6, allow_partial=False).items}
    for t, row in enumerate(rows):
        if row["attack"] == "adaptive":  # attacked again with the cache of that moment
            own, entry = found.header.settings_for(row), entries[row["picture"]]
            picture = open_picture(entry.source, square=own.square, side=engine.info.side)
            prompts, cache = engine.encode_classes(found.names, own), cache_after(empty, rows[:t])
            trace = engine.attack(picture, prompts, own, entry.label, cache=cache)
            assert (trace.linf, trace.l2) == pytest.approx((row["linf"], row["l2"]))


def replay(one: StreamRun, t: int) -> tuple[dict[tuple[int, int], Any], list[Any]]:
    """(class, slot) -> (picture, view, entropy, true class, feature) after ``t`` pictures, and who left for whom by how
    many nats: a slow second reading of the files from the start."""
    width, blobs = one.header.facts["width"], [row["entered_features"] or b"" for row in one.rows()]
    data = list(np.frombuffer(b"".join(blobs), "<f4").reshape(-1, width))
    places: dict[tuple[int, int], Any] = {}
    exits = []
    for number, row in enumerate(one.rows()[:t]):
        for k, slot, view, entropy in row["entered"]:
            if gone := places.get((k, slot)):
                exits.append((gone[:2], (number, view), pytest.approx(gone[2] - entropy)))
            places[k, slot] = (number, view, entropy, row["label"], data.pop(0))
    return places, exits


def test_accuracy_and_interval_after_every_picture_are_those_of_a_recount(stream_run, trajectory) -> None:
    subsets = {"all": (True, False), "attacked": (True,), "clean": (False,)}
    for method in stream_run.cells:
        rows, drawn = stream_run.rows(method), trajectory.curves[method]
        for t in range(1, len(rows) + 1):
            share, z2 = sum(row["answer"] == row["label"] for row in rows[:t]) / t, 1.959963984540054**2
            # Wilson's ends are the roots p of (share - p)^2 = z^2 p (1 - p) / t
            ends = sorted(np.roots([1 + z2 / t, -(2 * share + z2 / t), share * share]).real)
            assert drawn.accuracy[t - 1] == pytest.approx(share)
            assert [drawn.low[t - 1], drawn.high[t - 1]] == pytest.approx(ends, abs=1e-9)
            for part in (part for part in accuracy_summaries(trajectory, t) if part.method == method):
                chosen = [row for row in rows[:t] if (row["attack"] != "none") in subsets[part.subset]]
                assert (part.n, part.right) == (len(chosen), sum(row["right"] for row in chosen))
                assert math.isnan(part.accuracy) == (part.n == 0)


@pytest.fixture(scope="module")
def synthetic_run(tmp_path_factory: pytest.TempPathFactory) -> StreamRun:
    """A stream whose cache fills up with views of which about half are correct; CLIP has fewer rows."""
    root, rng = tmp_path_factory.mktemp("invented"), np.random.default_rng(0)
    names, slots, width = ["cat", "dog", "cup", "crab"], 3, 8
    filled, rows = [0] * 4, []
    for t in range(40):
        label, entered, features = int(rng.integers(4)), [], []
        for _ in range(int(rng.integers(3))):
            k = label if rng.random() < 0.5 else int(rng.integers(4))
            slot = filled[k] if filled[k] < slots else int(rng.integers(slots))
            filled[k] = max(filled[k], slot + 1)
            entered.append([k, slot, int(rng.integers(64)), float(rng.random())])
            feature = rng.normal(size=width)
            features.append(feature / np.linalg.norm(feature))
        row = {"picture": f"p{t}", "label": names[label], "answer": names[int(rng.integers(4))], "entered": entered}
        row |= {"attacked": bool(t % 3), "seconds_attack": 0.5, "seconds_views": 0.25, "seconds_method": 0.125}
        rows.append(row_of(0, t) | row | {"entered_features": np.array(features, "<f4").tobytes()})
    columns = {"dataset": "pets", "split": "test", "backbone": "x", "attack": "pgd", "attacked_share": 66, "budget": 4}
    columns |= {"steps": 1, "class_names": json.dumps(names), "weights": "w", "seed": 0}
    facts = FACTS | {"requested": RECOMMENDED.replace(slots=slots).as_dict(), "pictures": 60, "width": width}
    with Rows(root / "run") as stored:
        for method, protocol, written in (("clip", "off", rows[5:30][::-1]), ("rita", "stream", rows)):
            number = stored.measurement(key(**columns, method=method, protocol=protocol), facts)
            for row in written:
                stored.write([row | {"measurement": number}])
    (found,) = stream_runs(root)
    return found


@pytest.mark.parametrize("which", ["stream_run", "synthetic_run"])
def test_the_memory_and_who_left_for_whom_equal_a_replay(which: str, request: pytest.FixtureRequest) -> None:
    one = request.getfixturevalue(which)
    course, rows = trajectory_of(one), one.rows()
    for t in range(len(rows) + 1):
        (places, exits), held = replay(one, t), classes_after(course, t)
        for k, name in enumerate(course.names):
            items = [item for (label, _), item in places.items() if label == k]
            assert (k in held) is bool(items)
            if items:
                assert held[k].count == len(items) <= course.slots
                assert held[k].correct_count == sum(truth == name for *_, truth, _ in items)
                r = np.linalg.norm(np.sum([item[-1] for item in items], 0)) / len(items)
                assert held[k].resultant_length == pytest.approx(float(r), abs=1e-6)
        if t:
            assert course.cache_size[t - 1] == len(places)
            right = [truth == course.names[k] for (k, _), (*_, truth, _) in places.items()]
            assert course.purity[t - 1] == pytest.approx(np.mean(right) if right else math.nan, nan_ok=True)
            entropy = np.mean([item[2] for item in places.values()]) if places else math.nan
            assert course.mean_entropy[t - 1] == pytest.approx(entropy, nan_ok=True)
        views = remembered_views(course, t)
        assert [view.id for view in views] == list(range(len(views)))
        present = {(v.label, v.slot): (v.picture, v.view, v.entropy) for v in views if v.left is None}
        assert present == {place: item[:3] for place, item in places.items()}
        for view in views:
            row = rows[view.picture]
            assert (view.name, course.names[view.truth]) == (row["picture"], row["label"])
            assert view.attacked is (row["attack"] != "none")
        gone = [(views[v.replaced], v) for v in views if v.replaced is not None]
        assert [((old.picture, old.view), (new.picture, new.view), new.gain) for old, new in gone] == exits
        assert all((old.replaced_by, old.left) == (new.id, new.picture) for old, new in gone)
    if which == "synthetic_run":
        assert 0.3 < course.purity[-1] < 0.9
        assert exits


@pytest.mark.slow
def test_terminal_runs_are_found_and_a_damaged_run_hides_no_other(command_line, tmp_path: Path) -> None:
    more = ("--protocols", "off,reset,stream", "--attack", "none,pgd", "--seeds", "0,1")
    assert cli.main(command_line(tmp_path / "terminal", *more, "--limit", "4")) == 0
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / FILE).write_text("{")
    (tmp_path / "file").write_text("")
    found = stream_runs(tmp_path)
    assert len(found) == 4  # two attacks, two seeds; only the protocol stream
    for stream in found:
        assert set(stream.cells) == {"clip", "ensemble", "rita", "rita:off", "rita:reset"}
        course = trajectory_of(stream)
        assert len(course.pictures) == course.expected_pictures == 4
        assert all((answer >= 0).all() for answer in course.answers.values())
        assert find_stream_run(tmp_path, stream.name).cells == stream.cells
    with pytest.raises(DataError, match="no stored run"):
        find_stream_run(tmp_path, "../../etc")


#: Dataset and picture as a damaged run may name them.
OUTSIDE = [
    *(("mine", name) for name in ("../secret/1.png", "cup/../../secret/1.png", "cup/1.png\0", "\ud800")),
    *(("..", "secret/1.png"), ("../secret", "1.png"), ("mine:present", "../secret/1.png")),
    *(("caltech101", name) for name in ("../secret/1.png", "caltech-101/none.png")),
    *(("textures", f"dotted/{'9' * 5000}"), ("textures", "../val/dotted/1000000"), ("textures", "dotted/7")),
    ("dtd", "dtd/images/dotted/0.png"),
]


def test_no_name_in_a_stored_run_leads_out_of_the_data_folder(tmp_path: Path) -> None:
    for name in ("secret/1.png", "data/mine/cup/1.png"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"")
    absolute = (("mine", f"{tmp_path}/secret/1.png"), (f"{tmp_path}/secret", "1.png"))
    for dataset, picture in (*OUTSIDE, *absolute):
        with pytest.raises(DataError, match="not in the server's data folder"):
            find_picture(dataset, picture, tmp_path / "data")
    assert find_picture("mine", "cup/1.png", tmp_path / "data") == tmp_path / "data/mine/cup/1.png"
    assert find_picture("textures", "dotted/1000007", None).is_file(), "it comes with the program"


def test_a_remembered_views_frame_is_the_box_it_was_cut_with(stream_run: StreamRun, engine: Engine, data_root) -> None:
    views = remembered_views(trajectory_of(stream_run), 12)
    boxes = view_boxes(stream_run, views)
    assert {view.view for view in views} != {0}
    for view in views:
        settings = stream_run.header.settings_for(stream_run.rows()[view.picture])
        path = find_picture("caltech101", view.name, data_root)
        cut = engine.encode_views(open_picture(path, square=settings.square, side=engine.info.side), settings)
        assert boxes[view.id] == pytest.approx(cut.views.boxes[view.view].tolist())


def test_memory_kept_against_off_is_paired_on_the_same_pictures(engine, request_, tmp_path) -> None:
    wish = request_(tmp_path / "one", methods=("clip", "rita"))
    one = run_all(replace(wish, points=(*wish.points, wish.points[0].replace(protocol="off"))), engine)
    for t in (1, 7, 12):
        found, kept = compare_answers(one, t), {row["picture"]: row for row in one.rows()[:t]}
        off = {row["picture"]: row for row in one.rows(WITHOUT_CACHE) if row["picture"] in kept}
        assert found.n == t == len(off)
        assert found.gained == sum(kept[p]["right"] and not off[p]["right"] for p in kept)
        assert found.lost == sum(off[p]["right"] and not kept[p]["right"] for p in kept)
        wanted = [(p, kept[p]["answer"], off[p]["answer"]) for p in kept if kept[p]["answer"] != off[p]["answer"]]
        assert [(d.name, one.names[d.first], one.names[d.second]) for d in found.different] == wanted
    alone = replace(one, cells={name: place for name, place in one.cells.items() if name != WITHOUT_CACHE})
    assert compare_answers(alone, 12) is None


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory, run_evaluate) -> Path:
    more = ["--methods", "rita", "--attack", "none,pgd", "--limit", "9", "--set", "slots=1"]
    more += ["--set", "views_per_image=2"]
    return run_evaluate(tmp_path_factory.mktemp("views") / "runs", *more, "--protocols", "off,stream")


def test_a_row_says_where_a_view_came_from_and_what_became_of_it(streams: Path) -> None:
    """The trajectory itself is compared with a replay of the rows in test_streams.py."""
    frame = stored_views(streams)
    assert tuple(frame.columns) == COLUMNS
    assert frame.replaced.notna().any(), "something was evicted"
    found = stream_runs(streams, streams)
    assert set(frame.stream) == {stream.title for stream in found}
    for stream in found:
        views = trajectory_of(stream).insertions
        boxes = view_boxes(stream, views)
        for one, view in zip(frame[frame.stream == stream.title].itertuples(), views, strict=True):
            assert (one.id, one.picture, one.entered_at, one.file) == (view.id, view.picture, view.picture, view.name)
            assert (one.stored_as, one.true_class) == (stream.names[view.label], stream.names[view.truth])
            same = ("slot", "view", "entropy", "attacked")
            assert [getattr(one, name) for name in same] == [getattr(view, name) for name in same]
            assert (one.left, one.top, one.right, one.bottom) == pytest.approx(boxes[view.id])
            late = {"replaced": view.replaced, "gain": view.gain, "left_at": view.left, "replaced_by": view.replaced_by}
            late["replaced_file"] = None if view.replaced is None else views[view.replaced].name
            for name, value in late.items():
                assert pandas.isna(getattr(one, name)) if value is None else getattr(one, name) == value
