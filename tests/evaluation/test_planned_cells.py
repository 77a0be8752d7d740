"""Which cells a request has, and when views, attacks and rows of one are those of another."""

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rita_demo.defences.registry import add_plugin
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.planned_cells import Cell, ModelIdentity, attack_key, key_of, settings_for, views_key
from rita_demo.evaluation.request import Request, points
from rita_demo.evaluation.rows import attack_label, digest
from rita_demo.records.errors import SettingError

MODEL = ModelIdentity("tiny", "weights")
PROMPTED = {"clip", "ensemble", "mta"}  # methods that use the hand-written prompt
METHODS = ("clip", "ensemble", "tpt", "mta", "rita")


def cells(attacks: str, methods=("clip", "rita"), *, pictures: PictureSet | None = None, **more: Any) -> list[Cell]:
    """The cells of seed 0 (or ``seed``) on ``pictures``."""
    fields = {name: more.pop(name) for name in ("target", "seeds") if name in more}
    seed, (found, fixed) = more.pop("seed", 0), points(attacks=attacks, **{"budget": "4", "protocols": "off", **more})
    name, names = (pictures.dataset, pictures.names) if pictures else ("caltech101", ())
    request = Request((name,), "val", methods, found, Path("unused"), fixed_seeds=fixed, **fields)
    return list(planned_cells.cells_of(settings_for(request, name, names), seed))


def hash_of(cell: Cell, pictures: PictureSet, model: ModelIdentity) -> str:
    """A hash of everything that the numbers of a cell depend on."""
    return digest(key_of(cell, pictures, model))


def label_of(cell: Cell, pictures: PictureSet) -> str:
    return attack_label(key_of(cell, pictures, MODEL))


@pytest.fixture(scope="module")
def pictures(data_root: Path) -> PictureSet:
    return collect("caltech101", data_root, "val", limit=None, allow_partial=True)


@pytest.fixture(scope="module")
def dtd(data_root: Path) -> PictureSet:
    return collect("dtd", data_root, "val", limit=None, allow_partial=True)


@pytest.mark.parametrize(
    ("sweep", "attacks", "different"),
    [
        ("attack_views=4,8", "pgd eot adaptive:rita autoattack", (1, 2, 2, 1)),
        ("view_scale=0.1,0.5", "eot pgd", (2, 1)),
        ("entropy_weight=0.01,0.1", "eot adaptive:rita", (1, 2)),
        ("views_augmix=true,false", "adaptive:rita", (1,)),
        ("views=8,16", "adaptive:rita adaptive:clip eot", (2, 1, 1)),
        ("autoattack=standard,rand", "autoattack", (2,)),
        ("budget=1,4", "cw_l2", (1,)),
        ("steps=7,10", "autoattack di", (1, 2)),
        ("cost=cosine,loglik", "pgd adaptive:rita", (1, 2)),
    ],
)
def test_attacks_are_recomputed_exactly_when_they_depend_on_a_setting(pictures, sweep, attacks, different) -> None:
    for attack, count in zip(attacks.split(), different, strict=True):
        found = cells(attack, sweeps=[sweep])
        assert len({attack_key(cell, pictures, MODEL) for cell in found}) == count, attack
        assert len([c for c in found if c.method == "clip"]) == count, attack
    cost = cells(
        "pgd", ("rita",), pictures=pictures, assignments=["tuning_loss=transport"], sweeps=["cost=cosine,loglik"]
    )
    for key in (hash_of, planned_cells.tuned_prompts_key):
        assert len({key(one, pictures, MODEL) for one in cost}) == 2, "other rows, and other tuned prompts"


def test_an_attack_that_uses_the_cache_shares_no_pictures_between_cells(pictures: PictureSet) -> None:
    found = {(c.method, c.settings.protocol): c for c in cells("adaptive:rita", protocols="off,reset,stream")}
    assert set(found) == {("clip", "off"), ("rita", "off"), ("rita", "reset"), ("rita", "stream")}
    by, fewer = (
        {name: attack_key(cell, some, MODEL) for name, cell in found.items()}
        for some in (pictures, replace(pictures, items=pictures.items[:-1]))  # another stream, other caches
    )
    assert by["clip", "off"] == by["rita", "off"]
    assert len({by["rita", p] for p in ("off", "reset", "stream")}) == 3
    assert {name for name in by if by[name] != fewer[name]} == {("rita", "stream")}


@pytest.mark.parametrize(
    ("attacks", "twice", "squares"), [("none noise adaptive:rita", PROMPTED, 1), ("pgd eot", METHODS, 2)]
)
def test_exactly_the_cells_that_depend_on_the_template_are_measured_again(dtd, pictures, attacks, twice, squares):
    for attack in attacks.split():
        found = cells(attack, METHODS, pictures=dtd, sweeps=["hand_prompt=photo,dataset"])
        assert Counter(cell.method for cell in found) == {method: 1 + (method in twice) for method in METHODS}
        clip = [cell for cell in found if cell.method == "clip"]
        for key, different in ((attack_key, squares), (views_key, squares), (hash_of, 2)):
            assert len({key(c, dtd, MODEL) for c in clip}) == different
        assert {c.settings.hand_prompt for c in clip} == {"photo", "{} texture."}
    usual = cells("pgd", METHODS, pictures=pictures, sweeps=["hand_prompt=photo,dataset"])
    assert [c.requested.hand_prompt for c in usual] == ["photo"] * 5, "its template is the default one: measured once"


