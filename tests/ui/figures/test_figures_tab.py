"""The tab of the paper's figures on the toy engine: gathering, placing, selecting, measuring, filtering."""

import re
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from rita_demo.data import paper_results
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures import analysis
from rita_demo.pipeline import run as run_module
from rita_demo.records import MeasuredCell, Run
from rita_demo.records.errors import DemoError
from rita_demo.records.measurement import AblationPoint
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.figures import feature_cloud, measurements, run_figures, wall
from rita_demo.ui.figures import jobs as figures_jobs
from rita_demo.ui.figures.tab import FiguresTab
from rita_demo.ui.session.session import FIGURES, STORY, selected_class
from rita_demo.ui.widgets import setting_controls
from tests.figures.clouds import make_cloud
from tests.toy_model import ToyEngine
from tests.ui.conftest import build_tab, chosen, drawn, open_room
from tests.ui.memory_client import Event


class InstantUmap(analysis.UmapProcess):
    """Places at once, in this process: a person's patience is tested elsewhere."""

    def warm_up(self) -> None:
        pass

    def compute(self, features: np.ndarray, neighbours: int, picture: np.ndarray) -> np.ndarray:
        return np.stack([np.arange(len(features)), np.full(len(features), neighbours)], 1).astype(float)


class FiguresClient:
    """A visitor in front of the open tab; the story's classes contain two of the cloud's."""

    def __init__(self, tab: FiguresTab) -> None:
        self.tab, self.context = tab, tab.context
        self.name = self.context.sessions.open(model="toy")
        self.session = self.context.sessions.get(self.name)
        names, picture = ("motorbike", "crab", "woven", "lined"), SAMPLES["motorcycle"].load()
        engine = self.context.engine_of(self.session)
        self.session.show(run_module.run_picture(engine, picture, names, RECOMMENDED, label=0))
        self.opened = open_room(self.tab, self.name)

    def collected(self) -> None:
        one = analysis.placed_cloud(make_cloud(), ToyEngine().kl_to_one_hot)
        one = replace(one, separability=analysis.separabilities(one.cloud))
        self.session.figures = replace(self.session.figures, placed_cloud=one, picture=None, point=None)

    def points(self) -> Any:
        return self.session.figures.placed_cloud.points


def event(**data: Any) -> Event:
    return Event(data)


@pytest.fixture(scope="module")
def tab() -> FiguresTab:
    built = build_tab(FiguresTab, ToyEngine(spread=0.2))
    built.jobs.worker = InstantUmap()
    return built


@pytest.fixture
def client(tab: FiguresTab, tmp_path, monkeypatch) -> FiguresClient:
    folders = DataFolders(tmp_path / "data", tmp_path / "runs")
    monkeypatch.setattr(tab, "folders", folders)
    monkeypatch.setattr(tab.jobs, "_folders", folders)
    return FiguresClient(tab)


NAMED = ["banded", "gauzy", "porous"]


def test_pictures_are_collected_shown_with_pca_then_umap_and_one_opens_in_all_rooms(client: FiguresClient) -> None:
    jobs, parts = client.tab.jobs, client.tab.parts
    session, job = client.session, jobs.collect(client.name, "dataset:textures", 2, "pgd", 4, 16, NAMED)
    updates = [drawn(client.tab, session, update) for update in job]
    assert "picture 1 of 6" in updates[0][client.context.status]
    cloud = client.session.figures.placed_cloud.cloud
    assert (len(cloud.ids), cloud.names) == (6, tuple(NAMED))
    first, end = updates[-2:]
    assert first[parts["large"]].layout.meta["alt"].startswith("PCA")
    assert "silhouette" in str(end)
    assert "36" not in first[parts["large"]].layout.meta["caption"]
    assert cloud.title.partition(",")[0] in first[parts["large"]].layout.meta["caption"]  # below a saved figure
    *_, placed = jobs.run_umap(client.name)
    figure = drawn(client.tab, client.session, placed)[parts["large"]]
    assert figure.layout.meta["alt"].startswith("UMAP, 15 neighbours")
    assert set(figure.data[0].y) == {15.0}
    assert list(jobs.run_umap(client.name)) == [], "it is placed already"
    assert parts["large"] in client.tab.pick_projection(client.name, "PCA")
    assert feature_cloud.projection_shown(client.session) == "PCA"
    assert client.tab.pick_projection(client.name, {"x": 1}) == {}
    assert list(client.tab.open_picture(client.name, event(picture=99))) == []
    updates = list(client.tab.open_picture(client.name, event(picture=4)))
    assert any(update.get(client.tab.opener.tabs, {}).get("selected") == "inside" for update in updates)
    run = client.session.run
    assert run.class_prompts.names == cloud.class_prompts.names
    assert run.label == cloud.label[4]
    assert np.allclose(run.attacked.encoded_views.features[0], cloud.attacked[4], atol=1e-6), "attacked again alike"


