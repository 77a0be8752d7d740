"""Measuring under the attacks that look through crops and through the defence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.evaluation import plan
from rita_demo.evaluation.collection import collect
from rita_demo.evaluation.plan import Model
from rita_demo.evaluation.request import Request, points
from rita_demo.evaluation.tables import as_csv, as_markdown, lines

MODEL = Model("tiny", "weights")


def cells(attacks: str, methods: tuple[str, ...] = ("clip", "rita"), **more) -> list[plan.Cell]:  # type: ignore[no-untyped-def]
    found, fixed = points(attacks=attacks, budget="4", **more)
    request = Request(("caltech101",), "val", methods, found, Path("unused"), fixed=fixed)
    return list(plan.cells_of(request, 0))


@pytest.fixture(scope="module")
def collection(data_root: Path):  # type: ignore[no-untyped-def]
    return collect("caltech101", data_root, "val", limit=None, allow_partial=True)


def keys(found: list[plan.Cell], collection) -> set[str]:  # type: ignore[no-untyped-def]
    return {plan.attack_key(cell, collection, MODEL) for cell in found}


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
def test_squares_are_attacked_anew_exactly_when_the_attack_depends_on_a_setting(
    collection, attacks: str, sweep: str, different: int
) -> None:
    found = cells(attacks, protocols="off", sweeps=[sweep])
    assert len(keys(found, collection)) == different
    assert len([c for c in found if c.method == "clip"]) == different


def test_an_attacker_who_knows_the_memory_shares_his_squares_with_no_other_cell(collection) -> None:
    found = cells("defence", protocols="off,reset,stream", methods=("clip", "rita"))
    by = {(c.method, c.settings.protocol): plan.attack_key(c, collection, MODEL) for c in found}
    assert set(by) == {("clip", "off"), ("rita", "off"), ("rita", "reset"), ("rita", "stream")}
    assert by["clip", "off"] == by["rita", "off"]
    assert len({by["rita", p] for p in ("off", "reset", "stream")}) == 3
    fewer = replace(collection, entries=collection.entries[:-1])  # another stream, other memories
    stream = next(c for c in found if c.settings.protocol == "stream")
    off = next(c for c in found if c.method == "rita" and c.settings.protocol == "off")
    assert plan.attack_key(stream, fewer, MODEL) != plan.attack_key(stream, collection, MODEL)
    assert plan.attack_key(off, fewer, MODEL) == plan.attack_key(off, collection, MODEL)


def test_measured_under_the_attack_through_the_defence_with_its_threat_model(
    measure, rows_of, tmp_path: Path
) -> None:
    more = ("--attack", "defence", "--protocols", "off,stream", "--set", "attack_views=3")
    out = measure(tmp_path / "runs", *more)
    found = rows_of(out)
    assert len(found) == 4  # clip, ensemble, rita off and stream
    assert all(len(rows) == 12 for rows in found.values())
    assert all(0 < row["linf"] <= 4 for rows in found.values() for row in rows)
    headers = [json.loads(p.read_text()) for p in out.glob("cells/*/header.json")]
    for header in headers:
        said = " ".join(header["threat_model"]["sentences"])
        assert "RITA itself" in said
        assert "with 3 fresh views each" in said
        assert "held fixed" in said
        empty = "The memory is empty whenever the attacker looks." in said
        assert empty == (header["columns"]["protocol"] == "off")


def test_a_stream_under_attack_goes_on_after_a_stop_as_if_nothing_had_happened(
    measure, rows_of, tmp_path: Path
) -> None:
    more = ("--attack", "defence", "--methods", "rita", "--set", "attack_views=2")
    whole = rows_of(measure(tmp_path / "whole", *more))
    out = measure(tmp_path / "again", *more)
    (path,) = out.glob("cells/*/rows.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:5]))
    assert rows_of(measure(tmp_path / "again", *more)) == whole


def test_autoattack_counts_what_it_left_alone(measure, rows_of, tmp_path: Path) -> None:
    pytest.importorskip("pyautoattack")
    more = ("--attack", "autoattack", "--budget", "16", "--dataset", "dtd", "--methods", "clip")
    out = measure(tmp_path / "runs", *more, "--limit", "3", "--allow-partial")
    (rows,) = rows_of(out).values()
    left = [row for row in rows if row["already_wrong"]]
    assert left
    assert all(row["linf"] == 0 and not row["right"] for row in left)
    text = as_markdown(lines(out))
    assert f"Already wrong, so left untouched: {len(left)} of 3 pictures." in text
    assert ",autoattack,16,100,off," in as_csv(lines(out))
