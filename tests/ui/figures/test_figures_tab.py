"""The room *Figures* on the toy engine: collecting, placing, selecting, measuring; pictures open as they were measured."""

import csv
import io
import itertools
import re
import shutil
from dataclasses import replace
from typing import Any

import gradio as gr
import numpy as np
import pytest
import torch

from rita_demo import evaluate, load_runs
from rita_demo.data import paper_results
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.contract import DefenceInput
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures import analysis
from rita_demo.pipeline import run as run_module
from rita_demo.process.assets import ASSETS
from rita_demo.records import MeasuredCell, Run
from rita_demo.records.errors import DemoError
from rita_demo.records.measurement import AblationPoint
from rita_demo.scripting.own import defence_names
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.figures import feature_cloud, jobs, measurements, wall, won_pictures
from rita_demo.ui.figures.tab import FiguresTab
from rita_demo.ui.memory import answers
from rita_demo.ui.memory.panels import shown_stream
from rita_demo.ui.memory.tab import MemoryTab
from rita_demo.ui.session.run_request import names_of
from rita_demo.ui.session.session import FIGURES, STORY, Session, selected_class
from rita_demo.ui.widgets import setting_controls
from tests.figures.clouds import make_cloud
from tests.toy_model import ToyEngine
from tests.ui.conftest import build_tabs, chosen, drawn, form_shown, open_room, saved_file
from tests.ui.memory_client import Event

ENGINE = ToyEngine(spread=0.2)
NAMED = ["banded", "gauzy", "porous"]
TEXTURES = "dataset:textures"


class InstantUmap(analysis.UmapProcess):
    """Places at once, in this process: a person's patience is tested elsewhere."""

    def warm_up(self) -> None:
        pass

    def compute(self, features: np.ndarray, neighbours: int, picture: np.ndarray) -> np.ndarray:
        return np.stack([np.arange(len(features)), np.full(len(features), neighbours)], 1).astype(float)


class Visitor:
    """A visitor in front of the open room; the classes of their run contain two of those of :func:`make_cloud`."""

    def __init__(self, tab: FiguresTab, memory: MemoryTab, run: Run) -> None:
        self.tab, self.context, self.stream, self.parts = tab, tab.context, memory.streaming, tab.parts
        self.name = self.context.sessions.open(model="toy")
        self.session: Session = self.context.sessions.get(self.name)
        self.session.show(run)
        open_room(tab, self.name)

    @property
    def placed(self) -> Any:
        return self.session.figures.placed_cloud

    def show_cloud(self) -> None:
        placed = analysis.placed_cloud(make_cloud(), ENGINE.kl_to_one_hot)
        placed = replace(placed, separability=analysis.separabilities(placed.cloud))
        self.session.figures = replace(self.session.figures, placed_cloud=placed, picture=None, point=None)

    def collect(self, *asked: Any) -> list[Any]:
        return [drawn(self.tab, self.session, update) for update in self.tab.jobs.collect(self.name, *asked)]

    def first(self, kind: str, column: str, value: int) -> int:
        """The first point of a kind with this picture or label."""
        points = self.placed.points
        return int(np.flatnonzero((points.kind == kind) & (getattr(points, column) == value))[0])

    def wall(self, figure: str) -> Any:
        """Choose a figure of the wall."""
        return chosen(self.tab, self.name, figure=FIGURES.index(figure))[self.parts["large"]]

    def details(self) -> str:
        return wall.details(self.session, self.tab.folders)

    def run_stream(self, dataset: str, pictures: int) -> list[Any]:
        fields, asked = self.stream.form.fields, self.stream.inputs
        self.session.attack_defend.settings = {"views": 8, "prompts": 2}
        values = {one: one.value for one in (*fields.values(), *asked.values())}
        values |= {asked["dataset"]: dataset, asked["pictures"]: pictures, fields["steps"]: 2}
        return list(self.stream.on_start(values | {self.context.visitor: self.name}))

    def names_in_form(self) -> tuple[str, ...]:
        shown = form_shown(self.tab, self.session)
        filled = {name: shown[one] for name, one in self.stream.form.fields.items()}
        return names_of({n: value.get("value") if isinstance(value, dict) else value for n, value in filled.items()})


