"""A run as a zip: everything is in it, exactly, and it comes back as it was."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load

from rita_demo.bundle import differences, pack, read
from rita_demo.data.pictures import open_picture
from rita_demo.errors import SettingError
from rita_demo.exports import to_arrays, to_json
from rita_demo.records import Story
from tests.bundle.conftest import FIGURES, PAGE, members
from tests.ui.conftest import told
from tests.ui.fake import FakeEngine


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_everything_is_in_it_and_is_the_records_own(story: Story, good: bytes) -> None:
    inside = members(good)
    assert json.loads(inside["result.json"]) == json.loads(json.dumps(to_json(story)))
    assert json.loads(inside["settings.json"])["settings"] == story.settings.as_dict()
    for name, array in to_arrays(story).items():
        assert np.array_equal(load(inside["arrays.safetensors"])[name], array)
    assert inside["page.html"] == b"<p>page</p>"
    assert inside["figures/rita-costs.svg"] == b"<svg/>"
    assert "memory.safetensors" not in inside


def test_the_tables_hold_costs_and_answers_of_both_sides(story: Story, good: bytes) -> None:
    inside = members(good)
    costs = rows(inside["costs.csv"])
    assert [row["class"] for row in costs] == list(story.bank.names)
    for name, side in (("clean", story.clean), ("attacked", story.attacked)):
        for k, row in enumerate(costs):
            parts = [
                float(row[f"{name}_{p}"]) for p in ("prompt_distance", "weighted_cache_distance")
            ]
            assert sum(parts) == pytest.approx(float(row[f"{name}_total"]), abs=1e-6)
            assert float(row[f"{name}_total"]) == side.trace.total[k]
    answers = {row["method"]: row for row in rows(inside["verdicts.csv"])}
    assert set(answers) == set(story.attacked.verdicts)
    said = story.attacked.verdicts["clip"]
    assert answers["clip"]["attacked_answer"] == story.bank.names[said.label] == "crab"
    assert float(answers["clip"]["attacked_margin"]) == said.margin


def test_the_pictures_are_exact_to_the_pixel(story: Story, good: bytes) -> None:
    pixels = {n: np.asarray(Image.open(io.BytesIO(d))) for n, d in members(good).items() if n.endswith("png")}  # fmt: skip
    clean, attacked = pixels["clean.png"], pixels["attacked.png"]
    assert np.array_equal(clean, story.clean.picture.pixels)
    assert np.array_equal(attacked, story.attacked.picture.pixels)
    assert np.array_equal(pixels["perturbation.png"].astype(int) - 128 + clean, attacked)


def test_the_same_story_gives_the_same_bytes_and_comes_back(story: Story, good: bytes) -> None:
    assert pack(story, PAGE, None, FIGURES) == good
    run = read(good)
    assert (run.settings, run.names, run.methods) == (
        story.settings,
        story.bank.names,
        story.methods,
    )
    assert (run.label, run.target, run.backbone, run.memory) == (0, None, "fake", None)
    assert open_picture(run.clean).key == story.clean.picture.key
    assert differences(run, story) == []


def test_a_run_that_was_only_defended_has_one_picture() -> None:
    one = told(FakeEngine(), attack="none", label=None)
    data = pack(one, "")
    assert {n for n in members(data) if n.endswith("png")} == {"clean.png"}
    assert "attacked_total" not in members(data)["costs.csv"].decode()
    assert read(data).label is None
    assert differences(read(data), one) == []


def test_every_difference_is_told(story: Story, good: bytes) -> None:
    other = told(FakeEngine(spread=1.0))
    said = " ".join(differences(read(good), other))
    assert "RITA, attacked picture: motorbike in the file, crab here." in said
    run = read(good)
    label, share = run.answers["clean", "clip"]
    other_share = replace(run, answers=run.answers | {("clean", "clip"): (label, share - 0.25)})
    assert differences(other_share, story) == ["Probabilities differ by up to 0.25."]
    pixels = story.attacked.picture.pixels.copy()
    pixels[0, 0, 0] ^= 2
    moved = replace(story.attacked, picture=replace(story.attacked.picture, pixels=pixels))
    assert differences(read(good), replace(story, attacked=moved)) == [
        "The attacked square differs by up to 2/255."
    ]


def test_no_path_of_this_machine_gets_into_it(story: Story) -> None:
    named = replace(story, settings=story.settings.but(descriptions="/home/me/words.json"))
    with pytest.raises(SettingError) as refused:
        pack(named, "")
    assert "/home" not in str(refused.value)


def test_no_class_name_is_a_formula_in_a_spreadsheet(story: Story) -> None:
    names = ("=1+1", "@sum", "-2", "cup")
    story = replace(story, bank=replace(story.bank, names=names))
    inside = members(pack(story, PAGE))
    assert [row["class"] for row in rows(inside["costs.csv"])] == ["'=1+1", "'@sum", "'-2", "cup"]
    total = [float(row["clean_total"]) for row in rows(inside["costs.csv"])]
    assert total == pytest.approx(list(story.clean.trace.total))
