"""Saved on the page, reopened as the page's first picture: the same verdicts, from the same memory."""

import base64
import io
import json
import re
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import bundle_read
from rita_demo.pipeline import run as run_module
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.ui.background.worked_example import WorkedExample, reopened
from rita_demo.ui.header.save_run import MAX_FIGURE_LENGTH, MAX_FIGURES, MAX_TOTAL_LENGTH, posted_figures, run_zip
from rita_demo.ui.session.session import Session
from tests.page_client import HttpClient
from tests.pipeline.test_memory_file import with_changes
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, shown
from tests.ui.http_client import serve_toy_page
from tests.ui.memory_client import Event


@pytest.fixture(scope="module")
def visitor(example_run: Run) -> Session:
    """A visitor whose second picture, an upload, was decided from a cache."""
    engine, session = ToyEngine(spread=0.2), shown(example_run)
    session.crops["attacked"] = engine.view_pixels(example_run.attacked.picture, example_run.settings)
    session.add_to_history(example_run, "A motorbike")
    upload = SAMPLES["coffee"].load()
    asked = {"label": 0, "target": 1, "methods": ("mta",), "cache": session.history.cache_before(upload.key)}
    one = run_module.run_picture(engine, upload, NAMES, example_run.settings, **asked)
    assert one.cache_before.count.sum() > 0
    session.show(one)
    return session


@pytest.fixture(scope="module")
def saved(visitor: Session) -> bytes:
    return run_zip(visitor, ToyEngine(spread=0.2), {"rita-costs": "<svg>"})


def reopen(data: bytes, engine: ToyEngine) -> WorkedExample:
    again = reopened(engine, bundle_read.read(data))
    again.start()
    assert again.wait(60, complete=True)
    assert again.session is not None, again.sentence
    return again


@pytest.mark.slow
def test_a_saved_upload_with_a_memory_reopens_with_the_same_numbers(visitor: Session, saved: bytes) -> None:
    ready, page = reopen(saved, ToyEngine(spread=0.2)), Session()
    ready.show(page)
    for side in ("clean", "attacked"):
        one, other = getattr(visitor.run, side), getattr(page.run, side)
        assert np.array_equal(one.picture.pixels, other.picture.pixels)
        assert np.array_equal(one.trace.total, other.trace.total)
        assert {m: v.label for m, v in one.verdicts.items()} == {m: v.label for m, v in other.verdicts.items()}
    said = "A saved run, made again: all 8 answers and every pixel are those in the file."
    assert (ready.message, ready.warning) == (said, None)
    assert page.run_sample is None  # no link to a picture of one's own
    now = page.history.current
    assert now is not None
    earlier = now.held[page.history.born[now.held] < now.pictures - 1]
    assert len(earlier)
    assert page.history.has_thumbnail[earlier].all()


def test_a_memory_that_was_changed_is_refused_before_the_page_is_served(saved: bytes) -> None:
    run = bundle_read.read(saved)
    assert run.cache_file is not None
    other = with_changes(run.cache_file, format="rita-demo memory 9")
    for memory in (b"", run.cache_file[:-9], other):
        with pytest.raises(DemoError):
            reopened(ToyEngine(), replace(run, cache_file=memory))


def test_forged_figures_are_left_out_and_lone_surrogates_are_handled() -> None:
    large = "<svg" + "x" * MAX_FIGURE_LENGTH
    names = ({"../../x": "<svg/>"}, {"x": 3}, {"x": "<script>"}, {"x": large}, {"": "<svg/>"}, {"X.svg": "<svg/>"})
    for sent in (None, 3, [], {"figures": []}, *({"figures": figures} for figures in names)):
        assert posted_figures(Event(sent)) == {}
    sent = {"figures": {f"f{n}": "<svg>\ud800</svg>" for n in range(99)}}
    found = posted_figures(Event(sent))
    assert len(found) == MAX_FIGURES
    assert set(found.values()) == {"<svg>?</svg>"}


def test_figures_that_are_too_large_together_give_an_error_message() -> None:
    one = "<svg" + "x" * (MAX_FIGURE_LENGTH - 4)
    most = MAX_TOTAL_LENGTH // MAX_FIGURE_LENGTH
    sent = {"figures": {f"f{n}": one for n in range(most + 1)}}
    with pytest.raises(DemoError, match="larger than what can be saved"):
        posted_figures(Event(sent))
    sent["figures"].popitem()
    assert len(posted_figures(Event(sent))) == most


@pytest.mark.slow
def test_each_session_saves_its_own_run_without_server_paths() -> None:
    with serve_toy_page() as address:
        one, two = HttpClient(address), HttpClient(address)
        assert "reload the page" in one.press("save-run")
        one.open()
        two.open()
        two.press("go", setting_attack_seed=5)
        answers = [visitor.press("save-run", data={"figures": {"rita-plan": "<svg/>"}}) for visitor in (one, two)]
        runs = [base64.b64decode(answer.partition("base64,")[2].partition("\\")[0]) for answer in answers]
        assert [bundle_read.read(data).settings.attack_seed for data in runs] == [0, 5]
        with zipfile.ZipFile(io.BytesIO(runs[0])) as file:
            text = b"".join(file.read(n) for n in file.namelist() if not n.endswith(("html", "png")))
            assert json.loads(file.read("result.json"))["classes"][0]
        assert not re.search(rb"/(home|root|work|tmp|usr)/", text)
