"""``evaluate`` measures the right pictures, prompts, settings and attacks, each only once, and says how long it takes."""

import json
import re
import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from rita_demo.data.datasets import DATASETS
from rita_demo.data.vocabularies import vocabulary
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.engine import Engine
from rita_demo.evaluation import run as clock_of
from rita_demo.evaluation.pictures import collect
from rita_demo.evaluation.report.cells import as_csv, cells
from rita_demo.evaluation.run import Kind, Pace
from rita_demo.records.errors import DataError
from tests.evaluation.conftest import headers, places
from tests.evaluation.frames import overview


@pytest.mark.slow
def test_a_sweep_equals_separate_runs(run_evaluate, rows_of, tmp_path: Path) -> None:
    few = ["--methods", "rita", "--limit", "6"]
    sweep = ["--sweep", "cache_weight=0,2", "--sweep", "entropy_weight=0.01,0.1"]
    together = rows_of(run_evaluate(tmp_path / "together", *few, *sweep))
    for weight, blur in product(("0", "2"), ("0.01", "0.1")):
        run_evaluate(tmp_path / "apart", *few, "--set", f"cache_weight={weight}", "--set", f"entropy_weight={blur}")
    assert rows_of(tmp_path / "apart") == together
    margins = {tuple(row["margin"] for row in rows) for rows in together.values()}
    assert (len(together), len(margins) > 1) == (4, True), "the swept settings should matter"


def test_stored_prompts_equal_freshly_tuned_prompts(run_evaluate, rows_of, tmp_path: Path, monkeypatch) -> None:
    few = ["--methods", "rita", "--attack", "none", "--limit", "4", "--protocols", "off"]
    few += ["--set", "tuning_rate=0.05", "--set", "transported_mass=0.3", "--set", "context_init=templates"]
    ((_, kept),) = rows_of(run_evaluate(tmp_path / "kept", *few)).items()
    monkeypatch.setattr("rita_demo.evaluation.evaluate_picture.MAX_BYTES", 0)
    ((_, made),) = rows_of(run_evaluate(tmp_path / "made", *few)).items()
    assert [places(tmp_path / name, "tuned") for name in ("kept", "made")] == [1, 0]
    ((_, plain),) = rows_of(run_evaluate(tmp_path / "plain", *few, "--set", "tuning_steps=0")).items()
    for one, other, third in zip(kept, made, plain, strict=True):
        assert one["answer"] == other["answer"]
        assert one["margin"] == pytest.approx(other["margin"], abs=2e-3 * abs(other["margin"]) + 1e-4)
        assert one["margin"] != third["margin"]


def test_every_picture_is_encoded_once_for_all_methods(run_evaluate, rows_of, tmp_path: Path, monkeypatch) -> None:
    calls: list[int] = []
    encode = Engine.encode_views
    monkeypatch.setattr(Engine, "encode_views", lambda *given: (calls.append(1), encode(*given))[1])
    names = list(DEFENCES)
    few = ["--methods", ",".join(names), "--attack", "none", "--limit", "3", "--protocols", "off,stream"]
    found = rows_of(run_evaluate(tmp_path / "runs", *few))
    assert len(calls) == 3
    by = {(rows[0]["method"], rows[0]["protocol"]): rows for rows in found.values()}
    assert set(by) == {
        *((name, "off") for name in names if DEFENCES[name].baseline and not DEFENCES[name].cache_only),
        ("tda", "stream"),
        ("rita", "off"),
        ("rita", "stream"),
        ("rita_memory", "stream"),
        ("rita_untuned", "off"),
        ("rita_untuned", "stream"),
    }
    margins = {key: [row["margin"] for row in rows] for key, rows in by.items()}
    assert margins["rita_memory", "stream"] != margins["rita", "stream"]
    assert margins["rita_untuned", "off"] != margins["rita", "off"]
    baselines = [key for key in by if DEFENCES[key[0]].baseline]
    assert len({tuple(margins[key]) for key in baselines}) == len(baselines)


def test_descriptions_change_the_answer_and_are_keyed_by_content(run_evaluate, rows_of, tmp_path: Path) -> None:
    first, copy, other = (tmp_path / f"{name}.json" for name in ("first", "copy", "other"))
    descriptions = {"cat": ["it purrs"], "dog": ["it barks", "a tail"], "cup": ["it holds tea"]}
    for path in (first, copy):
        path.write_text(json.dumps(descriptions))
    other.write_text(json.dumps(descriptions | {"cup": ["brick grass"]}))
    few = ["--methods", "clip,rita", "--attack", "none", "--limit", "3"]
    found = rows_of(run_evaluate(tmp_path / "runs", *few, "--sweep", f"descriptions=none,{first},{copy},{other}"))
    assert len(found) == 1 + 3  # CLIP once; none, what two files say alike, and the other one
    margins = {tuple(row["margin"] for row in rows) for name, rows in found.items() if "rita" in name}
    assert len(margins) == 3


