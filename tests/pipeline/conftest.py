"""One run as a zip, and zips with changed members."""

import io
import zipfile

import pytest

from rita_demo.engine.engine import Engine
from rita_demo.pipeline.export import write_bundle
from rita_demo.records import Run
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run

Members = dict[str, bytes]
PAGE, FIGURES = "<p>page</p>", {"rita-costs": "<svg/>"}


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="session")
def example_run() -> Run:
    return completed_run(ToyEngine(spread=0.2))


@pytest.fixture(scope="session")
def bundle_bytes(example_run: Run) -> bytes:
    return write_bundle(example_run, PAGE, None, FIGURES)


def members(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def make_zip(parts: Members, how: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", how) as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return buffer.getvalue()
