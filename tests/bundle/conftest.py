"""One story as a zip, and zips taken apart and put together again."""

from __future__ import annotations

import io
import zipfile

import pytest

from rita_demo.bundle import pack
from rita_demo.records import Story
from tests.ui.conftest import told
from tests.ui.fake import FakeEngine

Members = dict[str, bytes]
PAGE, FIGURES = "<p>page</p>", {"rita-costs": "<svg/>"}


@pytest.fixture(scope="session")
def story() -> Story:
    return told(FakeEngine(spread=0.2))


@pytest.fixture(scope="session")
def good(story: Story) -> bytes:
    return pack(story, PAGE, None, FIGURES)


def members(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts: Members, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()
