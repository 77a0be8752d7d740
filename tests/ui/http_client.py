"""The page with the fake engine, built or on a port."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr

from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.page import build, launch_options
from tests.ui.fake_engine import FakeEngine


def build_fake_page(engine: FakeEngine | None = None, **options: Any) -> gr.Blocks:
    """A page with the fake engine whose worked example is ready."""
    engine = engine or FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    page = build(engine, example=example, **options)
    assert example.wait(120, complete=True)
    return page


@contextmanager
def serve_fake_page(engine: FakeEngine | None = None, **options: Any) -> Iterator[str]:
    """The same, served until the end of the block; gives its address."""
    page = build_fake_page(engine, **options)
    _, local, _ = page.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    try:
        yield local
    finally:
        page.close()