def test_six_classes_are_collected_where_none_is_named_and_nothing_attacked_is_said_to_be(
    client: FiguresClient,
) -> None:
    list(client.tab.jobs.collect(client.name, "dataset:textures", 2, "pgd", 0, 16))
    cloud = client.session.figures.placed_cloud.cloud
    assert (len(cloud.ids), len(cloud.names)) == (12, 6)
    assert cloud.pictures_name == "clean pictures"
    assert feature_cloud.cloud_headline(client.session).startswith("Without an attack ")


def test_a_failed_collection_keeps_the_previous_cloud(client: FiguresClient) -> None:
    client.collected()
    before = client.session.figures
    for source, each in (("../x/y", 2), ("dataset:textures", 10**4), ("dataset:textures", "many")):
        with pytest.raises(DemoError):
            list(client.tab.jobs.collect(client.name, source, each, "pgd", 4, 16))
    assert client.session.figures is before
    client.session.figures = type(before)()
    assert list(client.tab.jobs.run_umap(client.name)) == []


def test_one_figure_of_the_wall_is_large_and_only_that_is_drawn(client: FiguresClient) -> None:
    parts, large = client.tab.parts, client.tab.parts["large"]
    for n, name in enumerate(FIGURES):
        updates = chosen(client.tab, client.name, figure=n)
        assert client.session.figures.shown == name
        figure, title = updates[large], wall.WALL[name].title
        assert figure.meta["title"] == title
        assert figure.meta["kind"] != "empty"
        head = str(updates[next(one for one in updates if getattr(one, "elem_id", "") == "figures-headline")])
        words = re.sub("<[^>]+>", "", head)
        assert len(words.split()) <= 20, words
        assert re.search(r"\d", words), words
        assert f"data-wall='{name}'" in updates[parts["details"]]
        tiles = str(wall.tiles(client.session))
        assert title not in tiles
        assert tiles.count("<button") == len(FIGURES) - 1
        assert tiles.count('tabindex="0"') == 1, "one tab stop"
    assert chosen(client.tab, client.name, figure=len(FIGURES)) == {}
    assert client.session.figures.shown == FIGURES[-1]


def test_the_chosen_point_tells_what_became_of_its_picture(client: FiguresClient, tmp_path) -> None:
    client.collected()
    one = client.session.figures.placed_cloud
    marks, folders = client.points(), client.tab.folders
    view = int(np.flatnonzero((marks.kind == "view") & (marks.picture == 1))[2])
    chosen(client.tab, client.name, point=view)
    said = feature_cloud.cloud_details(client.session, folders)
    assert "&lt;b&gt;dotted&lt;/b&gt;, crop 3" in said
    assert "data:image/jpeg" in said
    near, crops = analysis.nearest_classes(one.cloud, 1)
    assert f"{np.bincount(near).max()} of the 5 clean pictures nearest to the attacked picture are" in said
    assert f"{np.bincount(crops).max()} of its 4 crops lie nearest to" in said
    shares = [round(100 * row.purity) for row in one.separability[:3]]
    for share in shares:
        assert f'<span class="number">{share}</span>' in said
    assert f"Under attack {shares[1]} of 100 neighbours" in feature_cloud.cloud_headline(client.session)
    bare = replace(one, cloud=replace(one.cloud, thumbs=None, dataset="caltech101", settings=RECOMMENDED))
    client.session.figures = replace(client.session.figures, placed_cloud=bare)
    said = feature_cloud.cloud_details(client.session, folders)
    assert "says where Caltech101 belongs" in said
    assert "Open in Inside" not in said


