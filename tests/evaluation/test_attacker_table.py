"""Measuring under attacks with random crops and through the defence."""

from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import collect
from rita_demo.evaluation.planned_cells import ModelIdentity
from rita_demo.evaluation.report.render import as_csv, as_markdown
from rita_demo.evaluation.report.results import result_rows
from rita_demo.evaluation.request import Request, points
from tests.evaluation.conftest import headers

MODEL = ModelIdentity("tiny", "weights")


def cells(attacks: str, methods: tuple[str, ...] = ("clip", "rita"), **more) -> list[planned_cells.Cell]:  # type: ignore[no-untyped-def]
    found, fixed = points(attacks=attacks, budget="4", **more)
    request = Request(("caltech101",), "val", methods, found, Path("unused"), fixed_seeds=fixed)
    return list(planned_cells.cells_of(request, 0))


@pytest.fixture(scope="module")
def collection(data_root: Path):  # type: ignore[no-untyped-def]
    return collect("caltech101", data_root, "val", limit=None, allow_partial=True)


def keys(found: list[planned_cells.Cell], collection) -> set[str]:  # type: ignore[no-untyped-def]
    return {planned_cells.attack_key(cell, collection, MODEL) for cell in found}


@pytest.mark.parametrize(
    ("attacks", "sweep", "different"),
    [
        ("pgd", "attack_views=4,8", 1),
        ("eot", "attack_views=4,8", 2),
        ("defence", "attack_views=4,8", 2),
        ("eot", "view_scale=0.1,0.5", 2),
        ("pgd", "view_scale=0.1,0.5", 1),
        ("eot", "entropy_weight=0.01,0.1", 1),
        ("defence", "entropy_weight=0.01,0.1", 2),
        ("defence", "views=16,32", 1),
        ("autoattack", "autoattack=standard,rand", 2),
        ("autoattack", "attack_views=4,8", 1),
        ("cw_l2", "budget=1,4", 1),
        ("autoattack", "steps=7,10", 1),
        ("di", "steps=7,10", 2),
    ],
)
def test_attacks_are_recomputed_exactly_when_they_depend_on_a_setting(
    collection, attacks: str, sweep: str, different: int
) -> None:
    found = cells(attacks, protocols="off", sweeps=[sweep])
    assert len(keys(found, collection)) == different
    assert len([c for c in found if c.method == "clip"]) == different


def test_an_attack_that_uses_the_cache_shares_no_pictures_between_cells(collection) -> None:
    found = cells("defence", protocols="off,reset,stream", methods=("clip", "rita"))
    by = {(c.method, c.settings.protocol): planned_cells.attack_key(c, collection, MODEL) for c in found}
    assert set(by) == {("clip", "off"), ("rita", "off"), ("rita", "reset"), ("rita", "stream")}
    assert by["clip", "off"] == by["rita", "off"]
    assert len({by["rita", p] for p in ("off", "reset", "stream")}) == 3
    fewer = replace(collection, items=collection.items[:-1])  # another stream, other caches
    stream = next(c for c in found if c.settings.protocol == "stream")
    off = next(c for c in found if c.method == "rita" and c.settings.protocol == "off")
    assert planned_cells.attack_key(stream, fewer, MODEL) != planned_cells.attack_key(stream, collection, MODEL)
    assert planned_cells.attack_key(off, fewer, MODEL) == planned_cells.attack_key(off, collection, MODEL)


def test_measured_under_the_attack_through_the_defence_with_its_threat_model(run_evaluate, rows_of, tmp_path) -> None:
    more = ("--attack", "defence", "--protocols", "off,stream", "--set", "attack_views=3")
    out = run_evaluate(tmp_path / "runs", *more)
    found = rows_of(out)
    assert len(found) == 4  # clip, ensemble, rita off and stream
    assert all(len(rows) == 12 for rows in found.values())
    assert all(0 < row["linf"] <= 4 for rows in found.values() for row in rows)
    found_headers = headers(out)
    for header in found_headers:
        said = " ".join(header["threat_model"]["sentences"])
        assert "RITA itself" in said
        assert "with 3 fresh views each" in said
        assert "held fixed" in said
        empty = "The attack uses an empty memory for every picture." in said
        assert empty == (header["columns"]["protocol"] == "off")


def test_a_stopped_stream_under_attack_resumes_with_the_same_rows(run_evaluate, rows_of, tmp_path: Path) -> None:
    more = ("--attack", "defence", "--methods", "rita", "--set", "attack_views=2")
    whole = rows_of(run_evaluate(tmp_path / "whole", *more))
    out = run_evaluate(tmp_path / "again", *more)
    (path,) = out.glob("cells/*/rows.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]))
    assert rows_of(run_evaluate(tmp_path / "again", *more)) == whole


def test_autoattack_counts_untouched_pictures(run_evaluate, rows_of, tmp_path: Path) -> None:
    pytest.importorskip("pyautoattack")
    more = ("--attack", "autoattack", "--budget", "16", "--dataset", "dtd", "--methods", "clip")
    out = run_evaluate(tmp_path / "runs", *more, "--limit", "3", "--allow-partial")
    (rows,) = rows_of(out).values()
    left = [row for row in rows if row["already_wrong"]]
    assert left
    assert all(row["linf"] == 0 and not row["right"] for row in left)
    text = as_markdown(result_rows(out))
    assert f"Already wrong, so left untouched: {len(left)} of 3 pictures." in text
    assert ",autoattack,16,100,off," in as_csv(result_rows(out))
