"""The worked example that ships with the project is the run that this project makes; stored files that are missing or damaged."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rita_demo import Engine
from rita_demo.data import samples
from rita_demo.pipeline import arena_file, example, story
from rita_demo.pipeline.export import answers_of, to_json
from rita_demo.process.generators import run_to_end
from rita_demo.records import ImageResult, Run
from rita_demo.records.errors import DataError
from rita_demo.ui.background.worked_example import displayed_views
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run

SAME = 1e-5  # cosine distance: rounding of another processor
#: The same where the attack's gradient was rounded otherwise, and the share of pixel values that then differ.
SAME_ATTACK, PIXELS = 5e-3, 0.05


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine("embedded")


@pytest.fixture(scope="module")
def stored() -> Run:
    return example.stored()[1]


@pytest.mark.slow
def test_the_stored_example_is_the_run_that_the_rule_chooses(engine: Engine, stored: Run) -> None:
    key, live = run_to_end(example.choose_steps(engine))
    assert example.stored()[0] == key
    assert (stored.settings, stored.label, stored.threat_model) == (live.settings, live.label, live.threat_model)
    assert {name: label for name, (label, _) in answers_of(to_json(stored)).items()} == {
        name: label for name, (label, _) in answers_of(to_json(live)).items()
    }
    assert np.abs(stored.class_prompts.features - live.class_prompts.features).max() < SAME
    assert np.abs(stored.clean.trace.total - live.clean.trace.total).max() < SAME
    changed = (stored.attack.frames != live.attack.frames).mean()
    print(f"{100 * changed:.2f} % of the attack's pixel values differ")
    assert changed < PIXELS
    nearly = SAME_ATTACK if changed else SAME
    assert np.abs(stored.attacked.trace.total - live.attacked.trace.total).max() < nearly


@pytest.mark.slow
def test_a_run_is_unpacked_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    run = completed_run(ToyEngine(spread=0.2))
    shown = SimpleNamespace(load=lambda: run.clean.picture)
    monkeypatch.setattr(samples, "sample", lambda _: shown)
    data = example.pack("cat", run)
    key, again = example.unpack(data)
    assert (key, example.pack(key, again)) == ("cat", data)
    assert np.array_equal(again.attack.frames, run.attack.frames)
    for one, other in zip((again.clean, again.attacked), (run.clean, run.attacked)):
        assert np.array_equal(one.picture.pixels, other.picture.pixels)
        assert np.array_equal(one.trace.prompt_transport.plan, other.trace.prompt_transport.plan)
    shown.load = lambda: replace(run.clean.picture, key="other")
    with pytest.raises(ValueError, match="another picture"):
        example.unpack(data)


def test_the_views_on_screen_are_those_of_the_engine(engine: Engine, stored: Run) -> None:
    def difference(side: ImageResult) -> np.ndarray:
        exact = engine.view_pixels(side.picture, stored.settings)
        return np.abs(displayed_views(side, engine.info.side).astype(int) - exact)

    for side in (stored.clean, stored.attacked):
        assert difference(side).max() <= 8  # Pillow cuts off overshoots between its two passes
        assert difference(side).mean() < 0.25


@pytest.mark.parametrize("data", [None, b"{}", b"PK\x03\x04" + bytes(40)])
@pytest.mark.parametrize("module", [arena_file, example, story])
def test_a_missing_or_broken_file_is_an_error_message(module, data, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "STORED", tmp_path / "stored")
    if data is not None:
        module.STORED.write_bytes(data)
    with pytest.raises(DataError, match="Restore assets/"):
        getattr(module.stored, "__wrapped__", module.stored)()  # where it is kept, past what was read before
