"""A memory is exported and imported over HTTP without a browser; what is forged is refused, and the room keeps working."""

import base64

import pytest

from tests.page_client import HttpClient
from tests.pipeline.test_memory_file import with_changes
from tests.ui.http_client import serve_toy_page

pytestmark = pytest.mark.slow


def test_forged_events_and_files_give_an_error_message_and_the_tab_keeps_working() -> None:
    """``tests/pipeline/test_memory_file.py`` has every way in which a file can be wrong."""
    with serve_toy_page() as address:
        client = HttpClient(address)
        client.open()
        assert "What the memory holds, by class" in client.choose_room("memory")
        menu, moment, offer = (
            client.event(*one)["id"]
            for one in (("memory-menu", "input"), ("moment", "input"), ("memory-effect", "click"))
        )
        upload = client.event("import", "upload")["id"]

        def imported(data: bytes) -> str:
            file = client.http.post("gradio_api/upload", files={"files": ("memory.zip", data)}).json()[0]
            meta = {"orig_name": "memory.zip", "meta": {"_type": "gradio.FileData"}}
            return client.call(upload, [None, {"path": file} | meta])

        assert "It holds" in client.call(menu, [None, "0"]), "instead of the stored stream"
        answers = [client.call(moment, [None, value]) for value in ("1", -1, 99, 0.5, None, [0], {}, True, 10**400)]
        answers += [client.call(offer, [None], data={"name": name}) for name in (None, "../x", 7, ["0"], "99")]
        answers.append(client.press("remove"))
        assert "No file arrived" in client.call(upload, [None, None])
        exported = client.press("export", data={"kind": "zip"})
        good = base64.b64decode(exported.partition("base64,")[2].partition("\\")[0].partition('"')[0])
        for sentence, data in (
            ("another model", with_changes(good, model="ViT-B-16:openai")),
            ("not a zip file", b"no zip"),
        ):
            answers.append(imported(data))
            assert sentence in answers[-1]
        assert not [text for text in answers if "Something went wrong" in text or "Traceback" in text]
        assert "Imported" in imported(good)
        client.open()
        assert "It holds" in client.choose_room("memory")
