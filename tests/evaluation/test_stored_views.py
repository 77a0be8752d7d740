"""The table of what streams remembered, against a slow second reading of the rows."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pandas
import pytest

from rita_demo import stored_views
from rita_demo.evaluation.page import DataFolders, open_stream_picture
from rita_demo.evaluation.paper.catalogue import memory_items
from rita_demo.evaluation.stored_views import COLUMNS
from rita_demo.evaluation.stream_trajectory import trajectory_of, view_boxes
from rita_demo.evaluation.streams import stream_runs
from rita_demo.records.errors import DataError, SettingError
from tests.conftest import forget_plugins
from tests.evaluation.conftest import cut

OWN = """\
from rita_demo.attacks.contract import Attack
from rita_demo.defences.contract import Defence, verdict_of

def median(inputs):
    return verdict_of((inputs.views @ inputs.template_features.T / inputs.temperature).median(0).values.softmax(-1))

def half_step(pixels, gradient, step_size):
    return pixels + step_size / 2 * gradient.sign()

MED = Defence("med", "Median", "The median.", median)
HALF = Attack("half", "Half", "Half a step.", start="uniform", goal="margin", step=half_step, iterative=True)
"""


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


def test_a_stream_that_several_folders_have_counts_once_by_the_longer_one(streams: Path, tmp_path: Path) -> None:
    def rows(*folders: Path) -> pandas.DataFrame:
        return stored_views(*folders).sort_values(["stream", "id"], ignore_index=True)

    shutil.copytree(streams, tmp_path / "copy")
    pandas.testing.assert_frame_equal(rows(tmp_path / "copy", streams), rows(streams))
    cut(tmp_path / "copy", 6)
    for folders in ((tmp_path / "copy", streams), (streams.parent,)):
        pandas.testing.assert_frame_equal(rows(*folders), rows(streams))


def test_a_folder_without_a_stream_is_refused(run_evaluate, tmp_path: Path) -> None:
    run_evaluate(tmp_path / "runs", "--methods", "clip", "--limit", "1")
    with pytest.raises(DataError, match="no stream"):
        stored_views(tmp_path / "runs")


def table_of(runs: Path) -> list[list[str]]:
    """The printed table of the memories."""
    text = [*memory_items([runs])][-1].files["csv"]
    return list(csv.reader(text.splitlines()))[1:]


@pytest.mark.usefixtures("no_plugins_afterwards")
def test_streams_under_an_own_attack_are_all_there_where_its_file_is_not_loaded(run_evaluate, engine, tmp_path) -> None:
    (tmp_path / "own.py").write_text(OWN)
    own = ["--defence", f"{tmp_path}/own.py:MED", "--attack", f"none,{tmp_path}/own.py:HALF,adaptive:med"]
    more = ["--methods", "rita,med", "--limit", "3", "--set", "adaptive.steps=1", "--set", "attack_views=2"]
    runs = run_evaluate(tmp_path / "runs", *own, *more, "--protocols", "off,stream")
    loaded, table = stored_views(runs), table_of(runs)
    forget_plugins()
    apart = [name for name in COLUMNS if name != "stream"]
    pandas.testing.assert_frame_equal(stored_views(runs)[apart], loaded[apart])
    assert loaded.stream.nunique() == 3
    said = " ".join(stored_views(runs).stream)
    assert all(f"{words} 4/255" in said for words in ("half", "adaptive against med"))
    assert [row[1:] for row in table_of(runs)] == [row[1:] for row in table]
    assert all(row[-1] != "–" for row in table), "the methods beside RITA are found as well"
    listed = stream_runs(runs.parent)  # of the page
    assert {one.title for one in listed} == set(stored_views(runs).stream)
    for one in listed:
        attack, (row, *_) = one.columns["attack"], one.rows()
        assert not one.attack_uses_cache
        assert trajectory_of(one).titles == {"rita": "RITA", "rita:off": "RITA, without memory", "med": "Median"}
        assert len(trajectory_of(one).curves["med"].right) == 3, "an own method has its line and its row"
        assert one.header.settings_for(row | {"attacked": 0}).attack == "none"
        if attack != "none":
            with pytest.raises(SettingError, match=f"The attack '{attack}' needs code that is not loaded here"):
                open_stream_picture(engine, DataFolders(runs=runs.parent), one, 1)
            half = replace(one.header, key=one.header.key | {"attacked_share": 50})
            with pytest.raises(SettingError, match=f"The attack '{attack}' needs"):
                _ = half.requested
