"""``evaluate`` measures the right pictures, prompts and settings, each only once."""

import json
import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from rita_demo import run
from rita_demo.data.datasets import DATASETS
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import vocabulary
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect, picture_seed
from rita_demo.records.errors import DataError
from rita_demo.settings import PAPER
from tests.evaluation.conftest import places
from tests.toy_model import ToyEngine


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


def test_half_precision_views_give_the_labels_of_full_precision(
    run_evaluate, rows_of, tmp_path, data_root, tiny_model_dir
) -> None:
    more = ["--methods", "ensemble", "--attack", "none", "--budget", "0"]
    ((_, rows),) = rows_of(run_evaluate(tmp_path / "runs", *more)).items()
    engine = Engine(f"local-dir:{tiny_model_dir}")
    found = collect("caltech101", data_root, "val", limit=None, allow_partial=False)
    settings = PAPER.replace(views=6, views_augmix=False)
    class_prompts = engine.encode_classes(found.names, settings)
    for entry, row in zip(found.stream(0), rows):
        picture = open_picture(entry.source, square="model", side=engine.info.side)
        look = engine.encode_views(picture, settings.replace(view_seed=picture_seed(0, entry)))
        verdict = engine.answers(look, class_prompts, settings)["ensemble"]
        assert found.names[verdict.label] == row["answer"]
        assert np.isclose(verdict.probability[verdict.label], row["probability"], atol=2e-3)


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


def test_textures_need_no_data_folder_and_a_folder_per_class_is_named_without_its_path(data_root: Path) -> None:
    found = collect("textures", None, "val", limit=50, allow_partial=False)
    assert (len(found.items), len(found.names)) == (50, 47)
    fewer = collect("textures", None, "val", limit=7, allow_partial=False)
    assert {entry.id for entry in fewer.items} < {entry.id for entry in found.items}
    assert open_picture(found.items[0].source).pixels.shape == (128, 128, 3)
    folder = data_root / "caltech-101" / "101_ObjectCategories"
    found = collect(str(folder), data_root, "all", limit=2, allow_partial=False)
    assert (found.dataset, found.names) == ("101_ObjectCategories", ("cat", "cup", "dog"))
    assert {entry.id.count("/") for entry in found.items} == {1}


def test_the_order_of_the_stream_is_random_and_repeatable(data_root: Path) -> None:
    found = collect("caltech101", data_root, "val", limit=None, allow_partial=False)
    orders = [[entry.id for entry in found.stream(seed)] for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_attacks_of_several_options_are_measured_together_and_the_attacked_square_is_said_at_the_end(
    run_evaluate, rows_of, tmp_path, capsys
) -> None:
    few = ["--methods", "clip", "--limit", "1"]
    more = ["--attack", "none,pgd", "--attack", "fgsm, none", "--attack", "pgd"]
    cells = rows_of(run_evaluate(tmp_path / "runs", *few, *more))
    assert sorted(row["attack"] for rows in cells.values() for row in rows) == ["fgsm", "none", "pgd"]
    run_evaluate(tmp_path / "runs", *few, "--square", "picture")
    run_evaluate(tmp_path / "runs", *few, "--attack", "none")
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Attacked: ")]
    own = "each picture's own square of at most 448 × 448 pixels"
    assert printed == ["Attacked: the model's square of 64 × 64 pixels.", f"Attacked: {own}."]
    picture, asked = np.zeros((90, 70, 3), np.uint8), {"attack": "fgsm", "square": "picture", "settings": {"views": 2}}
    threat = run(picture, ["cat", "cup"], engine=ToyEngine(), **asked).run.threat_model
    assert "on the picture's square of 70 × 70 pixels, seed 0." in " ".join(threat.sentences)