def test_a_point_selects_its_class_in_every_tab_that_has_it(client: FiguresClient) -> None:
    client.collected()
    marks = client.points()
    woven = int(np.flatnonzero((marks.kind == "view") & (marks.label == 0))[0])
    updates = chosen(client.tab, client.name, point=woven)
    assert client.session.selection.k == 2  # "woven" in the story
    assert selected_class(client.session) == 0
    assert client.session.figures.picture == marks.picture[woven]
    assert client.tab.parts["large"] in updates
    dotted = int(np.flatnonzero((marks.kind == "attacked") & (marks.label == 1))[0])
    chosen(client.tab, client.name, point=dotted)  # a class the story does not have
    assert client.session.selection.k == 2
    assert selected_class(client.session) == 1


def test_a_class_selected_in_another_tab_is_highlighted_and_cleared_by_its_chip(client: FiguresClient) -> None:
    client.collected()
    client.session.selection = replace(client.session.selection, k=3)  # "lined"
    assert selected_class(client.session) == 2
    assert 'data-chip="2" aria-pressed="true"' in feature_cloud.class_chips(client.session)
    chosen(client.tab, client.name, chip=2)
    assert selected_class(client.session) is None
    chosen(client.tab, client.name, chip=2)
    assert selected_class(client.session) == 2
    point = int(np.flatnonzero(client.points().kind == "clean")[0])
    chosen(client.tab, client.name, point=point)  # the story of a picture greys no class
    assert 'aria-pressed="true"' not in feature_cloud.class_chips(client.session)
    chosen(client.tab, client.name, chip=selected_class(client.session))
    assert client.session.figures.picture is None
    assert 'aria-pressed="true"' in feature_cloud.class_chips(client.session)


def test_the_lasso_counts_points_and_pictures(client: FiguresClient) -> None:
    client.collected()
    marks, parts = client.points(), client.tab.parts
    chosen = np.flatnonzero(marks.kind == "attacked")[:4].tolist()
    drawn = client.tab.on_lasso(client.name, event(points=[*chosen, 10**9, "x", None]))
    assert "4 points of 4 pictures" in drawn[parts["lassoed"]]
    assert drawn[parts["lasso_table"]]["visible"]
    client.session.figures = replace(client.session.figures, shown="kl")
    assert client.tab.on_lasso(client.name, event(points=chosen)) == {}, "only the cloud has a lasso"


def test_the_menu_of_pictures_shows_an_example_or_opens_the_drawer(client: FiguresClient) -> None:
    parts = client.tab.parts
    shown = client.tab._shown(client.session)
    assert shown["value"] == "example:textures"
    live = client.tab.pick_pictures(client.name, "dataset:textures")
    assert live[parts["drawer"]]["open"] is True
    assert live[parts["source"]]["value"] == "dataset:textures"
    assert live[parts["shown"]]["value"] == "example:textures", "until others are collected"
    for forged in ("dataset:../x", None, 7, ["x"]):
        assert list(client.tab.pick_pictures(client.name, forged)) == [parts["shown"]]
    client.tab.pick_pictures(client.name, "example:dtd")
    assert client.session.figures.placed_cloud.cloud.dataset == "dtd"
    assert client.session.figures.picture is not None, "a story is told at once"


