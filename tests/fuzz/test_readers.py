"""Every reader of untrusted files, and of what a browser sends, with broken input that hypothesis makes: a result, or a
sentence without a folder of this machine. Nothing is written beside the file."""

import copy
import io
import json
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import open_clip
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import save as save_safetensors

from rita_demo.data import datasets, descriptions, memory_file, split_files
from rita_demo.data.memory import MemoryTable
from rita_demo.data.pictures import LARGEST_SIDE, open_picture
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation.pictures import collect, find_picture
from rita_demo.pipeline import export
from rita_demo.pipeline.bundle_read import read_file
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.background.worked_example import reopened
from rita_demo.ui.session import run_request, share_link
from rita_demo.ui.session.mark import Mark, select
from rita_demo.ui.session.session import AttackDefendState, Session
from rita_demo.ui.widgets import html_buttons, plotly_view, sample_gallery
from rita_demo.vlm.checkpoint import load_vision_weights, load_weights
from tests.conftest import TINY_CONFIG
from tests.data.hostile import encoded, gif, photo, rotated_jpeg
from tests.data.tiff_files import DEFLATE, GREY, LZW, RGB, tiff
from tests.toy_model import ToyEngine
from tests.ui.memory_client import Event

ENGINE = ToyEngine(spread=0.2)
NAMES = ("motorbike", "crab", "cup", "piano")
CLASSES = ("dotted", "striped")
SPLIT = {
    split: [[f"{c}/{n}.png", k, c] for k, c in enumerate(CLASSES) for n in range(3)]
    for split in ("train", "val", "test")
}
LISTS = {
    "variants.txt": "dotted\nstriped\n",
    "images_variant_train.txt": "0 dotted\n1 striped\n",
    "images_variant_val.txt": "0 dotted\n1 striped\n",
    "images_variant_test.txt": "2 dotted\n2 striped\n",
    "classnames.txt": "dotted a dotted thing\nstriped a striped thing\n",
}
DESCRIPTIONS = {"cup": ["a cup has a handle", "one drinks from it"], "crab": ["it walks sideways"]}
LINK = "sample=motorcycle&classes=motorbike,crab&truth=motorbike&attack=pgd&budget=4&class=crab&view=3&side=clean&tab=inside"
EVENTS: tuple[dict[str, Any], ...] = (
    {"view": 3, "atom": 0, "k": 1},
    {"step": 1, "side": "clean"},
    {"points": [0, 1, 2, 5]},
    {"memory_k": 0, "slot": 0, "moment": 1},
    {"point": 0, "cloud_k": 1, "chip": 1, "sample": "motorcycle", "kind": "json"},
)

# --- valid things to start from


@cache
def pictures() -> tuple[bytes, ...]:
    """Small files of every format that is read, with the odd ones among them."""
    rgb, grey = photo(40, 36), photo(33, 40, 1)
    floats, deep = (rgb / 255).astype(np.float32), rgb.astype(np.uint16) * 257
    return (
        *(encoded(rgb, kind) for kind in ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "AVIF")),
        *(encoded(Image.fromarray(rgb), "TIFF", compression=c) for c in ("tiff_lzw", "tiff_adobe_deflate")),
        *(encoded(photo(40, 40, 4)), encoded(Image.fromarray(rgb).quantize(16), transparency=0)),
        encoded(Image.fromarray(grey.astype(np.uint16) * 257)),
        tiff(floats, colours=RGB, tile=16, compression=LZW, predictor=3),
        tiff(deep, colours=RGB, separate=True, compression=DEFLATE, predictor=2),
        tiff(grey[:, :, None].astype(np.uint16) * 16, colours=GREY, order=">", big=True),
        *(encoded(Image.fromarray(rgb).convert("CMYK"), "JPEG"), rotated_jpeg(6, 40, 30), gif(3)),
    )