def test_runs_of_a_users_own_defence_are_found_with_its_settings(dtd, tmp_path, no_plugins_afterwards) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "from rita_demo.defences.contract import Defence\n"
        "from rita_demo.settings.setting import Setting\n"
        "ANY = Setting('factor', 'float', 1.0, 'Factor', 'Any.', low=0, high=2)\n"
        "DEFENCE = Defence(name='own', title='Own', sentence='Any.', answer=print, settings=(ANY,))\n"
    )
    add_plugin(f"{file}:DEFENCE")
    (usual,) = cells("none", ("own",), pictures=dtd)
    key, code = key_of(usual, dtd, MODEL), hashlib.sha256(file.read_bytes() + b"DEFENCE").hexdigest()[:16]
    views = {"views", "view_scale", "views_augmix"}
    assert key["method_settings"] == {n: getattr(usual.settings, n) for n in {*views, "hand_prompt", "own.factor"}}
    assert (json.loads(key["own_code"]), key["descriptions"], key["stream"]) == ({"method": code}, "", "")
    (other,) = cells("none", ("own",), pictures=dtd, assignments=["own.factor=2"])
    assert key_of(other, dtd, MODEL) == key | {"method_settings": key["method_settings"] | {"own.factor": 2.0}}


@pytest.mark.parametrize(
    ("group", "attack", "again"),
    [
        *(("attack", "pgd", True), ("views", "pgd", False), ("views", "eot", True)),
        *(("transport", "eot", False), ("transport", "adaptive:rita", True)),
    ],
)
def test_a_setting_that_is_added_to_a_group_is_in_the_hashes_of_what_reads_it(
    add_setting, pictures, group, attack, again
) -> None:
    one, other = cells(attack, ("rita",), pictures=pictures, sweeps=[f"{add_setting(group)}=0.1,0.2"])
    assert hash_of(one, pictures, MODEL) != hash_of(other, pictures, MODEL)
    assert (attack_key(one, pictures, MODEL) != attack_key(other, pictures, MODEL)) == again


def test_keys_depend_on_the_target_except_for_clean_pictures(pictures: PictureSet) -> None:
    targets = ("", "next", "dog", "DOG")
    found = {t: cells("none,pgd", ("clip",), pictures=pictures, target=t) for t in targets}
    for key in (attack_key, views_key, hash_of):
        of = {t: {c.requested.attack: key(c, pictures, MODEL) for c in cs} for t, cs in found.items()}
        assert len({of[target]["pgd"] for target in ("", "next", "dog")}) == 3
        assert of["dog"]["pgd"] == of["DOG"]["pgd"]
    assert len({hash_of(cs[0], pictures, MODEL) for cs in found.values()}) == 1
    assert {attack_label(key_of(cs[0], pictures, MODEL)) for cs in found.values()} == {"none"}


def test_settings_that_a_method_does_not_have_and_clean_clip_under_two_seeds_are_not_measured_twice() -> None:
    options = {"budget": "1,4", "protocols": "off,reset,stream", "sweeps": ["cache_weight=0,1"]}
    found = cells("none,fgsm,pgd", ("clip", "ensemble", "rita"), **options)
    counts = Counter((cell.method, cell.settings.attack) for cell in found)
    assert counts["clip", "none"] == 1  # neither budget nor memory
    assert counts["ensemble", "pgd"] == 2  # two budgets
    assert counts["rita", "none"] == 1 + 2 * 2  # off; reset and stream with two weights
    assert counts["rita", "pgd"] == 2 * (1 + 2 * 2)
    second = [(cell.method, cell.settings.attack) for cell in cells("none,pgd", seeds=(0, 1), seed=1)]
    assert sorted(second) == [("clip", "pgd"), ("rita", "none"), ("rita", "pgd")]


def test_set_overrides_options_and_sweep_overrides_both() -> None:
    asked = {"budget": "1", "protocols": "off", "assignments": ["budget=2", "slots=5"], "sweeps": ["slots=1,2"]}
    assert {(p.budget, p.slots) for p in points(attacks="pgd", **asked)[0]} == {(2, 1), (2, 2)}
    with pytest.raises(SettingError, match="no setting"):
        points(attacks="pgd", budget="1", sweeps=["colour=red"])
    found, _ = points(attacks="pgd,adaptive", budget="4", steps="5", protocols="off", assignments=["adaptive.steps=2"])
    steps = [(one.attack, one.steps, getattr(one, "adaptive.steps")) for one in found]
    assert steps == [("pgd", 5, 2), ("adaptive", 7, 2)], "a setting by its name wins over the steps of every attack"


def test_an_edited_defence_of_a_users_own_is_attacked_and_measured_anew(dtd, tmp_path, no_plugins_afterwards) -> None:
    file, keys = tmp_path / "own.py", []
    for sentence in ("One.", "Another.", "Another."):
        file.write_text(
            "from rita_demo.defences.contract import Defence\n"
            f"DEFENCE = Defence(name='own', title='Own', sentence={sentence!r}, answer=print)\n"
        )
        assert add_plugin(f"{file}:DEFENCE").sentence == sentence
        found = cells("pgd,adaptive:own", ("clip", "own"), pictures=dtd)
        keys.append({(c.method, label_of(c, dtd)): (attack_key(c, dtd, MODEL), hash_of(c, dtd, MODEL)) for c in found})
    one, other, same = keys
    assert other == same
    squares, rows = ({cell for cell in one if one[cell][part] != other[cell][part]} for part in (0, 1))
    assert squares == {("clip", "adaptive:own"), ("own", "adaptive:own")}
    assert rows == {*squares, ("own", "pgd")}
