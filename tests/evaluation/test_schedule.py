"""Pieces done in any order, lost and done again, pickled on both ways: the same rows as one after the other."""

from __future__ import annotations

import pickle
import random
from itertools import chain
from pathlib import Path

import pytest

from rita_demo import cli
from rita_demo.engine import Engine
from rita_demo.evaluation.answering import Answering
from rita_demo.evaluation.collection import collect
from rita_demo.evaluation.commands import request_of
from rita_demo.evaluation.groups import RunFolder, tasks_of
from rita_demo.evaluation.pieces import do
from rita_demo.evaluation.schedule import Schedule

pytestmark = pytest.mark.slow

MIXED = ["--methods", "clip,ensemble,rita,rita_untuned", "--attack", "none,pgd"]
BOTH = ["--protocols", "off,stream"]


def disorderly(words: list[str], seed: int, workers: int = 3, most: int = 10**6) -> int:
    """Up to so many pieces with ``workers`` of them under way; a third is lost. The number of new rows."""
    request = request_of(cli.build_parser().parse_args(words))
    collections = {
        name: collect(
            name, request.data_root, request.split, limit=request.limit, allow_partial=False
        )
        for name in request.datasets
    }
    model, dice = Answering(Engine(request.backbone)), random.Random(seed)
    run = RunFolder(request, collections, model.facts)
    schedule = Schedule(chain.from_iterable(map(run.groups, tasks_of(request))))
    away: list[bytes] = []
    for _ in range(most):
        while len(away) < workers and (piece := schedule.next()) is not None:
            away.append(pickle.dumps(piece))
        if not away:
            break
        piece = pickle.loads(away.pop(dice.randrange(len(away))))
        if dice.random() < 1 / 3:
            schedule.again(piece)
        else:
            schedule.done(piece, pickle.loads(pickle.dumps(do(model, piece))))
    return schedule.new


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ([*MIXED, *BOTH], 144),
        (["--attacked-share", "50", "--methods", "clip,rita", *BOTH], 36),
        (["--attack", "defence", "--methods", "clip,rita", *BOTH, "--limit", "5"], 15),
        (["--dataset", "caltech101,dtd:present", "--seeds", "0,1", "--methods", "rita"], 32),
        (["--dataset", "caltech101,caltech101:present", "--methods", "rita", *BOTH], 48),
        (["--methods", "rita", "--sweep", "views=4,6", "--sweep", "cache_weight=0,1"], 48),
    ],
    ids=[
        "methods",
        "traffic",
        "attacker knows the memory",
        "seeds",
        "the same pictures twice",
        "sweep",
    ],
)
def test_the_rows_are_those_of_the_local_executor(
    more: list[str], rows: int, words, measure, rows_of, tmp_path: Path
) -> None:
    assert disorderly(words(tmp_path / "apart", *more), seed=0) == rows
    assert rows_of(tmp_path / "apart") == rows_of(measure(tmp_path / "whole", *more))
    assert stored(tmp_path / "apart") == stored(tmp_path / "whole")


def stored(out: Path) -> dict[str, list[bytes]]:
    """Folder -> the squares in it, or how long its features are: which came first does not matter."""
    found = {
        str(p.parent.relative_to(out)): [b"%d" % p.stat().st_size] for p in out.glob("*/*/*.f*")
    }
    for folder in out.glob("attacked/*"):
        found[str(folder.relative_to(out))] = sorted(p.read_bytes() for p in folder.glob("*.png"))
    return found


def test_prompts_that_are_not_kept_are_tuned_where_the_stream_is(
    words, measure, rows_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rita_demo.evaluation.tuned.LARGEST", 0)
    more = ["--methods", "rita,rita_memory", "--sweep", "cache_weight=1,2", *BOTH]
    disorderly(words(tmp_path / "apart", *more), seed=1)
    assert rows_of(tmp_path / "apart") == rows_of(measure(tmp_path / "whole", *more))
    assert not list((tmp_path / "apart").glob("tuned/*"))


@pytest.mark.parametrize("first", ["local", "apart"])
def test_either_executor_goes_on_where_the_other_was_left(
    first: str, words, measure, rows_of, tmp_path: Path
) -> None:
    out, more = tmp_path / "runs", [*MIXED, *BOTH]
    whole = rows_of(measure(tmp_path / "whole", *more))
    if first == "local":
        measure(out, *more, "--limit", "12")
        for path in out.glob("cells/*/rows.jsonl"):  # every cell was left at another picture
            keep = random.Random(path.parent.name).randrange(12)
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:keep]))
        disorderly(words(out, *more), seed=2)
    else:
        before = disorderly(words(out, *more), seed=2, most=20)
        assert 0 < before < 144
        measure(out, *more)
    assert rows_of(out) == whole


def test_what_is_stored_is_looked_at_by_nobody_again(
    words, measure, rows_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = measure(tmp_path / "runs", *BOTH)
    first = rows_of(out)
    for path in out.glob("cells/*/*"):
        path.unlink()
    for door in ("look", "tune", "attacking"):
        monkeypatch.setattr(Engine, door, _never)
    assert disorderly(words(out, *BOTH), seed=3) == 48
    assert rows_of(out) == first
    assert disorderly(words(out, *BOTH), seed=3) == 0


def test_a_piece_carries_the_pictures_and_no_path(words, data_root: Path, tmp_path: Path) -> None:
    request = request_of(cli.build_parser().parse_args(words(tmp_path)))
    collections = {
        "caltech101": collect("caltech101", data_root, "val", limit=None, allow_partial=False)
    }
    facts = Answering(Engine(request.backbone)).facts
    run = RunFolder(request, collections, facts)
    piece = Schedule(chain.from_iterable(map(run.groups, tasks_of(request)))).next()
    assert piece is not None
    assert str(data_root).encode() not in pickle.dumps(piece)
    assert str(tmp_path).encode() not in pickle.dumps(piece)


def _never(*_: object, **__: object) -> None:
    raise AssertionError("this should have been read from the store")
