"""A run as a zip: everything is in it, exactly, and it comes back as it was."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load

from rita_demo.data.pictures import open_picture
from rita_demo.pipeline.bundle_read import differences, read
from rita_demo.pipeline.export import to_arrays, to_json, write_bundle
from rita_demo.records import Run
from rita_demo.records.errors import SettingError
from tests.documented import documented
from tests.pipeline.conftest import FIGURES, PAGE, members
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_the_bundle_holds_every_record_and_every_pixel_unchanged(example_run: Run, bundle_bytes: bytes) -> None:
    inside = members(bundle_bytes)
    assert json.loads(inside["result.json"]) == json.loads(json.dumps(to_json(example_run)))
    assert json.loads(inside["settings.json"])["settings"] == example_run.settings.as_dict()
    for name, array in to_arrays(example_run).items():
        assert np.array_equal(load(inside["arrays.safetensors"])[name], array)
    assert inside["page.html"] == b"<p>page</p>"
    assert inside["figures/rita-costs.svg"] == b"<svg/>"
    pixels = {name: np.asarray(Image.open(io.BytesIO(data))) for name, data in inside.items() if name.endswith("png")}
    clean, attacked = pixels["clean.png"], pixels["attacked.png"]
    assert np.array_equal(clean, example_run.clean.picture.pixels)
    assert np.array_equal(attacked, example_run.attacked.picture.pixels)
    assert np.array_equal(pixels["perturbation.png"].astype(int) - 128 + clean, attacked)
    other = {"figures/", "arena.csv", "arena.json"}
    assert set(documented("Members of the zip")) == other | {n for n in inside if not n.startswith("figures/")}


def test_tables_hold_costs_and_answers_of_both_sides(example_run: Run, bundle_bytes: bytes) -> None:
    inside = members(bundle_bytes)
    costs = rows(inside["costs.csv"])
    assert [row["class"] for row in costs] == list(example_run.class_prompts.names)
    for name, side in (("clean", example_run.clean), ("attacked", example_run.attacked)):
        columns = (f"{name}_{part}" for part in ("prompt_distance", "weighted_cache_distance", "total"))
        prompts, memory, total = (np.array([float(row[column]) for row in costs]) for column in columns)
        assert prompts + memory == pytest.approx(total, abs=1e-6)
        assert np.array_equal(total, side.trace.total)
    answers = {row["method"]: row for row in rows(inside["verdicts.csv"])}
    assert set(answers) == set(example_run.attacked.verdicts)
    said = example_run.attacked.verdicts["clip"]
    assert answers["clip"]["attacked_answer"] == example_run.class_prompts.names[said.label] == "crab"
    assert float(answers["clip"]["attacked_margin"]) == said.margin


def test_the_same_run_gives_the_same_bytes_and_reads_back_equal(example_run: Run, bundle_bytes: bytes) -> None:
    assert write_bundle(example_run, PAGE, None, FIGURES) == bundle_bytes
    run, classes = read(bundle_bytes), example_run.class_prompts.names
    assert (run.settings, run.names, run.methods) == (example_run.settings, classes, example_run.methods)
    assert (run.label, run.target, run.backbone, run.cache_file) == (0, None, "toy", None)
    assert open_picture(run.picture).key == example_run.clean.picture.key
    assert differences(run, example_run) == []


def test_a_defend_only_run_has_one_picture() -> None:
    one = completed_run(ToyEngine(), attack="none", label=None)
    data = write_bundle(one, "")
    assert {n for n in members(data) if n.endswith("png")} == {"clean.png"}
    assert "attacked_total" not in members(data)["costs.csv"].decode()
    assert read(data).label is None
    assert differences(read(data), one) == []


def test_every_difference_is_reported(example_run: Run, bundle_bytes: bytes) -> None:
    other = completed_run(ToyEngine(spread=1.0))
    said = " ".join(differences(read(bundle_bytes), other))
    assert "RITA, attacked picture: motorbike in the file, crab here." in said
    run = read(bundle_bytes)
    label, share = run.answers["clean", "clip"]
    other_share = replace(run, answers=run.answers | {("clean", "clip"): (label, share - 0.25)})
    assert differences(other_share, example_run) == ["Probabilities differ by up to 0.25."]
    pixels = example_run.attacked.picture.pixels.copy()
    pixels[0, 0, 0] ^= 2
    moved = replace(example_run.attacked, picture=replace(example_run.attacked.picture, pixels=pixels))
    assert differences(run, replace(example_run, attacked=moved)) == ["The attacked square differs by up to 2/255."]


def test_the_bundle_holds_no_local_path(example_run: Run, add_setting) -> None:
    own = add_setting("baselines", kind="file", default="none", choices=("none",), stored_name="")
    for name in ("descriptions", own):
        named = replace(example_run, settings=example_run.settings.replace(**{name: "/home/me/words.json"}))
        with pytest.raises(SettingError) as refused:
            write_bundle(named, "")
        assert "/home" not in str(refused.value)
    assert read(write_bundle(example_run, "")).settings == example_run.settings, "without a file it is saved"


def test_class_names_are_not_spreadsheet_formulas(example_run: Run) -> None:
    names = ("=1+1", "@sum", "-2", "cup")
    example_run = replace(example_run, class_prompts=replace(example_run.class_prompts, names=names))
    inside = members(write_bundle(example_run, PAGE))
    assert [row["class"] for row in rows(inside["costs.csv"])] == ["'=1+1", "'@sum", "'-2", "cup"]
    total = [float(row["clean_total"]) for row in rows(inside["costs.csv"])]
    assert total == pytest.approx(list(example_run.clean.trace.total))
