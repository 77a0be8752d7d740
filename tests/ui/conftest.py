"""A story told by the fake engine, once for all tests of the page, and its tabs without a server."""

from __future__ import annotations

from typing import Any

import gradio as gr
import pytest

from rita_demo import story as telling
from rita_demo.data.samples import SAMPLES
from rita_demo.records import Story
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.board import Board, Updates
from rita_demo.ui.desk import Desk, Engines
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.inside import Inside
from rita_demo.ui.memory import MemoryTab
from rita_demo.ui.notice import Notice
from rita_demo.ui.page import build
from rita_demo.ui.sessions import Session, Sessions
from tests.ui.fake import FakeEngine
from tests.ui.visit import Visit

NAMES = ("motorbike", "crab", "cup", "piano")


def told(engine: FakeEngine, *, attack: str = "pgd", label: int | None = 0) -> Story:
    """A motorbike that is attacked to look like a crab."""
    picture = SAMPLES["motorcycle"].load()
    return telling.tell(engine, picture, NAMES, RECOMMENDED.but(attack=attack), label=label)


def inside_tab(engine: FakeEngine) -> Inside:
    """The second tab of a page that was never launched."""
    made: list[Inside] = []
    wire = Inside.wire

    def spy(self: Inside, *tabs: Any) -> None:
        made.append(self)
        wire(self, *tabs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Inside, "wire", spy)
        build(engine, example=WorkedExample(engine, candidates=()), sessions=Sessions())
    return made[0]


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(spread=0.2)


@pytest.fixture(scope="session")
def story() -> Story:
    """The defence works."""
    return told(FakeEngine(spread=0.2))


@pytest.fixture(scope="session")
def lost() -> Story:
    """The defence fails."""
    return told(FakeEngine(spread=1.0))


@pytest.fixture(scope="session")
def defended() -> Story:
    """Nothing was attacked."""
    return told(FakeEngine(), attack="none", label=None)


@pytest.fixture
def session(story: Story) -> Session:
    """A visitor who looks at the story."""
    visitor = Session()
    visitor.show(story)
    return visitor


@pytest.fixture(scope="module")
def memory_tab() -> MemoryTab:
    """The third tab, built once; every test has its own visitor."""
    engine = FakeEngine(spread=0.2)
    with gr.Blocks(), gr.Tabs(), gr.Tab("Memory") as holder:
        desk = Desk(
            Engines(engine), Sessions(), WorkedExample(engine), Board(), Notice(), gr.HTML(),
            gr.State(""),
        )  # fmt: skip
        built = MemoryTab(desk, holder)
        built.wire([])
    return built


@pytest.fixture
def visit(memory_tab: MemoryTab, story: Story) -> Visit:
    return Visit(memory_tab, story)


def whole(in_turn: InTurn, session: Session, first: Updates) -> Updates:
    """What both events of a touch answer; ``first`` is what the handler returned."""
    return first | in_turn.rest(session)
