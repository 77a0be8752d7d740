"""Which measured cells match printed ones, and the paper's tables with measured numbers."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.cli import main as cli
from rita_demo.data import paper_results
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation.report.paper_tables import index_cells, measured_for, paper_tables, same_backbone
from rita_demo.evaluation.report.render import as_latex, as_markdown
from rita_demo.evaluation.report.tables import Table
from rita_demo.records.measurement import PaperResult, method_and_memory
from tests.evaluation.conftest import result_row

B16 = paper_results.BACKBONES["ViT-B/16"]
EIGHT_DATASETS = ("caltech101", "pets", "cars", "flowers102", "aircraft", "dtd", "eurosat", "ucf101")


def paper_result(table: str, method: str, dataset: str, attack: str, backbone: str) -> PaperResult:
    (found,) = (
        c
        for c in paper_results.paper_results()
        if (c.table, c.method, c.dataset, c.attack, c.backbone) == (table, method, dataset, attack, backbone)
    )
    return found


def test_every_paper_cell_matches_its_measured_cell() -> None:
    """With budget 0 where an attack has no bound, as ``evaluate`` stores it; never with another budget."""
    for cell in paper_results.paper_results():
        if cell.dataset in paper_results.AVERAGES:
            assert measured_for(cell, index_cells([result_row()])) == []
            continue
        attack = paper_results.ATTACKS[cell.attack]
        stored = (cell.budget or 0) if ATTACKS[attack].bounded else 0
        dataset = paper_results.DATASETS[cell.dataset]
        assert dataset in DATASETS
        method, memory = method_and_memory(paper_results.METHODS[cell.method])
        mine = result_row(method, attack, stored, dataset=dataset, protocol=memory or "stream")
        assert measured_for(cell, index_cells([mine])) == [mine]
        assert measured_for(cell, index_cells([replace(mine, attack=f"{attack}:50")])) == [], "mixed traffic"
        assert measured_for(cell, index_cells([replace(mine, method="rita_untuned")])) == []
        if stored:
            assert measured_for(cell, index_cells([replace(mine, budget=stored + 1)])) == []


def test_the_printed_backbone_comes_first_and_a_fine_tuned_tower_is_recognised_by_its_file() -> None:
    cell = paper_result("attack type", "RITA", "DTD", "CW", "ViT-B/16")
    other = result_row(attack="cw_l2", budget=0, dataset="dtd:present")
    same = replace(other, backbone=B16)
    assert measured_for(cell, index_cells([other, same])) == [same, other]
    mine = result_row(backbone="ViT-B-32-quickgelu:openai+/models/TeCoA_eps1.pt+except=a/b")
    printed = {c.backbone for c in paper_results.paper_results()}
    assert [name for name in printed if same_backbone(name, mine)] == ["ViT-B/32 TeCoA"]
    for backbone in ("ViT-B-32-quickgelu:openai", "ViT-B-16:tecoa.pt"):
        assert not same_backbone("ViT-B/32 TeCoA", result_row(backbone=backbone))


def cell_of(sheet: Table, row: str, column: str) -> str:
    found = [r for r in sheet.rows if r[0].startswith(row)]
    assert len(found) == 1
    return found[0][[name.partition(" of ")[0] for name in sheet.head].index(column)]


def test_a_paper_table_shows_measured_and_printed_numbers_in_each_cell() -> None:
    (sheet,) = paper_tables([result_row(budget=4, accuracy=68.04), result_row("clip", budget=4, answers=3)])
    assert sheet.title == "embedded (test) beside the paper's table “budget 4”, ViT-B/32, PGD 4/255"
    columns = "Caltech101, Pets, Cars, Flower102, Aircraft, DTD, EuroSAT, UCF101, Avg of 8"
    assert ", ".join(sheet.head[2:11]) == columns
    assert [row[0] for row in sheet.rows] == ["CLIP (1 view)", "Ensemble", "TPT", "C-TPT", "MTA", "R-TPT", "RITA"]
    cell = paper_result("budget 4", "RITA", "Caltech101", "PGD", "ViT-B/32")
    assert cell_of(sheet, "RITA", "Caltech101") == f"68.0 (printed {cell.accuracy:.1f})"
    assert cell_of(sheet, "CLIP", "Caltech101") == "50.0* (printed 2.5)"
    assert cell_of(sheet, "RITA", "DTD").startswith("– (printed ")
    assert cell_of(sheet, "RITA", "s per picture") == "0.900 + 0.400 (printed 1.76)"
    assert cell_of(sheet, "RITA", "settings") == "recommended"
    assert cell_of(sheet, "MTA", "settings") == "not measured"
    assert sheet.above == (
        "Measured: embedded (weights abcdef01), split test.",
        "Caltech101: Accuracy on 80 pictures.",
        "About pgd.",
        "embedded is not the ViT-B/32 of the print: no number here reproduces a printed one.",
    )


def test_an_average_needs_all_of_its_datasets() -> None:
    whole = [result_row(dataset=name, accuracy=10.0 * n) for n, name in enumerate(EIGHT_DATASETS)]
    sheet, components = paper_tables(whole)
    assert cell_of(sheet, "RITA", "Avg").startswith("35.0 (printed ")
    assert "“components”" in components.title
    assert cell_of(components, "d_OT yes, d_cOT yes", "Avg").startswith("35.0 (printed 55.0 [")
    (sheet,) = paper_tables(whole[1:])
    assert cell_of(sheet, "RITA", "Avg").startswith("– (printed ")
    assert any("an average of measured cells needs all of its datasets" in s for s in sheet.below)
    sheet, _ = paper_tables([*whole[1:], replace(whole[0], answers=9)])
    assert cell_of(sheet, "RITA", "Avg").startswith("35.0* (printed ")


def test_misprints_are_marked_and_explained_below() -> None:
    mine = [result_row("rtpt", backbone=paper_results.BACKBONES["RN50"]), result_row("clip", "none", 0, backbone=B16)]
    robust, clean = paper_tables(mine)
    assert cell_of(robust, "R-TPT", "Avg") == "– (printed 43.0 [1])"
    assert any(note.startswith("[1]") and "44.06" in note for note in robust.below)
    assert clean.title.endswith("tables “main” and “budget 4” and “attack type”, ViT-B/16, clean")
    assert re.fullmatch(r"50\.0 \(printed 85\.9 \[\d\]\)", cell_of(clean, "CLIP", "Caltech101"))
    assert any("RN50" in note for note in clean.below)
    assert "The backbone is the printed one" in " ".join(clean.above)


def test_another_memory_or_setting_is_another_row_and_the_most_pictures_win_within_one() -> None:
    few = {"n": 20, "accuracy": 99.0, "scope": "Accuracy on 20 pictures."}
    mine = [result_row(), result_row(protocol="off"), result_row(non_default="slots=1")]
    (sheet,) = paper_tables([*mine, result_row(n=20, accuracy=99.0)])
    found = [(row[1], row[-1], row[2].split()[0]) for row in sheet.rows if row[0] == "RITA"]
    assert found == [("stream", "recommended", "50.0"), ("off", "recommended", "50.0"), ("stream", "slots=1", "50.0")]
    assert any("preset paper" in said for said in sheet.below)
    (sheet,) = paper_tables([result_row(), result_row(**few), result_row("mta", **few), result_row(dataset="dtd")])
    assert cell_of(sheet, "RITA", "Caltech101").startswith("50.0, n = 80 (printed ")
    assert cell_of(sheet, "MTA", "Caltech101").startswith("99.0, n = 20 (printed ")
    assert cell_of(sheet, "RITA", "DTD").startswith("50.0 (printed ")
    wrong = {"caltech101": 7, "dtd": 9}
    (sheet,) = paper_tables([result_row(attack="autoattack", dataset=d, already_wrong=n) for d, n in wrong.items()])
    for name, count in (("Caltech101", 7), ("DTD", 9)):
        text = f"{name}: Accuracy on 80 pictures. Already wrong, so left untouched: {count} of 80 pictures."
        assert text in sheet.above


def test_models_splits_threats_and_name_lists_have_separate_tables() -> None:
    other = {"backbone": B16, "split": "val", "weights": "f" * 16, "steps": 20, "dataset": "caltech101:present"}
    rows = [replace(result_row(), **{name: value}) for name, value in other.items()]
    rows += [result_row(), result_row(threat_model=("Another square.",))]
    assert len(paper_tables(rows)) == len(rows)


def test_the_title_names_the_printed_table_and_what_is_not_comparable() -> None:
    (sheet,) = paper_tables([result_row(attack="cw_l2", budget=0)])
    assert sheet.title.endswith("“attack type”, ViT-B/16, CW 1/255")
    assert any("measured here it has none" in said for said in sheet.above)
    titles = [sheet.title for sheet in paper_tables([result_row(), result_row(dataset="sun397")])]
    assert [title.partition("beside the paper's ")[2] for title in titles] == [
        "table “main”, ViT-B/32, PGD 1/255",
        "table “other backbones”, OpenCLIP, PGD 1/255",  # printed for another backbone only
    ]


def test_the_component_table_averages_the_main_tables_datasets() -> None:
    whole = [result_row("rita", dataset=name, accuracy=40.0, protocol="off") for name in EIGHT_DATASETS]
    (sheet,) = (one for one in paper_tables(whole) if "“components”" in one.title)
    assert cell_of(sheet, "d_OT yes, d_cOT no", "Avg").startswith("40.0 (printed ")
    assert cell_of(sheet, "d_OT yes, d_cOT yes", "Avg").startswith("– (printed "), "that one has the memory"
    assert not any("“components”" in one.title for one in paper_tables(whole[1:])), "an average needs all"
    assert paper_tables([result_row("rita_untuned")]) == [], "the paper does not print it"


@pytest.mark.parametrize(("write", "cell"), [(as_markdown, "| 68.0 (printed 74.8) |"), (as_latex, r"{68.0\\(74.8)}")])
def test_both_formats_have_it(write, cell: str) -> None:  # type: ignore[no-untyped-def]
    text = write([result_row(budget=4, accuracy=68.04)])
    assert cell in text
    assert "budget 4" in text
    assert "what the paper prints in that table and cell" in text or write is as_markdown
    without = write([result_row(budget=7)])
    assert "what the paper prints" not in without
    assert "74.8" not in without, "nothing is printed for 7/255"


def test_the_command_prints_it_from_a_run(tmp_path: Path, run_evaluate, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--attack", "pgd", "--budget", "1", "--limit", "3", "--methods", "clip,ensemble")
    runs = run_evaluate(tmp_path / "runs", *more, "--dataset", "caltech101,dtd", "--allow-partial")
    capsys.readouterr()
    assert cli.main(["tables", str(runs)]) == 0
    shaped = capsys.readouterr().out.partition("## In the shape of the paper's tables")[2]
    (row,) = (one for one in shaped.splitlines() if one.startswith("| CLIP (1 view) |"))
    cells = [cell.strip() for cell in row.split("|")]
    assert re.fullmatch(r"[\d.]+ \(printed 25\.6\)", cells[3])
    assert re.fullmatch(r"[\d.]+ \(printed [\d.]+\)", cells[8])  # DTD
    assert cells[4] == "– (printed 2.1)"