@pytest.fixture(scope="module")
def tabs(tmp_path_factory: pytest.TempPathFactory) -> tuple[FiguresTab, MemoryTab]:
    root = tmp_path_factory.mktemp("places")
    for name in NAMED:
        shutil.copytree(ASSETS / "textures/val" / name, root / "data" / "three" / name)
    made = build_tabs((FiguresTab, MemoryTab), ENGINE, folders=DataFolders(root / "data", root / "runs"))
    made[FiguresTab].jobs.worker = InstantUmap()
    return made[FiguresTab], made[MemoryTab]


@pytest.fixture(scope="module")
def run() -> Run:
    names, picture = ("motorbike", "crab", "woven", "lined"), SAMPLES["motorcycle"].load()
    return run_module.run_picture(ENGINE, picture, names, RECOMMENDED, label=0)


@pytest.fixture
def client(tabs: tuple[FiguresTab, MemoryTab], run: Run) -> Visitor:
    return Visitor(*tabs, run)


# --- the cloud
def test_pictures_are_collected_shown_with_pca_then_umap_and_one_opens_in_all_rooms(client: Visitor) -> None:
    tab, large = client.tab, client.parts["large"]
    updates = client.collect(TEXTURES, 2, "pgd", 4, 16, NAMED)
    assert "picture 1 of 6" in updates[0][client.context.status]
    cloud = client.placed.cloud
    assert (len(cloud.ids), cloud.names) == (6, tuple(NAMED))
    first, end = updates[-2:]
    assert first[large].layout.meta["alt"].startswith("PCA")
    assert cloud.title.partition(",")[0] in first[large].layout.meta["caption"], "below a saved figure"
    assert "silhouette" in str(end)
    *_, placed = tab.jobs.run_umap(client.name)
    figure = drawn(tab, client.session, placed)[large]
    assert figure.layout.meta["alt"].startswith("UMAP, 15 neighbours")
    assert set(figure.data[0].y) == {15.0}
    assert list(tab.jobs.run_umap(client.name)) == [], "it is placed already"
    assert large in tab.pick_projection(client.name, "PCA")
    assert feature_cloud.projection_shown(client.session) == "PCA"
    assert tab.pick_projection(client.name, {"x": 1}) == {}
    assert list(tab.open_picture(client.name, Event({"picture": 99}))) == []
    updates = list(tab.open_picture(client.name, Event({"picture": 4})))
    assert any(update.get(tab.opener.tabs, {}).get("selected") == "inside" for update in updates)
    run = client.session.run
    assert (run.class_prompts.names, run.label) == (cloud.class_prompts.names, int(cloud.label[4]))
    assert np.allclose(run.attacked.encoded_views.features[0], cloud.attacked[4], atol=1e-6), "attacked again alike"
    assert client.names_in_form() == cloud.class_prompts.names, "and the form asks the same again"


def test_classes_are_chosen_by_name_or_six_and_what_fails_keeps_the_previous_cloud(client: Visitor) -> None:
    client.collect(TEXTURES, 2, "pgd", 0, 16)
    assert (len(client.placed.cloud.ids), len(client.placed.cloud.names)) == (12, 6)
    assert client.placed.cloud.pictures_name == "clean pictures", "nothing was attacked"
    assert wall.headline(client.session).startswith("Without an attack ")
    client.collect(TEXTURES, 1, "pgd", 4, 16, ["porous", "banded"])
    assert client.placed.cloud.class_prompts.names == ("banded", "porous")
    assert "collect at least 2 of each" in wall.headline(client.session)
    assert "bars" not in client.details()
    before = client.session.figures
    for wrong in (["banded", "nothing"], ["banded"], "banded", [1, 2], {"a": 1}):
        with pytest.raises(DemoError):
            client.collect(TEXTURES, 1, "none", 0, 16, wrong)
    for source, each in (("../x/y", 2), (TEXTURES, 10**4), (TEXTURES, "many")):
        with pytest.raises(DemoError):
            client.collect(source, each, "pgd", 4, 16)
    assert client.session.figures is before
    client.session.figures = type(before)()
    assert list(client.tab.jobs.run_umap(client.name)) == []


