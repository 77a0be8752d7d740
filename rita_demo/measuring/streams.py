"""A stream of pictures: asked for, run one picture at a time, and its pictures found again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.data.datasets import load_split
from rita_demo.data.pictures import open_picture
from rita_demo.errors import DataError, SettingError
from rita_demo.evaluation.collection import found_again
from rita_demo.evaluation.files import digest, writing_alone
from rita_demo.evaluation.recordings import Recording, recordings
from rita_demo.evaluation.request import Request, Traffic
from rita_demo.evaluation.run import Step, evaluating
from rita_demo.measuring.places import Places, offered
from rita_demo.methods import ALWAYS, chosen
from rita_demo.records import CacheState, Picture
from rita_demo.settings import KNOBS, Settings

TRAFFIC = {"clean": 0, "mixed": 50, "attacked": 100}  # percent of the pictures that are attacked
FEWEST, MOST = 2, 500  # pictures of one stream
KEPT = 16  # streams that the page keeps on disk; the oldest goes
KEPT_BYTES = 2 << 30  # and what they may weigh together
MADE_HERE = "page-"  # how their folders begin


@dataclass(frozen=True)
class Arrival:
    """A picture of a stream as RITA met it: everything that decides it again.

    ``memory`` is what was remembered before it; ``settings`` carry its own seeds; ``target``: the
    class that its attack aimed at.
    """

    picture: Picture
    names: tuple[str, ...]
    settings: Settings
    label: int
    memory: CacheState
    title: str
    target: int | None = None


def request_for(
    places: Places,
    settings: Settings,
    backbone: str,
    *,
    dataset: Any,
    traffic: Any,
    order: Any,
    seed: Any,
    pictures: Any,
    methods: Iterable[str] = ALWAYS,
) -> Request:
    """What a visitor asks to stream, checked; the same wish is the same run folder.

    Args:
        settings: of the attack, the views and the method; the protocol becomes ``stream``, and the
            square the model's, so that the numbers compare with those of ``evaluate``.
        dataset: a name from :func:`offered`. traffic: a key of ``TRAFFIC``. order: one of ``ORDERS``.
        seed: 0 or more. pictures: how many, ``FEWEST`` to ``MOST``.
        methods: who answers beside CLIP, Ensemble and RITA; another choice goes into the same folder.

    Raises:
        SettingError, DataError: what is allowed, and what came.
    """
    if dataset not in {row.name for row in offered(places)}:
        raise DataError("There is no such dataset here.", "Choose one from the list.")
    if not isinstance(traffic, str) or traffic not in TRAFFIC:
        raise SettingError(f"The traffic is one of {', '.join(TRAFFIC)}.")
    number = KNOBS["view_seed"].parse(seed)
    many = _whole(pictures, "The number of pictures")
    if settings.attack == "none" and TRAFFIC[traffic]:
        settings = settings.but(attack=KNOBS["attack"].default)
    share = TRAFFIC[traffic]
    settings = settings.but(
        protocol="stream", square="model", **({} if share else {"attack": "none"})
    )
    usual = {name: KNOBS[name].default for name in ("view_seed", "attack_seed")}
    wish = [dataset, traffic, order, number, many, backbone, settings.but(**usual).as_dict()]
    name = f"{MADE_HERE}{Path(dataset).name[:40]}-{traffic}-{digest(wish)}"
    return Request(
        datasets=(dataset,),
        split=_split(dataset, places.root),
        methods=chosen(methods),
        points=(settings.but(**usual),),
        out=places.runs / name,
        data_root=places.root,
        seeds=(number,),
        limit=many,
        allow_partial=True,
        backbone=backbone,
        traffic=Traffic(share or 100, order),
    )


def running(engine: Any, request: Request) -> Generator[Step, None, None]:
    """Stream on from where this run was left: one step per picture; see ``evaluation.run.evaluating``."""
    _make_room(request.out)
    return evaluating(request, engine)


def recording_of(places: Places, request: Request) -> Recording | None:
    """The stream that a request has written so far."""
    return next(iter(recordings(places.runs, request.out)), None)


def picture_of(
    places: Places, one: Recording, name: str, *, square: str = "picture", side: int | None = None
) -> Picture:
    """The clean square of a picture of a stream, by its name.

    Raises:
        DataError, PictureError: it is not in the data folder, or cannot be read.
    """
    source = found_again(one.columns["dataset"], name, places.root)
    return open_picture(source, square=square, side=side)


def arrival(engine: Any, places: Places, one: Recording, t: int) -> Arrival:
    """Picture number ``t`` (from 1) of a stream, with the memory that it met.

    Raises:
        SettingError: the engine is not the model that was streamed.
        DataError, PictureError: the picture is not there.
    """
    check_model(engine, one)
    row = one.rows()[t - 1]
    names, settings = tuple(one.header["names"]), one.settings(row)
    picture = picture_of(places, one, row["picture"], square=settings.square, side=engine.info.side)
    empty = engine.empty_cache(engine.classes(names, settings), settings)
    title = f"Picture {t} of a stream: {row['picture']}"
    memory = one.memory(empty, t - 1)
    target = names.index(row["target"]) if row.get("target") else None
    return Arrival(picture, names, settings, names.index(row["label"]), memory, title, target)


def check_model(engine: Any, one: Recording) -> None:
    """Raises a :class:`SettingError` where the engine is not the model that was streamed."""
    weights = engine.weights_key()
    if engine.info.name != one.columns["backbone"] or weights != one.header["weights"]:
        raise SettingError(
            f"This stream was made with the model {one.columns['backbone']!r} (weights "
            f"{one.header['weights'][:8]}), not with the one in use.",
            "Choose that model in the menu above.",
        )


def rows_text(one: Recording) -> str:
    """All rows of a stream as JSON lines, every method's after the other."""
    rows = [row for method in one.cells for row in one.rows(method)]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _split(dataset: str, root: Path | None) -> str:
    """The split to stream: the test split where there is one."""
    for split in ("test", "val", "all", "train"):
        if dataset == "textures":
            return split
        with suppress(DataError):
            load_split(dataset, root or Path(), split, allow_partial=True)
            return split
    raise DataError("This dataset has no pictures here.", "Choose another one.")


def _whole(value: Any, what: str) -> int:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    if not good or value != int(value) or not FEWEST <= value <= MOST:
        raise SettingError(f"{what} is a whole number from {FEWEST} to {MOST}.")
    return int(value)


def _make_room(out: Path) -> None:
    """Delete the page's oldest streams beyond ``KEPT`` or ``KEPT_BYTES``; those of a terminal are never touched."""
    if out.exists() or not out.parent.is_dir():
        return
    mine = [p for p in out.parent.iterdir() if p.name.startswith(MADE_HERE) and p.is_dir()]
    newest = sorted(mine, key=lambda p: -p.stat().st_mtime)
    total = 0
    for place, old in enumerate(newest, 1):
        total += sum(path.stat().st_size for path in old.rglob("*") if path.is_file())
        if place < KEPT and total <= KEPT_BYTES:
            continue
        with suppress(DataError), writing_alone(old):  # not one that somebody is streaming
            shutil.rmtree(old, ignore_errors=True)
