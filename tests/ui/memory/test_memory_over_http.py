"""The memory's tab over HTTP without a browser: forged events and files."""

import base64
import pickle
from collections.abc import Iterator

import pytest

from tests.page_client import HttpClient
from tests.pipeline.test_memory_file import with_changes
from tests.ui.http_client import serve_toy_page

pytestmark = pytest.mark.slow


def assert_harmless(answer: str) -> None:
    for text in ("Something went wrong", "Traceback"):
        assert text not in answer


class MemoryHttpClient(HttpClient):
    """A visitor who uses the tab."""

    def open_tab(self) -> str:
        """Load the page and choose the tab: a tab that is open already is not drawn again."""
        self.open()
        return self.choose_room("memory")

    def choose(self, memory: str) -> str:
        """Choose a memory in the menu."""
        return self.call(self.event("memory-menu", "input")["id"], [None, memory])

    def import_file(self, data: bytes) -> str:
        name = "memory.zip"
        answer = self.http.post("gradio_api/upload", files={"files": (name, data)})
        file = {"path": answer.json()[0], "orig_name": name, "meta": {"_type": "gradio.FileData"}}
        return self.call(self.event("import", "upload")["id"], [None, file])

    def export(self) -> bytes:
        answer = self.press("export", data={"kind": "zip"})
        code = answer.partition("base64,")[2].partition("\\")[0].partition('"')[0]
        return base64.b64decode(code)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_toy_page() as local:
        yield local


@pytest.fixture
def client(address: str) -> MemoryHttpClient:
    one = MemoryHttpClient(address)
    assert "What the memory holds, by class" in one.open_tab()
    assert "It holds" in one.choose("0")  # instead of the stored stream
    return one


def test_hostile_snapshots_and_uploads_give_an_error_message_and_the_tab_keeps_working(
    client: MemoryHttpClient,
) -> None:
    moment = client.event("moment", "input")["id"]
    for value in ("1", -1, 99, 0.5, None, [0], {}, True, 10**400):
        assert "Something went wrong" not in client.call(moment, [None, value])
    assert "No file arrived" in client.call(client.event("import", "upload")["id"], [None, None])
    offer = client.event("memory-effect", "click")["id"]
    for name in (None, "../x", 7, ["0"], "99"):
        assert_harmless(client.call(offer, [None], data={"name": name}))
    assert_harmless(client.press("remove"))
    assert "It holds" in client.open_tab()


def test_a_memory_of_another_model_or_vocabulary_gives_an_error_message(client: MemoryHttpClient) -> None:
    """``tests/pipeline/test_memory_file.py`` has every way in which a file can be wrong."""
    good = client.export()
    cases = {
        "another model": with_changes(good, model="ViT-B-16:openai"),
        "other class names": with_changes(good, names=("a", "b")),
        "not a zip file": pickle.dumps({"a": 1}) * 3,
        "cut off": good[:-7],
    }
    for sentence, data in cases.items():
        answer = client.import_file(data)
        assert sentence in answer, sentence
        assert_harmless(answer)
    assert "Imported" in client.import_file(good)