def test_one_figure_of_the_wall_is_large_and_only_that_is_drawn(client: Visitor) -> None:
    for n, name in enumerate(FIGURES):
        updates = chosen(client.tab, client.name, figure=n)
        figure, title = updates[client.parts["large"]], wall.WALL[name].title
        assert client.session.figures.shown == name
        assert figure.meta["title"] == title
        assert figure.meta["kind"] != "empty"
        head = str(updates[next(one for one in updates if getattr(one, "elem_id", "") == "figures-headline")])
        words = re.sub("<[^>]+>", "", head)
        assert len(words.split()) <= 20, words
        assert re.search(r"\d", words), words
        assert f"data-wall='{name}'" in updates[client.parts["details"]]
        tiles = str(wall.tiles(client.session))
        assert title not in tiles
        assert tiles.count("<button") == len(FIGURES) - 1
        assert tiles.count('tabindex="0"') == 1, "one tab stop"
    assert chosen(client.tab, client.name, figure=len(FIGURES)) == {}
    assert client.session.figures.shown == FIGURES[-1]


def test_the_chosen_point_tells_what_became_of_its_picture(client: Visitor) -> None:
    client.show_cloud()
    placed = client.placed
    view = int(np.flatnonzero((placed.points.kind == "view") & (placed.points.picture == 1))[2])
    chosen(client.tab, client.name, point=view)
    text, (near, crops) = client.details(), analysis.nearest_classes(placed.cloud, 1)
    assert "&lt;b&gt;dotted&lt;/b&gt;, crop 3" in text
    assert "data:image/jpeg" in text
    assert f"{np.bincount(near).max()} of the 5 clean pictures nearest to the attacked picture are" in text
    assert f"{np.bincount(crops).max()} of its 4 crops lie nearest to" in text
    shares = [round(100 * row.purity) for row in placed.separability[:3]]
    assert all(f'<span class="number">{share}</span>' in text for share in shares)
    assert f"Under attack {shares[1]} of 100 neighbours" in wall.headline(client.session)
    table = feature_cloud.separability_table(client.session)
    for words in (f"{placed.separability[3].silhouette:.3f}", "of the 4 nearest points", "100 % can be reached"):
        assert words in table  # 5 pictures per class
    bare = replace(placed, cloud=replace(placed.cloud, thumbs=None, dataset="caltech101", settings=RECOMMENDED))
    client.session.figures = replace(client.session.figures, placed_cloud=bare)
    assert "says where Caltech101 belongs" in client.details()
    assert "Open in Inside" not in client.details()


def test_a_point_or_a_chip_selects_its_class_in_every_tab_that_has_it(client: Visitor) -> None:
    client.show_cloud()
    woven = client.first("view", "label", 0)
    updates = chosen(client.tab, client.name, point=woven)
    assert client.session.selection.k == 2  # "woven" in the story
    assert selected_class(client.session) == 0
    assert client.session.figures.picture == client.placed.points.picture[woven]
    assert client.parts["large"] in updates
    chosen(client.tab, client.name, point=client.first("attacked", "label", 1))  # a class the story does not have
    assert (client.session.selection.k, selected_class(client.session)) == (2, 1)
    client.session.figures = replace(client.session.figures, picture=None, point=None, released_class=None)
    client.session.selection = replace(client.session.selection, k=3)  # "lined", in another tab
    assert selected_class(client.session) == 2
    assert 'data-chip="2" aria-pressed="true"' in feature_cloud.class_chips(client.session)
    chosen(client.tab, client.name, chip=2)
    assert selected_class(client.session) is None
    chosen(client.tab, client.name, chip=2)
    assert selected_class(client.session) == 2
    chosen(client.tab, client.name, point=client.first("clean", "picture", 0))  # the story of a picture greys no class
    assert 'aria-pressed="true"' not in feature_cloud.class_chips(client.session)
    chosen(client.tab, client.name, chip=selected_class(client.session))
    assert client.session.figures.picture is None
    assert 'aria-pressed="true"' in feature_cloud.class_chips(client.session)


