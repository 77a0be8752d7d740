"""Work units in any order, lost and repeated, pickled both ways: the same rows as the local executor."""

import pickle
import random
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.cli.evaluate import request_of
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.executors import evaluate_picture
from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator
from rita_demo.evaluation.executors.scheduler import Scheduler
from rita_demo.evaluation.pictures import collect
from rita_demo.evaluation.store.run_folder import RunFolder

pytestmark = pytest.mark.slow

MIXED = ["--methods", "clip,ensemble,rita,rita_untuned", "--attack", "none,pgd"]
BOTH = ["--protocols", "off,stream", "--limit", "6"]
QUICK_ADAPTIVE = ["--set", "adaptive.steps=2", "--set", "adaptive.restarts=1", "--set", "attack_views=2"]


def scheduled(words: list[str]) -> tuple[Scheduler, PictureEvaluator]:
    """The scheduler of a command line, and the model."""
    request = request_of(cli.build_parser().parse_args(words))
    collections = {
        name: collect(name, request.data_root, request.split, limit=request.limit, allow_partial=False)
        for name in request.datasets
    }
    model = PictureEvaluator(Engine(request.backbone))
    return Scheduler(RunFolder(request, collections, model.facts).all_groups()), model


def run_out_of_order(words: list[str], seed: int, workers: int = 3, most: int = 10**6) -> int:
    """Execute at most ``most`` units, up to ``workers`` at a time; a third is lost. Returns the number of new rows."""
    (schedule, model), rng = scheduled(words), random.Random(seed)
    running: list[bytes] = []
    for _ in range(most):
        while len(running) < workers and (unit := schedule.next_unit()) is not None:
            running.append(pickle.dumps(unit))
        if not running:
            break
        unit = pickle.loads(running.pop(rng.randrange(len(running))))
        if rng.random() < 1 / 3:
            schedule.requeue(unit)
        else:
            schedule.complete(unit, pickle.loads(pickle.dumps(model.execute(unit))))
    return schedule.new_rows


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ([*MIXED, *BOTH], 72),
        (["--attacked-share", "50", "--methods", "clip,rita", *BOTH], 18),
        (["--attack", "adaptive:rita", "--methods", "clip,rita", *BOTH, *QUICK_ADAPTIVE, "--limit", "5"], 15),
        (["--dataset", "caltech101,dtd:present", "--seeds", "0,1", "--methods", "rita", "--limit", "4"], 16),
        (["--dataset", "caltech101,caltech101:present", "--methods", "rita", *BOTH], 24),
        (["--methods", "rita", "--sweep", "views=4,6", "--sweep", "cache_weight=0,1", "--limit", "6"], 24),
    ],
    ids=["methods", "traffic", "attack uses the cache", "seeds", "the same pictures twice", "sweep"],
)
def test_rows_equal_the_local_executor(more, rows, command_line, run_evaluate, rows_of, tmp_path) -> None:
    assert run_out_of_order(command_line(tmp_path / "apart", *more), seed=0) == rows
    assert rows_of(tmp_path / "apart") == rows_of(run_evaluate(tmp_path / "whole", *more))
    assert stored(tmp_path / "apart") == stored(tmp_path / "whole")


def stored(out: Path) -> dict[str, list[bytes]]:
    """Folder -> its squares, or the size of its features, in any order."""
    found = {str(p.parent.relative_to(out)): [b"%d" % p.stat().st_size] for p in out.glob("*/*/*.f*")}
    for folder in out.glob("attacked/*"):
        found[str(folder.relative_to(out))] = sorted(p.read_bytes() for p in folder.glob("*.png"))
    return found


def test_prompts_that_are_not_stored_are_tuned_with_the_stream(
    command_line, run_evaluate, rows_of, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("rita_demo.evaluation.store.run_folder.MAX_BYTES", 0)
    more = ["--methods", "rita,rita_memory", "--sweep", "cache_weight=1,2", *BOTH]
    run_out_of_order(command_line(tmp_path / "apart", *more), seed=1)
    assert rows_of(tmp_path / "apart") == rows_of(run_evaluate(tmp_path / "whole", *more))
    assert not list((tmp_path / "apart").glob("tuned/*"))


@pytest.mark.parametrize("first", ["local", "apart"])
def test_either_executor_resumes_a_run_of_the_other(first, command_line, run_evaluate, rows_of, tmp_path) -> None:
    out, more = tmp_path / "runs", [*MIXED, *BOTH]
    whole = rows_of(run_evaluate(tmp_path / "whole", *more))
    if first == "local":
        run_evaluate(out, *more)
        for path in out.glob("cells/*/rows.jsonl"):  # every cell stops at another picture
            keep = random.Random(path.parent.name).randrange(6)
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:keep]))
        run_out_of_order(command_line(out, *more), seed=2)
    else:
        before = run_out_of_order(command_line(out, *more), seed=2, most=20)
        assert 0 < before < 72
        run_evaluate(out, *more)
    assert rows_of(out) == whole


@pytest.mark.parametrize("how", ["local", "batches", "apart"])
def test_what_is_stored_is_never_made_again(
    how, command_line, run_evaluate, rows_of, tmp_path, monkeypatch, nothing_encoded
) -> None:
    out = run_evaluate(tmp_path / "runs", *BOTH)
    first = rows_of(out)
    for path in out.glob("cells/*/*"):
        path.unlink()
    nothing_encoded()
    monkeypatch.setitem(evaluate_picture.VIEW_BATCH, "cpu", 3 if how == "batches" else 1)
    if how == "apart":
        assert run_out_of_order(command_line(out, *BOTH), seed=3) == 24
        assert run_out_of_order(command_line(out, *BOTH), seed=3) == 0
    assert rows_of(run_evaluate(out, *BOTH)) == first


def test_a_work_unit_holds_picture_data_and_no_path(command_line, data_root: Path, tmp_path: Path) -> None:
    schedule, _ = scheduled(command_line(tmp_path))
    unit = pickle.dumps(schedule.next_unit())
    assert b"PNG" in unit
    assert str(data_root).encode() not in unit
    assert str(tmp_path).encode() not in unit