def test_a_partial_dataset_requires_allow_partial_and_is_classified_among_all_its_classes(data_root, tmp_path) -> None:
    """Fewer class names would be an easier task."""
    with pytest.raises(DataError, match=r"Only 2 of the 47 classes.*--allow-partial"):
        collect("dtd", data_root, "val", limit=None, allow_partial=False)
    partial = collect("dtd", data_root, "val", limit=None, allow_partial=True)
    assert partial.names == vocabulary("dtd").names
    assert {partial.names[entry.label] for entry in partial.items} == {"dotted", "striped"}
    assert all(entry.id.split("/")[-2] == partial.names[entry.label] for entry in partial.items)
    alone = collect("dtd:present", data_root, "val", limit=None, allow_partial=False)
    assert (alone.dataset, alone.names) == ("dtd:present", ("dotted", "striped"))
    row = DATASETS["imagenet_v2"]  # class folders are numbers
    pictures = tmp_path / row.folder / row.pictures
    pictures.mkdir(parents=True)
    (tmp_path / row.folder / row.listing).write_text("n01 tench\nn02 hen\nn03 crane\n")
    shutil.copytree(data_root / "dtd/images/dotted", pictures / "0")
    shutil.copytree(data_root / "dtd/images/striped", pictures / "2")
    partial = collect("imagenet_v2", tmp_path, "test", limit=None, allow_partial=True)
    assert (partial.names, partial.classes_present) == (("tench", "hen", "crane"), 2)
    assert {(e.id.split("/")[-2], e.label) for e in partial.items} == {("0", 0), ("2", 2)}
    alone = collect("imagenet_v2:present", tmp_path, "test", limit=None, allow_partial=False)
    assert alone.names == ("tench", "crane")


def test_a_limit_is_spread_over_the_classes_and_nested(data_root: Path) -> None:
    def ids(limit: int | None) -> list[str]:
        found = collect("caltech101", data_root, "val", limit=limit, allow_partial=False)
        return [entry.id for entry in found.items]

    for limit in (1, 3, 5, 9):
        some = ids(limit)
        assert len(some) == limit
        spread = Counter(name.split("/")[-2] for name in some).values()
        assert max(spread) - (min(spread) if len(spread) == 3 else 0) <= 1
        assert some == ids(12)[:limit]
    assert len(ids(99)) == 12


def test_the_order_of_the_stream_is_random_and_repeatable(data_root: Path) -> None:
    found = collect("caltech101", data_root, "val", limit=None, allow_partial=False)
    orders = [[entry.id for entry in found.stream(seed)] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


@pytest.mark.slow
def test_measured_under_the_attack_through_the_defence_with_its_threat_model(run_evaluate, rows_of, tmp_path) -> None:
    more = ("--attack", "adaptive:rita", "--protocols", "off,stream", "--set", "attack_views=3", "--limit", "4")
    out = run_evaluate(tmp_path / "runs", *more, "--set", "adaptive.steps=2", "--set", "adaptive.restarts=1")
    found = rows_of(out).values()
    assert [len(rows) for rows in found] == [4] * 4  # clip, ensemble, rita off and stream
    assert all(0 < row["linf"] <= 4 for rows in found for row in rows)
    for header in headers(out):
        threat = " ".join(header.facts["threat"])
        assert all(words in threat for words in ("The attacker knows RITA", "with 3 fresh views each", "held fixed"))
        empty = "The attack uses an empty memory for every picture." in threat
        assert empty == (header.columns["protocol"] == "off")


def test_autoattack_counts_untouched_pictures(run_evaluate, rows_of, tmp_path: Path) -> None:
    pytest.importorskip("pyautoattack")
    more = ("--attack", "autoattack", "--budget", "16", "--dataset", "dtd", "--methods", "clip")
    out = run_evaluate(tmp_path / "runs", *more, "--limit", "3", "--allow-partial")
    (rows,) = rows_of(out).values()
    left = [row for row in rows if row["already_wrong"]]
    assert left
    assert all(row["linf"] == 0 and not row["right"] for row in left)
    text = overview(out)
    assert f"already wrong, so left untouched: {len(left)} of 3 pictures." in text
    assert ",autoattack,16,100,off," in as_csv(cells(out))


def seconds_left(sentence: str) -> float:
    hours, minutes, seconds = map(int, re.search(r"(\d+):(\d+):(\d+) left", sentence).groups())
    return 3600 * hours + 60 * minutes + seconds


def test_the_time_left_counts_kinds_that_were_not_measured_yet_by_their_passes(monkeypatch) -> None:
    clock = iter((0.0, 20.0, 140.0))
    monkeypatch.setattr(clock_of.time, "perf_counter", lambda: next(clock))
    cheap, dear = Kind("none", ("clip",), 10), Kind("adaptive", ("rita",), 100)
    pace = Pace([(cheap, 4), (dear, 5), (cheap, 6)])
    assert pace.sentence == "0 of 15 in all"
    pace.add_stored(cheap, 4)
    pace.add(cheap, 4)
    assert seconds_left(pace.sentence) == 2 * 5 + 5 * 50, "5 seconds a picture; of ten times the passes ten times that"
    pace.add(dear, 1)
    assert seconds_left(pace.sentence) == 2 * 5 + 4 * 120, "and its own speed once it is measured"
