"""The tab of the paper's figures on the fake engine: gathering, placing, selecting, measuring, filtering."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from rita_demo import story as telling
from rita_demo.analysis import Worker
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import DemoError
from rita_demo.evaluation.plan import canonical
from rita_demo.measuring import Places, ablations
from rita_demo.records import MeasuredCell, Story
from rita_demo.settings import RECOMMENDED
from rita_demo.surveys import MeasuredPoint
from rita_demo.ui import figures_cloud, figures_jobs, figures_measured, figures_theorem
from rita_demo.ui.board import Board
from rita_demo.ui.desk import Desk, Engines
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.figures import FiguresTab
from rita_demo.ui.figures_state import looked_at
from rita_demo.ui.figures_theorem import shown_classes
from rita_demo.ui.notice import Notice
from rita_demo.ui.sessions import Sessions
from tests.plots.clouds import make_cloud
from tests.ui.fake import FakeEngine


class Quick(Worker):
    """Places at once, in this process: a person's patience is tested elsewhere."""

    def warm(self) -> None:
        pass

    def ask(self, features: np.ndarray, neighbours: int, spread: float) -> np.ndarray:
        return np.stack([np.arange(len(features)), np.full(len(features), neighbours)], 1).astype(
            float
        )


class Visit:
    """A visitor in front of the open tab; the story's classes contain two of the cloud's."""

    def __init__(self, tab: FiguresTab) -> None:
        self.tab, self.desk = tab, tab.desk
        self.name = self.desk.sessions.open(model="fake")
        self.session = self.desk.sessions.get(self.name)
        engine = self.desk.engine_of(self.session)
        names = ("motorbike", "crab", "woven", "lined")
        picture = SAMPLES["motorcycle"].load()
        self.session.show(telling.tell(engine, picture, names, RECOMMENDED, label=0))
        self.opened = self.tab.opened(self.name)

    def gathered(self) -> Visit:
        one = figures_cloud.gathered(make_cloud(), FakeEngine().one_hot_kl)
        state = figures_cloud.with_numbers(one)
        self.session.figures = replace(self.session.figures, gathered=state)
        return self

    def marks(self) -> Any:
        return self.session.figures.gathered.marks


def event(**data: Any) -> Any:
    return gr.EventData(None, data)


def mark(i: int) -> Any:
    return event(curve=0, index=0, x=0, y=0, data=[i, "words"])


@pytest.fixture(scope="module")
def tab() -> FiguresTab:
    engine = FakeEngine(spread=0.2)
    with gr.Blocks(), gr.Tabs(), gr.Tab("Figures") as holder:
        desk = Desk(
            Engines(engine), Sessions(), WorkedExample(engine), Board(), Notice(), gr.HTML(),
            gr.State(""),
        )  # fmt: skip
        built = FiguresTab(desk, Places(), Quick())
        built.wire(holder, [])
    return built


@pytest.fixture
def visit(tab: FiguresTab, tmp_path, monkeypatch) -> Visit:
    places = Places(tmp_path / "data", tmp_path / "runs")
    monkeypatch.setattr(tab, "places", places)
    monkeypatch.setattr(tab.jobs, "_places", places)
    return Visit(tab)


def last(job: Any) -> dict:
    *_, end = list(job)
    return end


def test_pictures_are_gathered_drawn_by_pca_and_then_by_umap(visit: Visit) -> None:
    jobs, parts = visit.tab.jobs, visit.tab.parts
    updates = list(jobs.gather(visit.name, figures_jobs.DRAWN, 3, 2, "pgd", 4, 16))
    assert "picture 1 of 6" in updates[0][visit.desk.status]
    one = visit.session.figures.gathered
    assert len(one.cloud.ids) == 6
    first, end = updates[-2:]
    assert first[parts["cloud"]].layout.annotations[2].text.startswith("PCA")
    assert "Measuring" in first[visit.tab.parts["cloud"]].layout.meta["alt"] or one is not None
    assert "silhouette" in str(end)
    assert one.cloud.title in first[parts["cloud"]].layout.meta["caption"]  # below a saved figure
    placed = last(jobs.place_new(visit.name, 7))
    figure = placed[parts["cloud"]]
    assert figure.layout.annotations[2].text.startswith("UMAP, 7 neighbours")
    assert set(figure.data[0].y) == {7.0}
    assert parts["cloud"] in visit.tab.pick_how(visit.name, "PCA")
    assert figures_cloud.how_shown(visit.session) == "PCA"