@cache
def runs() -> tuple[Run, Run]:
    """Two pictures in a row: the second is decided from what the first left in the memory."""
    quick = RECOMMENDED.replace(attack="pgd", steps=2, views=8)
    first = run_picture(ENGINE, SAMPLES["motorcycle"].load(), NAMES, quick, label=0)
    return first, run_picture(ENGINE, SAMPLES["coffee"].load(), NAMES, quick, label=0, cache=first.cache_after)


@cache
def history() -> MemoryTable:
    table = MemoryTable()
    for run in runs():
        cut = ENGINE.view_pixels(run.attacked.picture, run.settings)
        table = table.with_picture("A picture", run.clean.picture.key, run, cut)
    return table


@cache
def memory() -> bytes:
    """The memory before the second picture, as the page exports it."""
    run = runs()[1]
    return memory_file.pack(history().until(-2), run.backbone.name, run.settings, alone=True)


@cache
def saved_run() -> bytes:
    return export.write_bundle(runs()[1], "<p>page</p>", memory(), {"rita-costs": "<svg/>"})


def tiny_model() -> Any:
    """The architecture of the checkpoints; few words make it small."""
    return open_clip.CLIP(**(TINY_CONFIG | {"text_cfg": TINY_CONFIG["text_cfg"] | {"vocab_size": 64}}))


@cache
def checkpoint(kind: str) -> bytes:
    model, buffer = tiny_model(), io.BytesIO()
    if kind == "safetensors":
        return save_safetensors(model.state_dict())
    tower = {"state_dict": {}, "vision_encoder_state_dict": model.visual.state_dict()}
    torch.save(tower if kind == "tower" else {"state_dict": model.state_dict()}, buffer)
    return buffer.getvalue()


# --- how they are broken

TEXTS = (
    *("", " ", "\0", "-1", "1e999", "NaN", "a" * 5_000, "\ud800", "\u202e", "<script>alert(1)</script>", "__class__"),
    *("../../../etc/passwd", "/etc/passwd", "C:\\x", "..", "a/../../b", "a\0b"),
    *("up", "linked", "secret.png", "cup, crab"),
)
NUMBERS = (-1, 0.5, 255, 10**6, 2**31, 2**63, 10**30, 10**400, 1e308, 5e-324, float("nan"), float("-inf"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from((*NUMBERS, *TEXTS)) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(TEXTS), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def raw(draw: Any, data: bytes) -> bytes:
    """Bytes cut, overwritten, repeated or removed; headers lie at the beginning."""
    made = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, min(len(made), 256)) | st.integers(0, len(made)))
        end = min(len(made), at + draw(st.sampled_from((0, 1, 4, 64, 4096, 10**9))))
        made[at:end] = draw(st.sampled_from((b"", b"\0" * 4, b"\xff" * 4, bytes(made[:64]))) | st.binary(max_size=8))
    return bytes(made)


@st.composite
def document(draw: Any, whole: Any) -> Any:
    """A JSON value with some of its nodes replaced or removed; deep ones as likely as shallow ones."""
    holder = [copy.deepcopy(whole)]
    for _ in range(draw(st.integers(1, 3))):
        node, key = holder, 0
        while isinstance(node[key], dict | list) and node[key] and draw(st.integers(0, 3)):
            node = node[key]
            key = draw(st.sampled_from(list(node)) if isinstance(node, dict) else st.integers(0, len(node) - 1))
        if node is not holder and not draw(st.integers(0, 3)):
            del node[key]
        else:
            node[key] = draw(JSON)
    return holder[0]


@st.composite
def text_of(draw: Any, whole: Any) -> bytes:
    """A broken document as a file."""
    data = json.dumps(draw(document(whole))).encode()
    return draw(st.sampled_from((data, data, data, b"[" * 100_000, data[:-1], b"\xff" + data)))