def test_the_lasso_counts_points_and_pictures_which_leave_as_a_csv_file(client: Visitor) -> None:
    client.show_cloud()
    tab, points, table = client.tab, client.placed.points, client.parts["lasso_table"]
    with pytest.raises(DemoError, match="No points are selected"):
        tab.save_points(client.name)
    kinds = ("attacked", "view", "cached", "prompt")
    marks = [int((points.kind == kind).argmax()) for kind in kinds]
    updates = tab.on_lasso(client.name, Event({"points": [*marks, 10**9, "x", None]}))
    assert "4 points of 1 pictures" in updates[client.parts["lassoed"]]
    assert updates[table]["visible"]
    saved = tab.save_points(client.name)
    assert "Saved points.csv:" in saved[client.context.status]
    rows = list(csv.DictReader(io.StringIO(saved_file(saved[table]).decode())))
    assert [row["kind"] for row in rows] == ["attacked", "view", "cached"], "a prompt is of no picture"
    for row, i in zip(rows, marks):
        n = int(points.picture[i])
        assert (row["file"], row["true_class"]) == (
            f"picture {n}",
            client.placed.cloud.names[client.placed.cloud.label[n]],
        )
    assert rows[2]["stored_as"] in client.placed.cloud.class_prompts.names
    assert not tab.on_lasso(client.name, Event({"points": marks[3:]}))[table]["visible"], "a prompt has no picture"
    client.session.figures = replace(client.session.figures, shown="kl")
    assert tab.on_lasso(client.name, Event({"points": marks})) == {}, "only the cloud has a lasso"


def test_the_menu_of_pictures_shows_an_example_or_opens_the_drawer_whose_controls_fit_the_source(
    client: Visitor,
) -> None:
    tab, parts = client.tab, client.parts
    assert tab._shown(client.session)["value"] == "example:textures"
    live = tab.pick_pictures(client.name, TEXTURES)
    assert live[parts["drawer"]]["open"] is True
    assert live[parts["source"]]["value"] == TEXTURES
    assert live[parts["shown"]]["value"] == "example:textures", "until others are collected"
    for forged in ("dataset:../x", None, 7, ["x"]):
        assert list(tab.pick_pictures(client.name, forged)) == [parts["shown"]]
    tab.pick_pictures(client.name, "example:dtd")
    assert client.placed.cloud.dataset == "dtd"
    assert client.session.figures.picture is not None, "a story is told at once"
    for source, usable in ((TEXTURES, True), ("dataset:dtd", True), ("run/cells/x", False)):
        updates = tab.pick_source(client.name, source, "pgd")
        assert {update["interactive"] for update in updates.values()} == {usable}
        names = [name for _, name in updates[parts["names"]]["choices"]]
        assert names == list(evaluation_page.class_counts(tab.folders, source.removeprefix("dataset:")))
        assert len(names) == (47 if source == TEXTURES else 0)
    assert tab.class_choices("dataset:../x") == []
    for attack, info in (
        ("pgd", "0 is no attack"),
        ("patch", setting_controls.RESTS),
        ("typographic", setting_controls.RESTS),
    ):
        update = tab.pick_source(client.name, TEXTURES, attack)[parts["budget"]]
        assert update == gr.update(interactive=attack == "pgd", info=info)
    assert [jobs._cloud_settings(name, 0, 32).attack for name in ("pgd", "patch")] == ["none", "patch"]


# --- Theorem 1
def test_theorem_1_is_drawn_in_numbers_when_it_is_chosen_and_classes_can_be_selected(client: Visitor) -> None:
    assert client.session.figures.theorem_bounds is None, "what is not shown costs nothing"
    assert client.wall("theorem").meta["kind"] == "brackets"
    assert wall.headline(client.session) == "Both bounds hold for 4 of 4 classes."
    run, bounds = client.session.figures.theorem_bounds
    above = bounds | {"clean": replace(bounds["clean"], exact=bounds["clean"].upper + 1)}
    client.session.figures = replace(client.session.figures, theorem_bounds=(run, above))
    assert wall.headline(client.session) == "Both bounds hold for 0 of 4 classes."
    chosen(client.tab, client.name, k=1)
    assert client.session.selection.k == 1
    assert f"<h3>{run.class_prompts.names[1]}</h3>" in client.details()
    for side in ("clean", "attacked"):
        assert f"{bounds[side].lower[1]:.4f}" in client.details()
        assert f"{bounds[side].upper[1]:.4f}" in client.details()


