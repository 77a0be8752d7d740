"""Pictures of a cloud, of two runs that are compared, and of a stream open as they were measured; the classes of a cloud are
chosen by name."""

import itertools
import shutil
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo import evaluate, load_runs
from rita_demo.defences.contract import DefenceInput
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, class_counts, known_measurements
from rita_demo.process.assets import ASSETS
from rita_demo.records.errors import DemoError
from rita_demo.scripting.own import defence_names
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.figures import won_pictures
from rita_demo.ui.figures.tab import FiguresTab
from rita_demo.ui.memory import answers
from rita_demo.ui.memory.panels import shown_stream
from rita_demo.ui.memory.tab import MemoryTab
from rita_demo.ui.page import build
from rita_demo.ui.session.run_request import names_of
from rita_demo.ui.session.session import FiguresState
from tests.toy_model import ToyEngine
from tests.ui.conftest import form_shown, open_room
from tests.ui.memory_client import Event

ENGINE = ToyEngine(spread=0.2)


class Page:
    """Both tabs of one page, and a visitor who has collected three classes of drawn textures, or has them from another."""

    def __init__(self, figures: FiguresTab, memory: MemoryTab, collected: FiguresState | None = None) -> None:
        self.figures, self.stream, self.context = figures, memory.streaming, figures.context
        self.name = self.context.sessions.open(model="toy")
        self.session = self.context.sessions.get(self.name)
        open_room(figures, self.name)
        if collected is None:
            names = ["banded", "gauzy", "porous"]
            list(figures.jobs.collect(self.name, "dataset:textures", 2, "pgd", 4, 16, names))
        self.session.figures = collected or self.session.figures

    @property
    def cloud(self) -> Any:
        return self.session.figures.placed_cloud.cloud

    def form(self, pictures: int) -> dict[Any, Any]:
        """What the browser sends of the form and of the settings of a stream of so many pictures."""
        fields, asked = self.stream.form.fields, self.stream.inputs
        self.session.attack_defend.settings = {"views": 8, "prompts": 2}
        values = {one: one.value for one in (*fields.values(), *asked.values())}
        return values | {asked["pictures"]: pictures, fields["steps"]: 2, self.context.visitor: self.name}


@pytest.fixture(scope="module")
def tabs(tmp_path_factory: pytest.TempPathFactory) -> tuple[FiguresTab, MemoryTab]:
    made, root = dict[type, Any](), tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patch:
        for kind in (FiguresTab, MemoryTab):

            def spy(self: Any, *args: Any, kind: Any = kind, bind: Any = kind.bind_events) -> None:
                made[kind] = self
                bind(self, *args)

            patch.setattr(kind, "bind_events", spy)
        for name in ("banded", "gauzy", "porous"):
            shutil.copytree(ASSETS / "textures/val" / name, root / "data" / "three" / name)
        folders = DataFolders(root / "data", root / "runs")
        build(ENGINE, example=WorkedExample(ENGINE, candidates=()), folders=folders)
    return made[FiguresTab], made[MemoryTab]


@pytest.fixture(scope="module")
def collected(tabs: tuple[FiguresTab, MemoryTab]) -> FiguresState:
    return Page(*tabs).session.figures


@pytest.fixture
def page(tabs: tuple[FiguresTab, MemoryTab], collected: FiguresState) -> Page:
    return Page(*tabs, collected)


@pytest.mark.usefixtures("no_plugins_afterwards")
def test_an_own_defence_that_fails_on_a_picture_is_named_and_the_stream_goes_on(page: Page) -> None:
    seen = []

    def choosy(inputs: DefenceInput) -> torch.Tensor:
        """It fails now and then."""
        seen.append(inputs)
        logits = inputs.views[0] @ inputs.template_features.T / inputs.temperature
        return logits.softmax(-1) if len(seen) != 2 else 1 / 0

    defence_names(choosy)
    banner = page.context.error_banner
    said = [step[banner] for step in page.stream.on_start(page.form(2)) if step.get(banner)]
    assert len(said) == 1
    assert "ZeroDivisionError" in said[0]
    assert "The stream goes on. They count neither as right nor as wrong." in said[0]
    table = answers.accuracy_table(shown_stream(page.session, page.stream.folders))
    assert "of n = 2" in table
    assert "Choosy has no answer to some pictures: they are not counted." in table


def test_a_picture_of_the_cloud_that_is_attacked_again_is_asked_among_the_run_s_own_classes(page: Page) -> None:
    list(page.figures.open_picture(page.name, Event({"picture": 4})))
    names, run = page.cloud.class_prompts.names, page.session.run
    assert (run.class_prompts.names, run.label) == (names, int(page.cloud.label[4]))
    assert np.allclose(run.attacked.encoded_views.features[0], page.cloud.attacked[4], atol=1e-6), "the same attack"
    shown = form_shown(page.figures, page.session)
    filled = {name: shown[one] for name, one in page.stream.form.fields.items()}
    values = {name: value.get("value") if isinstance(value, dict) else value for name, value in filled.items()}
    assert names_of(values) == names, "and the form asks the same again"


