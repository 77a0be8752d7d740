"""The paper's tables and the remarks on their misprints."""

from pathlib import Path

import open_clip
import pytest

from rita_demo.data import paper_results
from rita_demo.data.datasets import DATASETS
from rita_demo.records.errors import DataError
from rita_demo.vlm.catalogue import BACKBONES as OFFERED
from rita_demo.vlm.checkpoint_file import is_checkpoint_name
from rita_demo.vlm.registry import split_source

CELLS = paper_results.paper_results()
BY_PLACE = {(c.table, c.backbone, c.method, c.dataset, c.attack, c.budget): c for c in CELLS}


def test_cells_are_read_as_printed_and_known_misprints_carry_a_remark() -> None:
    assert BY_PLACE["main", "ViT-B/32", "CLIP", "Caltech101", "PGD", 1].accuracy == 25.6
    assert BY_PLACE["main", "ViT-B/32", "CLIP", "Caltech101", "none", None].remark == ""
    assert "44.06" in BY_PLACE["RN50", "RN50", "R-TPT", "Avg", "PGD", 1].remark
    assert "32.25" in BY_PLACE["imagenet", "ViT-B/16", "C-TPT", "OOD Avg", "PGD", 1].remark
    assert "RN50" in BY_PLACE["main", "ViT-B/16", "CLIP", "Flower102", "none", None].remark
    assert "58.6" in BY_PLACE["components", "ViT-B/32", "d_OT yes, d_cOT yes", "Avg", "none", None].remark


def test_a_cell_that_is_printed_twice_is_one_cell() -> None:
    lines = paper_results.TABLES.read_text(encoding="utf-8").splitlines()[1:]
    assert len(set(lines)) < len(lines), "the table of attack types has the clean accuracies twice"
    assert len(BY_PLACE) == len(CELLS) == len(set(lines))


def test_an_average_that_matches_its_row_carries_none() -> None:
    row = {
        c.dataset: c for c in CELLS if (c.table, c.backbone, c.method, c.attack) == ("main", "ViT-B/32", "RITA", "PGD")
    }
    average = row.pop("Avg")
    assert average.remark == ""
    mean = sum(c.accuracy for c in row.values()) / len(row)
    assert mean == pytest.approx(average.accuracy, abs=paper_results.ROUNDING)


def test_every_printed_name_has_a_measured_one_or_is_an_average() -> None:
    for cell in CELLS:
        assert cell.dataset in paper_results.AVERAGES or paper_results.DATASETS[cell.dataset] in DATASETS
        assert cell.attack in paper_results.ATTACKS
        assert cell.method in paper_results.METHODS or cell.table == "components"
        assert cell.backbone in paper_results.BACKBONES


def test_every_printed_backbone_is_a_model_that_is_offered_or_a_vision_tower_in_one() -> None:
    assert {cell.backbone for cell in CELLS} == set(paper_results.BACKBONES)
    for spec in paper_results.BACKBONES.values():
        architecture, _, source = spec.partition(":")
        tags = open_clip.list_pretrained_tags_by_model(architecture)
        weights, vision, _ = split_source(source, tags)
        assert f"{architecture}:{weights}" in OFFERED
        assert not vision or is_checkpoint_name(vision)


def test_a_damaged_file_gives_an_error_message(tmp_path: Path) -> None:
    path = tmp_path / "paper_tables.csv"
    path.write_text("table,backbone\nmain,x\n")
    with pytest.raises(DataError, match=r"paper_tables\.csv is not a table"):
        paper_results.paper_results(path)