def test_a_stored_stream_has_no_use_for_the_controls_of_the_attack(client: FiguresClient) -> None:
    for source, live in (("dataset:textures", True), ("dataset:dtd", True), ("run/cells/x", False)):
        assert {update["interactive"] for update in client.tab.pick_source(client.name, source, "pgd").values()} == {
            live
        }
    strength = client.tab.parts["budget"]
    for attack, info in (
        ("pgd", "0 is no attack"),
        ("patch", setting_controls.RESTS),
        ("typographic", setting_controls.RESTS),
    ):
        update = client.tab.pick_source(client.name, "dataset:textures", attack)[strength]
        assert update == gr.update(interactive=attack == "pgd", info=info)
    assert [figures_jobs._cloud_settings(name, 0, 32).attack for name in ("pgd", "patch")] == ["none", "patch"]


def test_the_overview_shows_the_run_on_screen(client: FiguresClient) -> None:
    figure = chosen(client.tab, client.name, figure=FIGURES.index("overview"))[client.tab.parts["large"]]
    run = client.session.run
    best = run.class_prompts.names[run.attacked.trace.verdict.label]
    assert best in figure.meta["alt"]
    assert len(figure.layout.images) == 2
    widths = [t.line.width for t in figure.data if t.type == "scatter" and t.mode == "lines"]
    plan = run.attacked.trace.prompt_transport.plan[run.attacked.trace.verdict.label]
    assert max(widths) == pytest.approx(7.0)
    assert len(widths) <= plan.size


def test_the_separability_text_matches_the_numbers(client: FiguresClient) -> None:
    client.collected()
    rows = client.session.figures.placed_cloud.separability
    table = feature_cloud.separability_table(client.session)
    for said in (
        f"{rows[3].silhouette:.3f}",
        "of the 4 nearest points",
        "100 % can be reached",
    ):  # 5 pictures per class
        assert said in table
    list(client.tab.jobs.collect(client.name, "dataset:textures", 1, "pgd", 4, 16, NAMED))
    assert "collect at least 2 of each" in feature_cloud.cloud_headline(client.session)
    assert "bars" not in feature_cloud.cloud_details(client.session, client.tab.folders)


def theorem(client: FiguresClient) -> Any:
    """The figure, chosen from the wall."""
    return chosen(client.tab, client.name, figure=FIGURES.index("theorem"))[client.tab.parts["large"]]


def test_theorem_1_is_drawn_in_numbers_when_it_is_chosen_and_classes_can_be_selected(client: FiguresClient) -> None:
    assert client.session.figures.theorem_bounds is None, "what is not shown costs nothing"
    figure = theorem(client)
    assert {t.name for t in figure.data} >= {"clean exact", "attacked exact", "attacked bracket"}
    assert run_figures.theorem_headline(client.session) == "Both bounds hold for 4 of 4 classes."
    run, bounds = client.session.figures.theorem_bounds
    above = {side: replace(b, exact=b.upper + 1) for side, b in bounds.items()}
    client.session.figures = replace(client.session.figures, theorem_bounds=(run, bounds | {"clean": above["clean"]}))
    assert run_figures.theorem_headline(client.session) == "Both bounds hold for 0 of 4 classes."
    chosen(client.tab, client.name, k=1)
    assert client.session.selection.k == 1
    said = run_figures.theorem_details(client.session, client.tab.folders)
    assert f"<h3>{run.class_prompts.names[1]}</h3>" in said
    for side in ("clean", "attacked"):
        assert f"{bounds[side].lower[1]:.4f}" in said
        assert f"{bounds[side].upper[1]:.4f}" in said


