"""The page with the toy engine, built or on a port."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread
from types import SimpleNamespace
from typing import Any

import gradio as gr

from rita_demo.defences.registry import DEFENCES
from rita_demo.server.launch import PageServer
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.page import build
from tests.live_server import free_port, wait_until
from tests.toy_model import ToyEngine

ENGINE = ToyEngine(spread=0.2)


@cache
def ready_example(engine: ToyEngine, defences: tuple[str, ...]) -> WorkedExample:
    """The worked example of an engine with these defences, computed once for all pages that have them."""
    example = WorkedExample(engine)
    example.start()
    assert example.wait(120, complete=True)
    return example


def build_toy_page(engine: ToyEngine = ENGINE, **options: Any) -> gr.Blocks:
    """A page with the toy engine whose worked example is ready."""
    return build(engine, example=ready_example(engine, tuple(DEFENCES)), **options)


def launch_page(page: gr.Blocks, *options: Any, host: str = "127.0.0.1", port: int | None = None) -> str:
    """Serve the page as app.py does, in a thread, until ``page.close()``; returns its address."""
    server = PageServer(page, host, port or free_port(), *options)
    thread = Thread(target=server.run, daemon=True)

    def close() -> None:
        server.should_exit = True
        thread.join(10)

    page.server = SimpleNamespace(close=close)
    thread.start()
    assert wait_until(lambda: server.started, 60, 0.01)
    return server.address


@contextmanager
def served(page: gr.Blocks) -> Iterator[str]:
    """The page on a port until the end of the block; gives its address."""
    try:
        yield launch_page(page)
    finally:
        page.close(verbose=False)


@contextmanager
def serve_toy_page(engine: ToyEngine = ENGINE, **options: Any) -> Iterator[str]:
    """The same, served."""
    with served(build_toy_page(engine, **options)) as local:
        yield local
