"""What the Lab shows when it is opened is what this project measures: a part of each is measured again."""

from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from rita_demo import Engine
from rita_demo.data.pictures import open_picture
from rita_demo.evaluation.page import (
    EXAMPLES,
    WITHOUT_CACHE,
    DataFolders,
    find_stream,
    known_streams,
    remembered_features,
    shipped_cloud,
    shipped_streams,
    trajectory_of,
    view_boxes,
)
from rita_demo.evaluation.page import streams as page_streams
from rita_demo.evaluation.pictures import find_picture
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.evaluation.streams import StreamRun, stream_runs
from rita_demo.pipeline import arena_file
from rita_demo.pipeline.arena import arena_steps
from rita_demo.records import Verdict
from rita_demo.records.errors import DataError
from rita_demo.settings import RECOMMENDED
from tools.story import lab
from tools.story.detector import FALSE_ALARMS, threshold

CLEAR = 0.01  # a margin that the rounding of another processor does not turn
CLOSE = 2e-3  # features in half precision
NOWHERE = DataFolders(Path("nowhere"), Path("nowhere"))
NAMES = {"textures": 47, "dtd": 47, "caltech101": 100}


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("embedded")


@pytest.fixture(scope="module")
def streams() -> dict[str, StreamRun]:
    return {one.columns["dataset"]: one for one in shipped_streams()}


def test_all_stored_examples_together_are_small_and_hold_no_photograph() -> None:
    files = [path for path in page_streams.STREAMS.parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 10 << 20
    assert {path.name for path in page_streams.STREAMS.rglob("*.*")} == {"rows.sqlite"}
    assert {name: shipped_cloud(NOWHERE, name).cloud.thumbs is not None for name in EXAMPLES} == {
        "textures": True,
        "dtd": False,
        "caltech101": False,
    }


@pytest.mark.parametrize("dataset", EXAMPLES)
def test_a_stored_stream_is_forty_pictures_of_all_class_names_half_of_them_attacked(dataset, streams, engine) -> None:
    one = streams[dataset]
    found = trajectory_of(one)
    assert (len(found.pictures), int(found.attacked.sum()), len(found.names)) == (40, 20, NAMES[dataset])
    assert (one.columns["split"], one.header.key["weights"]) == ("test", engine.weights_key())
    assert one.header.facts["requested"]["slots"] == RECOMMENDED.slots, (
        "measure it again: the recommended settings are others"
    )
    assert set(found.answers) == {*lab.METHODS, WITHOUT_CACHE}
    assert len(view_boxes(one, found.insertions)) == len(found.insertions) == len(remembered_features(one)) > 0
    replaced = sum(view.replaced is not None for view in found.insertions)
    assert replaced or dataset == "caltech101"  # 40 pictures among 100 names fill no class


@pytest.mark.slow
def test_the_first_pictures_of_the_stored_stream_are_decided_alike_now(streams, engine, tmp_path) -> None:
    with closing(evaluate_steps(lab.stream_request("textures", None, tmp_path / "now"), engine)) as steps:
        list(islice(steps, 4))
    (now,) = stream_runs(tmp_path)
    for method in (*lab.METHODS, WITHOUT_CACHE):
        pairs = list(zip(now.rows(method), streams["textures"].rows(method)))
        assert len(pairs) >= 3
        for row, stored in pairs:
            exact = ("picture", "label", "attack", "picture_seed", "budget")
            assert [row[name] for name in exact] == [stored[name] for name in exact]
            assert row["answer"] == stored["answer"] or stored["margin"] < CLEAR
            assert abs(row["margin"] - stored["margin"]) < 0.05
    boxes = [[event[:3] for row in one.rows()[:3] for event in row["entered"]] for one in (now, streams["textures"])]
    assert boxes[0] == boxes[1]


@pytest.mark.slow
def test_a_part_of_the_stored_arena_is_answered_alike_now(engine: Engine) -> None:
    stored = arena_file.stored()
    names, columns = ("clip", "ensemble", "rita"), ("none", "pgd")
    tower = stored.towers[engine.info.name]
    with closing(arena_steps([engine], replace(stored.run), names)) as steps:
        for at in steps:
            now = at.table.towers[engine.info.name].cells
            if all((name, column) in now for name in names for column in columns):
                break
    for at in ((name, column) for name in names for column in columns):
        one, other = now[at], tower.cells[at]
        assert isinstance(other, Verdict)
        assert (one.label == other.label, abs(one.margin - other.margin) < 0.05) == (True, True), at
    assert len(stored.towers) == 2
    columns = {column for one in stored.towers.values() for _, column in one.cells}
    assert columns >= {"transfer", "autoattack", "adaptive"}


def test_a_stored_example_is_found_by_its_name_and_nothing_else_is(tmp_path: Path) -> None:
    folders = DataFolders(tmp_path, tmp_path)
    assert known_streams(folders) == shipped_streams()
    for one in shipped_streams():
        assert find_stream(folders, one.name).cells == one.cells
    for name in ("/", "/../..", "/textures", "elsewhere"):
        with pytest.raises(DataError):
            find_stream(folders, name)
    for name in ("../x", "imagenet", ""):
        with pytest.raises(DataError):
            shipped_cloud(folders, name)


def test_the_threshold_is_the_lowest_with_few_false_alarms() -> None:
    clean = np.arange(100) / 100
    at = threshold(clean)
    assert (clean >= at).mean() <= FALSE_ALARMS < (clean >= at - 0.01).mean()
    assert threshold(np.ones(3)) > 1


def test_pictures_of_the_stored_cloud_are_encoded_alike_now(engine: Engine) -> None:
    cloud = shipped_cloud(NOWHERE, "textures").cloud
    for n in (0, 7):
        picture = open_picture(find_picture(cloud.dataset, cloud.ids[n], None), square="model", side=engine.info.side)
        own = cloud.settings.replace(views=1, view_seed=cloud.seeds[n])
        assert np.abs(engine.encode_views(picture, own).features[0] - cloud.clean[n]).max() < CLOSE
