"""The fuzz targets as a table: how a case is made, and what reads it.

A reader returns, or raises a :class:`DemoError` whose sentence names no folder of this machine. Anything else
is a fault of ours.
"""

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.data import datasets, descriptions, memory_file, split_files
from rita_demo.data.pictures import LARGEST_SIDE, open_picture
from rita_demo.evaluation.pictures import collect, find_picture
from rita_demo.pipeline.bundle_read import read_file
from rita_demo.records.errors import DemoError
from rita_demo.settings import SETTINGS
from rita_demo.ui.background.saved_run import reopened
from rita_demo.ui.session import run_request, share_link
from rita_demo.ui.session.mark import Mark, select
from rita_demo.ui.session.session import AttackDefendState, Session
from rita_demo.ui.widgets import html_buttons, plotly_view, sample_gallery
from tests.fuzz import corpus, mutate
from tests.ui.memory_client import Event

SAMPLE = AttackDefendState(sample="motorcycle")
Case = Any  # bytes of a file, or a value of an event


@dataclass(frozen=True)
class Target:
    """``make`` a case with a random generator; ``check`` how it is received, in an empty folder of its own."""

    make: Callable[[random.Random], Case]
    check: Callable[[Case, Path], object]


def receive(target: Target, case: Case, folder: Path) -> None:
    """Fails where a case is received with anything but a result or a sentence."""
    try:
        target.check(case, folder)
    except DemoError as error:
        said = str(error)
        assert said.strip(), "no sentence"
        assert len(said) <= 1_500, said
        assert "Traceback" not in said, said
        assert str(folder) not in said, said


# --- pictures, memories, saved runs
def _open(data: bytes, _: Path) -> None:
    square = open_picture(data).pixels
    assert square.shape == (len(square), len(square), 3), square.shape
    assert str(square.dtype) == "uint8"
    assert 32 <= len(square) <= LARGEST_SIDE


def _from_file(name: str, load: Callable[[Path], object]) -> Callable[[bytes, Path], None]:
    """The reader of a file of that name."""

    def check(data: bytes, folder: Path) -> None:
        (folder / name).write_bytes(data)
        load(folder / name)

    return check


def _import(path: Path) -> None:
    run = corpus.runs()[1]
    memory_file.unpack(memory_file.read_file(path), None, run.backbone.name, run.backbone.width)  # as the page does
    state = memory_file.unpack(memory_file.read_file(path), run.class_prompts, run.backbone.name).state_at()
    assert state.features.shape[1] <= 64
    corpus.ENGINE.decide(run.clean.encoded_views, run.class_prompts, state, run.settings)


# --- models
def _load_weights(path: Path) -> None:
    from rita_demo.vlm.checkpoint import load_weights

    load_weights(corpus.tiny_model(), path, "rita-tiny")


def _load_tower(path: Path) -> None:
    from rita_demo.vlm.checkpoint import load_vision_weights

    load_vision_weights(corpus.tiny_model(), path, "rita-tiny:base.pt")


def _model_folder(rng: random.Random) -> dict[str, bytes]:
    files = dict(corpus.model_folder())
    name = rng.choice(("open_clip_config.json", "open_clip_config.json", "seen_words.json"))
    files[name] = _small(mutate.as_json(rng, json.loads(files[name])))
    return files