@st.composite
def zipped(draw: Any, data: bytes) -> bytes:
    """A zip with one member changed, dropped, renamed or twice, or with broken bytes."""
    if not draw(st.integers(0, 2)):
        return draw(raw(data))
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = [(name, file.read(name)) for name in file.namelist()]
    name, content = parts.pop(draw(st.integers(0, len(parts) - 1)))
    content = draw(text_of(json.loads(content)) if name.endswith(".json") else raw(content) | st.just(bytes(20 << 20)))
    parts += [(one, content) for one in draw(st.sampled_from(((name,),) * 4 + ((), ("../x",), (name, name))))]
    buffer = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(buffer, "w", draw(st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))) as file,
    ):
        for part in parts:
            file.writestr(*part)
    return buffer.getvalue()


@st.composite
def safetensors(draw: Any, data: bytes) -> bytes:
    """A file whose header is broken as JSON and fits again."""
    length = int.from_bytes(data[:8], "little")
    coded = json.dumps(draw(document(json.loads(data[8 : 8 + length])))).encode()
    return len(coded).to_bytes(8, "little") + coded + data[8 + length :]


@st.composite
def lists(draw: Any) -> dict[str, bytes]:
    files = {name: text.encode() for name, text in LISTS.items()}
    name = draw(st.sampled_from(list(LISTS)))
    rows = draw(st.lists(st.sampled_from((*LISTS.values(), *TEXTS)), max_size=3))
    files[name] = draw(raw(files[name])) if draw(st.booleans()) else "\n".join(rows).encode(errors="surrogatepass")
    return files


@cache
def form() -> dict[str, Any]:
    return run_request.form_values(runs()[0])


# --- what reads them


def read_picture(path: Path) -> None:
    square = open_picture(path).pixels
    assert (square.shape, square.dtype) == ((len(square), len(square), 3), np.uint8)
    assert 32 <= len(square) <= LARGEST_SIDE


def import_memory(path: Path) -> None:
    run = runs()[1]
    memory_file.unpack(memory_file.read_file(path), None, run.backbone.name, run.backbone.width)
    state = memory_file.unpack(memory_file.read_file(path), run.class_prompts, run.backbone.name).state_at()
    ENGINE.decide(run.clean.encoded_views, run.class_prompts, state, run.settings)


def open_run(path: Path) -> None:
    reopened(ENGINE, read_file(path)).first_picture()


def load_model(path: Path) -> None:
    load_weights(tiny_model(), path, "tiny")


def load_tower(path: Path) -> None:
    load_vision_weights(tiny_model(), path, "tiny:base")


def draw_folders(folder: Path) -> None:
    """Pictures of two classes, with links that lead up and around."""
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        for number in range(3):
            (folder / name / f"{number}.png").write_bytes(pictures()[0])
        (folder / name / "up").symlink_to("..")
    (folder / "around").symlink_to("around")


def read_split(path: Path) -> None:
    root = path.parent / "data"
    draw_folders(root / "dtd/images")
    (root / "dtd" / datasets.DATASETS["dtd"].listing).write_bytes(path.read_bytes())
    assert all(row.sentence for row in datasets.dataset_status(root))
    for entry in collect("dtd", root, "test", limit=4, allow_partial=True).stream(0):
        source = entry.source
        assert isinstance(source, Path)
        assert source.resolve().is_relative_to(root.resolve()), "leads outside the folder"


def read_lists(files: dict[str, bytes], folder: Path) -> None:
    draw_folders(folder / "images")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for reader, listing in (
        (split_files.aircraft_variants, "variants.txt"),
        (split_files.class_folders, "classnames.txt"),
    ):
        try:
            reader(folder, "images", listing)
        except DemoError as error:
            check_sentence(error, folder)


def find_stored(names: tuple[str, str], folder: Path) -> None:
    draw_folders(folder / "data/mine")
    (folder / "data/linked").symlink_to("mine")
    (folder / "secret.png").write_bytes(b"secret")
    path = find_picture(*names, folder / "data")
    assert ".." not in path.relative_to(folder / "data").parts
    assert path.read_bytes() != b"secret", "leads outside the folder"


def read_descriptions(path: Path) -> None:
    rows = descriptions.descriptions_for(("cup", "crab"), str(path))
    assert all(rows)
    "".join(map("".join, rows)).encode()


