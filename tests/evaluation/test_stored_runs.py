"""Stored runs read for the figures: points with their settings, streams as feature clouds; nothing is written."""

from dataclasses import asdict

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.page import DataFolders, clouds, runs
from rita_demo.evaluation.report.cells import cells, read_points
from rita_demo.evaluation.rows import FILE
from rita_demo.process.generators import run_to_end
from rita_demo.records.errors import DataError, SettingError, VocabularyError
from rita_demo.records.measurement import FeatureCloud
from tests.toy_model import ToyEngine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stored_run(tmp_path_factory, command_line):
    """Read by several tests, and written by none."""
    out = tmp_path_factory.mktemp("runs") / "mine"
    more = ("--attack", "none,pgd", "--sweep", "slots=1,2")
    assert cli.main(command_line(out, *more)) == 0
    return out


def test_points_are_result_rows_with_their_settings_and_are_read_back(stored_run, tmp_path, capsys) -> None:
    found, times = runs.measured_points(DataFolders(runs=stored_run.parent), "mine")
    assert sorted(p.cell.accuracy for p in found) == sorted(cells(stored_run)["accuracy"])
    assert {one.method for one in times} == {"clip", "ensemble", "rita"}
    rita = [p for p in found if (p.cell.method, p.cell.attack) == ("rita", "pgd")]
    assert sorted(p.settings["slots"] for p in rita) == [1, 2]
    clip = next(p for p in found if p.cell.method == "clip")
    assert not {"slots", "budget"} & set(clip.settings), "only what CLIP depends on"
    ensemble = next(p for p in found if p.cell.method == "ensemble")
    assert set(ensemble.settings) > {"views", "ensemble_average"}
    capsys.readouterr()
    assert cli.main(["tables", str(stored_run), "--format", "points"]) == 0
    file = tmp_path / "points.json"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    again = read_points(file)
    assert [(p.settings, asdict(p.cell)) for p in again] == [(p.settings, asdict(p.cell)) for p in found]


def drain(steps) -> tuple[list[tuple[int, int]], FeatureCloud]:
    """What a generator yields, and what it returns."""
    seen = []
    cloud = run_to_end(steps, seen.append)
    return seen, cloud


def stream_of(folders: DataFolders, attack: str, *parts: str):
    """The stored stream under an attack with these in its name and title."""
    streams = clouds.stored_streams(folders)
    return next(s for s in streams if s.columns["attack"] == attack and all(p in f"{s.name} {s.title}" for p in parts))


def test_a_stored_stream_becomes_a_cloud_with_the_memory_after_it(stored_run, engine) -> None:
    places = DataFolders(runs=stored_run.parent)
    before = {p: p.stat().st_mtime_ns for p in stored_run.rglob("*") if p.is_file()}
    one = stream_of(places, "pgd", "slots=2")
    seen, cloud = drain(clouds.load_cloud_steps(places, one.name, engine))
    assert seen == []  # the clean features are stored
    n, width = one.header.pictures, engine.info.width
    assert (cloud.attacked.shape, cloud.views.shape) == (
        (n, width),
        (n, 5, width),
    )  # six views without the whole picture
    assert np.allclose(np.linalg.norm(cloud.views, axis=-1), 1, atol=1e-5)
    assert not np.allclose(cloud.clean, cloud.attacked)
    assert cloud.thumbs.shape[0] == n
    assert [cloud.class_prompts.names[k] for k in cloud.label] == [i.split("/")[-2] for i in cloud.ids]
    places_held = {(k, slot) for row in one.rows() for k, slot, *_ in row["entered"]}
    assert int(cloud.cache.count.sum()) == len(places_held)
    assert {p: p.stat().st_mtime_ns for p in stored_run.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("dataset", "classes", "each", "error", "sentence"),
    [
        ("caltech101", 3, 40, DataError, "pictures here; 3 were asked for"),
        ("caltech101", ("cup", "cup"), 2, SettingError, "2 to 3 classes"),
        ("caltech101", ("cup", "parrot"), 2, VocabularyError, "parrot"),
        ("../etc", 2, 2, DataError, "no such dataset"),
    ],
)
def test_a_cloud_that_cannot_be_is_refused(data_root, dataset, classes, each, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        clouds.live_set(DataFolders(data_root), dataset, classes, each)


def test_missing_clean_features_are_encoded_again(tmp_path, command_line, engine, data_root, stored_run) -> None:
    (tmp_path / "mine").symlink_to(stored_run)
    assert cli.main(command_line(tmp_path / "attacked only", "--set", "slots=2")) == 0
    places = DataFolders(data_root, tmp_path)
    one, kept = stream_of(places, "pgd", "attacked only/"), stream_of(places, "pgd", "mine/", "slots=2")
    seen, cloud = drain(clouds.load_cloud_steps(places, one.name, engine))
    assert len(seen) == len(cloud.ids)
    _, known = drain(clouds.load_cloud_steps(places, kept.name, engine))
    assert cloud.ids == known.ids
    assert np.allclose(cloud.clean, known.clean, atol=2e-3)  # stored in half precision there
    elsewhere = DataFolders(tmp_path / "elsewhere", tmp_path)
    for folders, name, model, error, sentence in (
        (elsewhere, one.name, engine, DataError, "not in the server's data folder"),
        (places, one.name, ToyEngine(), SettingError, "not with the one in use"),
        (places, "../../etc", engine, DataError, "no stored run"),
    ):
        with pytest.raises(error, match=sentence):
            drain(clouds.load_cloud_steps(folders, name, model))
    (tmp_path / "attacked only/artifacts.sqlite").unlink()
    with pytest.raises(DataError, match="not all stored"):
        drain(clouds.load_cloud_steps(places, one.name, engine))


def test_runs_are_found_by_name_and_no_other_folder_is_opened(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / FILE).touch()
    (tmp_path / "no run").mkdir()
    places = DataFolders(runs=tmp_path)
    assert set(runs.run_names(places)) == {"a", "b"}
    for name in ("no run", "..", "/", "a/../b", None):
        with pytest.raises(DataError, match="no run"):
            runs.measured_points(places, name)
    assert runs.run_names(DataFolders(runs=tmp_path / "missing")) == ()
