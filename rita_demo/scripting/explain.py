"""One picture with a model that is loaded when it is needed, and the run as one page."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from rita_demo.data import memory_file
from rita_demo.data.descriptions import descriptions_for
from rita_demo.data.picture_sources import read_source
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import prompt_template
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import RunProgress
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.records.errors import SettingError


@cache
def load_engine(backbone: str) -> Engine:
    """The engine of a model, loaded once. Raises BackboneError: it cannot be loaded."""
    from rita_demo.engine.engine import Engine  # loads torch

    return Engine(backbone)


def explain(
    request: RunRequest,
    model: str | Engine,
    report: Callable[[RunProgress], object] = lambda _: None,
    memory: str | Path | None = None,
) -> tuple[Engine, Run]:
    """Open the picture, load the model, attack and defend, from an exported ``memory`` (None: an empty one) without what
    this picture added to it, as the page does. Errors of the input come before the model is loaded. Raises DemoError: what
    cannot be used."""
    if memory is not None and request.settings.protocol != "stream":
        raise SettingError(
            f"A memory is used with protocol=stream; got {request.settings.protocol}.", "Leave one of the two out."
        )
    exported = None if memory is None else memory_file.read_file(Path(memory))
    request = replace(request, picture=read_source(request.picture))
    open_picture(request.picture)
    descriptions_for(request.names, request.settings.descriptions)
    prompt_template(request.settings.hand_prompt, request.names)
    engine = load_engine(model) if isinstance(model, str) else model
    request, before = request.opened(engine.info.side), None
    if exported is not None:
        prompts = engine.encode_classes(request.names, request.settings)
        before = memory_file.unpack(exported, prompts, engine.info.name).cache_before(request.picture.key)
    return engine, run_to_end(request.run_steps(engine, before), report)


def page_html(engine: Engine, run: Run) -> str:
    """The run as one HTML page that needs no server and no network."""
    from rita_demo.ui.header.standalone_page import standalone  # loads Gradio

    return standalone(
        run, {s: engine.view_pixels(getattr(run, s).picture, run.settings) for s in ("clean", "attacked")}
    )
