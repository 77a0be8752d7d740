"""Saved on the page, reopened as the page's first picture: the same verdicts, from the same memory."""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo import bundle
from rita_demo import story as telling
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import DemoError
from rita_demo.records import Story
from rita_demo.ui.ask import form_of, read_ask
from rita_demo.ui.example import show_example
from rita_demo.ui.reopened import ReopenedRun, compared
from rita_demo.ui.saving import LARGEST_FIGURE, LARGEST_FIGURES, MOST_FIGURES, figures, zipped
from rita_demo.ui.sessions import Session
from tests.ui.conftest import NAMES
from tests.ui.fake import FakeEngine
from tests.ui.stranger import Stranger, served
from tests.ui.visit import Event


@pytest.fixture(scope="module")
def visitor(story: Story) -> Session:
    """Somebody whose second picture, an upload, was decided from a memory."""
    engine, session = FakeEngine(spread=0.2), Session()
    session.show(story)
    session.crops["attacked"] = engine.view_pixels(story.attacked.picture, story.settings)
    session.remember(story, "A motorbike")
    upload = SAMPLES["coffee"].load()
    one = telling.tell(
        engine, upload, NAMES, story.settings, label=0, target=2, methods=("mta",),
        cache=session.history.before(upload.key),
    )  # fmt: skip
    assert one.cache_before.count.sum() > 0
    session.show(one)
    return session


@pytest.fixture(scope="module")
def saved(visitor: Session) -> bytes:
    return zipped(visitor, FakeEngine(spread=0.2), {"rita-costs": "<svg>"})


def reopened(data: bytes, engine: FakeEngine) -> ReopenedRun:
    again = ReopenedRun(engine, bundle.read(data))
    again.start()
    assert again.wait(60, film=True)
    assert again.ready is not None, again.sentence
    return again


def test_an_upload_with_a_memory_comes_back_with_every_number(
    visitor: Session, saved: bytes
) -> None:
    ready = reopened(saved, FakeEngine(spread=0.2)).ready
    assert ready is not None
    assert visitor.story is not None
    for side in ("clean", "attacked"):
        one, other = getattr(visitor.story, side), getattr(ready.story, side)
        assert np.array_equal(one.picture.pixels, other.picture.pixels)
        assert np.array_equal(one.trace.total, other.trace.total)
        assert {m: v.label for m, v in one.verdicts.items()} == {m: v.label for m, v in other.verdicts.items()}  # fmt: skip
    said = "A saved run, made again: all 8 answers and every pixel are those in the file."
    assert (ready.said, ready.warning) == (said, None)
    page = Session()
    show_example(page, ready)
    assert page.told is None  # no link to a picture of one's own
    now = page.history.now
    assert now is not None
    known = [i for items in now.held.values() for i in items if i.born < now.pictures - 1]
    assert known
    assert all(item.thumb is not None for item in known)


def test_the_form_of_a_story_asks_for_the_same_again(visitor: Session) -> None:
    assert visitor.story is not None
    visitor.source = bundle.read(zipped(visitor, FakeEngine(), {})).clean
    ask = read_ask(form_of(visitor.story), visitor, 32, attack=True)
    told = visitor.story
    assert (ask.names, ask.settings, ask.methods) == (told.bank.names, told.settings, told.methods)
    assert (ask.label, ask.target, ask.picture.key) == (0, 2, told.clean.picture.key)


def test_another_model_is_named_with_what_differs(saved: bytes) -> None:
    other = FakeEngine(spread=1.0)
    other.info = replace(other.info, name="other")
    again = reopened(saved, other)
    assert again.ready is not None
    said = str(again.ready.warning)
    assert (
        "made with the model fake; this page uses other. Its memory belongs to that model" in said
    )
    assert "Ensemble, attacked picture: motorbike in the file, crab here." in said


def test_a_memory_that_was_changed_is_refused_before_the_page_is_served(saved: bytes) -> None:
    run = bundle.read(saved)
    assert run.memory is not None
    for memory in (b"", run.memory[:-9], run.memory.replace(b"rita-demo memory 1", b"rita-demo memory 2")):  # fmt: skip
        with pytest.raises(DemoError):
            ReopenedRun(FakeEngine(), replace(run, memory=memory))


def test_no_run_no_file() -> None:
    with pytest.raises(DemoError, match="no run to save"):
        zipped(Session(), FakeEngine(), {})


def test_a_difference_is_not_hidden(visitor: Session, saved: bytes) -> None:
    run, story = bundle.read(saved), visitor.story
    assert story is not None
    forged = run.answers | {("clean", "clip"): ("piano", 0.9)}
    _, warning = compared(replace(run, answers=forged), story)
    assert "CLIP, clean picture: piano in the file, motorbike here." in str(warning)


@pytest.mark.parametrize(
    "sent",
    [
        None, 3, [], {"figures": []}, {"figures": {"../../x": "<svg/>"}}, {"figures": {"x": 3}},
        {"figures": {"x": "<script>"}}, {"figures": {"x": "<svg" + "x" * LARGEST_FIGURE}},
        {"figures": {"": "<svg/>"}}, {"figures": {"X.svg": "<svg/>"}},
    ],
)  # fmt: skip
def test_figures_that_a_stranger_forged_are_left_out(sent: Any) -> None:
    assert figures(Event(sent)) == {}


def test_a_few_figures_are_taken_and_lone_surrogates_break_nothing() -> None:
    sent = {"figures": {f"f{n}": "<svg>\ud800</svg>" for n in range(99)}}
    found = figures(Event(sent))
    assert len(found) == MOST_FIGURES
    assert set(found.values()) == {"<svg>?</svg>"}


def test_figures_that_are_too_large_together_get_a_sentence() -> None:
    one = "<svg" + "x" * (LARGEST_FIGURE - 4)
    most = LARGEST_FIGURES // LARGEST_FIGURE
    sent = {"figures": {f"f{n}": one for n in range(most + 1)}}
    with pytest.raises(DemoError, match="larger than what can be saved"):
        figures(Event(sent))
    sent["figures"].popitem()
    assert len(figures(Event(sent))) == most


@pytest.mark.slow
def test_each_visitor_saves_his_own_run_and_no_path_of_the_server() -> None:
    with served() as address:
        one, two = Stranger(address), Stranger(address)
        assert "Reload the page" in one.press("save-run")
        one.open()
        two.open()
        two.press("go", knob_attack_seed=5)
        runs = []
        for visitor in (one, two):
            answer = visitor.press("save-run", data={"figures": {"rita-plan": "<svg/>"}})
            code = re.search(r"base64,([A-Za-z0-9+/=]+)", answer)
            assert code
            runs.append(base64.b64decode(code[1]))
        seeds = [bundle.read(data).settings.attack_seed for data in runs]
        assert seeds == [0, 5]
        with zipfile.ZipFile(io.BytesIO(runs[0])) as file:
            text = b"".join(
                file.read(n) for n in file.namelist() if not n.endswith(("html", "png"))
            )
            assert json.loads(file.read("result.json"))["classes"][0]
        assert not re.search(rb"/(home|root|work|tmp|usr)/", text)