def test_the_classes_of_a_cloud_are_chosen_by_name(page: Page) -> None:
    parts, jobs = page.figures.parts, page.figures.jobs
    list(jobs.collect(page.name, "dataset:textures", 1, "none", 0, 16, ["zigzagged", "banded"]))
    assert page.cloud.class_prompts.names == ("banded", "zigzagged")
    assert len(page.cloud.ids) == 2
    for wrong in (["banded", "nothing"], ["banded"], "banded", [1, 2], {"a": 1}):
        with pytest.raises(DemoError):
            list(jobs.collect(page.name, "dataset:textures", 1, "none", 0, 16, wrong))
    assert page.cloud.class_prompts.names == ("banded", "zigzagged"), "what was there is kept"
    live = page.figures.pick_source(page.name, "dataset:textures", "pgd")[parts["names"]]
    assert [value for _, value in live["choices"]] == list(class_counts(page.figures.folders, "textures"))
    assert len(live["choices"]) == 47
    assert page.figures.pick_source(page.name, "run/cells/x", "pgd")[parts["names"]]["choices"] == []
    assert page.figures.class_choices("dataset:../x") == []


def compare_any(page: Page, folder: str) -> tuple[Any, Any]:
    """Choose two measurements of a folder of which the first has a picture right that the second has not."""
    tab = page.figures
    known = [one for one in known_measurements(tab.folders) if one.place.name == folder]
    for first, second in itertools.permutations(known, 2):
        tab.pick_compared(page.name, first.name, second.name)
        if len(page.session.figures.compared.found.won):
            return first, page.session.figures.compared.found
    raise AssertionError("no two of them differ")


def test_a_picture_that_one_run_alone_has_right_opens_in_all_tabs_as_that_run_had_it(page: Page) -> None:
    out = page.figures.folders.runs / "alone"
    asked = {"split": "val", "limit": 8, "engine": ENGINE, "protocols": "off", "out": out, "settings": {"views": 8}}
    evaluate("textures", methods="clip,ensemble,rita", attack="none,pgd", budget=4, steps=2, **asked)
    first, found = compare_any(page, out.name)
    assert f'data-picture="{len(found.won) - 1}"' in won_pictures.won_html(page.session)
    list(page.figures.open_won(page.name, Event({"picture": len(found.won) - 1})))
    run, won, names = page.session.run, found.won.iloc[-1], tuple(first.cell["class_names"])
    frame = load_runs(out)
    columns = first.cell
    mine = (frame.method == columns["method"]) & (frame.attack == columns["attack"]) & (frame.picture == won.picture)
    (row,) = frame[mine].to_dict("records")
    assert run.class_prompts.names == names
    assert run.class_prompts.names[run.label] == row["label"] == won.label
    assert run.label_given
    assert (run.settings.views, run.settings.attack, run.settings.protocol) == (8, row["attack"], "off")
    assert run.class_prompts.names[run.attacked.verdicts[row["method"]].label] == row["answer"]
    shown = form_shown(page.figures, page.session)
    filled = {name: shown[one] for name, one in page.stream.form.fields.items()}
    values = {name: value.get("value") if isinstance(value, dict) else value for name, value in filled.items()}
    assert names_of(values) == names, "and the form asks the same again"


def test_a_won_picture_of_a_stream_opens_with_the_memory_before_it(page: Page) -> None:
    list(page.stream.on_start(page.form(14) | {page.stream.inputs["dataset"]: "three"}))
    recording, trajectory = page.session.stream.recording, page.session.stream.trajectory
    _, found = compare_any(page, recording.name.partition("/")[0])
    before = page.session.history
    list(page.figures.open_won(page.name, Event({"picture": 0})))
    t, run = trajectory.pictures.index(found.won["picture"][0]), page.session.run
    held = {k: view.count for k, view in evaluation_page.classes_after(trajectory, t).items()}
    assert {k: n for k, n in enumerate(run.cache_before.count.tolist()) if n} == held
    assert run.class_prompts.names[run.attacked.verdicts["rita"].label] == recording.rows()[t]["answer"]
    assert any(one is before for one in page.session.memories.histories), "nothing is lost"


@pytest.mark.parametrize("bad", [{}, {"picture": 10**6}, {"picture": "0; drop"}, {"picture": -1}, {"picture": True}])
def test_a_won_picture_that_is_not_there_opens_nothing(page: Page, bad: dict[str, Any]) -> None:
    assert list(page.figures.open_won(page.name, Event(bad))) == []
