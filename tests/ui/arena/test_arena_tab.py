"""The tab Arena with toy engines: both towers, opening a cell, malformed requests."""

import base64
import csv
import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import bundle_read
from rita_demo.pipeline.arena import COLUMNS, TOWERS, unattacked
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.arena.tab import ArenaTab, cell_request
from rita_demo.ui.arena.table import EMPTY, arena_html
from rita_demo.ui.header.save_run import run_zip
from rita_demo.ui.session.session import STORY, Session
from tests.documented import documented
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, build_tab
from tests.ui.memory_client import Event

METHODS = ["clip", "ensemble", "mta", "rita"]


def named(name: str, spread: float = 0.2) -> ToyEngine:
    engine = ToyEngine(spread=spread, name=name)
    engine.info = replace(engine.info, title=f"Model {name}")
    return engine


def quick_run(engine: ToyEngine) -> Run:
    """A small picture and few crops: twenty attacks of each tower follow."""
    picture, settings = SAMPLES["motorcycle"].load(square="model", side=64), RECOMMENDED.replace(views=16)
    return run_picture(engine, picture, NAMES, settings.replace(**{"adaptive.steps": 3}), label=0)


@pytest.fixture(scope="module")
def tab() -> ArenaTab:
    return build_tab(ArenaTab, named(TOWERS[0], spread=1.0), load=named)


def new_visitor(tab: ArenaTab, model: str, run: Run) -> tuple[str, Session]:
    name = tab.context.sessions.open(model=model)
    session = tab.context.sessions.get(name)
    session.show(run, sample="motorcycle")
    return name, session


@pytest.fixture(scope="module")
def filled(tab: ArenaTab) -> tuple[list[Any], Session]:
    """What filling the arena gives, and the session of who did it."""
    name, session = new_visitor(tab, TOWERS[0], quick_run(named(TOWERS[0], spread=1.0)))
    assert arena_html(session) == EMPTY
    with pytest.raises(DemoError, match="no table to export"):
        tab.on_export(name, Event({"kind": "csv"}))
    return list(tab.fill(name, METHODS)), session


@pytest.fixture
def visitor(tab: ArenaTab, filled: tuple[list[Any], Session]) -> tuple[str, Session]:
    """Another one, with the same table."""
    name, session = new_visitor(tab, TOWERS[0], filled[1].run)
    session.arena = filled[1].arena
    return name, session


def test_both_towers_stand_side_by_side(tab: ArenaTab, filled: tuple[list[Any], Session]) -> None:
    updates, session = filled
    assert "is filled" in updates[-1][tab.context.status]
    html = arena_html(session)
    assert html.count("<table") == 2
    assert html.count("<button") == 2 * len(METHODS) * len(COLUMNS)
    assert html.count("tabindex='0' data-tower") == 1, "one stop for the tabulator"
    for text in (
        "Model embedded</h3>",
        "Model embedded-robust</h3>",
        "Training against attacks",
        "Embedded model: CLIP withstands",
    ):
        assert text in html
    rings = [update for update in updates if tab.context.signal in update]
    assert len(rings) > len(METHODS), "it fills step by step"
    assert tab.context.panels.open(session, "arena")[tab.table] == html


@pytest.mark.parametrize(("tower", "column"), [(0, "none"), (0, "adaptive"), (1, "pgd"), (1, "transfer")])
def test_a_cell_opens_its_run_in_its_model(
    tab: ArenaTab, visitor: tuple[str, Session], tower: int, column: str
) -> None:
    name, session = visitor
    cell = session.arena.towers[TOWERS[tower]].cells["mta", column]
    chosen = Event({"tower": TOWERS[tower], "method": "mta", "column": column})
    updates = list(tab.open_cell(name, chosen))
    opened = session.run
    assert opened is not None
    assert opened.backbone.name == session.model == TOWERS[tower]
    assert opened.attacked.verdicts["mta"].label == cell.label
    assert opened.attacked.verdicts["mta"].margin == pytest.approx(cell.margin, abs=1e-6)
    assert opened.settings.attack == {"transfer": "adaptive"}.get(column, column)
    assert updates[1][tab.opener.tabs]["selected"] == STORY
    assert any(tab.show_model(opened.backbone).keys() <= update.keys() for update in updates)
    assert unattacked(opened.settings) == unattacked(session.arena.run.settings)
    assert "<button" in arena_html(session), "the table is still that of the picture on screen"


def test_the_table_is_saved_as_csv_and_json_and_in_the_zip_of_its_run(
    tab: ArenaTab, visitor: tuple[str, Session]
) -> None:
    name, session = visitor
    files = {kind: saved_file(tab.on_export(name, Event({"kind": kind}))[tab.export]) for kind in ("csv", "json")}
    read = json.loads(files["json"])
    rows = {(row["model"], row["defence"], row["attacker"]): row for row in read["rows"]}
    assert documented("The arena") == list(read["rows"][0])
    assert len(rows) == len(read["rows"]) == 2 * len(METHODS) * len(COLUMNS)
    for model, tower in session.arena.towers.items():
        for (method, column), cell in tower.cells.items():
            row = rows[model, method, column]
            assert (row["answer"], row["right"]) == (NAMES[cell.label], cell.label == 0)
            assert (row["margin"], row["margin_unit"]) == (pytest.approx(cell.margin), cell.margin_unit)
    knows = rows[TOWERS[1], "mta", "adaptive"]
    assert (knows["attack"], knows["budget"], knows["steps"]) == ("adaptive:mta", 4, 3)
    assert "MTA" in knows["threat_model"]
    assert rows[TOWERS[1], "ensemble", "transfer"]["attack"] == "adaptive:rita"
    table = list(csv.DictReader(io.StringIO(files["csv"].decode())))
    assert [(row["model"], row["defence"], row["attacker"]) for row in table] == list(rows)
    session.crops = {side: np.zeros((2, 8, 8, 3), np.uint8) for side in ("clean", "attacked")}
    zipped = run_zip(session, tab.context.models.default, {})
    with zipfile.ZipFile(io.BytesIO(zipped)) as members:
        assert members.read("arena.csv") == files["csv"]
        assert members.read("arena.json") == files["json"]
    assert bundle_read.read(zipped).settings == session.arena.run.settings


def saved_file(value: str) -> bytes:
    return base64.b64decode(json.loads(value)["address"].rpartition(",")[2])


@pytest.mark.parametrize(
    "chosen",
    [{}, {"tower": "toy"}, {"tower": TOWERS[0], "method": ["mta"], "column": "pgd"}, {"tower": [], "method": 1}],
)
def test_an_event_that_names_no_cell_or_one_of_another_picture_is_refused(
    visitor: tuple[str, Session], chosen: dict[str, Any]
) -> None:
    _, session = visitor
    with pytest.raises(DemoError, match="no such answer"):
        cell_request(session, chosen)
    session.show(replace(session.run, settings=session.run.settings.replace(budget=1)))
    assert arena_html(session) == EMPTY
    with pytest.raises(DemoError, match="no such answer"):
        cell_request(session, {"tower": TOWERS[0], "method": "mta", "column": "pgd"})


def test_a_model_without_a_second_tower_stands_alone() -> None:
    alone = build_tab(ArenaTab, ToyEngine())
    name, session = new_visitor(alone, "toy", quick_run(ToyEngine()))
    list(alone.fill(name, METHODS))
    html = arena_html(session)
    assert html.count("<table") == 1
    assert "Training against attacks" not in html
