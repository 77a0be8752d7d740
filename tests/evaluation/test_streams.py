"""Mixed traffic, leaving and going on, and the course of a stream against a slow second reading of its files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo import cli
from rita_demo.data.pictures import open_picture
from rita_demo.engine import Engine
from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.collection import Entry, collect, found_again, is_attacked
from rita_demo.evaluation.course import course_of, curve, held_after, standings
from rita_demo.evaluation.files import read_lines
from rita_demo.evaluation.recordings import Recording, recording, recordings
from rita_demo.evaluation.request import Request, Traffic, points
from rita_demo.evaluation.run import evaluating
from rita_demo.evaluation.tables import lines
from rita_demo.surveys import Course


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def engine(tiny_model_dir: Path) -> Engine:
    return Engine(f"local-dir:{tiny_model_dir}", "cpu")


@pytest.fixture(scope="module")
def request_(data_root: Path, engine: Engine):
    def make(out: Path, **changes: Any) -> Request:
        settings, fixed = points(
            attacks="pgd", budget="4", steps="1", protocols="stream",
            assignments=["views=6", "prompts=2", "max_entropy=9", "slots=2", "views_per_image=2"],
        )  # fmt: skip
        wish = {"traffic": Traffic(50), "datasets": ("caltech101",)} | changes
        return Request(
            split="val", methods=("clip", "ensemble", "rita"), points=settings, out=out,
            data_root=data_root, fixed=fixed, backbone=engine.info.name, **wish,
        )  # fmt: skip

    return make


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory, engine: Engine, request_) -> Path:
    """A folder of run folders with one stream of 12 pictures, half of them attacked."""
    root = tmp_path_factory.mktemp("runs")
    for _ in evaluating(request_(root / "one"), engine):
        pass
    return root


@pytest.fixture(scope="module")
def one(streamed: Path) -> Recording:
    (found,) = recordings(streamed)
    return found


@pytest.fixture(scope="module")
def course(one: Recording) -> Course:
    return course_of(one)


def test_mixed_traffic_attacks_its_share_and_says_so_in_every_row(one: Recording) -> None:
    rows = one.rows()
    hit = [row["attack"] == "pgd" for row in rows]
    assert 0 < sum(hit) < len(rows) == 12
    for row, attacked in zip(rows, hit):
        assert (row["budget"], row["linf"] > 0) == ((4, True) if attacked else (0, False))
        assert (row["already_wrong"] is None) is not attacked
    assert hit == [is_attacked(0, Entry(row["picture"], 0, 0), 50) for row in rows]
    assert one.columns["attack"] == "pgd:50"
    assert "50 % of the pictures" in one.header["threat_model"]["sentences"][-1]
    found = lines(one.cells["rita"].parents[1])
    assert {line.attack for line in found} == {"pgd:50"}


def test_the_share_of_many_pictures_is_the_share_asked_for() -> None:
    drawn = [is_attacked(3, Entry(f"cup/{n}.png", 0, 0), 30) for n in range(4000)]
    assert 0.27 < np.mean(drawn) < 0.33
    assert all(is_attacked(3, Entry(str(n), 0, 0), 100) for n in range(100))


def test_a_picture_of_mixed_traffic_is_the_one_of_pure_traffic(
    one: Recording, engine: Engine, request_, tmp_path: Path
) -> None:
    for _ in evaluating(request_(tmp_path / "all", traffic=Traffic()), engine):
        pass
    (pure,) = recordings(tmp_path)
    for method in ("clip", "ensemble"):
        attacked = {row["picture"]: row for row in pure.rows(method)}
        for row in one.rows(method):
            if row["attack"] == "pgd":
                same = attacked[row["picture"]]
                for name in ("answer", "linf", "picture_seed", "probability"):
                    assert row[name] == same[name], (method, name)


def test_leaving_between_two_pictures_and_going_on_equals_staying(
    one: Recording, engine: Engine, request_, tmp_path: Path
) -> None:
    wish = request_(tmp_path / "one")
    for _ in range(5):
        steps = evaluating(wish, engine)
        next(steps)
        next(steps)
        steps.close()  # the folder is free again
    for _ in evaluating(wish, engine):
        pass
    (again,) = recordings(tmp_path)
    for method in one.cells:
        timeless = [
            [{k: v for k, v in row.items() if k != "seconds"} for row in r.rows(method)]
            for r in (one, again)
        ]
        assert timeless[0] == timeless[1]
    assert (one.cells["rita"] / "memory.f32").read_bytes() == (
        again.cells["rita"] / "memory.f32"
    ).read_bytes()


def test_mixed_traffic_of_an_attacker_that_knows_the_memory(
    engine: Engine, request_, data_root: Path, tmp_path: Path
) -> None:
    settings, fixed = points(
        attacks="defence", budget="4", steps="1", protocols="stream",
        assignments=["views=6", "prompts=2", "max_entropy=9", "slots=2", "attack_views=2"],
    )  # fmt: skip
    methods = ("clip", "rita", "rita_reset", "rita_memory")
    wish = Request(
        datasets=("caltech101",), split="val", methods=methods, points=settings, out=tmp_path / "one",
        data_root=data_root, fixed=fixed, backbone=engine.info.name, traffic=Traffic(50), limit=6,
    )  # fmt: skip
    for _ in range(2):  # left and gone on with: all groups keep pace
        steps = evaluating(wish, engine)
        next(steps)
        next(steps)
        steps.close()
        counts = {
            len(read_lines(cell / "rows.jsonl")) for cell in (tmp_path / "one/cells").iterdir()
        }
        assert len(counts) == 1
    for _ in evaluating(wish, engine):
        pass
    (found,) = recordings(tmp_path)
    assert found.apart
    assert set(found.cells) == set(methods)
    course = course_of(found)
    assert all((given >= 0).all() for given in course.answers.values())
    rows = found.rows()
    hit = [is_attacked(0, Entry(row["picture"], 0, 0), 50) for row in rows]
    assert [row["linf"] > 0 for row in rows] == [row["attack"] == "defence" for row in rows] == hit
    empty = engine.empty_cache(engine.classes(found.header["names"], found.asked), found.asked)
    collected = collect("caltech101", data_root, "val", limit=6, allow_partial=False)
    entries = {entry.id: entry for entry in collected.entries}
    for t, row in enumerate(rows):
        own = found.settings(row)
        bank = engine.classes(found.header["names"], own)
        entry = entries[row["picture"]]
        picture = open_picture(entry.source(), square=own.square, side=engine.info.side)
        if hit[t]:  # attacked again with what was remembered then
            trace = engine.attack(picture, bank, own, entry.label, cache=found.memory(empty, t))
            assert (trace.linf, trace.l2) == pytest.approx((row["linf"], row["l2"]))


def test_methods_pair_with_a_stream_only_where_what_matters_to_them_is_alike(
    engine: Engine, request_, one: Recording, tmp_path: Path
) -> None:
    wish = request_(tmp_path / "one", limit=3)
    for methods, more in (
        (("clip", "ensemble", "rita", "mta", "rita_untuned"), {}),
        (("ensemble", "rtpt"), {"views": 7}),  # other views than RITA's
        (("clip",), {"cache_weight": 0.5}),  # nothing to CLIP: the same cell
    ):
        settings = tuple(point.but(**more) for point in wish.points)
        for _ in evaluating(replace(wish, methods=methods, points=settings), engine):
            pass
    (found,) = recordings(tmp_path)
    assert list(found.cells) == ["rita", "clip", "ensemble", "mta", "rita_untuned"]
    assert not one.apart


def test_while_one_streams_into_a_folder_another_is_refused(engine, request_, tmp_path) -> None:
    steps = evaluating(request_(tmp_path / "one"), engine)
    next(steps)
    with pytest.raises(DataError, match="Another evaluation"):
        next(evaluating(request_(tmp_path / "one"), engine))
    steps.close()


def test_class_by_class_keeps_classes_together_and_is_another_cell(
    data_root: Path, engine: Engine, request_, streamed: Path, tmp_path: Path
) -> None:
    found = collect("caltech101", data_root, "val", limit=None, allow_partial=False)
    labels = [entry.label for entry in found.stream(0, "classes")]
    assert len([a for a, b in pairwise(labels) if a != b]) == len(set(labels)) - 1
    assert set(found.stream(0, "classes")) == set(found.stream(0))
    for _ in evaluating(request_(tmp_path / "one", traffic=Traffic(50, "classes")), engine):
        pass
    (grouped,) = recordings(tmp_path)
    assert grouped.cells["rita"].name != recordings(streamed)[0].cells["rita"].name
    assert "class by class" in grouped.title


def slow_memory(one: Recording, t: int) -> dict[int, dict[int, tuple[str, np.ndarray]]]:
    """class -> slot -> (true class of the picture, feature), by reading the files from the start."""
    header = json.loads((one.cells["rita"] / "header.json").read_text())
    data = np.fromfile(one.cells["rita"] / "memory.f32", "<f4")
    data = list(data.reshape(-1, header["width"]))
    memory: dict[int, dict[int, tuple[str, np.ndarray]]] = {}
    for row in lines_of(one.cells["rita"] / "rows.jsonl")[:t]:
        for k, slot, _, _ in row["entered"]:
            memory.setdefault(k, {})[slot] = (row["label"], data.pop(0))
    return memory


def test_accuracy_and_interval_after_every_picture_are_those_of_a_recount(
    one: Recording, course: Course
) -> None:
    for method, folder in one.cells.items():
        rows = lines_of(folder / "rows.jsonl")
        for t in range(1, len(rows) + 1):
            right, z = sum(row["answer"] == row["label"] for row in rows[:t]), 1.959963984540054
            share = right / t
            # Wilson's ends are the roots p of (share - p)^2 = z^2 p (1 - p) / t
            roots = np.roots([1 + z * z / t, -(2 * share + z * z / t), share * share])
            low, high = sorted(float(root.real) for root in roots)
            drawn = course.curves[method]
            assert drawn.share[t - 1] == pytest.approx(share)
            assert drawn.low[t - 1] == pytest.approx(low, abs=1e-9)
            assert drawn.high[t - 1] == pytest.approx(high, abs=1e-9)
            for part in standings(course, t):
                if part.method != method:
                    continue
                chosen = [
                    row
                    for row in rows[:t]
                    if part.part == "all" or (row["attack"] != "none") == (part.part == "attacked")
                ]
                assert part.n == len(chosen)
                assert part.right == sum(row["right"] for row in chosen)
                assert math.isnan(part.share) == (part.n == 0)


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """A stream whose memory fills, is replaced and is right about half of the time; CLIP lags behind."""
    root, rng = tmp_path_factory.mktemp("invented"), np.random.default_rng(0)
    names, slots, T, width = ["cat", "dog", "cup", "crab"], 3, 40, 8
    filled, rows, vectors = [0] * 4, [], []
    for t in range(T):
        label = int(rng.integers(4))
        entered = []
        for _ in range(int(rng.integers(3))):
            k = label if rng.random() < 0.5 else int(rng.integers(4))
            slot = filled[k] if filled[k] < slots else int(rng.integers(slots))
            filled[k] = max(filled[k], slot + 1)
            entered.append([k, slot, int(rng.integers(64)), float(rng.random())])
            feature = rng.normal(size=width)
            vectors.append(feature / np.linalg.norm(feature))
        rows.append({
            "picture": f"p{t}", "label": names[label], "answer": names[int(rng.integers(4))],
            "attack": "pgd" if t % 3 else "none", "picture_seed": t, "entered": entered,
            "seconds": {"attack": 0.5, "views": 0.25, "method": 0.125},
        })  # fmt: skip
    columns = {
        "dataset": "pets", "split": "test", "backbone": "x", "attack": "pgd:66", "budget": 4, "steps": 1,
    }  # fmt: skip
    for method in ("clip", "rita"):
        folder = root / "run/cells" / method
        folder.mkdir(parents=True)
        protocol = "stream" if method == "rita" else "off"
        header = {
            "columns": columns | {"method": method, "protocol": protocol}, "seed": 0, "special": {},
            "pictures": 60, "names": names, "knobs": {"slots": slots}, "weights": "w", "width": width,
        }  # fmt: skip
        (folder / "header.json").write_text(json.dumps(header))
        written = rows if method == "rita" else rows[5:30][::-1]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))
        (folder / "memory.f32").write_bytes(np.array(vectors, "<f4").tobytes())
    (found,) = recordings(root)
    return found


def test_a_growing_stream_is_read_as_far_as_it_goes(invented: Recording) -> None:
    course = course_of(invented)
    assert len(course.pictures) == 40
    assert course.wanted == 60
    assert (course.answers["clip"][:5] == -1).all()  # its rows come in another order
    assert (course.answers["clip"][5:30] >= 0).all()
    both = {part.method: part for part in standings(course, 40) if part.part == "all"}
    assert (both["clip"].n, both["rita"].n) == (25, 40)
    assert course.seconds[0] == pytest.approx(0.875)
    assert course.seconds[7] == pytest.approx(1.0)


@pytest.mark.parametrize("which", ["one", "invented"])
def test_fill_purity_and_strength_after_every_picture_are_those_of_a_replay(
    which: str, request: pytest.FixtureRequest
) -> None:
    one = request.getfixturevalue(which)
    course = course_of(one)
    names = course.names
    for t in range(len(course.pictures) + 1):
        memory, held = slow_memory(one, t), held_after(course, t)
        for k in range(len(names)):
            items = list(memory.get(k, {}).values())
            assert held.held[k] == len(items) <= course.slots
            assert held.pure[k] == sum(label == names[k] for label, _ in items)
            total = np.sum([x for _, x in items], 0) if items else np.zeros(1)
            r = np.linalg.norm(total) / max(len(items), 1)
            assert held.strength[k] == pytest.approx(float(r), abs=1e-6)
        assert {(k, slot) for k, slot, _ in held.items} == {
            (k, slot) for k, slots in memory.items() for slot in slots
        }
        if t:
            assert course.fill[t - 1] == held.held.sum()
            pure = held.pure.sum() / held.held.sum() if held.held.sum() else math.nan
            assert course.purity[t - 1] == pytest.approx(pure, nan_ok=True)
    if which == "invented":
        assert 0.3 < course.purity[-1] < 0.9
        assert held.held.sum() < len(course.entered.picture)  # some were replaced


def test_the_memory_of_any_moment_is_the_one_the_method_had(
    one: Recording, engine: Engine, course: Course
) -> None:
    settings = one.settings(one.rows()[0])
    bank = engine.classes(one.header["names"], settings)
    for t in (0, 5, 12):
        state = one.memory(engine.empty_cache(bank, settings), t)
        held = held_after(course, t)
        assert np.array_equal(state.count, held.held)
        assert state.pictures == t
        for k, slot, number in held.items:
            assert state.born[k, slot] == course.entered.picture[number]
            assert state.entropy[k, slot] == pytest.approx(course.entered.entropy[number])


def test_a_method_without_rows_yet_does_not_count_as_wrong() -> None:
    known = np.array([True, True, False])
    drawn = curve(np.array([True, False, False]), known)
    assert drawn.share.tolist() == [1.0, 0.5, 0.5]
    assert np.isnan(curve(np.array([False]), np.array([False])).share[0])


def test_a_run_made_in_a_terminal_is_found_and_a_damaged_one_hides_nothing(
    words, tmp_path: Path
) -> None:
    more = ("--protocols", "off,reset,stream", "--attack", "none,pgd", "--seeds", "0,1")
    assert cli.main(words(tmp_path / "terminal", *more, "--limit", "4")) == 0
    (tmp_path / "broken/cells/x").mkdir(parents=True)
    (tmp_path / "broken/cells/x/header.json").write_text("{")
    (tmp_path / "broken/cells/x/rows.jsonl").write_text("{}\n")
    (tmp_path / "file").write_text("")
    found = recordings(tmp_path)
    assert len(found) == 4  # two attacks, two seeds; only the protocol with a memory that lives
    for stream in found:
        assert set(stream.cells) == {"clip", "ensemble", "rita"}
        went = course_of(stream)
        assert len(went.pictures) == went.wanted == 4
        assert all((given >= 0).all() for given in went.answers.values())
        assert recording(tmp_path, stream.name).cells == stream.cells
    with pytest.raises(DataError, match="no stored run"):
        recording(tmp_path, "../../etc")


def test_pictures_are_found_again_below_the_data_folder_only(data_root: Path) -> None:
    path = found_again("caltech101", "caltech-101/101_ObjectCategories/cat/0.png", data_root)
    assert isinstance(path, Path)
    assert path.is_file()
    drawn = found_again("textures", "dotted/7", None)
    assert isinstance(drawn, np.ndarray)
    for name in ("../secret.png", "/etc/passwd", "caltech-101/none.png"):
        with pytest.raises(DataError, match="not in the server's data folder"):
            found_again("caltech101", name, data_root)
    with pytest.raises(DataError, match="not in the server's data folder"):
        found_again("dtd", "dtd/images/dotted/0.png", None)


@pytest.mark.parametrize("words_", [("--attacked-share", "0"), ("--attacked-share", "half")])
def test_a_share_that_is_none_is_refused(words, tmp_path: Path, words_, capsys) -> None:
    assert cli.main(words(tmp_path, *words_)) == 2
    assert "from 1 to 100" in capsys.readouterr().err
    with pytest.raises(SettingError, match="order"):
        Traffic(50, "backwards")