def test_theorem_1_updates_when_a_run_finishes_while_it_is_visible(client: FiguresClient, failed_run: Run) -> None:
    theorem(client)
    client.session.show(failed_run)
    figure = drawn(client.tab, client.session, client.context.changed(client.session, "run"))[client.tab.parts["large"]]
    shown = run_figures.shown_classes(failed_run, client.session.selection.k)
    assert [int(k) for k, _ in figure.data[-1].customdata] == shown
    assert client.session.figures.theorem_bounds[0] is failed_run
    open_room(client.tab, client.name, STORY)
    client.session.show(newer := replace(failed_run))
    drawn(client.tab, client.session, client.context.changed(client.session, "run"))
    assert client.session.figures.theorem_bounds[0] is failed_run  # out of sight nothing is computed
    open_room(client.tab, client.name)
    assert client.session.figures.theorem_bounds[0] is newer


def test_settings_are_ordered_by_how_far_they_move_rita(client: FiguresClient) -> None:
    assert client.tab.pick_setting(client.name, "nothing") == {}
    client.tab.pick_setting(client.name, "step_back")
    assert "RITA keeps 68 to 86 of 100 under PGD 4/255" in measurements.settings_headline(client.session)
    said = measurements.settings_details(client.session, client.tab.folders)
    spans = [int(span) for span in re.findall(r"<dd>(\d+)</dd>", said)]
    assert spans == sorted(spans, reverse=True)
    assert (spans[0], spans[-1]) == (18, 0)
    assert "an attack that leaves CLIP right turns its gain around" in said
    assert "n = 120" in said
    for name in (measurements.MODELS, measurements.TIMES):
        client.tab.pick_setting(client.name, name)
        assert measurements.draw_settings(client.session).meta["alt"]


def test_printed_and_measured_accuracies_are_of_the_chosen_dataset(client: FiguresClient) -> None:
    for dataset in ("DTD", "Caltech101"):
        client.tab.pick_dataset(client.name, dataset)
        pairs = measurements.paper_pairs(client.session)
        assert set(pairs["dataset"]) == {dataset}
        assert {one.dataset.partition(":")[0] for one in pairs["cell"]} == {dataset.lower()}
        assert "RITA" in measurements.paper_headline(client.session)
    assert client.tab.pick_dataset(client.name, "../x") == {}


def test_the_table_of_the_paper_has_every_printed_accuracy_beside_what_was_measured(client: FiguresClient) -> None:
    shown = open_room(client.tab, client.name)[client.tab.parts["printed"]]
    assert list(shown) == list(measurements.SHOWN.values())
    single = [cell for cell in paper_results.paper_results() if cell.dataset not in paper_results.AVERAGES]
    assert list(shown["printed"]) == [cell.accuracy for cell in single]
    assert sum(shown["known to be wrong"] != "") == sum(bool(cell.remark) for cell in single) > 0
    measured = shown[shown["measured with"] != ""]
    assert set(measured["dataset"]) >= {"DTD", "Caltech101"}
    assert all(isinstance(share, float) for share in measured["measured"])


def test_an_opened_run_stands_in_the_figures_and_in_the_table_with_what_it_measured_meanwhile(
    client: FiguresClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cell(accuracy: float, n: int) -> AblationPoint:
        columns = ("dtd", "mine", "rita", "pgd", 1, 7, "stream", "test", accuracy, n, 1.0, 99.0, "0", "x")
        return AblationPoint(MeasuredCell(*columns), {"slots": 3})

    with pytest.raises(DemoError):
        client.tab.pick_run(client.name, "../../etc")
    measured = [cell(61.0, 4000)]
    monkeypatch.setattr(evaluation_page, "run_names", lambda _: ("measured",))
    monkeypatch.setattr(evaluation_page, "measured_points", lambda _, run: (tuple(measured) if run else (), ()))
    parts = client.tab.parts
    assert ("measured", "measured") in open_room(client.tab, client.name)[parts["run"]]["choices"]

    def best(updates: Any) -> set[float]:
        table = drawn(client.tab, client.session, updates)[parts["printed"]]
        return set(table[table["measured with"] == "mine"]["measured"])

    assert best(client.tab.pick_run(client.name, "measured")) == {61.0}
    measured.append(cell(62.0, 5000))
    assert best(open_room(client.tab, client.name)) == {62.0}, "of more pictures"
