"""``evaluate --target``: attacks towards a class have their own keys, headers and tables."""

import json
from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect
from rita_demo.evaluation.report.cells import cells as table_of
from rita_demo.evaluation.report.cells import points_of
from rita_demo.evaluation.request import Request, points
from rita_demo.records.errors import DataError, SettingError
from tests.evaluation.conftest import cells, headers, places
from tests.evaluation.frames import overview

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
    for attack, target in (("pgd", "dog"), ("none", "")):
        some = [row for row in rows(out) if row["attack"] == attack]
        assert ({row["label"] for row in some}, len(some)) == ({"cat", "cup"}, 8)
        assert {row["target"] for row in some} == {target}
    engine, names = Engine(f"local-dir:{tiny_model_dir}", "cpu"), ("cat", "dog", "cup")
    row = next(row for row in rows(out) if row["attack"] == "pgd")
    (header,) = [h for h in headers(out) if h.key["target"]]
    own = header.cell.requested.replace(attack_seed=row["picture_seed"])
    square = open_picture(data_root / row["picture"], square="model", side=engine.info.side)
    prompts, label = engine.encode_classes(names, own), names.index(row["label"])
    again, away = (engine.attack(square, prompts, own, label, target) for target in (1, None))
    assert again.l2 == pytest.approx(row["l2"], abs=1e-6)
    assert not np.array_equal(again.pixels, away.pixels)
    assert again.probability[-1, 1] > again.probability[0, 1]


@pytest.mark.slow
def test_header_threat_model_and_tables_name_the_target(run_evaluate, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    for target in (["--target", "next"], ["--target", "cup"], []):
        run_evaluate(out, *ONE_METHOD, *target)
    after = {"cat": "dog", "dog": "cup", "cup": "cat"}
    others = {(label, target) for label in after for target in ("cup", "") if label != target}
    assert {(row["label"], row["target"]) for row in rows(out)} == {*after.items(), *others}
    found = {h.key["target"]: h for h in headers(out)}
    assert {target: h.columns["attack"] for target, h in found.items()} == {
        "next": "pgd@next",
        "cup": "pgd@cup",
        "": "pgd",
    }
    assert len({h.columns["settings"] for h in found.values()}) == 3
    for target, sentence in (
        ("cup", "towards “cup”"),
        ("next", "the class after the true one"),
        ("", "away from the true"),
    ):
        assert found[target].cell.target == target
        assert sentence in " ".join(found[target].facts["threat"])
    assert places(out, "attacked") == 3, "nothing is mixed"
    text, table = overview(out), table_of(out)
    reached = {line.attack: (line.target_hits, line.n) for line in table.itertuples()}
    (aimed,) = (some for name, some in cells(out).items() if "pgd@cup" in name)
    assert reached["pgd@cup"] == (sum(row["answer"] == "cup" for row in aimed), 8)
    assert reached["pgd"] == (0, 12)
    assert f"says the target: {reached['pgd@cup'][0]} of 8" in text
    assert "pgd@next 16/255" in text
    assert [p.cell.attack for p in points_of(table)] == ["pgd"]  # figures show untargeted attacks only


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


def test_an_invalid_target_gives_an_error_message(command_line, data_root: Path, tmp_path: Path, capsys) -> None:
    for attack in ("noise", "autoattack"):
        with pytest.raises(SettingError, match=f"{attack!r} cannot be aimed at a class"):
            request("next", f"pgd,{attack}")
    assert cli.main(command_line(tmp_path / "a", "--target", "crocodile")) == 1
    assert "no class 'crocodile'" in capsys.readouterr().err
    (tmp_path / "oxford_pets/images").mkdir(parents=True)
    (tmp_path / "oxford_pets/images/1.png").write_bytes(b"never opened")
    split = {"val": [["1.png", 0, "cat"]], "test": [["2.png", 1, "dog"]]}
    (tmp_path / "oxford_pets/split_zhou_OxfordPets.json").write_text(json.dumps(split))
    with pytest.raises(DataError, match="All pictures of 'pets' are of the target 'cat'"):
        collect("pets", tmp_path, "val", limit=None, allow_partial=True, exclusions="cat")
