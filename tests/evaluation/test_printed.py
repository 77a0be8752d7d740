"""Which measured cells stand beside printed ones."""

import csv
import io
from dataclasses import replace

import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.data import paper_results
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation.report.cells import summarise
from rita_demo.evaluation.report.printed import as_csv, beside, counted, parts_of
from rita_demo.records.measurement import PaperResult, method_and_memory
from tests.evaluation.frames import cell, frames, table

EIGHT = ("caltech101", "pets", "cars", "flowers102", "aircraft", "dtd", "eurosat", "ucf101")


def printed(table_name: str, method: str, dataset: str, attack: str, backbone: str) -> PaperResult:
    (found,) = (
        one
        for one in paper_results.paper_results()
        if (one.table, one.method, one.dataset, one.attack, one.backbone)
        == (table_name, method, dataset, attack, backbone)
    )
    return found


def test_every_printed_cell_matches_its_measured_cell_and_no_other() -> None:
    """With budget 0 where an attack has no bound, as ``evaluate`` stores it; never with another budget."""
    single = [one for one in paper_results.paper_results() if one.dataset not in paper_results.AVERAGES]
    every, wanted, made = {(c.method, c.dataset, c.attack, c.budget): c for c in single}.values(), [], {}
    for one in every:
        attack, dataset = paper_results.ATTACKS[one.attack], paper_results.DATASETS[one.dataset]
        assert dataset in DATASETS
        method, memory = method_and_memory(paper_results.METHODS[one.method])
        budget = (one.budget or 0) if ATTACKS[attack].bounded else 0
        key = dataset, method, memory or "stream", attack, budget
        mine = {"method": method, "attack": attack, "dataset": dataset, "budget": budget, "protocol": key[2]}
        made.setdefault(key, cell(**mine, rights="yn", backbone=f"model {len(made)}"))
        wanted.append(made[key][0]["backbone"])
    found = summarise(*frames(*made.values()))
    lines = beside(every, found)
    assert list(lines["model"]) == wanted
    assert (set(lines["measured"]), set(lines["n"])) == ({50.0}, {2})
    assert beside(every, found.assign(attack=found["attack"] + ":50"))["measured"].isna().all()
    assert beside(every, found.assign(method="rita_untuned"))["measured"].isna().all()
    bounded = [one for one in every if one.budget and ATTACKS[paper_results.ATTACKS[one.attack]].bounded]
    others = {one.budget + 1 for one in bounded} - {one.budget for one in bounded}
    assert others
    assert beside(bounded, found.assign(budget=max(others)))["measured"].isna().all()


def test_an_average_needs_all_of_its_datasets() -> None:
    whole = [cell(dataset=name, rights="y" * n + "n" * (8 - n)) for n, name in enumerate(EIGHT)]
    average = printed("main", "RITA", "Avg", "PGD", "ViT-B/32")
    assert [paper_results.DATASETS[name] for name in parts_of(average)] == list(EIGHT)
    component = printed("components", "d_OT yes, d_cOT yes", "Avg", "PGD", "ViT-B/32")
    assert parts_of(component) == parts_of(average), "those of the main table"
    lines = beside([average, component], table(*whole))
    assert list(lines["measured"]) == pytest.approx([100 * 28 / 64] * 2)
    assert lines["low"].isna().all(), "an average has no interval"
    assert lines["remark"].iloc[1]
    assert beside([average], table(*whole[1:]))["measured"].isna().all()


def test_inside_is_up_to_the_rounding_of_the_print_and_the_csv_has_it() -> None:
    one = printed("main", "RITA", "Caltech101", "PGD", "ViT-B/32")
    cells = table(cell(rights="yyyynnnn"))
    low, high = cells["low"].iloc[0], cells["high"].iloc[0]
    shown = [replace(one, accuracy=value) for value in (low - 0.04, low - 0.06, high + 0.04, high + 0.06)]
    lines = beside(shown, cells)
    assert list(lines["inside"]) == [True, False, True, False]
    rows = list(csv.DictReader(io.StringIO(as_csv(lines))))
    assert [row["inside"] for row in rows] == ["1", "0", "1", "0"]
    assert rows[0]["difference"] == f"{50 - shown[0].accuracy:+.2f}"
    assert counted(lines, ["caltech101:present"])[:2] == (4, 2)
    assert counted(lines, ["dtd"]) == (0, 0, 0, 4)
