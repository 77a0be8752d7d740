"""``evaluate --target``: attacks towards a class have their own keys, headers and tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.page import DataFolders, clouds, streams
from rita_demo.evaluation.pictures import collect
from rita_demo.evaluation.planned_cells import settings_for
from rita_demo.evaluation.report.cells import cells as table_of
from rita_demo.evaluation.report.cells import points_of
from rita_demo.evaluation.request import Request, points
from rita_demo.records.errors import DataError, SettingError, VocabularyError
from tests.evaluation.conftest import cells, headers, places

ONE_METHOD = ("--methods", "clip", "--steps", "3", "--budget", "16")


def rows(out: Path) -> list[dict]:
    return [row for found in cells(out).values() for row in found]


def request(target: str, attacks: str = "none,pgd") -> Request:
    found, fixed = points(attacks=attacks, budget="4", protocols="off")
    return Request(("caltech101",), "val", ("clip",), found, Path("unused"), fixed_seeds=fixed, target=target)


def test_every_picture_is_attacked_towards_the_class_and_those_of_the_class_are_left_out(
    run_evaluate, data_root, tiny_model_dir, tmp_path
) -> None:
    out = run_evaluate(tmp_path / "runs", *ONE_METHOD, "--attack", "none,pgd", "--target", "DOG")
    attacked = [row for row in rows(out) if row["attack"] == "pgd"]
    clean = [row for row in rows(out) if row["attack"] == "none"]
    assert {row["label"] for row in attacked} == {row["label"] for row in clean} == {"cat", "cup"}
    assert len(attacked) == len(clean) == 8
    assert {row["target"] for row in attacked} == {"dog"}
    assert {row["target"] for row in clean} == {""}
    engine = Engine(f"local-dir:{tiny_model_dir}", "cpu")
    names = ("cat", "dog", "cup")
    row, (header,) = attacked[0], [h for h in headers(out) if h.key["target"]]
    own = header.cell.requested.replace(attack_seed=row["picture_seed"])
    path = data_root / row["picture"]
    square = open_picture(path, square="model", side=engine.info.side)
    label = names.index(row["label"])
    again = engine.attack(square, engine.encode_classes(names, own), own, label, 1)
    assert again.l2 == pytest.approx(row["l2"], abs=1e-6)
    away = engine.attack(square, engine.encode_classes(names, own), own, label)
    assert not np.array_equal(again.pixels, away.pixels)
    assert again.probability[-1, 1] > again.probability[0, 1]


def test_header_threat_model_and_tables_name_the_target(run_evaluate, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "runs"
    for target in (["--target", "next"], ["--target", "cup"], []):
        run_evaluate(out, *ONE_METHOD, *target)
    after = {"cat": "dog", "dog": "cup", "cup": "cat"}
    assert {(row["label"], row["target"]) for row in rows(out)} == {
        *after.items(),
        *((label, target) for label in after for target in ("cup", "") if label != target),
    }
    found = {h.key["target"]: h for h in headers(out)}
    assert set(found) == {"next", "cup", ""}
    assert {h.columns["attack"] for h in found.values()} == {"pgd@next", "pgd@cup", "pgd"}
    assert len({h.columns["settings"] for h in found.values()}) == 3
    threat = {target: " ".join(one.facts["threat"]) for target, one in found.items()}
    said = threat["cup"]
    assert "towards “cup”" in said
    assert "raises CLIP's probability of “cup” most" in said
    assert "Pictures of 'cup' itself are left out" in said
    assert "the class after the true one" in threat["next"]
    assert "away from the true class" in threat[""]
    assert {h.cell.target for h in headers(out)} == set(found)
    assert places(out, "attacked") == 3, "nothing is mixed"
    capsys.readouterr()
    assert cli.main(["tables", str(out)]) == 0
    text = capsys.readouterr().out
    reached = {line.attack: (line.target_hits, line.n) for line in table_of(out).itertuples()}
    hits = sum(row["answer"] == "cup" == row["target"] for row in rows(out))
    assert reached["pgd@cup"][0] <= hits
    assert reached["pgd"] == (0, 12)
    assert f"says the target: {reached['pgd@cup'][0]} of 8" in text
    assert "pgd@next 16/255" in text
    assert [p.cell.attack for p in points_of(table_of(out))] == ["pgd"]  # figures show untargeted attacks only


def test_a_limit_is_filled_with_other_classes(data_root: Path) -> None:
    few = collect("textures", None, "val", limit=20, allow_partial=True, exclusions="dotted")
    usual = collect("textures", None, "val", limit=20, allow_partial=True)
    assert len(few.items) == len(usual.items) == 20
    assert few.names.index("dotted") not in {entry.label for entry in few.items}
    kept = [e.id for e in usual.items if not e.id.startswith("dotted/")]
    assert [e.id for e in few.items][: len(kept)] == kept
    some = collect("caltech101", data_root, "val", limit=5, allow_partial=True, exclusions="cat")
    assert {some.names[entry.label] for entry in some.items} == {"dog", "cup"}
    assert (len(some.items), some.available) == (5, 8)


def test_an_invalid_target_gives_an_error_message(command_line, data_root: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    for attack in ("noise", "autoattack"):
        with pytest.raises(SettingError, match=f"{attack!r} cannot be aimed at a class"):
            request("next", f"pgd,{attack}")
    assert cli.main(command_line(tmp_path / "a", "--attack", "none", "--target", "next")) == 2
    assert "--target needs an attack" in capsys.readouterr().err
    assert cli.main(command_line(tmp_path / "a", "--target", "crocodile")) == 1
    assert "no class 'crocodile'" in capsys.readouterr().err
    with pytest.raises(VocabularyError, match="no class"):
        settings_for(request("crocodile"), "caltech101", ("cat", "dog"))


def test_a_split_with_only_the_target_class_gives_an_error_message(tmp_path: Path) -> None:
    (tmp_path / "oxford_pets/images").mkdir(parents=True)
    (tmp_path / "oxford_pets/images/1.png").write_bytes(b"never opened")
    split = {"val": [["1.png", 0, "cat"]], "test": [["2.png", 1, "dog"]]}
    (tmp_path / "oxford_pets/split_zhou_OxfordPets.json").write_text(json.dumps(split))
    with pytest.raises(DataError, match="All pictures of 'pets' are of the target 'cat'"):
        collect("pets", tmp_path, "val", limit=None, allow_partial=True, exclusions="cat")


def test_a_stored_stream_reopens_with_its_target(run_evaluate, data_root, tiny_model_dir, tmp_path) -> None:
    run_evaluate(tmp_path / "aimed", "--attack", "none,pgd", "--target", "next")
    places, engine = DataFolders(data_root, tmp_path), Engine(f"local-dir:{tiny_model_dir}", "cpu")
    one = next(s for s in clouds.stored_streams(places) if s.columns["attack"] == "pgd@next")
    met = streams.open_stream_picture(engine, places, one, 2)
    assert met.target == (met.label + 1) % 3
    steps = clouds.load_cloud_steps(places, one.name, engine)
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert len(end.value.value.ids) == 12  # the features of the targeted attack were found
