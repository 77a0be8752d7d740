"""The page with the toy engine, built or on a port."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import gradio as gr

from rita_demo.defences.registry import DEFENCES
from rita_demo.server.gradio_patches import patch_gradio
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.page import build, launch_options
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


@contextmanager
def served(page: gr.Blocks) -> Iterator[str]:
    """The page on a port until the end of the block, with the project's patches of Gradio; gives its address."""
    patch_gradio()
    _, local, _ = page.launch(prevent_thread_lock=True, quiet=True, **launch_options())
    try:
        yield local
    finally:
        page.close(verbose=False)


@contextmanager
def serve_toy_page(engine: ToyEngine = ENGINE, **options: Any) -> Iterator[str]:
    """The same, served."""
    with served(build_toy_page(engine, **options)) as local:
        yield local
