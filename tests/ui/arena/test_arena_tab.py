"""The room Arena with toy engines: filling what is chosen, both models, opening a cell, malformed requests."""

import csv
import io
import json
import zipfile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo.data import shipped_results
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.contract import verdict_of
from rita_demo.defences.registry import compared
from rita_demo.figures.analysis.numbers import pooled
from rita_demo.pipeline import bundle_read
from rita_demo.pipeline.arena import COLUMNS, TOWERS, ArenaTable, TowerTable, unattacked
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.arena.tab import ArenaTab, cell_request
from rita_demo.ui.arena.table import mark_of, table_html
from rita_demo.ui.header.save_run import run_zip
from rita_demo.ui.session.session import Session
from tests.documented import documented
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, build_tab, saved_file
from tests.ui.memory_client import Event

METHODS = ["clip", "ensemble", "mta", "rita"]
CELLS = shipped_results.read(shipped_results.ARENA)
SHARES = pooled(CELLS)


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
    with pytest.raises(DemoError, match="no table to export"):
        tab.on_export(name, Event({"kind": "csv"}))
    tab.on_controls(name, TOWERS[0], METHODS, list(COLUMNS), list(TOWERS))
    return list(tab.fill_everything(name)), session


@pytest.fixture
def visitor(tab: ArenaTab, filled: tuple[list[Any], Session]) -> tuple[str, Session]:
    """Another one, with the same table."""
    name, session = new_visitor(tab, TOWERS[0], filled[1].run)
    session.arena = filled[1].arena
    return name, session


def test_both_models_are_filled_and_the_switch_shows_one(tab: ArenaTab, filled: tuple[list[Any], Session]) -> None:
    updates, session = filled
    assert "Filled after" in updates[-1][tab.context.status]
    rings = [update for update in updates if tab.context.signal in update]
    assert len(rings) > 2 * len(METHODS), "it fills step by step"
    for model in TOWERS[::-1]:
        session.arena_view.model = model
        html = table_html(session, SHARES)
        assert "empty" not in html
    assert html.count("class='mark") == len(METHODS) * len(COLUMNS)


def click(tab: ArenaTab, name: str, **named: Any) -> dict[Any, Any]:
    return tab.choose(name, Event(named))


def test_a_click_on_an_empty_cell_asks_to_fill_it_and_a_row_says_first_what_it_costs(tab: ArenaTab) -> None:
    name, session = new_visitor(tab, TOWERS[0], quick_run(named(TOWERS[0], spread=1.0)))
    assert click(tab, name, method="clip", column="pgd")[tab.start] == "1"
    done = list(tab.fill_chosen(name))[-1]
    assert "Filled after" in done[tab.context.status]
    assert set(session.arena.towers) == {TOWERS[0]}
    assert set(session.arena.towers[TOWERS[0]].cells) == {("clip", "pgd")}
    click(tab, name, method="clip", column="pgd")
    updates = click(tab, name, method="clip")
    assert session.arena_view.asked == 1, "a row is not filled before its cost is read"
    assert updates[tab.fill_button]["visible"]
    list(tab.fill_chosen(name))
    assert {column for _, column in session.arena.towers[TOWERS[0]].cells} == set(COLUMNS)
    assert not click(tab, name, method="clip")[tab.fill_button]["visible"]
    tab.on_controls(name, TOWERS[0], ["clip", "mta"], list(COLUMNS), [])
    with pytest.raises(DemoError, match="a model"):
        list(tab.fill_everything(name))