def test_theorem_1_updates_when_a_run_finishes_while_it_is_visible(client: Visitor, failed_run: Run) -> None:
    client.wall("theorem")
    client.session.show(failed_run)
    updates = drawn(client.tab, client.session, client.context.changed(client.session, "run"))
    assert failed_run.class_prompts.names[1] in updates[client.parts["large"]].meta["alt"]
    assert client.session.figures.theorem_bounds[0] is failed_run
    open_room(client.tab, client.name, STORY)
    client.session.show(newer := replace(failed_run))
    drawn(client.tab, client.session, client.context.changed(client.session, "run"))
    assert client.session.figures.theorem_bounds[0] is failed_run, "out of sight nothing is computed"
    open_room(client.tab, client.name)
    assert client.session.figures.theorem_bounds[0] is newer


# --- measurements
def test_settings_are_ordered_by_how_far_they_move_rita(client: Visitor) -> None:
    client.wall("settings")
    assert client.tab.pick_setting(client.name, "nothing") == {}
    client.tab.pick_setting(client.name, "step_back")
    assert "RITA keeps 68 to 86 of 100 under PGD 4/255" in wall.headline(client.session)
    spans = [int(span) for span in re.findall(r"<dd>(\d+)</dd>", client.details())]
    assert spans == sorted(spans, reverse=True)
    assert (spans[0], spans[-1]) == (18, 0)
    assert "an attack that leaves CLIP right turns its gain around" in client.details()
    assert "n = 120" in client.details()
    for name in (measurements.MODELS, measurements.TIMES):
        client.tab.pick_setting(client.name, name)
        assert wall.draw(client.session).meta["alt"]


def test_printed_and_measured_accuracies_stand_side_by_side_of_the_chosen_dataset_and_in_a_table(
    client: Visitor,
) -> None:
    client.wall("paper")
    for dataset in ("DTD", "Caltech101"):
        client.tab.pick_dataset(client.name, dataset)
        pairs = measurements.paper_pairs(client.session)
        assert set(pairs["dataset"]) == {dataset}
        assert {cell.dataset.partition(":")[0] for cell in pairs["cell"]} == {dataset.lower()}
        assert "RITA" in wall.headline(client.session)
    assert client.tab.pick_dataset(client.name, "../x") == {}
    table = open_room(client.tab, client.name)[client.parts["printed"]]
    assert list(table) == list(measurements.SHOWN.values())
    single = [cell for cell in paper_results.paper_results() if cell.dataset not in paper_results.AVERAGES]
    assert list(table["printed"]) == [cell.accuracy for cell in single]
    assert sum(table["known to be wrong"] != "") == sum(bool(cell.remark) for cell in single) > 0
    measured = table[table["measured with"] != ""]
    assert set(measured["dataset"]) >= {"DTD", "Caltech101"}
    assert all(isinstance(share, float) for share in measured["measured"])


