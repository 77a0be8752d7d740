"""Run by test_setting_of_every_group.py in a copy of the package that has one more setting in every group."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rita_demo import Engine
from rita_demo.cli.main import main
from rita_demo.data.pictures import open_picture
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation.frames import read
from rita_demo.evaluation.stream_trajectory import remembered_views, trajectory_of, view_boxes
from rita_demo.evaluation.streams import stream_runs
from rita_demo.pipeline.rerun import FEATURE_GROUPS, rescore
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.settings import GROUPS, RECOMMENDED, SETTINGS, Settings
from tests.oracles.algorithm1 import cut_views

NAMES = ("cup", "crab", "motorbike")
QUICK = {"views": 6, "attack_views": 2, "steps": 2, "prompts": 2, "max_entropy": 9.0}
LATER = {name: 1.0 if group == "attack" else 0.4 for group in GROUPS if (name := f"later_{group}") in SETTINGS}


def results(engine: Engine, settings: Settings) -> Run:
    """A picture decided and attacked from a cache that already holds another one."""
    first, second = (SAMPLES[key].load(square="model", side=128) for key in ("coffee", "motorcycle"))
    before = run_picture(engine, first, NAMES, settings.replace(attack="none"), label=0)
    return run_picture(engine, second, NAMES, settings, label=2, cache=before.cache_after)


def totals(run: Run) -> np.ndarray:
    return np.concatenate([run.clean.trace.total, run.attacked.trace.total])


def rows(out: Path) -> Iterator[tuple[tuple[Any, ...], float]]:
    """(method, attack, memory, picture, hash of the settings) and margin of everything that was measured."""
    for row in read(out).to_dict("records"):
        yield tuple(row[name] for name in ("method", "attack", "protocol", "picture", "settings")), row["margin"]


def measure(out: str, *more: str) -> dict[tuple[Any, ...], float]:
    words = ["evaluate", "--data-root", "data", "--dataset", "toys", "--split", "all", "--methods", "clip,rita"]
    words += ["--attack", "none,eot", "--budget", "4", "--protocols", "stream", "--out", out, *more]
    assert main([*words, *(f"--set={name}={value}" for name, value in QUICK.items())]) == 0
    return dict(rows(Path(out)))


def test_every_group_changes_a_result(engine: Engine) -> None:
    usual = RECOMMENDED.replace(attack="eot", **QUICK)
    before = results(engine, usual)
    for name, value in LATER.items():
        changed = usual.replace(**{name: value})
        after = results(engine, changed)
        moved = not np.array_equal(before.attacked.picture.pixels, after.attacked.picture.pixels)
        assert moved is (name in ("later_attack", "later_views")), name
        clean = not np.allclose(before.clean.trace.total, after.clean.trace.total, atol=1e-6)
        assert clean is (name != "later_attack"), name
        if SETTINGS[name].group in (*FEATURE_GROUPS, "tuning"):
            assert np.allclose(totals(rescore(engine, before, changed)), totals(after), atol=1e-6), name


def test_a_loss_of_the_transport_is_tuned_anew(engine: Engine) -> None:
    usual = RECOMMENDED.replace(attack="none", tuning_loss="transport", **QUICK)
    changed = usual.replace(later_transport=LATER["later_transport"])
    again, fresh = rescore(engine, results(engine, usual), changed), results(engine, changed)
    assert np.allclose(totals(again), totals(fresh), atol=1e-6)


def test_every_group_is_measured_anew() -> None:
    before = known = measure("runs")
    usual = {at[:4]: margin for at, margin in before.items()}
    for name, value in LATER.items():
        earlier, known = known, measure("runs", f"--set={name}={value}")
        changed = {at[:2] for at in known.keys() - earlier.keys() if abs(known[at] - usual[at[:4]]) > 1e-6}
        expected = {("rita", "eot")}
        expected |= {("rita", "none")} if name != "later_attack" else set()
        expected |= {("clip", "eot")} if name in ("later_attack", "later_views") else set()
        assert changed == expected, name
    assert measure("runs") == known


def test_boxes_are_those_of_the_views(engine: Engine) -> None:
    settings = RECOMMENDED.replace(later_views=LATER["later_views"], view_seed=5, attack="none", **QUICK)
    plain, picture = settings.replace(later_views=0.0), SAMPLES["coffee"].load(square="model", side=128)
    drawn, other = (engine.encode_views(picture, one) for one in (settings, plain))
    assert not np.allclose(drawn.views.boxes, other.views.boxes)
    cut = np.stack([np.asarray(view) for view in cut_views(picture.pixels, settings, 128)])
    assert np.abs(cut.astype(int) - engine.view_pixels(picture, settings)).mean() < 0.5, "in levels of 8 bits"
    measure("boxes", "--set=later_views=0.4", "--set=view_seed=5", "--set=views_per_image=0")
    (one,) = [one for one in stream_runs(Path("."), Path("boxes")) if one.columns["attack"] == "none"]
    seen = remembered_views(trajectory_of(one), 9)
    assert len({view.view for view in seen}) > 2
    for view in seen:
        assert np.allclose(view_boxes(one, seen)[view.id], drawn.views.boxes[view.view])
    first = one.rows()[0]
    picture, classes = open_picture(Path("data/toys") / first["picture"], square="model", side=128), one.names
    decided = run_picture(engine, picture, classes, settings.replace(views_per_image=0), label=0).clean.verdicts["rita"]
    assert abs(decided.margin - first["margin"]) < 1e-4, "the weights of stored views are those of their boxes"


if __name__ == "__main__":
    torch.set_num_threads(1)
    shared = Engine()
    test_every_group_changes_a_result(shared)
    test_a_loss_of_the_transport_is_tuned_anew(shared)
    test_boxes_are_those_of_the_views(shared)
    test_every_group_is_measured_anew()
