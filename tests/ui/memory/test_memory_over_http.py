"""The memory's tab over HTTP without a browser: forged events and files."""

from __future__ import annotations

import base64
import io
import json
import pickle
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from safetensors.numpy import load, save

from tests.ui.http_client import HttpClient, serve_fake_page

pytestmark = pytest.mark.slow


class MemoryHttpClient(HttpClient):
    """A visitor who uses the tab."""

    def open_tab(self) -> str:
        """Load the page and choose the tab: a tab that is open already is not drawn again."""
        self.open()
        return self.choose_tab("memory")

    def upload(self, name: str, data: bytes) -> dict[str, Any]:
        """Upload a file; what an event is given for it."""
        answer = self.http.post("gradio_api/upload", files={"files": (name, data)})
        return {"path": answer.json()[0], "orig_name": name, "meta": {"_type": "gradio.FileData"}}

    def import_file(self, data: bytes, name: str = "memory.safetensors") -> str:
        event = self.event("import", "upload")
        return self.call(event["id"], [None, self.upload(name, data)])

    def export(self, kind: str = "safetensors") -> bytes:
        answer = self.press("export", data={"kind": kind})
        code = answer.partition("base64,")[2].partition("\\")[0].partition('"')[0]
        return base64.b64decode(code)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_fake_page() as local:
        yield local


@pytest.fixture
def client(address: str) -> MemoryHttpClient:
    one = MemoryHttpClient(address)
    assert "agreement" in one.open_tab()
    return one


HOSTILE = [
    None,
    [],
    "x",
    7,
    {},
    {"k": "0", "slot": "0"},
    {"k": [0], "slot": [0]},
    {"k": 10**30, "slot": 0},
    {"k": -1, "slot": -1},
    {"k": 0.5, "slot": 0},
    {"k": True, "slot": True},
    {"k": None, "slot": {}},
    {"curve": 0, "index": 0, "data": [10**9]},
    {"curve": "x", "index": None, "data": "abc"},
    {"curve": 0, "index": 0, "data": [["0"]]},
    {"curve": 0, "index": 0, "data": ["NaN"]},
]


@pytest.mark.parametrize("element", ["contents", "plane", "distances"])
def test_forged_clicks_break_nothing(client: MemoryHttpClient, element: str) -> None:
    for data in HOSTILE:
        answer = client.press(element, data=data)
        assert "Something went wrong" not in answer
        assert "Traceback" not in answer
    assert "agreement" in client.open_tab()


def test_hostile_snapshots_and_uploads_give_an_error_message_and_the_tab_keeps_working(
    client: MemoryHttpClient,
) -> None:
    moment = client.event("moment", "input")["id"]
    for value in ("1", -1, 99, 0.5, None, [0], {}, True, 10**400):
        assert "Something went wrong" not in client.call(moment, [None, value])
    for element, kind, value in (("many", "upload", None), ("import", "upload", None)):
        event = client.event(element, kind)
        answer = client.call(event["id"], [None, value, False][: len(event["inputs"])])
        assert "No file arrived" in answer
    nothing_chosen = client.press("remove")
    assert "No stored view is chosen" in nothing_chosen
    assert "agreement" in client.open_tab()


def test_a_path_of_the_server_is_no_upload(client: MemoryHttpClient) -> None:
    event = client.event("import", "upload")
    for path in ("/etc/passwd", "app.py", "../../etc/passwd"):
        stolen = {"path": path, "meta": {"_type": "gradio.FileData"}}
        answer = client.call(event["id"], [None, stolen])
        assert "root:" not in answer
        assert "Imported" not in answer


def test_a_memory_of_another_model_or_vocabulary_gives_an_error_message(client: MemoryHttpClient) -> None:
    good = client.export()
    length = int.from_bytes(good[:8], "little")
    about = json.loads(json.loads(good[8 : 8 + length])["__metadata__"]["rita"])

    def changed(**changes: Any) -> bytes:
        return save(load(good), {"rita": json.dumps(about | changes)})

    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", bytes(16 << 20))
    spoilt = load(good)
    spoilt["feature"] = spoilt["feature"] * float("nan")
    cases = {
        "another model": changed(model="ViT-B-16:openai"),
        "other class names": changed(names=["a", "b"]),
        "not a memory of this page": changed(format="pickle"),
        "a number it can be": changed(slots=10**9),
        "not finite": save(spoilt, {"rita": json.dumps(about)}),
        "not a safetensors file": good[: len(good) // 50],
        "does not fit": bomb.getvalue(),
        "too short": b"x",
        "truncated": pickle.dumps({"a": 1}) * 3,
        "truncated or damaged": good[:-7],
    }
    for sentence, data in cases.items():
        answer = client.import_file(data)
        assert sentence in answer, sentence
        assert "Something went wrong" not in answer
    assert "Imported" in client.import_file(good)


def test_a_removed_view_is_missing_from_the_json(client: MemoryHttpClient) -> None:
    held = json.loads(client.export("json"))["held"]
    names = json.loads(client.export("json"))["names"]
    name = next(iter(held))
    client.press("contents", data={"k": names.index(name), "slot": 0})
    assert "Undo brings it back" in client.press("remove")
    after = json.loads(client.export("json"))
    count = len(after["held"].get(name, {"items": []})["items"])
    assert count == len(held[name]["items"]) - 1
    assert after["log"][-1]["title"].startswith("Removed view")
