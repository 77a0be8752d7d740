"""``evaluate --target``: attacks towards a class, apart from all others in keys, headers and tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rita_demo import cli
from rita_demo.data import textures
from rita_demo.data.pictures import open_picture
from rita_demo.engine import Engine
from rita_demo.errors import DataError, SettingError, VocabularyError
from rita_demo.evaluation import plan
from rita_demo.evaluation.by_dataset import on
from rita_demo.evaluation.collection import collect
from rita_demo.evaluation.plan import Model
from rita_demo.evaluation.points import points_of
from rita_demo.evaluation.request import Request, points
from rita_demo.evaluation.tables import lines
from rita_demo.evaluation.threat import cell_of
from rita_demo.measuring import Places, stored, streams

MODEL = Model("tiny", "weights")
ONE = ("--methods", "clip", "--steps", "3", "--budget", "16")


def headers(out: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in out.glob("cells/*/header.json")]


def rows(out: Path) -> list[dict]:
    texts = [path.read_text() for path in out.glob("cells/*/rows.jsonl")]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def request(target: str, attacks: str = "none,pgd") -> Request:
    found, fixed = points(attacks=attacks, budget="4", protocols="off")
    return Request(("caltech101",), "val", ("clip",), found, Path("unused"), fixed=fixed, target=target)  # fmt: skip


def test_every_picture_is_attacked_towards_the_class_and_those_of_the_class_are_left_out(
    measure, data_root: Path, tiny_model_dir: Path, tmp_path: Path
) -> None:
    out = measure(tmp_path / "runs", *ONE, "--attack", "none,pgd", "--target", "DOG")
    attacked = [row for row in rows(out) if row["attack"] == "pgd"]
    clean = [row for row in rows(out) if row["attack"] == "none"]
    assert {row["label"] for row in attacked} == {row["label"] for row in clean} == {"cat", "cup"}
    assert len(attacked) == len(clean) == 8
    assert {row["target"] for row in attacked} == {"dog"}
    assert {row["target"] for row in clean} == {""}
    engine = Engine(f"local-dir:{tiny_model_dir}", "cpu")
    names = ("cat", "dog", "cup")
    row, (header,) = attacked[0], [h for h in headers(out) if h["target"]]
    own = cell_of(header).asked.but(attack_seed=row["picture_seed"])
    path = data_root / row["picture"]
    square = open_picture(path, square="model", side=engine.info.side)
    label = names.index(row["label"])
    again = engine.attack(square, engine.classes(names, own), own, label, 1)
    assert again.l2 == pytest.approx(row["l2"], abs=1e-6)
    away = engine.attack(square, engine.classes(names, own), own, label)
    assert not np.array_equal(again.pixels, away.pixels)
    assert again.probability[-1, 1] > again.probability[0, 1]


def test_next_aims_at_the_class_after_the_true_one(measure, tmp_path: Path) -> None:
    out = measure(tmp_path / "runs", *ONE, "--target", "next")
    after = {"cat": "dog", "dog": "cup", "cup": "cat"}
    assert len(rows(out)) == 12
    assert all(row["target"] == after[row["label"]] for row in rows(out))


def test_header_threat_model_and_tables_name_the_target(measure, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "runs"
    for target in (["--target", "next"], ["--target", "cup"], []):
        measure(out, *ONE, *target)
    found = {h["target"]: h for h in headers(out)}
    assert set(found) == {"next", "cup", ""}
    assert {h["columns"]["attack"] for h in found.values()} == {"pgd@next", "pgd@cup", "pgd"}
    assert len({h["columns"]["settings"] for h in found.values()}) == 3
    assert found["cup"]["threat_model"]["goal"] == "towards “cup”"
    said = " ".join(found["cup"]["threat_model"]["sentences"])
    assert "raises CLIP's probability of “cup” most" in said
    assert "Pictures of 'cup' itself are left out" in said
    assert "the class after the true one" in found["next"]["threat_model"]["goal"]
    assert found[""]["threat_model"]["goal"].startswith("away from the true class")
    assert all(cell_of(h).target == target for target, h in found.items())
    assert len(list(out.glob("attacked/*"))) == 3  # nothing is mixed
    capsys.readouterr()
    assert cli.main(["tables", str(out)]) == 0
    text = capsys.readouterr().out
    reached = {line.attack: (line.reached, line.n) for line in lines(out)}
    hits = sum(row["answer"] == "cup" == row["target"] for row in rows(out))
    assert reached["pgd@cup"][0] <= hits
    assert reached["pgd"] == (None, 12)
    assert f"says the target: {reached['pgd@cup'][0]} of 8" in text
    assert "pgd@next 16/255" in text
    assert [p.cell.attack for p in points_of(out)] == ["pgd"]  # the figures compare like with like


def test_a_target_with_any_name_is_measured_again_from_where_it_was(
    measure, rows_of, tmp_path: Path
) -> None:
    out = measure(tmp_path / "runs", *ONE, "--target", "cat")
    whole = rows_of(out)
    (path,) = out.glob("cells/*/rows.jsonl")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))
    assert rows_of(measure(out, *ONE, "--target", "cat")) == whole


def test_keys_tell_targets_apart_and_clean_pictures_do_not_know_them(data_root: Path) -> None:
    collection = collect("caltech101", data_root, "val", limit=None, allow_partial=True)
    found = {
        target: plan.cells_of(on(request(target), "caltech101", collection.names), 0)
        for target in ("", "next", "dog", "DOG")
    }
    for key in (plan.attack_key, plan.look_key, plan.cell_key, plan.settings_hash):
        of = {t: {c.asked.attack: key(c, collection, MODEL) for c in cs} for t, cs in found.items()}
        assert len({of[target]["pgd"] for target in ("", "next", "dog")}) == 3
        assert of["dog"]["pgd"] == of["DOG"]["pgd"]
    assert len({plan.cell_key(cs[0], collection, MODEL) for cs in found.values()}) == 1
    assert {cs[0].column for cs in found.values()} == {"none"}
    assert [found["next"][1].aim(label, collection.names) for label in range(3)] == [1, 2, 0]


def test_a_limit_is_filled_with_other_classes(data_root: Path) -> None:
    few = collect("textures", None, "val", limit=20, allow_partial=True, left_out="dotted")
    usual = collect("textures", None, "val", limit=20, allow_partial=True)
    assert len(few.entries) == len(usual.entries) == 20
    assert textures.CLASSES.index("dotted") not in {entry.label for entry in few.entries}
    kept = [e.id for e in usual.entries if not e.id.startswith("dotted/")]
    assert [e.id for e in few.entries][: len(kept)] == kept
    some = collect("caltech101", data_root, "val", limit=5, allow_partial=True, left_out="cat")
    assert {some.names[entry.label] for entry in some.entries} == {"dog", "cup"}
    assert (len(some.entries), some.available) == (5, 8)


def test_what_cannot_be_aimed_is_a_sentence(words, data_root: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    for attack in ("noise", "autoattack"):
        with pytest.raises(SettingError, match=f"{attack!r} cannot be aimed at a class"):
            request("next", f"pgd,{attack}")
    assert cli.main(words(tmp_path / "a", "--attack", "none", "--target", "next")) == 2
    assert "--target needs an attack" in capsys.readouterr().err
    assert cli.main(words(tmp_path / "a", "--target", "crocodile")) == 1
    assert "no class 'crocodile'" in capsys.readouterr().err
    with pytest.raises(VocabularyError, match="no class"):
        on(request("crocodile"), "caltech101", ("cat", "dog"))


def test_a_split_of_nothing_but_the_target_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "oxford_pets/images").mkdir(parents=True)
    (tmp_path / "oxford_pets/images/1.png").write_bytes(b"never opened")
    split = {"val": [["1.png", 0, "cat"]], "test": [["2.png", 1, "dog"]]}
    (tmp_path / "oxford_pets/split_zhou_OxfordPets.json").write_text(json.dumps(split))
    with pytest.raises(DataError, match="All pictures of 'pets' are of the target 'cat'"):
        collect("pets", tmp_path, "val", limit=None, allow_partial=True, left_out="cat")


def test_a_stored_stream_is_told_again_with_its_target(
    measure, data_root: Path, tiny_model_dir: Path, tmp_path: Path
) -> None:
    measure(tmp_path / "aimed", "--attack", "none,pgd", "--target", "next")
    places, engine = Places(data_root, tmp_path), Engine(f"local-dir:{tiny_model_dir}", "cpu")
    one = next(s for s in stored.clouds(places) if s.columns["attack"] == "pgd@next")
    met = streams.arrival(engine, places, one, 2)
    assert met.target == (met.label + 1) % 3
    steps = stored.reading(places, one.name, engine)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert len(end.value.value.ids) == 12  # the features of the targeted attack were found
