"""Stored runs read for the figures: points with their settings, streams as feature clouds; nothing is written."""

from dataclasses import asdict

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.cli.main import build_parser
from rita_demo.evaluation.page import DataFolders, clouds, runs
from rita_demo.evaluation.report import measured
from rita_demo.evaluation.report.cells import cells, read_points
from rita_demo.evaluation.rows import FILE
from rita_demo.process.generators import run_to_end
from rita_demo.records.errors import DataError, SettingError, VocabularyError
from rita_demo.records.measurement import FeatureCloud
from rita_demo.settings import RECOMMENDED
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


def test_an_invalid_points_file_gives_an_error_message(tmp_path) -> None:
    for text in ("", "{}", "[1]", '[{"knobs": {}}]', '[{"knobs": 3, "n": 4}]'):
        (tmp_path / "points.json").write_text(text)
        with pytest.raises(DataError, match="holds no measured points"):
            read_points(tmp_path / "points.json")


def test_every_setting_on_the_page_has_a_shipped_ablation(tmp_path) -> None:
    found, times = runs.measured_points(DataFolders(runs=tmp_path), runs.SHIPPED)
    assert times == ()
    rita = [point for point in found if point.cell.method == "rita"]
    for setting, values in measured.ABLATIONS.items():
        lines = measured.sweeps(rita, setting)
        assert any(set(values) <= set(line.values) for line in lines), setting
    assert measured.budget_by_steps(found)
    assert len(measured.components(found)) >= 4
    assert min(point.cell.n for point in found) >= 24


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


def test_a_dataset_gives_as_many_classes_and_pictures_as_asked(data_root, engine) -> None:
    places = DataFolders(data_root)
    chosen = clouds.live_set(places, "caltech101", 2, 3)
    assert [item.label for item in chosen.items] == [0, 0, 0, 1, 1, 1]
    assert all(chosen.names[item.label] == item.id.split("/")[-2] for item in chosen.items)
    settings = RECOMMENDED.replace(square="model", views=5, attack="none")
    _, cloud = drain(clouds.collect_steps(engine, chosen, settings))
    assert cloud.dataset == "caltech101"
    again = clouds.cloud_picture(places, cloud, 2, engine.info.side)
    own = settings.replace(view_seed=cloud.seeds[2])
    assert np.allclose(engine.encode_views(again, own).features[0], cloud.attacked[2])
    assert clouds.class_counts(places, "caltech101") == {"cat": 4, "cup": 4, "dog": 4}
    assert clouds.class_counts(places, "../etc") == {}
    named = clouds.live_set(places, "caltech101", ("cup", "Dog"), 2)
    assert named.names == ("dog", "cup"), "in the order of the dataset's names"
    assert {item.id.split("/")[-2] for item in named.items} == {"cup", "dog"}
    drawn = clouds.live_set(places, "textures", ("zigzagged", "banded"), 1)
    assert [item.id for item in drawn.items] == ["banded/1000000", "zigzagged/1000000"]


@pytest.mark.parametrize(
    ("dataset", "classes", "each", "error", "sentence"),
    [
        ("caltech101", 3, 40, DataError, "pictures here; 3 were asked for"),
        ("caltech101", 9, 1, SettingError, "2 to 3 classes"),
        ("caltech101", ("cup", "cup"), 2, SettingError, "2 to 3 classes"),
        ("caltech101", ("cup", "dog"), 5, DataError, "2 were asked for: dog, cup have fewer"),
        ("caltech101", ("cup", "parrot"), 2, VocabularyError, "parrot"),
        ("../etc", 2, 2, DataError, "no such dataset"),
        *(("textures", *few, SettingError, "classes") for few in ((1, 4), (48, 1), (20, 21), (3, 0))),
    ],
)
def test_a_cloud_that_cannot_be_is_refused(data_root, dataset, classes, each, error, sentence) -> None:
    with pytest.raises(error, match=sentence):
        clouds.live_set(DataFolders(data_root), dataset, classes, each)


def test_the_classes_of_a_cloud_are_named_or_counted_in_the_terminal() -> None:
    words = ["figures", "runs", "--all", "--out", "paper", "--classes"]
    for text, classes in (("4", 4), ("cup,dog", ("cup", "dog")), ('"fox, red",cup', ("fox, red", "cup"))):
        assert build_parser().parse_args([*words, text]).classes == classes


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


def test_mixed_traffic_gives_a_cloud_of_delivered_pictures_and_no_point(tmp_path, command_line, engine, data_root):
    places = DataFolders(data_root, tmp_path)
    assert cli.main(command_line(tmp_path / "mixed", "--attacked-share", "50", "--attack", "none,pgd")) == 0
    one = stream_of(places, "pgd:50")
    _, cloud = drain(clouds.load_cloud_steps(places, one.name, engine))
    hit = np.array([row["attack"] != "none" for row in one.rows()])
    assert 0 < hit.sum() < len(hit) == cloud.thumbs.shape[0]
    assert cloud.pictures_name == f"pictures, {hit.sum()} of {len(hit)} attacked"
    assert (np.isclose(cloud.clean, cloud.attacked, atol=1e-6).all(axis=1) == ~hit).all()
    assert {int(t) for t in cloud.cache.born[cloud.cache.entropy < np.inf]} <= set(range(len(hit)))
    assert all(p.cell.attack == "none" for p in runs.measured_points(places, "mixed")[0])
    seen, cloud = drain(clouds.load_cloud_steps(places, stream_of(places, "none").name, engine))
    assert (seen, cloud.pictures_name) == ([], "clean pictures")
    assert np.array_equal(cloud.clean, cloud.attacked)


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


def test_collecting_gives_the_same_decisions_as_the_engine(engine) -> None:
    collection = clouds.cloud_set("textures", None, "val", 3, 2)
    settings = RECOMMENDED.replace(square="model", views=5, steps=2, prompts=2, max_entropy=9.0)
    seen, cloud = drain(clouds.collect_steps(engine, collection, settings, seed=1))
    assert seen[0] == (0, 6)
    assert seen[-1][0] == 5
    assert len(seen) == 6 * (1 + 2)  # once per picture, and after each attack step
    assert cloud.ids == tuple(entry.id for entry in collection.stream(1))
    assert cloud.views.shape == (6, 4, engine.info.width)
    assert cloud.cache.pictures == 6
    held = cloud.cache.count[:, None] > np.arange(cloud.cache.entropy.shape[1])
    assert set(cloud.cache.born[held]) <= set(range(6))


def test_a_thumbnail_is_the_mean_of_its_blocks() -> None:
    pixels = np.arange(112 * 112 * 3).reshape(112, 112, 3) % 251
    small = clouds.thumbnail(pixels.astype(np.uint8))
    assert small.shape == (56, 56, 3)
    assert np.abs(small[3, 5] - pixels[6:8, 10:12].mean((0, 1))).max() <= 0.5
    assert clouds.thumbnail(np.zeros((20, 20, 3), np.uint8)).shape == (20, 20, 3)
