"""A script's own defences and attacks: functions, records and files, in runs, measurements, tables, figures and the arena."""

import ast
import linecache
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rita_demo
from rita_demo import evaluate, run, smallest_budget
from rita_demo.attacks import ATTACKS
from rita_demo.attacks.contract import Attack
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, verdict_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.measurement import Measurement
from rita_demo.evaluation.report.cells import as_csv, cells, points_of, records_of, run_times
from rita_demo.evaluation.report.measured import by_backbone, components
from rita_demo.evaluation.report.paper_table import PaperTable
from rita_demo.evaluation.rows import read_stream, stored_measurements
from rita_demo.figures.paper.measurements import grouped_accuracy
from rita_demo.figures.paper.measurements import run_times as run_time_figure
from rita_demo.pipeline.arena import arena_steps, columns, static_columns
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import run_to_end
from rita_demo.process.plugin_file import PluginError
from rita_demo.records.errors import SettingError
from rita_demo.ui.arena.numbers import numbers_html
from rita_demo.ui.arena.table import table_html
from rita_demo.ui.session.session import Session
from tests.conftest import forget_plugins
from tests.evaluation.frames import overview
from tests.toy_model import ToyEngine

NAMES = ["cat", "crab", "cup"]
QUICK = {"views": 4, "steps": 2, "adaptive.steps": 2, "adaptive.restarts": 1, "attack_views": 2, "tuning_steps": 0}
PICTURES = [np.random.default_rng(n).integers(0, 256, (40, 40, 3), np.uint8) for n in range(3)]


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    yield
    forget_plugins()


@pytest.fixture(scope="module")
def engine() -> ToyEngine:
    return ToyEngine()


def median_of(logits: torch.Tensor) -> torch.Tensor:
    return logits.median(0).values


def median(inputs: DefenceInput) -> torch.Tensor:
    """The median of the crops' logits."""
    return median_of(inputs.views @ inputs.template_features.T / inputs.temperature).softmax(-1)


def halved_step(pixels: torch.Tensor, gradient: torch.Tensor, step_size: torch.Tensor) -> torch.Tensor:
    """Signed steps of half the size."""
    return pixels + step_size / 2 * gradient.sign()


def measure(engine: ToyEngine, out: Path, **more):
    pairs = [(picture, name) for picture, name in zip(PICTURES, NAMES)]
    asked = {"methods": "clip", "budget": 4, "protocols": "off", "settings": QUICK, "engine": engine, "out": out} | more
    return evaluate(pairs, NAMES, **asked)


def test_a_plain_function_answers_and_attacks_and_is_named_by_its_docstring(engine) -> None:
    found = run(PICTURES[0], NAMES, methods=median, attack=halved_step, engine=engine, settings=QUICK)
    assert "median" in found.to_frame().index
    side = found.run.attacked
    wanted = median(
        DefenceInput(
            *(torch.tensor(side.encoded_views.features), None, torch.tensor(found.run.class_prompts.template_features)),
            *(None, None, None, found.run.class_prompts.temperature, found.run.settings),
        )
    )
    np.testing.assert_allclose(side.verdicts["median"].probability, wanted, atol=1e-5)
    said = " ".join(found.run.threat_model.sentences)
    assert "Halved step: Signed steps of half the size." in said
    assert "Median is a defence from the file test_own.py; the attacker does not know it." in said
    assert DEFENCES["median"].sentence == "The median of the crops' logits."
    assert "median" in run(PICTURES[1], NAMES, attack="none", engine=engine, settings=QUICK).to_frame().index


def test_a_function_that_answers_something_else_is_a_fault_with_its_line_and_later_runs_go_on(engine) -> None:
    for answer, got in (
        (torch.tensor(1.0), "Tensor of shape ()"),
        (torch.ones(1, 3) / 3, "Tensor of shape (1, 3)"),
        (torch.ones(0), "Tensor of shape (0,)"),
        (np.ones(3) / 3, "ndarray of shape (3,)"),
        (None, "NoneType of shape ()"),
    ):

        def odd(inputs: DefenceInput, answer: Any = answer) -> Any:
            return answer

        for defence in (odd, None):  # the second run does not ask for it
            found = run(PICTURES[0], NAMES, defence=defence, engine=engine, settings=QUICK)
            assert "test_own.py, line " in found.run.faults["odd"].sentence
            assert got in found.run.faults["odd"].sentence
            assert "clip" in found.to_frame().index
        forget_plugins()


