"""Visitors of the real server, each with their own picture and class names, and the expected answers."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from rita_demo.data import record_file
from rita_demo.data.memory import MemoryTable, Moment
from rita_demo.data.pictures import open_picture
from rita_demo.data.samples import SAMPLES
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.engine.engine import Engine
from rita_demo.pipeline import bundle_read
from rita_demo.pipeline import run as run_module
from rita_demo.records import CacheEvent, Run
from rita_demo.settings import RECOMMENDED
from tests.data.hostile import encoded, photo
from tests.page_client import HttpClient

FAST_SETTINGS = {"steps": 2}  # so that twenty take a minute
SETTINGS = RECOMMENDED.replace(**FAST_SETTINGS)
NAMES = VOCABULARIES["caltech101"].names
CLASSES_PER_CLIENT = 5  # class names of one visitor


@dataclass(frozen=True)
class ClientRequest:
    """The request of visitor ``number``: five class names of their own; a sample, or (odd numbers) an upload."""

    number: int

    @property
    def names(self) -> tuple[str, ...]:
        return NAMES[self.number * CLASSES_PER_CLIENT : (self.number + 1) * CLASSES_PER_CLIENT]

    @property
    def sample(self) -> str | None:
        return None if self.number % 2 else list(SAMPLES)[self.number // 2 % len(SAMPLES)]

    @property
    def upload(self) -> bytes:
        return encoded(photo(96, 96, seed=self.number))

    def expected_run(self, engine: Engine) -> Run:
        """The answer, computed by a separate engine."""
        side = engine.info.side
        picture = SAMPLES[self.sample].load() if self.sample else open_picture(self.upload, side=side)
        return run_module.run_picture(engine, picture, self.names, SETTINGS)


class LoadClient(HttpClient):
    """A visitor."""

    def __init__(self, address: str, request: ClientRequest, config: dict[str, Any] | None = None, **http: Any) -> None:
        super().__init__(address, config, **http)
        self.http.timeout = 600
        self.request = request
        assert '"success":true' in self.open()

    def run(self, **changes: Any) -> str:
        """Hand the picture in and press the button."""
        return "\n".join(self.stream_run(**changes))

    def stream_run(self, **changes: Any) -> Iterator[str]:
        """The same line by line; who stops reading has closed the page."""
        go = self.event("go", "click")
        yield from self.stream(go, **self._uploaded_form(changes))

    def _uploaded_form(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The picture is on the server; the form that goes with it."""
        form = {f"setting_{name}": value for name, value in (FAST_SETTINGS | changes).items()}
        form |= {"vocabulary": "own", "own_names": ",".join(self.request.names), "truth": "not given"}
        if self.request.sample:
            self.choices += 1
            click = self.events("samples", "click")[0]
            self.call(click["id"], self._inputs(click, form), {"sample": self.request.sample})
        else:
            self.upload(self.request.upload)
        return form

    def select_view(self, view: int) -> str:
        """Choose a view; what the address bar shows then, "" where the picture is an upload."""
        answer = self.press("in-views", data={"view": view})
        found = re.findall(r'"(sample=[^"\\]*)', answer)  # JSON within JSON
        return found[-1] if found else ""

    def saved_run(self) -> bundle_read.SavedRun:
        """The run as “Save this run” hands it over."""
        return bundle_read.read(self._download("save-run", {"figures": {}}))

    def exported_memory(self) -> MemoryTable:
        """What is remembered, as the page exports it."""
        self.choose_room("memory")
        data = self._download("export", {"kind": "zip"})
        return record_file.unpack(data, "memory", (MemoryTable, Moment, CacheEvent))["memory"]

    def _download(self, element: str, data: dict[str, Any]) -> bytes:
        code = re.findall(r"base64,([A-Za-z0-9+/=]+)", self.press(element, data=data))
        return base64.b64decode(code[0])


def view_in(query: str) -> str | None:
    """The view that a query string names."""
    return parse_qs(query).get("view", [None])[0]
