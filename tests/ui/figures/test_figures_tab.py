"""The room *Figures* on the toy engine: collecting, placing, selecting, measuring; pictures open as they were measured."""

import csv
import io
import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo import evaluate, load_runs
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures import analysis
from rita_demo.pipeline import run as run_module
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.figures import feature_cloud, wall, won_pictures
from rita_demo.ui.figures.tab import FiguresTab
from rita_demo.ui.session.run_request import names_of
from rita_demo.ui.session.session import FIGURES, Session
from tests.figures.clouds import make_cloud
from tests.toy_model import ToyEngine
from tests.ui.conftest import build_tab, chosen, drawn, form_shown, open_room, saved_file
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

    def __init__(self, tab: FiguresTab, run: Run) -> None:
        self.tab, self.context, self.parts = tab, tab.context, tab.parts
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

    def wall(self, figure: str) -> Any:
        """Choose a figure of the wall."""
        return chosen(self.tab, self.name, figure=FIGURES.index(figure))[self.parts["large"]]

    def names_in_form(self) -> tuple[str, ...]:
        shown = form_shown(self.tab, self.session)
        fields = self.tab.opener.fill_form.__self__.form.fields
        filled = {name: shown[one] for name, one in fields.items()}
        return names_of({n: value.get("value") if isinstance(value, dict) else value for n, value in filled.items()})


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> FiguresTab:
    root = tmp_path_factory.mktemp("places")
    made = build_tab(FiguresTab, ENGINE, folders=DataFolders(root / "data", root / "runs"))
    made.jobs.worker = InstantUmap()
    return made


@pytest.fixture(scope="module")
def run() -> Run:
    names, picture = ("motorbike", "crab", "woven", "lined"), SAMPLES["motorcycle"].load()
    return run_module.run_picture(ENGINE, picture, names, RECOMMENDED, label=0)


@pytest.fixture
def client(tab: FiguresTab, run: Run) -> Visitor:
    return Visitor(tab, run)


# --- the cloud
@pytest.mark.slow
def test_pictures_are_collected_shown_with_pca_then_umap_and_one_opens_in_all_rooms(client: Visitor) -> None:
    tab, large = client.tab, client.parts["large"]
    updates = client.collect(TEXTURES, 2, "pgd", 4, 16, NAMED)
    assert "picture 1 of 6" in updates[0][client.context.status]
    cloud = client.placed.cloud
    assert (len(cloud.ids), cloud.names) == (6, tuple(NAMED))
    assert updates[-2][large].layout.meta["alt"].startswith("PCA")
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
        truth = client.placed.cloud.names[client.placed.cloud.label[n]]
        assert (row["file"], row["true_class"]) == (f"picture {n}", truth)
    assert rows[2]["stored_as"] in client.placed.cloud.class_prompts.names
    assert not tab.on_lasso(client.name, Event({"points": marks[3:]}))[table]["visible"], "a prompt has no picture"
    client.session.figures = replace(client.session.figures, shown="kl")
    assert tab.on_lasso(client.name, Event({"points": marks})) == {}, "only the cloud has a lasso"


# --- Theorem 1
def test_theorem_1_is_drawn_in_numbers_when_it_is_chosen_and_classes_can_be_selected(client: Visitor) -> None:
    assert client.session.figures.theorem_bounds is None, "what is not shown costs nothing"
    assert client.wall("theorem").meta["kind"] == "brackets"
    assert wall.headline(client.session) == "Both bounds hold for 4 of 4 classes."
    run, bounds = client.session.figures.theorem_bounds
    above = bounds | {"clean": replace(bounds["clean"], exact=bounds["clean"].upper + 1)}
    client.session.figures = replace(client.session.figures, theorem_bounds=(run, above))
    assert wall.headline(client.session) == "Both bounds hold for 0 of 4 classes."


# --- pictures that one run alone has right
def compare_any(client: Visitor, folder: str) -> tuple[Any, Any]:
    """Choose two measurements of a folder of which the first has a picture right that the second has not."""
    known = [one for one in evaluation_page.known_measurements(client.tab.folders) if one.place.name == folder]
    for first, second in itertools.permutations(known, 2):
        client.tab.pick_compared(client.name, first.name, second.name)
        if len(client.session.figures.compared.found.won):
            return first, client.session.figures.compared.found
    raise AssertionError("no two of them differ")


@pytest.mark.slow
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
    for bad in ({}, {"picture": 10**6}, {"picture": "0; drop"}):
        assert list(client.tab.open_won(client.name, Event(bad))) == []
    with pytest.raises(DemoError, match="no such measurement"):
        client.tab.pick_compared(client.name, "../x", first.name)
    assert client.session.run is run
