"""The memory's tab with the toy engine: what the memory changes, and a memory that is imported."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rita_demo.data import memory_file
from rita_demo.data.memory import MemoryTable
from rita_demo.data.record_file import FileError
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.pipeline import run as run_module
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.memory import panels
from rita_demo.ui.session.stream_history import own_picture_request
from rita_demo.ui.widgets import wording
from tests.pipeline.test_memory_file import with_changes
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, chosen
from tests.ui.memory_client import MemoryClient


def effect(client: MemoryClient) -> str:
    return panels.effect(client.session, client.context.engine_of(client.session), evaluation_page.shipped_streams())


def test_the_sentence_is_of_the_memory_at_the_selected_moment_without_the_pictures_own_views(
    client, example_run, coffee_file: str
) -> None:
    session, side = client.session, example_run.attacked
    client.add(coffee_file)
    engine, key, held = client.context.engine_of(session), example_run.clean.picture.key, []
    given = {"settings": example_run.settings, "tuning": side.trace.tuning}
    for at in (0, 1, len(session.history.moments) - 1):
        chosen(client.tab, client.name, moment=at)
        state = session.history.cache_before(key, at)
        held.append(int(state.count.sum()))
        wanted, _ = engine.decide(side.encoded_views, example_run.class_prompts, state, **given)
        full, bare = panels.compare_with_empty(engine, session)
        assert np.allclose(full.cache_distance, wanted.cache_distance)
        assert wanted.verdict.label == full.verdict.label
        if at == 0:
            assert np.allclose(bare.cache_distance, wanted.cache_distance), "the memory was empty then"
            assert "A class without views counts with its mean sentence" in effect(client)
    assert held[:2] == [0, 0]  # its own views do not judge it
    assert held[2] > 0


def test_a_stored_picture_in_the_memory_of_its_stream_does_not_judge_itself(client) -> None:
    session, history = client.session, client.session.history
    moments = tuple(replace(one, picture_key="") for one in history.moments)  # as a stream has them
    session.history = replace(history, moments=moments)
    full, bare = panels.compare_with_empty(client.context.engine_of(session), session)
    assert np.allclose(full.cache_distance, bare.cache_distance)


def test_an_exported_memory_is_imported_by_who_has_not_run_its_names_and_what_was_there_stays_in_the_menu(
    client, engine: ToyEngine, tmp_path: Path
) -> None:
    tab, session, names = client.tab, client.session, ("crab", "owl, barn")
    run = run_module.run_picture(
        engine, SAMPLES["coffee"].load(), names, RECOMMENDED.replace(attack="none", max_entropy=9.0)
    )
    theirs = MemoryTable().with_picture("theirs.png", "key", run, None)
    path, mine = tmp_path / "memory.zip", session.history
    path.write_bytes(memory_file.pack(theirs, engine.info.name, RECOMMENDED))
    said = " ".join(map(str, tab.on_import(client.name, str(path)).values()))
    assert f"Imported {wording.view_count(len(theirs.current.held))}. The next picture with its class names" in said
    titles = [one.title for one in session.history.moments]
    assert titles == [*(one.title for one in theirs.moments), "Imported from a file"], "its own history alone"
    assert session.history.names == names
    assert session.memories.histories == (mine, session.history)
    request = own_picture_request(session, engine, None, session.history)
    assert (request.names, session.history) == (names, session.memories.histories[1])
    client.run(tab.decide_own(client.name))
    assert session.run.class_prompts.names == names
    assert session.memories.histories == (mine, session.history), "the picture went into the imported one"


def test_a_memory_of_another_width_or_with_a_wrong_key_is_refused(client, engine: ToyEngine) -> None:
    data, width = memory_file.pack(client.session.history, engine.info.name, RECOMMENDED), engine.info.width
    other = with_changes(data, names=("organ", *NAMES[1:]))
    for file, wide, text in ((data, width + 1, "another width"), (other, width, "other class names than it says")):
        with pytest.raises(FileError, match=text):
            memory_file.unpack(file, None, engine.info.name, wide)
