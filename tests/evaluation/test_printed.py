"""Measured beside printed: which cells meet, and the paper's tables with measured numbers in them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rita_demo import cli
from rita_demo.attacks import ATTACKS
from rita_demo.data import paper
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation.lines import Line
from rita_demo.evaluation.printed import beside, indexed, same_backbone
from rita_demo.evaluation.shaped import shaped_sheets
from rita_demo.evaluation.sheets import Sheet
from rita_demo.evaluation.tables import as_latex, as_markdown
from rita_demo.surveys import PrintedCell

B16 = paper.BACKBONES["ViT-B/16"]
EIGHT = ("caltech101", "pets", "cars", "flowers102", "aircraft", "dtd", "eurosat", "ucf101")


def line(method: str = "rita", attack: str = "pgd", budget: int = 1, **more: Any) -> Line:
    columns: dict[str, Any] = {
        "dataset": "caltech101", "backbone": "embedded", "method": method, "attack": attack,
        "budget": budget, "steps": 7, "protocol": "stream" if method == "rita" else "off", "split": "test",
        "accuracy": 50.0, "n": 80, "low": 40.0, "high": 60.0, "seeds": "0", "settings": "x", "wanted": 80,
        "seconds": 0.4, "special": "", "threat": (f"About {attack}.",), "scope": "Accuracy on 80 pictures.",
        "looking": 0.9, "views": 64, "weights": "abcdef0123456789",
    }  # fmt: skip
    return Line(**(columns | more))


def printed(table: str, method: str, dataset: str, attack: str, backbone: str) -> PrintedCell:
    (found,) = (
        c for c in paper.printed()
        if (c.table, c.method, c.dataset, c.attack, c.backbone) == (table, method, dataset, attack, backbone)
    )  # fmt: skip
    return found


def test_every_printed_cell_meets_what_is_measured_for_it() -> None:
    """With budget 0 where an attack has no bound, as ``evaluate`` stores it; and with nothing of another strength."""
    for cell in paper.printed():
        if cell.dataset in paper.AVERAGES:
            assert beside(cell, indexed([line()])) == []
            continue
        attack = paper.ATTACKS[cell.attack]
        stored = (cell.budget or 0) if ATTACKS[attack].bounded else 0
        mine = line(
            paper.METHODS[cell.method], attack, stored, dataset=paper.DATASETS[cell.dataset]
        )
        assert beside(cell, indexed([mine])) == [mine]
        assert beside(cell, indexed([replace(mine, attack=f"{attack}:50")])) == [], "mixed traffic"
        assert beside(cell, indexed([replace(mine, method="rita_reset")])) == []
        if stored:
            assert beside(cell, indexed([replace(mine, budget=stored + 1)])) == []


def test_the_printed_backbone_comes_first() -> None:
    cell = printed("attack type", "RITA", "DTD", "CW", "ViT-B/16")
    other = line(attack="cw_l2", budget=0, dataset="dtd:present")
    same = replace(other, backbone=B16)
    assert beside(cell, indexed([other, same])) == [same, other]
    assert beside(cell, indexed([other, same]), {"ViT-B/16": "embedded"}) == [other, same]


def test_a_fine_tuned_tower_is_known_by_its_file() -> None:
    mine = line(backbone="ViT-B-32-quickgelu:openai+/models/TeCoA_eps1.pt+except=a/b")
    assert [name for name in {c.backbone for c in paper.printed()} if same_backbone(name, mine)] == ["ViT-B/32 TeCoA"]  # fmt: skip
    assert not same_backbone("ViT-B/32 TeCoA", line(backbone="ViT-B-32-quickgelu:openai"))
    assert not same_backbone("ViT-B/32 TeCoA", line(backbone="ViT-B-16:tecoa.pt"))


def test_all_names_of_the_print_are_known() -> None:
    assert set(paper.METHODS) >= {cell.method for cell in paper.printed()}
    assert set(paper.DATASETS.values()) <= set(DATASETS)


def titles(sheets: list[Sheet]) -> list[str]:
    return [sheet.title for sheet in sheets]


def cell_of(sheet: Sheet, row: str, column: str) -> str:
    found = [r for r in sheet.rows if r[0].startswith(row)]
    assert len(found) == 1
    return found[0][[name.partition(" of ")[0] for name in sheet.head].index(column)]


def test_a_table_has_the_papers_rows_and_columns_with_both_numbers_in_a_cell() -> None:
    (sheet,) = shaped_sheets([line(budget=4, accuracy=68.04), line("clip", budget=4, answers=3)])
    assert sheet.title == "embedded (test) beside the paper's table “budget 4”, ViT-B/32, PGD 4/255"
    assert sheet.head[2:11] == ("Caltech101", "Pets", "Cars", "Flower102", "Aircraft", "DTD", "EuroSAT", "UCF101", "Avg of 8")  # fmt: skip
    assert [row[0] for row in sheet.rows] == ["CLIP (1 view)", "Ensemble", "TPT", "C-TPT", "MTA", "R-TPT", "RITA"]  # fmt: skip
    cell = printed("budget 4", "RITA", "Caltech101", "PGD", "ViT-B/32")
    assert cell_of(sheet, "RITA", "Caltech101") == f"68.0 (printed {cell.accuracy:.1f})"
    assert cell_of(sheet, "CLIP", "Caltech101") == "50.0* (printed 2.5)"
    assert cell_of(sheet, "RITA", "DTD").startswith("– (printed ")
    assert cell_of(sheet, "RITA", "s per picture") == "0.900 + 0.400 (printed 1.76)"
    assert cell_of(sheet, "RITA", "settings") == "recommended"
    assert cell_of(sheet, "MTA", "settings") == "not measured"
    above = " ".join(sheet.above)
    for said in ("embedded (weights abcdef01), split test", "Caltech101: Accuracy on 80 pictures.", "About pgd.",
                 "embedded is not the ViT-B/32 of the print: no number here reproduces a printed one."):  # fmt: skip
        assert said in above


def test_an_average_needs_all_of_its_datasets() -> None:
    whole = [line(dataset=name, accuracy=10.0 * n) for n, name in enumerate(EIGHT)]
    sheet, components = shaped_sheets(whole)
    assert cell_of(sheet, "RITA", "Avg").startswith("35.0 (printed ")
    assert "“components”" in components.title
    assert cell_of(components, "d_OT yes, d_cOT yes", "Avg").startswith("35.0 (printed 55.0 [")
    (sheet,) = shaped_sheets(whole[1:])
    assert cell_of(sheet, "RITA", "Avg").startswith("– (printed ")
    assert any("an average of measured cells needs all of its datasets" in s for s in sheet.below)
    sheet, _ = shaped_sheets([*whole[1:], replace(whole[0], answers=9)])
    assert cell_of(sheet, "RITA", "Avg").startswith("35.0* (printed ")


def test_misprints_are_marked_and_explained_below() -> None:
    mine = [line("rtpt", backbone=paper.BACKBONES["RN50"]), line("clip", "none", 0, backbone=B16)]
    robust, clean = shaped_sheets(mine)
    assert cell_of(robust, "R-TPT", "Avg") == "– (printed 43.0 [1])"
    assert any(note.startswith("[1]") and "44.06" in note for note in robust.below)
    assert clean.title.endswith("tables “main” and “budget 4” and “attack type”, ViT-B/16, clean")
    assert re.fullmatch(r"50\.0 \(printed 85\.9 \[\d\]\)", cell_of(clean, "CLIP", "Caltech101"))
    assert any("RN50" in note for note in clean.below)
    assert "The backbone is the printed one" in " ".join(clean.above)


def test_another_memory_or_setting_is_another_row() -> None:
    mine = [
        line(),
        line(protocol="off"),
        line(special="slots=1"),
        line(n=20, wanted=20, accuracy=99.0),
    ]
    (sheet,) = shaped_sheets(mine)
    found = [(row[1], row[-1], row[2].split()[0]) for row in sheet.rows if row[0] == "RITA"]
    assert found == [("stream", "recommended", "50.0"), ("off", "recommended", "50.0"), ("stream", "slots=1", "50.0")]  # fmt: skip
    assert any("preset paper" in said for said in sheet.below)


def test_cells_of_different_pictures_say_of_how_many() -> None:
    """The most pictures win within a row; a row that has fewer says so."""
    few = {"n": 20, "wanted": 20, "accuracy": 99.0, "scope": "Accuracy on 20 pictures."}
    (sheet,) = shaped_sheets([line(), line(**few), line("mta", **few), line(dataset="dtd")])
    assert cell_of(sheet, "RITA", "Caltech101").startswith("50.0, n = 80 (printed ")
    assert cell_of(sheet, "MTA", "Caltech101").startswith("99.0, n = 20 (printed ")
    assert cell_of(sheet, "RITA", "DTD").startswith("50.0 (printed ")


def test_autoattack_says_per_dataset_what_it_left_alone() -> None:
    mine = [
        line(attack="autoattack", already_wrong=7),
        line(attack="autoattack", dataset="dtd", already_wrong=9),
    ]
    (sheet,) = shaped_sheets(mine)
    above = " ".join(sheet.above)
    assert "Caltech101: Accuracy on 80 pictures. Already wrong, so left untouched: 7 of 80" in above
    assert "DTD: Accuracy on 80 pictures. Already wrong, so left untouched: 9 of 80" in above


def test_models_splits_threats_and_name_lists_are_kept_apart() -> None:
    other = [line(), line(backbone=B16), line(split="val"), line(weights="f" * 16), line(steps=20),
             line(threat=("Another square.",)), line(dataset="caltech101:present")]  # fmt: skip
    assert len(shaped_sheets(other)) == len(other)


def test_cw_is_shown_though_it_has_no_strength() -> None:
    (sheet,) = shaped_sheets([line(attack="cw_l2", budget=0)])
    assert sheet.title.endswith("“attack type”, ViT-B/16, CW 1/255")
    assert any("measured here it has none" in said for said in sheet.above)


def test_the_component_table_averages_the_main_tables_datasets() -> None:
    whole = [line("rita_prompts", dataset=name, accuracy=40.0, protocol="off") for name in EIGHT]
    (sheet,) = shaped_sheets(whole)
    assert "“components”" in sheet.title
    assert cell_of(sheet, "d_OT yes, d_cOT no", "Avg").startswith("40.0 (printed ")
    assert shaped_sheets(whole[1:]) == []
    assert shaped_sheets([line("rita_reset")]) == [], "the paper does not print it"


def test_what_only_another_backbone_has_printed_is_shown_too() -> None:
    sheets = shaped_sheets([line(), line(dataset="sun397")])
    assert [title.partition("beside the paper's ")[2] for title in titles(sheets)] == [
        "table “main”, ViT-B/32, PGD 1/255",
        "table “other backbones”, OpenCLIP, PGD 1/255",
    ]


@pytest.mark.parametrize(
    ("write", "cell"),
    [(as_markdown, "| 68.0 (printed 74.8) |"), (as_latex, r"{68.0\\(74.8)}")],
)
def test_both_formats_have_it(write, cell: str) -> None:  # type: ignore[no-untyped-def]
    text = write([line(budget=4, accuracy=68.04)])
    assert cell in text
    assert "budget 4" in text
    assert "what the paper prints in that table and cell" in text or write is as_markdown
    without = write([line(budget=7)])
    assert "what the paper prints" not in without
    assert "74.8" not in without, "nothing is printed for 7/255"


def test_the_command_prints_it_from_a_run(
    tmp_path: Path, measure, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--attack", "pgd", "--budget", "1", "--limit", "3", "--methods", "clip,ensemble")
    runs = measure(tmp_path / "runs", *more, "--dataset", "caltech101,dtd", "--allow-partial")
    capsys.readouterr()
    assert cli.main(["tables", str(runs)]) == 0
    shaped = capsys.readouterr().out.partition("## In the shape of the paper's tables")[2]
    (row,) = (one for one in shaped.splitlines() if one.startswith("| CLIP (1 view) |"))
    cells = [cell.strip() for cell in row.split("|")]
    assert re.fullmatch(r"[\d.]+ \(printed 25\.6\)", cells[3])
    assert re.fullmatch(r"[\d.]+ \(printed [\d.]+\)", cells[8])  # DTD
    assert cells[4] == "– (printed 2.1)"
