"""Stored runs read back for the figures: points with their settings, streams as clouds; nothing is written."""

from __future__ import annotations

import shutil
from dataclasses import fields

import numpy as np
import pytest

from rita_demo import analysis, cli
from rita_demo.engine import Engine
from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.points import read_points
from rita_demo.evaluation.run import evaluating
from rita_demo.evaluation.tables import lines
from rita_demo.measuring import Places, ablations, gather, stored
from rita_demo.settings import KNOBS, RECOMMENDED
from rita_demo.surveys import Cloud
from tests.ui.fake import FakeEngine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine(tiny_model_dir) -> Engine:
    return Engine(f"local-dir:{tiny_model_dir}", "cpu")


def attacked(places: Places) -> list:
    return [one for one in stored.clouds(places) if one.columns["attack"] == "pgd"]


@pytest.fixture
def run(tmp_path, words):
    out = tmp_path / "mine"
    more = ("--attack", "none,pgd", "--sweep", "slots=1,2")
    assert cli.main(words(out, *more)) == 0
    return out


def test_points_are_the_tables_lines_with_the_settings_that_matter(run) -> None:
    found = stored.points(Places(runs=run.parent), "mine")
    assert sorted(p.cell.accuracy for p in found) == sorted(line.accuracy for line in lines(run))
    rita = [p for p in found if (p.cell.method, p.cell.attack) == ("rita", "pgd")]
    assert sorted(p.knobs["slots"] for p in rita) == [1, 2]
    clip = next(p for p in found if p.cell.method == "clip")
    assert set(clip.knobs) == {n for n, k in KNOBS.items() if k.group == "attack"} - {"attack_seed"}
    ensemble = next(p for p in found if p.cell.method == "ensemble")
    assert set(ensemble.knobs) > {"views", "ensemble_average"}


def test_points_are_kept_in_a_file_and_read_back(run, tmp_path, capsys) -> None:
    found = stored.points(Places(runs=run.parent), "mine")
    capsys.readouterr()
    assert cli.main(["tables", str(run), "--format", "points"]) == 0
    file = tmp_path / "points.json"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    again = read_points(file)
    assert [p.knobs for p in again] == [p.knobs for p in found]
    for one, same in zip(again, found, strict=True):
        assert all(
            getattr(one.cell, f.name) == getattr(same.cell, f.name) for f in fields(one.cell)
        )


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"knobs": {}}]', '[{"knobs": 3, "n": 4}]'])
def test_a_file_that_holds_no_points_is_a_sentence(tmp_path, text: str) -> None:
    file = tmp_path / "points.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="holds no measured points"):
        read_points(file)


def test_this_copy_came_with_an_ablation_of_every_setting_that_the_page_offers(tmp_path) -> None:
    found = stored.points(Places(runs=tmp_path), stored.SHIPPED)
    rita = [point for point in found if point.cell.method == "rita"]
    for knob, values in ablations.VALUES.items():
        lines = analysis.sweeps(rita, knob)
        assert any(set(values) <= set(line.values) for line in lines), knob
    assert analysis.budget_curves(found, "tuning_steps")
    assert len(analysis.components(found)) >= 4
    assert min(point.cell.n for point in found) >= 24


def read(steps) -> tuple[list[tuple[int, int]], Cloud]:
    """What a job yields, and what it returns."""
    seen = []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            return seen, end.value


def test_a_stored_stream_becomes_a_cloud_with_the_memory_after_it(run, engine) -> None:
    places = Places(runs=run.parent)
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.is_file()}
    one = next(s for s in attacked(places) if "slots=2" in s.title)
    seen, cloud = read(stored.reading(places, one.name, engine))
    assert seen == []  # the run kept the clean features too
    n = one.header["pictures"]
    assert cloud.attacked.shape == (n, engine.info.width)
    assert cloud.views.shape == (n, 5, engine.info.width)  # six views, the whole picture apart
    assert np.allclose(np.linalg.norm(cloud.views, axis=-1), 1, atol=1e-5)
    assert not np.allclose(cloud.clean, cloud.attacked)
    assert cloud.thumbs.shape[0] == n
    assert [cloud.bank.names[k] for k in cloud.label] == [i.split("/")[-2] for i in cloud.ids]
    rows = [e for line in one.rows() for e in line["entered"]]
    assert int(cloud.memory.count.sum()) == len({(k, slot) for k, slot, *_ in rows})
    assert {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.is_file()} == before


def test_clean_features_that_a_run_did_not_keep_are_made_again(
    tmp_path, words, engine, data_root, run
) -> None:
    assert cli.main(words(tmp_path / "attacked only", "--set", "slots=2")) == 0
    places = Places(data_root, tmp_path)
    one = next(s for s in attacked(places) if s.name.startswith("attacked"))
    kept = next(s for s in attacked(places) if s.name.startswith("mine") and "slots=2" in s.title)
    seen, cloud = read(stored.reading(places, one.name, engine))
    assert len(seen) == len(cloud.ids)
    _, known = read(stored.reading(places, kept.name, engine))
    assert cloud.ids == known.ids
    assert np.allclose(cloud.clean, known.clean, atol=2e-3)  # kept in half precision there
    with pytest.raises(DataError, match="not in the server's data folder"):
        read(stored.reading(Places(tmp_path / "elsewhere", tmp_path), one.name, engine))