def open_link(query: Any, _: Path) -> None:
    query = {name: str(value) for name, value in query.items()} if isinstance(query, dict) else {}
    if (known := share_link.parse_link(query)) is not None:
        session = AttackDefendState(sample=known.sample)
        run_request.parse_request(known.form, session, 32, attack=known.attack)
        share_link.valid_selection({n: v for n, v in known.selection.items() if n != "k"}, runs()[0])


def click(data: Any, _: Path) -> None:
    event, session = Event(data), Session()
    session.show(runs()[1])
    session.history = history()
    select(session, Mark.read(html_buttons.event_data(event), session))
    share_link.query(session)
    assert all(n in range(7) for n in plotly_view.selected_points(event, 7))
    assert html_buttons.clicked_format(event, ("jsonl", "csv")) in ("jsonl", "csv")
    sample_gallery.clicked_sample(event)


@dataclass(frozen=True)
class Reader:
    """``cases``: makes the strategy. ``read``: what reads a case, a file of the name ``file`` or, without one, a value."""

    cases: Callable[[], st.SearchStrategy[Any]]
    read: Callable[..., object]
    file: str = ""


FOLDERS = ("mine", "mine:present", "linked", *TEXTS)
PARTS = st.lists(st.sampled_from(("dotted", "0.png", "\\", *TEXTS)), max_size=4).map("/".join)
READERS = {
    "picture": Reader(lambda: st.sampled_from(pictures()).flatmap(raw), read_picture, "a.png"),
    "memory": Reader(lambda: zipped(memory()), import_memory, "memory.zip"),
    "saved run": Reader(lambda: zipped(saved_run()), open_run, "run.zip"),
    "safetensors": Reader(lambda: safetensors(checkpoint("safetensors")), load_model, "model.safetensors"),
    "model.pt": Reader(lambda: zipped(checkpoint("model")), load_model, "model.pt"),
    "tower.pt": Reader(lambda: zipped(checkpoint("tower")), load_tower, "tower.pt"),
    "split file": Reader(lambda: text_of(SPLIT), read_split, "split.json"),
    "dataset lists": Reader(lists, read_lists),
    "stored picture": Reader(lambda: st.tuples(st.sampled_from(FOLDERS), PARTS), find_stored),
    "descriptions": Reader(lambda: text_of(DESCRIPTIONS), read_descriptions, "descriptions.json"),
    "link": Reader(lambda: document(dict(parse_qsl(LINK)) | form()), open_link),
    "form": Reader(
        lambda: st.dictionaries(st.sampled_from(list(form())), JSON, min_size=1, max_size=4).map(form().__or__),
        lambda given, _: run_request.parse_request(given, AttackDefendState(sample="motorcycle"), 32, attack=True),
    ),
    "event": Reader(lambda: st.sampled_from(EVENTS).flatmap(document) | JSON, click),
}


def check_sentence(error: DemoError, folder: Path) -> None:
    said = str(error)
    assert said.strip()
    assert len(said) <= 1_500, said
    assert "Traceback" not in said
    assert str(folder) not in said


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("count", [25, pytest.param(800, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", READERS)
def test_broken_input_gives_an_error_message(name, count, tmp_path, monkeypatch) -> None:
    reader = READERS[name]
    for place, variable in (("home", "HOME"), ("tmp", "TMPDIR")):
        (tmp_path / place).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / place))
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=timedelta(seconds=15),
        suppress_health_check=list(HealthCheck),
    )
    @given(reader.cases())
    def each(case: Any) -> None:
        # decoders remark on what they are given
        with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory(dir=tmp_path.parent) as made:
            folder = Path(made)
            try:
                if reader.file:
                    (folder / reader.file).write_bytes(case)
                    reader.read(folder / reader.file)
                else:
                    reader.read(case, folder)
            except DemoError as error:
                check_sentence(error, folder)

    each()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["home", "tmp"], "something was written"
