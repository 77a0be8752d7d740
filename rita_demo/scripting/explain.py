"""One picture with a model that is loaded when it is needed, and the run as one page."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from rita_demo.data.descriptions import descriptions_for
from rita_demo.data.picture_sources import Source, read_source
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import prompt_template
from rita_demo.defences.registry import add_entry_points
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import RunProgress, run_picture_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.settings import Settings


@cache
def load_installed_defences() -> None:
    """Load the defences of installed packages, once; what is wrong with one is a warning."""
    for fault in add_entry_points():
        warnings.warn(fault, stacklevel=3)


@cache
def load_engine(backbone: str) -> Engine:
    """The engine of a model, loaded once. Raises BackboneError: it cannot be loaded."""
    from rita_demo.engine.engine import Engine  # loads torch

    return Engine(backbone)


def explain(
    image: Source,
    names: Sequence[str],
    settings: Settings,
    model: str | Engine,
    report: Callable[[RunProgress], object] = lambda _: None,
    **options: Any,
) -> tuple[Engine, Run]:
    """Open a picture, load the model, attack and defend. Errors of the input come before the model is loaded.

    ``options``: those of :func:`rita_demo.pipeline.run.run_picture_steps`. Raises DemoError: what cannot be used.
    """
    image = read_source(image)
    open_picture(image)
    descriptions_for(names, settings.descriptions)
    prompt_template(settings.hand_prompt, names)
    engine = load_engine(model) if isinstance(model, str) else model
    picture = open_picture(image, square=settings.square, side=engine.info.side)
    return engine, run_to_end(run_picture_steps(engine, picture, names, settings, **options), report)


def page_html(engine: Engine, run: Run) -> str:
    """The run as one HTML page that needs no server and no network."""
    from rita_demo.ui.header.standalone_page import standalone  # loads Gradio

    return standalone(
        run, {s: engine.view_pixels(getattr(run, s).picture, run.settings) for s in ("clean", "attacked")}
    )