def test_an_opened_run_stands_in_the_figures_and_in_the_table_with_what_it_measured_meanwhile(
    client: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cell(accuracy: float, n: int) -> AblationPoint:
        columns = ("dtd", "mine", "rita", "pgd", 1, 7, "stream", "test", accuracy, n, 1.0, 99.0, "0", "x")
        return AblationPoint(MeasuredCell(*columns), {"slots": 3})

    with pytest.raises(DemoError):
        client.tab.pick_run(client.name, "../../etc")
    measured = [cell(61.0, 4000)]
    monkeypatch.setattr(evaluation_page, "run_names", lambda _: ("measured",))
    monkeypatch.setattr(evaluation_page, "measured_points", lambda _, run: (tuple(measured) if run else (), ()))
    assert ("measured", "measured") in open_room(client.tab, client.name)[client.parts["run"]]["choices"]

    def best(updates: Any) -> set[float]:
        table = drawn(client.tab, client.session, updates)[client.parts["printed"]]
        return set(table[table["measured with"] == "mine"]["measured"])

    assert best(client.tab.pick_run(client.name, "measured")) == {61.0}
    measured.append(cell(62.0, 5000))
    assert best(open_room(client.tab, client.name)) == {62.0}, "of more pictures"


# --- pictures that one run alone has right
def compare_any(client: Visitor, folder: str) -> tuple[Any, Any]:
    """Choose two measurements of a folder of which the first has a picture right that the second has not."""
    known = [one for one in evaluation_page.known_measurements(client.tab.folders) if one.place.name == folder]
    for first, second in itertools.permutations(known, 2):
        client.tab.pick_compared(client.name, first.name, second.name)
        if len(client.session.figures.compared.found.won):
            return first, client.session.figures.compared.found
    raise AssertionError("no two of them differ")


def test_a_picture_that_one_run_alone_has_right_opens_in_all_tabs_as_that_run_had_it(client: Visitor) -> None:
    out = client.tab.folders.runs / "alone"
    asked = {"split": "val", "limit": 8, "engine": ENGINE, "protocols": "off", "out": out, "settings": {"views": 8}}
    evaluate("textures", methods="clip,ensemble,rita", attack="none,pgd", budget=4, steps=2, **asked)
    first, compared = compare_any(client, out.name)
    last = len(compared.won) - 1
    assert f'data-picture="{last}"' in won_pictures.won_html(client.session)
    list(client.tab.open_won(client.name, Event({"picture": last})))
    run, won, columns, frame = client.session.run, compared.won.iloc[-1], first.cell, load_runs(out)
    mine = (frame.method == columns["method"]) & (frame.attack == columns["attack"]) & (frame.picture == won.picture)
    (row,) = frame[mine].to_dict("records")
    assert run.class_prompts.names == client.names_in_form() == tuple(columns["class_names"])
    assert run.class_prompts.names[run.label] == row["label"] == won.label
    assert run.label_given
    assert (run.settings.views, run.settings.attack, run.settings.protocol) == (8, row["attack"], "off")
    assert run.class_prompts.names[run.attacked.verdicts[row["method"]].label] == row["answer"]
    shown = client.session.run
    for bad in ({}, {"picture": 10**6}, {"picture": "0; drop"}, {"picture": -1}, {"picture": True}):
        assert list(client.tab.open_won(client.name, Event(bad))) == []
    assert client.session.run is shown


def test_a_won_picture_of_a_stream_opens_with_the_memory_before_it(client: Visitor) -> None:
    client.run_stream("three", 14)
    recording, trajectory = client.session.stream.recording, client.session.stream.trajectory
    _, compared = compare_any(client, recording.name.partition("/")[0])
    before = client.session.history
    list(client.tab.open_won(client.name, Event({"picture": 0})))
    t, run = trajectory.pictures.index(compared.won["picture"][0]), client.session.run
    held = {k: view.count for k, view in evaluation_page.classes_after(trajectory, t).items()}
    assert {k: n for k, n in enumerate(run.cache_before.count.tolist()) if n} == held
    assert run.class_prompts.names[run.attacked.verdicts["rita"].label] == recording.rows()[t]["answer"]
    assert any(one is before for one in client.session.memories.histories), "nothing is lost"


@pytest.mark.usefixtures("no_plugins_afterwards")
def test_an_own_defence_that_fails_on_a_picture_is_named_and_the_stream_goes_on(client: Visitor) -> None:
    seen = []

    def choosy(inputs: DefenceInput) -> torch.Tensor:
        """It fails now and then."""
        seen.append(inputs)
        logits = inputs.views[0] @ inputs.template_features.T / inputs.temperature
        return logits.softmax(-1) if len(seen) != 2 else 1 / 0

    defence_names(choosy)
    (fault,) = filter(None, (step.get(client.context.error_banner) for step in client.run_stream("textures", 2)))
    assert "ZeroDivisionError" in fault
    assert "The stream goes on. They count neither as right nor as wrong." in fault
    table = answers.accuracy_table(shown_stream(client.session, client.stream.folders))
    assert "of n = 2" in table
    assert "Choosy has no answer to some pictures: they are not counted." in table