def test_an_attacker_knows_an_own_defence_by_autograd_or_as_it_says(engine) -> None:
    adaptive = Adaptive("identity", lambda inputs: inputs.views[0] @ inputs.template_features.T)
    answer = lambda inputs: verdict_of(median(inputs))  # noqa: E731
    stated = Defence("median", "Median", "The median.", answer, adaptive=adaptive)
    for defence, gradient in ((median, "automatic"), (stated, "identity")):
        asked = {"attack": "adaptive:median", "engine": engine, "settings": QUICK, "defence": defence}
        threat = " ".join(run(PICTURES[0], NAMES, **asked).run.threat_model.sentences)
        assert f"Its gradient is {gradient}." in threat
        assert "Median is a defence from the file test_own.py." in threat
        assert "does not know it" not in threat


ATTACK_FILE = """
from rita_demo.attacks.contract import Attack
ATTACK = Attack(name="still", title="Still", sentence="Nothing moves.", step="none", uses_gradient=False)
"""
METHOD_FILE = """
def lowest(inputs):
    return (inputs.views[0] @ inputs.template_features.T / inputs.temperature).softmax(-1)
"""


def test_methods_and_attack_take_names_records_files_and_functions_together(engine, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(METHOD_FILE)
    spec = f"{tmp_path}/mine.py:lowest"
    record = Defence("first", "First", "The first crop.", lambda inputs: verdict_of(median(inputs)))
    asked = {"label": 0, "engine": engine, "settings": QUICK}
    found = run(PICTURES[0], NAMES, methods=["mta,clip", record, median, spec], attack="adaptive:median", **asked)
    assert set(found.to_frame().index) == {"clip", "ensemble", "rita", "mta", "first", "median", "lowest"}
    assert getattr(found.run.settings, "adaptive.against") == "median"
    forget_plugins()
    found = run(PICTURES[0], NAMES, methods=f"mta, {spec}", attack=f"adaptive:{spec}", **asked)
    assert set(found.to_frame().index) == {"clip", "ensemble", "rita", "mta", "lowest"}
    assert getattr(found.run.settings, "adaptive.against") == "lowest"
    forget_plugins()
    (tmp_path / "still.py").write_text(ATTACK_FILE)
    attacks = ["none", "adaptive:median", Attack("own", "Own", "One step."), f"{tmp_path}/still.py:ATTACK"]
    rows = measure(engine, tmp_path / "runs", methods=["clip,mta", spec, median], attack=attacks)
    assert set(rows["method"]) == {"clip", "mta", "lowest", "median"}
    assert set(rows["attack"]) == {"none", "adaptive:median", "own", "still"}
    forget_plugins()
    table = smallest_budget(PICTURES[0], NAMES, methods=[median, spec], most="1/255", **asked)
    assert list(table.index) == ["median", "lowest"]


HELPED = "from {module} import FACTOR\n\ndef helped(inputs):\n    views = FACTOR * inputs.views\n"
HELPED += "    return (views @ inputs.template_features.T / inputs.temperature).median(0).values.softmax(-1)\n"


@pytest.mark.parametrize("helper", ["beside.py", "part/__init__.py", "part/deeper.py"])
def test_an_edited_file_or_what_it_imports_from_its_folder_is_measured_anew(engine, tmp_path, helper) -> None:
    """Also within a second, where the new file is as long as the old one, and where another folder has the same names."""
    module = "own_" + helper.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    place, file = tmp_path / f"own_{helper}", tmp_path / "mine.py"
    place.parent.mkdir(exist_ok=True)
    (place.parent / "__init__.py").touch()
    file.write_text(HELPED.format(module=module))

    def margins(factor: int) -> list[float]:
        place.write_text(f"FACTOR = {factor}\n")
        rows = measure(engine, tmp_path / "runs", defences=f"{file}:helped", attack="none")
        return list(rows[rows["method"] == "helped"]["margin"])

    first = margins(1)
    assert margins(1) == first, "it is the same"
    edited = margins(3)
    assert len(edited) == 6
    assert edited[:3] == first or edited[3:] == first, "the rows of before stay"
    assert set(edited) > set(first), "the new file answered"
    file.write_text(HELPED.format(module=module).replace("median", "max"))
    assert len(margins(3)) == 9


def cell_of_a_notebook(source: str, name: str) -> Any:
    """What a notebook makes of a cell: its source is known, and there is no file."""
    place, names = f"<ipython-input-{len(source)}-{hash(source)}>", dict[str, Any]()
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    exec(compile(source, place, "exec"), names)
    return names[name]


def test_a_function_of_a_notebook_is_known_by_its_source(engine, tmp_path: Path) -> None:
    source = "def cell(inputs):\n    return ({} * inputs.views[0] @ inputs.template_features.T).softmax(-1)\n"
    texts = (source.format(1), source.format(1), source.format(3), "# moved\n" + source.format(3))
    cells = [cell_of_a_notebook(text, "cell") for text in texts]
    assert [len(measure(engine, tmp_path, defences=cell, attack="none")) for cell in cells] == [6, 6, 9, 9]
    names: dict[str, Any] = {}
    for count in (12, 15):  # without a source it cannot be known again
        exec(source.format(3), names)
        assert len(measure(engine, tmp_path, defences=names["cell"], attack="none")) == count


def test_the_newest_function_of_a_name_answers(engine) -> None:
    """Also where its source is the same: what it reads around it is not in its hash."""

    def sharpened(sharpness: float) -> Any:
        def around(inputs: DefenceInput) -> torch.Tensor:
            return (sharpness * median_of(inputs.views @ inputs.template_features.T)).softmax(-1)

        return around

    for sharpness in (1.0, 0.0):
        found = run(PICTURES[0], NAMES, defence=sharpened(sharpness), attack="none", engine=engine, settings=QUICK).run
        assert (found.clean.verdicts["around"].margin == 0) == (sharpness == 0)


REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({"attack": attack}, "One attack is needed; got ") for attack in ("none,pgd", ["pgd", halved_step], [], "")),
    ({"methods": 7}, r"A Defence was expected; got int\. Give a name, a Defence, FILE.py:NAME or a"),
    ({"defence": [3]}, "A Defence was expected; got int"),
    ({"methods": [median, "nobody"]}, "There is no method 'nobody'"),
    ({"defence": replace(DEFENCES["mta"], name="ensemble")}, "'ensemble' exists already"),
    ({"defence": lambda inputs: median(inputs)}, "without a name"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_what_cannot_be_a_row_is_refused_with_a_sentence(engine, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError if "needed" in said or "no method" in said else PluginError, match=said):
        run(PICTURES[0], NAMES, engine=engine, settings=QUICK, **asked)


def test_what_is_known_already_stays(engine) -> None:
    done = run(PICTURES[0], NAMES, defence=DEFENCES["mta"], attack="none", engine=engine, settings=QUICK)
    assert done.to_frame().index[0] == "clip", "known already"


def test_a_fault_of_an_own_defence_leaves_out_its_pictures_alone(engine, tmp_path: Path) -> None:
    seen = []

    def choosy(inputs: DefenceInput) -> torch.Tensor:
        seen.append(inputs)
        return median(inputs) if len(seen) != 2 else 1 / 0

    with pytest.warns(
        UserWarning, match=r"Failed: Choosy: no answer to 1 of 3 .* test_own.py, line \d+: ZeroDivisionError"
    ):
        rows = measure(engine, tmp_path, defences=choosy, attack="none")
    assert dict(rows.groupby("method").size()) == {"clip": 3, "choosy": 2}
    (mine,) = (row for row in cells(tmp_path).itertuples() if row.method == "choosy")
    assert (mine.answers, mine.n, mine.failed, mine.finished) == (2, 2, 1, False)
    assert "Failed, and counted neither as right nor as wrong: Choosy under clean, 1 of 3." in overview(tmp_path)
    with pytest.warns(UserWarning, match="1 of 3"):
        assert len(measure(engine, tmp_path, defences=choosy, attack="none")) == 5
    assert len(seen) == 3, "nothing is asked twice"


def test_a_fault_of_an_own_attack_leaves_the_memory_of_a_stream_as_it_was(engine, tmp_path: Path) -> None:
    seen = []

    def choosy_step(pixels: torch.Tensor, gradient: torch.Tensor, step_size: torch.Tensor) -> torch.Tensor:
        seen.append(pixels)
        return halved_step(pixels, gradient, step_size) if len(seen) != 3 else pixels[:, :1]

    more = {"methods": "rita", "attacks": choosy_step, "protocols": "stream", "settings": QUICK | {"max_entropy": 9}}
    with pytest.warns(UserWarning, match=r"RITA: no answer to 1 of 3 pictures of own under choosy_step.* has shape"):
        rows = measure(engine, tmp_path, **more)
    assert len(rows) == 2
    (about,) = map(Measurement.of, stored_measurements(tmp_path))
    found = read_stream(tmp_path, about.id)
    empty = engine.empty_cache(engine.encode_classes(NAMES, about.requested), about.cell.settings)
    cache = cache_after(empty, found)
    assert (cache.pictures, len(found), sum(row["fault"] is None for row in found)) == (2, 3, 2)
    assert sum(cache.count) == sum(len(row["entered"]) for row in found) > 0


def test_where_every_picture_fails_the_same_command_tries_again_and_tables_say_not_measured(engine, tmp_path) -> None:
    installed = []

    def needy(inputs: DefenceInput) -> torch.Tensor:
        return median(inputs) if installed else 1 / 0

    with pytest.warns(UserWarning, match="Needy: no answer to 3 of 3"):
        assert len(measure(engine, tmp_path, defences=needy, attack="none")) == 3
    installed.append("a package")
    assert len(measure(engine, tmp_path, defences=needy, attack="none")) == 6
    installed.clear()
    with pytest.warns(UserWarning, match="Needy: no answer to 3 of 3 pictures of own under pgd"):
        measure(engine, tmp_path, defences=needy, attack="pgd")
    assert "not measured: Needy under " in overview(tmp_path)


def test_tables_latex_figures_and_run_times_name_an_own_method_that_is_not_loaded(engine, tmp_path: Path) -> None:
    measure(engine, tmp_path, methods="clip,ensemble", defences=median, attack="none,pgd")
    forget_plugins()
    rows = cells(tmp_path)
    points = points_of(rows)
    for text in (overview(tmp_path), PaperTable(rows).markdown(), PaperTable(rows).latex()):
        assert "Median" in text
        assert not [line for line in text.splitlines() if line.startswith(("| median", "median &"))]
    head, *lines = as_csv(rows).splitlines()
    assert head.endswith(",title,missing")
    assert sum(line.endswith(",Median,0") for line in lines) == 2
    times = {one.method: one.title for one in run_times(rows)}
    assert times == {"clip": "CLIP (1 view)", "ensemble": "Ensemble", "median": "Median"}
    assert "Median" in run_time_figure(run_times(rows), "a run").layout.meta["alt"]
    (chart,) = by_backbone(points)
    assert list(chart.series) == ["clip", "ensemble", "median"]
    assert "Median, " in grouped_accuracy(chart, "").layout.meta["alt"]
    assert "Median" in components(points)
    assert "Median" in numbers_html(records_of(rows))


def test_an_own_attack_is_a_column_of_the_arena(engine) -> None:
    shown = run(PICTURES[0], NAMES, label=0, defence=median, attack=halved_step, engine=engine, settings=QUICK).run
    assert list(columns()) == ["none", "pgd", "transfer", "autoattack", "halved_step", "adaptive"]
    assert "halved_step" in static_columns()
    table = run_to_end(arena_steps([engine], shown, ["clip", "median"]))
    (tower,) = table.towers.values()
    assert tower.cells["median", "halved_step"].label == shown.attacked.verdicts["median"].label
    html = table_html(Session(arena=table, run=shown), {})
    assert "Halved step" in html
    assert "data-method='median'" in html
    forget_plugins()
    assert "halved_step" not in ATTACKS
    assert "halved_step" not in columns()


def test_only_the_command_line_and_scripts_load_own_code(engine, tmp_path: Path) -> None:
    loaders, package = {"load_plugin", "add_plugin", "add_object"}, Path(rita_demo.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        words = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(ast.parse(path.read_text()))}
        found |= {path.relative_to(package).as_posix()} if loaders & words else set()
    own = {"attacks/registry.py", "defences/registry.py", "scripting/own.py"}
    assert found == own, "nothing of the page or of a saved file loads code"
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('it was run')")
    with pytest.raises(SettingError):
        run(PICTURES[0], NAMES, engine=engine, settings={"attack": f"{file}:ATTACK"})
    attacks = ({"attack": f"{file}:A"}, {"attack": f"adaptive:{file}:D"})
    for words in ({"methods": f"{file}:D"}, {"methods": [f"{file}:D"]}, *attacks):
        with pytest.raises(SettingError):  # what the form, a link, the API and a saved run are read with
            RunRequest.parse(PICTURES[0], classes=NAMES, **words)


def test_code_that_is_in_no_file_is_called_a_notebooks(engine) -> None:
    names: dict[str, Any] = {}
    exec(compile("def shown(inputs):\n    return inputs.views[0] / 0", "<ipython-input-1>", "exec"), names)
    done = run(PICTURES[0], NAMES, defence=names["shown"], attack="none", engine=engine, settings=QUICK).run
    assert "Shown is a defence from a notebook; the attacker does not know it." in " ".join(done.threat_model.sentences)
    assert done.clean.faults["shown"].sentence.startswith("a notebook, line 1: the probability has the shape")
