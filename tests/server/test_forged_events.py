"""Events that no browser sends: a file that was not uploaded, values of other types, unknown endpoints and inputs."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rita_demo.server import events
from tests.data.hostile import encoded, photo
from tests.page_client import HttpClient
from tests.ui.http_client import build_toy_page, launch_page

pytestmark = pytest.mark.slow
FILE_INPUTS = {"uploadbutton", "file", "image"}


@pytest.fixture(scope="module")
def uploads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of uploads, with what others may have put there."""
    folder = tmp_path_factory.mktemp("forged") / "uploads"
    place = folder / "0123"
    (place / "folder").mkdir(parents=True)
    os.mkfifo(place / "pipe.png")
    secret = folder.parent / "secret.png"
    secret.write_bytes(encoded(photo(8, 8)))
    (place / "link.png").symlink_to(secret)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADIO_TEMP_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def address(uploads: Path) -> Iterator[str]:
    page = build_toy_page()
    yield launch_page(page)
    page.close(verbose=False)


def answer_with(visitor: HttpClient, value: object) -> Iterator[tuple[int, str]]:
    """The last message to every event with a file, where the file is ``value``."""
    for event in visitor.config["dependencies"]:
        for place, number in enumerate(event["inputs"]):
            if visitor.components[number]["type"] in FILE_INPUTS:
                visitor.http.timeout = 20
                inputs = [visitor._value(i, {}) for i in event["inputs"]]
                inputs[place] = value
                yield event["id"], visitor.call(event["id"], inputs).splitlines()[-1]


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "./app.py",
        "{uploads}/0123/folder",
        "{uploads}/0123/pipe.png",
        "{uploads}/0123/link.png",
        "{uploads}/0123/gone.png",
        "{uploads}/../secret.png",
        "http://127.0.0.1:1/x.png",
        "file:///etc/passwd",
        "x" * 5000,
        "",
        "a\0b",
        7,
        None,
    ],
)
def test_a_file_that_was_not_uploaded_is_refused_with_a_sentence(address, uploads, path, caplog) -> None:
    visitor, asked = HttpClient(address), 0
    visitor.open()
    path = path.format(uploads=uploads) if isinstance(path, str) else path
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    bare = [path] if isinstance(path, str) and path else []
    refusals = [events.NO_UPLOAD, "The page cannot read this request."]
    for value in (file, file | {"url": "http://127.0.0.1:1/", "orig_name": "../x"}, [file], {"path": path}, *bare):
        for event, answer in answer_with(visitor, value):
            asked += 1
            refused = answer.startswith("{")  # else it came into the queue
            said = json.loads(answer)["detail"] if refused else json.loads(answer[5:])["output"]["error"]
            assert any(said.startswith(one) for one in refusals), (event, said)
    assert asked >= 8  # the picture and the memory, each as four values or more
    assert not [one for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR]
    assert httpx.get(f"{address}health", timeout=5).json()["status"] == "ok"
    sent = visitor.http.post("gradio_api/upload", files={"files": ("x.png", encoded(photo(40, 40)))}).json()[0]
    (first, answer), *_ = answer_with(visitor, {"path": sent, "meta": {"_type": "gradio.FileData"}})
    assert json.loads(answer[5:])["success"], (first, "an uploaded file is accepted")


@pytest.mark.parametrize("data", [[], [None], ["x"] * 40, [{"a": 1}] * 3])
def test_values_that_no_component_takes_are_refused_with_a_sentence(address, data, caplog) -> None:
    visitor = HttpClient(address)
    visitor.open()
    for element in ("upload", "go"):
        number = visitor.events(element, "upload" if element == "upload" else "click")[-1]["id"]
        last = json.loads(visitor.call(number, data).splitlines()[-1][5:])
        assert not last["success"]
        assert last["output"]["error"].startswith("The page cannot read this request.")
    assert not [one for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR]


@pytest.mark.parametrize(
    ("name", "body", "status", "said"),
    [
        ("explian", {}, 404, "There is no endpoint 'explian'. Did you mean explain?"),
        ("explain", {"image": 1, "clases": "a,b"}, 400, "no input 'clases'. Did you mean classes?"),
        ("explain", {"classes": "a,b"}, 400, "The input 'image' is missing. Inputs: image,"),
    ],
)
def test_an_unknown_endpoint_or_input_is_named(address, name, body, status, said) -> None:
    answer = httpx.post(f"{address}gradio_api/call/v2/{name}", json=body)
    assert answer.status_code == status
    assert said in answer.json()["detail"]


def test_inputs_by_name_come_in_their_order_with_the_defaults_of_the_others(address: str, uploads: Path) -> None:
    picture = uploads / "0123" / "photo.png"
    picture.write_bytes(encoded(photo(8, 8)))
    given = {"budget": 300, "image": {"path": str(picture)}, "classes": "cup, crab"}
    call = httpx.post(f"{address}gradio_api/call/v2/attack", json=given).json()["event_id"]
    assert "budget" in httpx.get(f"{address}gradio_api/call/attack/{call}", timeout=30).text.lower()


def test_no_address_is_fetched_as_a_file(address: str) -> None:
    for url in ("http://127.0.0.1:1/x.png", "https://example.org/", "HTTP://127.0.0.1:1/"):
        assert httpx.get(f"{address}gradio_api/file={url}").status_code == 404