def _small(text: bytes) -> bytes:
    """Without numbers that would build a model larger than the machine: its owner wrote the file."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return text

    def less(value: Any) -> Any:
        if isinstance(value, dict):
            small = {"width": 8} if "image_size" in value else {}  # 768 where nothing is said
            return small | {k: less(v) for k, v in value.items()}
        if isinstance(value, list):
            return [less(v) for v in value]
        large = isinstance(value, int) and not isinstance(value, bool) and abs(value) > 99 and value != 49_408
        return value % 64 if large else value

    return json.dumps(less(whole)).encode()


def _load(files: dict[str, bytes], folder: Path) -> None:
    from rita_demo.vlm.registry import load

    for name, data in files.items():
        (folder / name).write_bytes(data)
    load(f"local-dir:{folder}", "cpu", "float32")


# --- datasets
def _dataset(data: bytes, folder: Path) -> None:
    place = folder / "data" / "dtd"
    corpus.draw(place / "images")
    (place / datasets.DATASETS["dtd"].listing).write_bytes(data)
    for row in datasets.dataset_status(folder / "data"):
        assert row.sentence
    collection = collect("dtd", folder / "data", "test", limit=4, allow_partial=True)
    "".join(collection.names).encode()
    for entry in collection.stream(0):
        source = entry.source()
        assert isinstance(source, Path)
        assert source.resolve().is_relative_to(folder.resolve()), "leads outside the folder"


def _lists(rng: random.Random) -> dict[str, bytes]:
    files = dict(corpus.LISTS)
    name = rng.choice(list(files))
    return {n: mutate.lines(rng, t) if n == name else t.encode() for n, t in files.items()}


def _read_lists(files: dict[str, bytes], folder: Path) -> None:
    corpus.draw(folder / "images")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    faults = []
    for reader, listing in (
        (split_files.aircraft_variants, "variants.txt"),
        (split_files.class_folders, "classnames.txt"),
    ):
        try:
            reader(folder, "images", listing)
        except DemoError as error:
            faults.append(error)
    for error in faults:
        raise error


def _stored_names(rng: random.Random) -> tuple[str, str]:
    """Dataset and picture of a stored run, mostly with parts that lead elsewhere."""
    odd = (*mutate.TEXTS, "..", "..", "up", "up/up", "linked", "around", "\\", ".", "secret.png")
    dataset = rng.choice(("mine", "mine:present", "linked", rng.choice(("caltech101", *odd))))
    parts = ["dotted", "0.png"]
    for _ in range(rng.randrange(3)):
        parts.insert(rng.randrange(3), rng.choice(odd))
    return dataset, "/".join(parts)


def _find(names: tuple[str, str], folder: Path) -> None:
    root = folder / "data"
    corpus.draw(root / "mine")
    (root / "linked").symlink_to("mine")
    (folder / "secret.png").write_bytes(b"secret")
    path = find_picture(*names, root)
    assert isinstance(path, Path)
    assert path.is_relative_to(root)
    assert ".." not in path.relative_to(root).parts
    assert path.read_bytes() != b"secret", "leads outside the folder"


def _described(path: Path) -> None:
    rows = descriptions.descriptions_for(("cup", "crab"), str(path))
    assert all(rows)
    "".join(map("".join, rows)).encode()


# --- what a browser sends
def _link(rng: random.Random) -> dict[str, str]:
    given = {k: v for k, v in corpus.LINK.items() if rng.random() < 0.8}
    for _ in range(rng.choice((1, 1, 2, 4))):
        name = rng.choice((*corpus.LINK, *SETTINGS, rng.choice(mutate.TEXTS)))
        given[name] = str(_setting(rng, name) if rng.random() < 0.7 else mutate.value(rng))
    return given


def _setting(rng: random.Random, name: str) -> Any:
    """A value that the setting of that name may have, or is next to one."""
    setting = SETTINGS.get(name)
    if setting is None:
        return rng.choice(("", "cup", "crab,cup", "3", "clean", "imagenet", "motorcycle"))
    edges = [n + d for n in (setting.low, setting.high) for d in (0, 0.5, 1, -1) if math.isfinite(n)]
    return rng.choice((*setting.choices, setting.default, *edges, *map(round, edges), True, False))


def _open_link(given: dict[str, str], _: Path) -> None:
    link = share_link.parse_link(given)
    if link is not None:
        session = AttackDefendState(sample=link.sample)
        run_request.parse_request(link.form, session, 32, attack=link.attack)
        few = {n: v for n, v in link.selection.items() if n != "k"}  # a class of the link's own list
        share_link.valid_selection(few, corpus.runs()[0])


def _form(rng: random.Random) -> Any:
    form = run_request.form_values(corpus.runs()[0])
    for _ in range(rng.choice((1, 2, 5))):
        name = rng.choice(list(form))
        form[name] = _setting(rng, name) if rng.random() < 0.7 else mutate.value(rng)
    return form


def _event(rng: random.Random) -> Any:
    return mutate.document(rng, rng.choice(corpus.EVENTS)) if rng.random() < 0.8 else mutate.value(rng)


def _click(data: Any, _: Path) -> None:
    event, session = Event(data), Session()
    session.show(corpus.runs()[1])
    session.history = corpus.history()
    select(session, Mark.read(html_buttons.event_data(event), session))
    share_link.query(session)
    assert all(n in range(7) for n in plotly_view.selected_points(event, 7))
    assert html_buttons.clicked_format(event, ("jsonl", "csv")) in ("jsonl", "csv")
    sample_gallery.clicked_sample(event)


TARGETS: dict[str, Target] = {
    "picture": Target(lambda rng: mutate.raw(rng, rng.choice(corpus.pictures()), corpus.pictures()), _open),
    "memory": Target(lambda rng: mutate.zipped(rng, corpus.exported_cache()), _from_file("memory.zip", _import)),
    "saved run": Target(
        lambda rng: mutate.zipped(rng, corpus.saved_run()),
        _from_file("run.zip", lambda path: reopened(corpus.ENGINE, read_file(path)).first_picture()),
    ),
    "model.safetensors": Target(
        lambda rng: mutate.safetensors(rng, corpus.checkpoints()["safetensors"]),
        _from_file("model.safetensors", _load_weights),
    ),
    "model.pt": Target(
        lambda rng: mutate.zipped(rng, corpus.checkpoints()["pt"]), _from_file("model.pt", _load_weights)
    ),
    "tower.pt": Target(lambda rng: mutate.zipped(rng, corpus.vision_tower()), _from_file("tower.pt", _load_tower)),
    "model folder": Target(_model_folder, _load),
    "split file": Target(lambda rng: mutate.as_json(rng, corpus.SPLIT), _dataset),
    "dataset lists": Target(_lists, _read_lists),
    "stored picture": Target(_stored_names, _find),
    "descriptions": Target(
        lambda rng: mutate.as_json(rng, corpus.DESCRIPTIONS), _from_file("descriptions.json", _described)
    ),
    "permalink": Target(_link, _open_link),
    "form": Target(_form, lambda form, _: run_request.parse_request(form, SAMPLE, 32, attack=True)),
    "event": Target(_event, _click),
}
