"""A script's own defences and attacks: functions, records and files, in runs and measurements."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import rita_demo
from rita_demo import evaluate, run, smallest_budget
from rita_demo.attacks.contract import Attack
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput, verdict_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.measurement import Measurement
from rita_demo.evaluation.report.cells import cells
from rita_demo.evaluation.rows import read_stream, stored_measurements
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.plugin_file import PluginError
from rita_demo.records.errors import SettingError
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
    for answer, got in ((torch.tensor(1.0), "Tensor of shape ()"), (np.ones(3) / 3, "ndarray of shape (3,)")):

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


@pytest.mark.slow
def test_only_the_command_line_and_scripts_load_own_code(engine, tmp_path: Path) -> None:
    loaders, package = {"load_plugin", "add_plugin", "add_object"}, Path(rita_demo.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        words = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(ast.parse(path.read_text()))}
        found |= {path.relative_to(package).as_posix()} if loaders & words else set()
    own = {"attacks/registry.py", "defences/registry.py", "settings/registry.py", "scripting/own.py"}
    assert found == own, "nothing of the page or of a saved file loads code"
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('it was run')")
    with pytest.raises(SettingError):
        run(PICTURES[0], NAMES, engine=engine, settings={"attack": f"{file}:ATTACK"})
    attacks = ({"attack": f"{file}:A"}, {"attack": f"adaptive:{file}:D"})
    for words in ({"methods": f"{file}:D"}, {"methods": [f"{file}:D"]}, *attacks):
        with pytest.raises(SettingError):  # what the form, a link, the API and a saved run are read with
            RunRequest.parse(PICTURES[0], classes=NAMES, **words)
