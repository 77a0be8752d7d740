"""Runs of the toy engine, shared by all tests of the page, and tabs without a server."""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from gradio.routes import App
from PIL import Image

from rita_demo.data.samples import SAMPLES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline import run as run_module
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.framework.panels import TOPICS, Updates
from rita_demo.ui.framework.selection import choose
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.memory.tab import MemoryTab
from rita_demo.ui.page import build
from rita_demo.ui.session.session import STORY, Session
from tests.toy_model import ToyEngine
from tests.ui.memory_client import MemoryClient

NAMES = ("motorbike", "crab", "cup", "piano")


def completed_run(engine: ToyEngine, *, attack: str = "pgd", label: int | None = 0, **changes: Any) -> Run:
    """A motorbike that is attacked to look like a crab, with the recommended settings and these changes."""
    picture, settings = SAMPLES["motorcycle"].load(), RECOMMENDED.replace(attack=attack, **changes)
    return run_module.run_picture(engine, picture, NAMES, settings, label=label)


def shown(run: Run, **options: Any) -> Session:
    """A visitor with that run on screen."""
    visitor = Session()
    visitor.show(run, **options)
    return visitor


def build_tabs(kinds: Sequence[type[Any]], engine: Engine, **options: Any) -> dict[type[Any], Any]:
    """The tabs of these classes, in a page that is never launched."""
    made = dict[type[Any], Any]()
    with pytest.MonkeyPatch.context() as patch:
        for kind in kinds:

            def spy(self: Any, *args: Any, bind: Any = kind.bind_events) -> None:
                made[type(self)] = self
                bind(self, *args)

            patch.setattr(kind, "bind_events", spy)
        patch.setattr(App, "create_app", lambda *_, **__: None)
        build(engine, example=WorkedExample(engine, candidates=()), **options)
    return made


def build_tab(kind: type[Any], engine: Engine, **options: Any) -> Any:
    return build_tabs([kind], engine, **options)[kind]


def saved_file(value: str) -> bytes:
    """The file that a button gives the browser."""
    return base64.b64decode(json.loads(value)["address"].partition("base64,")[2])


def make_inside_tab(engine: ToyEngine) -> InsideTab:
    return build_tab(InsideTab, engine)


@pytest.fixture
def engine() -> ToyEngine:
    return ToyEngine(spread=0.2)


@pytest.fixture(scope="session")
def example_run() -> Run:
    """The defence works."""
    return completed_run(ToyEngine(spread=0.2))


@pytest.fixture(scope="session")
def failed_run() -> Run:
    """The defence fails."""
    return completed_run(ToyEngine(spread=1.0))


@pytest.fixture(scope="session")
def defend_only_run() -> Run:
    """Nothing was attacked."""
    return completed_run(ToyEngine(), attack="none", label=None)


@pytest.fixture
def session(example_run: Run) -> Session:
    """A visitor with the run on screen."""
    return shown(example_run)


@pytest.fixture(scope="session")
def inside_tab() -> InsideTab:
    """The tab *Inside RITA*, built once; every test has its own visitor."""
    return make_inside_tab(ToyEngine(spread=0.2))


@pytest.fixture(scope="session")
def memory_tab() -> MemoryTab:
    """The tab *Memory*, in the same way."""
    return build_tab(MemoryTab, ToyEngine(spread=0.2))


@pytest.fixture
def coffee_file(tmp_path: Path) -> str:
    path = tmp_path / "coffee.png"
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(path)
    return str(path)


@pytest.fixture
def client(memory_tab: MemoryTab, example_run: Run) -> MemoryClient:
    return MemoryClient(memory_tab, example_run)


def open_room(tab: Any, visitor: str, name: str = "") -> Updates:
    """What the visitor gets when the room, or another one by its id, comes to sight and has to be drawn."""
    session = tab.context.sessions.get(visitor)
    session.touch(*TOPICS)
    return tab.context.panels.open(session, name or tab.room)


def chosen(tab: Any, visitor: str, **named: Any) -> Updates:
    """What the visitor gets first when they choose what is named in the room of a tab."""
    return choose(tab.context, tab.room, visitor, named)


def form_shown(tab: Any, session: Session) -> Updates:
    """What the form shows when the visitor goes to the Story."""
    return tab.context.panels.draw(session, STORY)


def drawn(tab: Any, session: Session, answer: Updates) -> Updates:
    """What the visitor sees of an event's ``answer``: also what the room in sight draws then."""
    return answer | tab.context.panels.draw(session, session.room)