def test_a_failed_gathering_keeps_what_was_there_and_places_nothing(visit: Visit) -> None:
    visit.gathered()
    before = visit.session.figures
    for source, classes in (("../x/y", 3), (figures_jobs.DRAWN, 1), (figures_jobs.DRAWN, "many")):
        with pytest.raises(DemoError):
            list(visit.tab.jobs.gather(visit.name, source, classes, 2, "pgd", 4, 16))
    assert visit.session.figures is before
    visit.session.figures = type(before)(open=True)
    assert list(visit.tab.jobs.place_new(visit.name, 5)) == []
    with pytest.raises(DemoError, match="nothing to place"):
        list(visit.tab.jobs.place(visit.name, 5))


def test_a_mark_selects_its_class_for_every_tab_that_knows_it(visit: Visit) -> None:
    visit.gathered()
    marks = visit.marks()
    woven = int(np.flatnonzero((marks.kind == "view") & (marks.label == 0))[0])
    updates = visit.tab.on_mark(visit.name, mark(woven))
    assert visit.session.selection.k == 2  # "woven" in the story
    assert looked_at(visit.session) == 0
    assert visit.session.figures.picture == marks.picture[woven]
    assert visit.tab.parts["brackets"] in updates
    dotted = int(np.flatnonzero((marks.kind == "attacked") & (marks.label == 1))[0])
    visit.tab.on_mark(visit.name, mark(dotted))  # a class the story does not have
    assert visit.session.selection.k == 2
    assert looked_at(visit.session) == 1


def test_a_class_selected_elsewhere_is_highlighted_here_and_released_by_its_chip(
    visit: Visit,
) -> None:
    visit.gathered()
    visit.session.selection = replace(visit.session.selection, k=3)  # "lined"
    assert looked_at(visit.session) == 2
    assert 'data-k="2" aria-pressed="true"' in figures_cloud.chips(visit.session)
    visit.tab.on_chip(visit.name, event(k=2))
    assert looked_at(visit.session) is None
    visit.tab.on_chip(visit.name, event(k=2))
    assert looked_at(visit.session) == 2


def test_hover_and_lasso_answer_with_thumbnail_and_counts(visit: Visit) -> None:
    visit.gathered()
    marks, parts = visit.marks(), visit.tab.parts
    held = int(np.flatnonzero((marks.kind == "cached") & (marks.label == 1))[0])
    said = visit.tab.on_hover(visit.name, mark(held))[parts["mark"]]
    assert "data:image/jpeg" in said
    assert "<h3>lined</h3>" in said  # what the picture shows
    assert "filed under &lt;b&gt;dotted&lt;/b&gt;" in said  # what the memory took it for
    chosen = np.flatnonzero(marks.kind == "attacked")[:4].tolist()
    said = visit.tab.on_lasso(visit.name, event(points=[*chosen, 10**9, "x", None]))[
        parts["lassoed"]
    ]
    assert "Gathered: 4 points" in said
    assert "woven 2, &lt;b&gt;dotted&lt;/b&gt; 1, lined 1" in said


@pytest.mark.parametrize(
    "bad", [{}, {"k": 99}, {"k": "x"}, {"curve": 0, "index": 0, "data": [1e9]}]
)
def test_what_a_stranger_sends_changes_nothing(visit: Visit, bad: dict) -> None:
    visit.gathered()
    before = (visit.session.figures, visit.session.selection)
    handlers = ("on_mark", "on_hover", "on_chip", "on_class", "on_story_class")
    for handler in handlers:
        getattr(visit.tab, handler)(visit.name, event(**bad))
    visit.tab.pick_how(visit.name, bad)
    visit.tab.pick_knob(visit.name, "nothing")
    assert (visit.session.figures, visit.session.selection) == before


