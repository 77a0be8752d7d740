"""What comes with the program: samples in the pinned packages, measured tables, and the paper's tables."""

from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.data import paper_results, shipped_results
from rita_demo.data.samples import SAMPLES, available, sample
from rita_demo.evaluation.report.cells import as_csv, records_of
from rita_demo.records.errors import DataError
from tests.evaluation.frames import cell, table

CELLS = paper_results.paper_results()
BY_PLACE = {(c.table, c.backbone, c.method, c.dataset, c.attack, c.budget): c for c in CELLS}


@pytest.mark.parametrize("key", SAMPLES)
def test_a_sample_opens_and_its_label_is_one_of_its_names(key: str) -> None:
    one = sample(key)
    assert available()[key] == one, "it is in the pinned packages"
    assert one.label in one.names
    assert one.credit
    picture = one.load()
    assert picture.pixels.shape[0] == picture.pixels.shape[1] <= 448
    assert one.load(square="model", side=112).pixels.shape == (112, 112, 3)


def test_tables_output_is_read_back_and_no_other_table(tmp_path: Path) -> None:
    path, cells = tmp_path / "cells.csv", table(cell(rights="yyyyynnn"))
    path.write_text(as_csv(cells))
    rounded = tuple(replace(one, low=round(one.low, 2), high=round(one.high, 2)) for one in records_of(cells))
    assert shipped_results.read(path) == rounded
    path.write_text(as_csv(cells).replace("62.50", "many"))
    for place in (path, tmp_path / "missing.csv"):
        with pytest.raises(DataError, match=f"{place.name} is not a table of measurements"):
            shipped_results.read(place)


def test_the_paper_s_cells_are_read_as_printed_and_known_misprints_carry_a_remark() -> None:
    assert BY_PLACE["main", "ViT-B/32", "CLIP", "Caltech101", "PGD", 1].accuracy == 25.6
    assert BY_PLACE["main", "ViT-B/32", "CLIP", "Caltech101", "none", None].remark == ""
    assert BY_PLACE["main", "ViT-B/32", "RITA", "Avg", "PGD", 1].remark == "", "an average that matches its row"
    assert "44.06" in BY_PLACE["RN50", "RN50", "R-TPT", "Avg", "PGD", 1].remark
    assert "32.25" in BY_PLACE["imagenet", "ViT-B/16", "C-TPT", "OOD Avg", "PGD", 1].remark
    assert "RN50" in BY_PLACE["main", "ViT-B/16", "CLIP", "Flower102", "none", None].remark
    assert "58.6" in BY_PLACE["components", "ViT-B/32", "d_OT yes, d_cOT yes", "Avg", "none", None].remark
    lines = paper_results.TABLES.read_text(encoding="utf-8").splitlines()[1:]
    assert len(set(lines)) < len(lines), "the table of attack types has the clean accuracies twice"
    assert len(BY_PLACE) == len(CELLS) == len(set(lines))