@pytest.mark.parametrize(("tower", "column"), [(0, "adaptive"), (1, "transfer")])
def test_a_cell_opens_its_run_in_its_model(
    tab: ArenaTab, visitor: tuple[str, Session], tower: int, column: str
) -> None:
    name, session = visitor
    cell = session.arena.towers[TOWERS[tower]].cells["mta", column]
    tab.on_controls(name, TOWERS[tower], METHODS, list(COLUMNS), [])
    click(tab, name, method="mta", column=column)
    updates = list(tab.open_cell(name))
    opened = session.run
    assert opened is not None
    assert opened.backbone.name == session.model == TOWERS[tower]
    assert opened.attacked.verdicts["mta"].label == cell.label
    assert opened.attacked.verdicts["mta"].margin == pytest.approx(cell.margin, abs=1e-6)
    assert opened.settings.attack == {"transfer": "adaptive"}.get(column, column)
    assert updates[1][tab.opener.tabs]["selected"] == "inside"
    assert unattacked(opened.settings) == unattacked(session.arena.run.settings)
    assert "empty" not in table_html(session, SHARES), "the table is still that of the picture on screen"


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
    assert rows[TOWERS[1], "mta", "adaptive"]["attack"] == "adaptive:mta"
    table = list(csv.DictReader(io.StringIO(files["csv"].decode())))
    assert [(row["model"], row["defence"], row["attacker"]) for row in table] == list(rows)
    session.crops = {side: np.zeros((2, 8, 8, 3), np.uint8) for side in ("clean", "attacked")}
    zipped = run_zip(session, tab.context.models.default, {})
    with zipfile.ZipFile(io.BytesIO(zipped)) as members:
        assert members.read("arena.csv") == files["csv"]
        assert members.read("arena.json") == files["json"]
    assert bundle_read.read(zipped).settings == session.arena.run.settings


def test_an_event_that_names_nothing_of_the_table_chooses_nothing(tab: ArenaTab, visitor: tuple[str, Session]) -> None:
    name, session = visitor
    cell = {"method": "mta", "column": "pgd"}
    for forged in ({}, {"method": "toy"}, cell | {"method": ["mta"]}, {"column": {}}, cell | {"column": 3}, None):
        assert tab.choose(name, Event(forged)) == {}
    assert (session.arena_view.method, session.arena_view.column) == ("rita", "adaptive")
    tab.on_controls(name, "../x", [*METHODS, "toy", 3], [["pgd"], "pgd"], ["../x"])
    view = session.arena_view
    assert (view.model, view.methods, view.columns, view.models) == ("", tuple(METHODS), ("pgd",), ())
    assert tab.on_controls(name, TOWERS[1], "clip", None, 3) == {}


def test_no_cell_of_another_picture_is_opened(tab: ArenaTab, visitor: tuple[str, Session]) -> None:
    name, session = visitor
    click(tab, name, method="mta")
    with pytest.raises(DemoError, match="no such answer"):
        cell_request(session)
    session.show(replace(session.run, settings=session.run.settings.replace(budget=1)))
    click(tab, name, method="mta", column="pgd")
    assert table_html(session, SHARES).count("mark empty") == len(compared()) * len(COLUMNS)
    with pytest.raises(DemoError, match="no such answer"):
        cell_request(session)


def test_marks_say_why_and_without_a_true_class_nothing_holds(example_run: Run) -> None:
    right, wrong = verdict_of(torch.tensor([0.9, 0.1])), verdict_of(torch.tensor([0.2, 0.8]))
    cells = {("mta", column): right for column in COLUMNS} | {("mta", "pgd"): wrong}
    cells |= {("clip", column): wrong for column in COLUMNS} | {("rita", "none"): "No answer."}
    session = Session(run=example_run)
    model = example_run.backbone.name
    tower = TowerTable(example_run.backbone, 0, example_run.cache_before, cells)
    session.arena = ArenaTable(example_run, tuple(METHODS), {model: tower})
    signs = {at: mark_of(session, *at).sign for at in cells}
    assert [signs["mta", column] for column in COLUMNS] == ["✓", "✗", "✓", "✓", "(✓)"], "the last attacker is too weak"
    assert [signs["clip", column] for column in COLUMNS] == ["✗", "–", "–", "–", "–"], "wrong without an attack as well"
    assert mark_of(session, "rita", "pgd").kind == "empty"
    run = replace(example_run, label_given=False)
    session.run, session.arena = run, replace(session.arena, run=run)
    found = [mark_of(session, "mta", column) for column in COLUMNS]
    assert [mark.sign for mark in found] == ["=", "≠", "=", "=", "="]
