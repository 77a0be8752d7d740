"""The embedded model's engine, loaded while the page already answers. Importing this module loads no torch."""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, cast

from safetensors import safe_open

from rita_demo.engine.protocol import Engine
from rita_demo.process import logging as process_logging
from rita_demo.process.shutdown import SHUTDOWN, ShuttingDown
from rita_demo.process.text_file import read_text
from rita_demo.records import BackboneInfo
from rita_demo.records.errors import BackboneError, DemoError
from rita_demo.settings.models import BACKBONES, EMBEDDED, EMBEDDED_DIR, WEIGHTS_FILE

LOADING = "The model is loading"
POLL_SECONDS = 1.0
#: A first visitor who opens the page within this time gets it before the import of torch, which would slow both down.
HEAD_START_SECONDS = 3.0


class LoadingEngine:
    """An engine that a thread loads. Every use waits until it is loaded, and raises the error if it cannot be; only
    ``info``, which is ``known`` before, does not wait."""

    def __init__(self, known: BackboneInfo, load: Callable[[], Engine]) -> None:
        self._known, self._load = known, load
        self._engine: Engine | None = None
        self._failure: DemoError | None = None
        self._wanted, self._ended = threading.Event(), threading.Event()
        # no daemon: the interpreter must not exit while a thread imports torch
        self._thread = threading.Thread(target=self._work, name="engine")

    def as_engine(self) -> Engine:
        """This, for a type checker: :meth:`__getattr__` gives it every method."""
        return cast(Engine, self)

    def start(self, head_start: float = HEAD_START_SECONDS) -> None:
        """Load when the model is wanted, and after ``head_start`` seconds anyway."""
        self._head_start = head_start
        self._thread.start()

    @property
    def info(self) -> BackboneInfo:
        return self._known if self._engine is None else self._engine.info

    @property
    def failure(self) -> DemoError | None:
        """Why the model could not be loaded, or can no longer be used."""
        return self._failure if self._engine is None else failure_of(self._engine)

    def loading_steps(self, *, wanted: bool) -> Iterator[float]:
        """Wait for the end of loading, yielding the seconds that have passed. ``wanted``: load at once."""
        begin = time.perf_counter()
        if wanted:
            self._wanted.set()
        while not self._ended.wait(POLL_SECONDS):
            yield time.perf_counter() - begin

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._wanted.set()
        self._ended.wait()
        if self._failure is not None:
            raise self._failure
        return getattr(self._engine, name)

    def _work(self) -> None:
        self._wanted.wait(self._head_start)
        try:
            if SHUTDOWN.draining:
                raise ShuttingDown
            self._engine = self._load()
        except DemoError as error:
            self._failure = error
        except Exception as error:
            number = process_logging.log_error("the model cannot be loaded", error)
            self._failure = BackboneError(
                "The model could not be loaded.", f"The log says why; the number is {number}."
            )
        finally:
            self._ended.set()


def loading_steps(engine: Engine, *, wanted: bool = True) -> Iterator[float]:
    """:meth:`LoadingEngine.loading_steps` of any engine: another one is loaded."""
    return engine.loading_steps(wanted=wanted) if isinstance(engine, LoadingEngine) else iter(())


def failure_of(engine: Engine) -> DemoError | None:
    """Why an engine could not be loaded, or can no longer be used."""
    return getattr(engine, "failure", None)


def embedded_info() -> BackboneInfo | None:
    """The embedded model's name and sizes, from its files; device and precision are known when it is loaded. None: the
    files are incomplete, and loading the model says how."""
    try:
        config = json.loads(read_text(EMBEDDED_DIR / "open_clip_config.json"))["model_cfg"]
        with safe_open(EMBEDDED_DIR / WEIGHTS_FILE, "numpy"):  # the header, and that the file is as long as it says
            side, width = int(config["vision_cfg"]["image_size"]), int(config["embed_dim"])
    except Exception:
        return None
    entry = BACKBONES[EMBEDDED]
    return BackboneInfo(EMBEDDED, entry.title, entry.parameters, side, width, "", "", math.nan, entry.note)