def test_the_sentence_on_structure_follows_the_numbers(visit: Visit) -> None:
    visit.gathered()
    rows = visit.session.figures.gathered.separations
    assert "come apart again:" in figures_cloud.verdict(rows)
    assert "do not come apart" in figures_cloud.verdict((rows[0], rows[3], rows[2], rows[1]))
    table = figures_cloud.separation_table(visit.session)
    assert f"{rows[3].silhouette:.3f}" in table
    assert "of the 4 nearest points" in table  # 5 pictures per class
    assert "100 % can be reached" in table


def test_theorem_1_is_drawn_when_the_tab_opens_and_its_classes_can_be_chosen(visit: Visit) -> None:
    figure = visit.opened[visit.tab.parts["brackets"]]
    assert {t.name for t in figure.data} >= {"clean exact", "attacked used", "attacked bracket"}
    visit.tab.on_story_class(visit.name, event(curve=0, index=0, data=[1, "x"]))
    assert visit.session.selection.k == 1


def test_theorem_1_says_how_wide_its_bracket_is_on_both_sides(visit: Visit) -> None:
    said = figures_theorem.words(visit.session)
    for b in visit.session.figures.brackets[1].values():
        widths = sorted(float(b.upper[k] - b.lower[k]) for k in range(len(b.lower)))
        middle = (widths[1] + widths[2]) / 2  # of four classes
        assert f"{middle:.4f} wide in the median class and {widths[-1]:.4f} in the widest" in said


def test_theorem_1_follows_a_picture_that_finishes_while_the_tab_is_in_sight(
    visit: Visit, lost: Story
) -> None:
    brackets = visit.tab.parts["brackets"]
    visit.session.show(lost)
    drawn = visit.desk.board.redraw(visit.session, "story")[brackets]
    assert [int(k) for k, _ in drawn.data[-1].customdata] == shown_classes(
        lost, visit.session.selection.k
    )
    assert visit.session.figures.brackets[0] is lost
    visit.tab.left(visit.name)
    visit.session.show(told := replace(lost))
    visit.desk.board.redraw(visit.session, "story")
    assert visit.session.figures.brackets[0] is lost  # out of sight nothing is computed
    visit.tab.opened(visit.name)
    assert visit.session.figures.brackets[0] is told


@pytest.mark.slow
def test_a_small_ablation_is_measured_drawn_and_stays_in_the_list(
    visit: Visit, monkeypatch
) -> None:
    monkeypatch.setitem(ablations.VALUES, "slots", (1, 3))  # each value costs time
    updates = list(visit.tab.measured(visit.name, "slots", 4, 2))
    assert any("picture 2 of 4" in str(u.get(visit.desk.status)) for u in updates)
    assert visit.session.figures.run == ablations.FOLDER
    assert updates[-1][visit.tab.parts["run"]]["value"] == ablations.FOLDER
    printed = updates[-1][visit.tab.parts["printed"]]
    figure = figures_measured.draw_sweep(visit.session)
    assert list(figure.layout.xaxis.ticktext) == ["1", "3"]
    assert "n = 4" in figures_measured.component_table(visit.session)
    visit.tab.pick_run(visit.name, "")
    assert {point.cell.n for point in visit.session.figures.points} == {47}, (
        "what came with this copy"
    )
    opened = visit.tab.pick_run(visit.name, ablations.FOLDER)
    assert opened[visit.tab.parts["printed"]] == printed  # the table follows the run
    assert len(visit.session.figures.points) > 4
    with pytest.raises(DemoError):
        visit.tab.pick_run(visit.name, "../../etc")


def test_the_printed_table_is_filtered_and_marks_misprints(visit: Visit) -> None:
    def table(*values: Any) -> str:
        return visit.tab.filtered(visit.name, *values)[visit.tab.parts["printed"]]

    one = table("main", "DTD", "RITA", "PGD", "ViT-B/32")
    assert one.count("<tr><td>") == 1
    assert "1 printed cells, 0 of them" in one
    assert "⚠" in table("RN50", "Avg", "R-TPT", "PGD", "RN50")
    assert "No printed cell" in table("components", "DTD", "all", "all", "all")
    assert table("<script>", None, 3, [], {}) == table("all", "all", "all", "all", "all")
    one = table("main", "DTD", "RITA", "PGD", "ViT-B/32")
    again = visit.tab.opened(visit.name)[visit.tab.parts["printed"]]
    assert again == one  # the filters stay when the tab is opened again


