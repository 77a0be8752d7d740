"""Which cells a request has, and when views, attacks and rows of one are those of another."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.pictures import PictureSet, collect
from rita_demo.evaluation.planned_cells import Cell, ModelIdentity, attack_key, key_of, settings_for, views_key
from rita_demo.evaluation.request import Request, points
from rita_demo.evaluation.rows import attack_label, digest

MODEL = ModelIdentity("tiny", "weights")


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
        ("entropy_weight=0.01,0.1", "eot adaptive:rita", (1, 2)),
        ("views_augmix=true,false", "adaptive:rita", (1,)),
        ("budget=1,4", "cw_l2", (1,)),
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