def test_a_stream_of_other_weights_or_without_its_features_is_a_sentence(
    tmp_path, words, engine, data_root
) -> None:
    places = Places(data_root, tmp_path)
    assert cli.main(words(tmp_path / "one")) == 0
    (one,) = stored.clouds(places)
    with pytest.raises(SettingError, match="not with the one in use"):
        read(stored.reading(places, one.name, FakeEngine()))
    with pytest.raises(DataError, match="no stored run"):
        read(stored.reading(places, "../../etc", engine))
    shutil.rmtree(tmp_path / "one/looks")
    with pytest.raises(DataError, match="not all stored"):
        read(stored.reading(places, one.name, engine))


def test_mixed_traffic_is_a_cloud_of_what_was_delivered_and_no_point(
    tmp_path, words, engine, data_root
) -> None:
    places = Places(data_root, tmp_path)
    assert (
        cli.main(words(tmp_path / "mixed", "--attacked-share", "50", "--attack", "none,pgd")) == 0
    )
    one = next(s for s in stored.clouds(places) if s.columns["attack"] == "pgd:50")
    _, cloud = read(stored.reading(places, one.name, engine))
    hit = np.array([row["attack"] != "none" for row in one.rows()])
    assert 0 < hit.sum() < len(hit)
    assert cloud.whole == f"pictures, {hit.sum()} of {len(hit)} attacked"
    same = np.isclose(cloud.clean, cloud.attacked, atol=1e-6).all(axis=1)
    assert (same == ~hit).all()
    assert cloud.thumbs.shape[0] == len(hit)
    held = {int(t) for t in cloud.memory.born[cloud.memory.entropy < np.inf]}
    assert held <= set(range(len(hit)))
    assert all(p.cell.attack == "none" for p in stored.points(places, "mixed"))


def test_a_clean_stream_is_a_cloud_too(tmp_path, words, engine, data_root) -> None:
    places = Places(data_root, tmp_path)
    assert cli.main(words(tmp_path / "clean", "--attack", "none")) == 0
    (one,) = stored.clouds(places)
    seen, cloud = read(stored.reading(places, one.name, engine))
    assert seen == []
    assert cloud.whole == "clean pictures"
    assert np.array_equal(cloud.clean, cloud.attacked)
    assert stored.points(places, "clean")


def test_runs_are_found_by_name_and_no_other_folder_is_opened(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "cells").mkdir(parents=True)
    (tmp_path / "no run").mkdir()
    places = Places(runs=tmp_path)
    assert set(stored.runs(places)) == {"a", "b"}
    assert stored.points(places, "a") == ()
    for name in ("no run", "..", "/", "a/../b", None):
        with pytest.raises(DataError, match="no run"):
            stored.points(places, name)
    assert stored.runs(Places(runs=tmp_path / "missing")) == ()


def test_gathering_is_the_stream_that_the_engine_decides(engine) -> None:
    collection = gather.drawn(3, 2)
    settings = RECOMMENDED.but(square="model", views=5, steps=2, prompts=2, max_entropy=9.0)
    seen, cloud = read(gather.gathering(engine, collection, settings, seed=1))
    assert seen[0] == (0, 6)
    assert seen[-1][0] == 5
    assert len(seen) == 6 * (1 + 2)  # once per picture, and after each of the attacker's steps
    assert cloud.ids == tuple(entry.id for entry in collection.stream(1))
    assert cloud.views.shape == (6, 4, engine.info.width)
    assert cloud.memory.pictures == 6
    held = cloud.memory.count[:, None] > np.arange(cloud.memory.entropy.shape[1])
    assert set(cloud.memory.born[held]) <= set(range(6))


@pytest.mark.parametrize(("classes", "each"), [(1, 4), (48, 1), (20, 21), (3, 0)])
def test_a_cloud_that_is_too_large_or_too_small_is_refused(classes: int, each: int) -> None:
    with pytest.raises(SettingError, match="classes"):
        gather.drawn(classes, each)


def test_a_thumbnail_is_the_mean_of_its_blocks() -> None:
    pixels = np.arange(112 * 112 * 3).reshape(112, 112, 3) % 251
    small = gather.thumbnail(pixels.astype(np.uint8))
    assert small.shape == (56, 56, 3)
    assert np.abs(small[3, 5] - pixels[6:8, 10:12].mean((0, 1))).max() <= 0.5
    assert gather.thumbnail(np.zeros((20, 20, 3), np.uint8)).shape == (20, 20, 3)


def test_a_small_ablation_is_measured_once_and_goes_on_where_it_was_stopped(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setitem(ablations.VALUES, "slots", (1, 3))  # each value costs time
    request = ablations.small(Places(runs=tmp_path), "slots", 4, 2, "fake")
    steps = evaluating(request, FakeEngine())
    next(steps)
    steps.close()  # cancelled
    first = len(list(evaluating(request, FakeEngine())))
    assert first > 0
    assert list(evaluating(request, FakeEngine())) == []
    found = stored.points(Places(runs=tmp_path), request.out.name)
    slots = {
        p.knobs["slots"]
        for p in found
        if (p.cell.method, p.cell.protocol, p.cell.attack) == ("rita", "stream", "pgd")
    }
    assert slots == set(ablations.VALUES["slots"])
    assert all(p.cell.n == 4 for p in found)


@pytest.mark.parametrize("values", [("nothing", 8, 4), ("slots", 3, 4), ("slots", 8, 99)])
def test_an_ablation_that_cannot_be_measured_here_is_a_sentence(values, tmp_path) -> None:
    with pytest.raises(SettingError):
        ablations.small(Places(runs=tmp_path), *values, "fake")


def test_every_ablated_value_is_allowed() -> None:
    for knob, values in ablations.VALUES.items():
        for value in values:
            RECOMMENDED.but(**{knob: value})