def test_measured_cells_stand_beside_the_printed_one_of_the_same_backbone_first(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        figures_measured.measured, "files", tuple
    )  # what came with this copy stands beside as well

    def point(backbone: str, accuracy: float, **knobs: Any) -> MeasuredPoint:
        asked = RECOMMENDED.but(attack="cw_l2", protocol="stream", **knobs)
        settings = canonical("rita", asked, frozenset())
        cell = MeasuredCell("dtd", backbone, "rita", "cw_l2", 0, 50, "stream", "test", accuracy, 47, 1.0, 99.0,
                            "0", f"{accuracy}")  # fmt: skip
        matter = {n: v for n, v in settings.as_dict().items() if not n.endswith("_seed")}
        return MeasuredPoint(cell, matter)

    found = (
        point("embedded", 11.0, slots=5),
        point("embedded", 12.0),
        point("ViT-B-16-quickgelu:openai", 13.0, transported_mass=0.75),
        point("mine", 14.0, slots=8),
    )
    visit.session.figures = replace(visit.session.figures, points=found)
    table = visit.tab.filtered(visit.name, "attack type", "DTD", "RITA", "CW", "ViT-B/16")
    here = table[visit.tab.parts["printed"]].partition("<tbody>")[2]
    assert [float(one) for one in re.findall(r"<div><b>([\d.]+) %", here)] == [13.0, 12.0, 11.0]
    assert "and 1 more" in here
    for said in ("same backbone: ViT-B-16-quickgelu:openai", "transported_mass=0.75", "another backbone: embedded",
                 "recommended settings", "slots=5", "no limit on strength"):  # fmt: skip
        assert said in here


def test_the_printed_table_shows_what_a_newly_opened_run_measured(visit: Visit, tmp_path) -> None:
    columns = {
        "dataset": "dtd", "backbone": "mine", "method": "rita", "attack": "none", "budget": 0, "steps": 0,
        "protocol": "stream", "split": "test", "settings": "x",
    }  # fmt: skip
    header = {
        "columns": columns, "pool": "p", "seed": 0, "knobs": {"attack": "none"}, "special": {},
        "threat_model": {"sentences": []}, "pictures": 4, "available": 4, "classes": 47, "classes_present": 47,
        "names": [], "weights": "w",
    }  # fmt: skip
    folder = tmp_path / "runs/measured/cells/one"
    folder.mkdir(parents=True)
    (folder / "header.json").write_text(json.dumps(header))
    row = {"right": True, "already_wrong": None, "seconds": {"views": 0.2, "method": 0.1}}
    rows = [json.dumps(row | {"picture": f"{number}.png"}) + "\n" for number in range(5)]
    (folder / "rows.jsonl").write_text("".join(rows[:4]))
    visit.tab.filtered(visit.name, "main", "DTD", "RITA", "none", "ViT-B/32")
    parts = visit.tab.parts
    before = visit.tab.opened(visit.name)
    assert ("measured", "measured") in before[parts["run"]]["choices"]
    assert "n = 4" not in before[parts["printed"]]
    assert "n = 4" in visit.tab.pick_run(visit.name, "measured")[parts["printed"]]
    with (folder / "rows.jsonl").open("a") as file:
        file.write(rows[4])
    assert "n = 5" in visit.tab.opened(visit.name)[parts["printed"]]  # the run went on meanwhile


def test_nothing_is_drawn_while_another_tab_is_in_sight(visit: Visit) -> None:
    visit.gathered()
    visit.tab.left(visit.name)
    assert visit.tab.left("") == {}
    drawn = visit.desk.board.redraw(visit.session, "cloud")
    assert all(value == gr.update() for value in drawn.values())
