"""Imports go one way: each rung of the ladder imports only lower rungs. docs/architecture.md has the picture."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.live_server import ROOT

PACKAGE, TOOLS = ROOT / "rita_demo", ROOT / "tools"

# The twelve rooms of docs/architecture.md and their folders.
ROOMS = {
    "core": ("records", "settings", "process"),
    "method": ("method",),
    "clip": ("vlm",),
    "data": ("data",),
    "attacks": ("attacks",),
    "defences": ("defences",),
    "engine": ("engine",),
    "figures": ("figures",),
    "runs": ("pipeline",),
    "measure": ("evaluation",),
    "page": ("ui",),
    "doors": ("server", "scripting", "cli", "__main__"),
}
# From the bottom to the top. Folders of one rung do not import each other.
LAYERS = (
    ("records",),
    ("process",),
    ("settings",),
    ("method", "attacks", "data"),
    ("vlm",),
    ("defences",),
    ("engine",),
    ("figures",),
    ("pipeline", "evaluation"),
    ("ui",),
    ("server", "scripting"),
    ("cli",),
    ("__main__", "__init__"),
)
UI_LADDER = (
    ("widgets", "theme", "__init__"),
    ("session",),
    ("framework",),
    ("run_panels", "story"),
    ("background",),
    ("attack_defend", "inside", "arena", "memory", "stream", "figures", "header", "api"),
    ("page",),
)
# Libraries that belong to one side of the engine only.
FORBIDDEN = {
    "gradio plotly": "method attacks vlm data defences engine pipeline evaluation",
    "torch open_clip torchvision": "ui server scripting figures pipeline evaluation data records settings",  # process/cpu_threads.py is about torch's threads
    "PIL": "method records settings process",
}


def imports_of(path: Path) -> set[str]:
    """Dotted names of everything a file imports, also inside functions."""
    return imports_in(ast.parse(path.read_text()))


def imports_in(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"from {node.module} is a relative import; write the full name"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def names_outside(path: Path) -> set[str]:
    """The first names of everything a file imports."""
    return {name.split(".")[0] for name in imports_of(path)}


def circle(modules: dict[str, Path]) -> list[str]:
    """Modules that import each other in a circle when the program runs, also inside functions; [] without any."""
    graph = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text())
        typing_only = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
        tree.body = [node for node in tree.body if node not in typing_only]
        found = imports_in(tree)
        graph[name] = {one if one in modules else one.rpartition(".")[0] for one in found} & modules.keys() - {name}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def upward(ladder: tuple[tuple[str, ...], ...], folder: Path) -> list[str]:
    """Imports below ``folder`` that go up the ladder, or across one of its rungs."""
    height = {name: i for i, rung in enumerate(ladder) for name in rung}
    prefix = ".".join(folder.relative_to(ROOT).parts) + "."
    wrong = []
    for path in sorted(folder.rglob("*.py")):
        here = path.relative_to(folder).parts[0].removesuffix(".py")
        for name in imports_of(path):
            there = name.removeprefix(prefix).split(".")[0] if name.startswith(prefix) else here
            if there != here and height[there] >= height[here]:
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    return wrong


def test_every_folder_imports_only_lower_rungs() -> None:
    assert upward(LAYERS, PACKAGE) == []
    assert upward(UI_LADDER, PACKAGE / "ui") == []


def test_there_are_twelve_rooms_and_no_more_arrows_between_them_than_today() -> None:
    room_of = {folder: room for room, folders in ROOMS.items() for folder in folders}
    arrows = set()
    for folder, room in room_of.items():
        for path in [*(PACKAGE / folder).rglob("*.py"), *PACKAGE.glob(f"{folder}.py")]:
            there = {name.split(".")[1] for name in imports_of(path) if name.startswith("rita_demo.")}
            arrows |= {(room, room_of[name]) for name in there & room_of.keys()} - {(room, room)}
    assert len(arrows) <= 46, sorted(arrows)


def test_no_modules_import_each_other_not_even_inside_functions(tmp_path: Path) -> None:
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}
    assert circle({name.removesuffix(".__init__"): path for name, path in files.items()}) == []
    (tmp_path / "one.py").write_text("def late():\n    from two import name")
    (tmp_path / "two.py").write_text("import one")
    assert set(circle({path.stem: path for path in tmp_path.iterdir()})) == {"one", "two"}


def test_the_settings_are_imported_without_attacks_and_defences_and_have_those_of_both_when_they_are_read() -> None:
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from rita_demo.settings import PRESETS, SETTINGS, Settings
print([name for name in sys.modules if name.startswith(("rita_demo.attacks", "rita_demo.defences"))])
with ThreadPoolExecutor(8) as visitors:
    print(set(visitors.map(lambda _: "patch.area" in SETTINGS, range(8))))
print(Settings(attack="eot", ensemble_step_back=0.1).own, list(PRESETS))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    known = "(('ensemble_step_back', 0.1),) ['recommended', 'paper']"
    assert done.stdout.splitlines() == ["[]", "{True}", known]


def test_the_package_imports_neither_tools_nor_tests() -> None:
    """They stand above it, and an installed package has neither."""
    files = [ROOT / "app.py", *sorted(PACKAGE.rglob("*.py"))]
    above = {str(path.relative_to(ROOT)): sorted(names_outside(path) & {"tools", "tests"}) for path in files}
    assert {file: names for file, names in above.items() if names} == {}


def test_tools_import_of_the_tests_only_the_second_implementation() -> None:
    imported = {name for path in TOOLS.rglob("*.py") for name in imports_of(path) if name.startswith("tests.")}
    assert {name.rpartition(".")[0] for name in imported} == {"tests.oracles.algorithm1"}


def test_no_file_imports_a_library_from_the_other_side_of_the_engine() -> None:
    wrong = []
    for libraries, folders in FORBIDDEN.items():
        for folder in folders.split():
            for path in sorted((PACKAGE / folder).rglob("*.py")):
                used = names_outside(path) & set(libraries.split())
                wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in used]
    assert wrong == []


def test_ray_is_optional_and_imported_by_one_file() -> None:
    imports = {path: imports_of(path) for path in PACKAGE.rglob("*.py")}
    users = [path.name for path in imports if "ray" in names_outside(path)]
    assert users == ["on_ray.py"]
    assert not [path for path, names in imports.items() if any("executors.ray" in name for name in names)]


HELP = "from rita_demo.cli.main import main; assert main({}) == 0"


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import rita_demo; dir(rita_demo)", "torch open_clip gradio plotly pandas"),
        ("from rita_demo.data.samples import available; assert available()", "skimage sklearn torch"),
        ("from rita_demo.data.vocabularies import vocabulary; assert vocabulary('imagenet').names", "torch open_clip"),
        ("import rita_demo.settings.models, rita_demo.vlm.catalogue, rita_demo.vlm.views.boxes", "torch open_clip"),
        *((HELP.format(words), "torch numpy PIL gradio open_clip") for words in (["--help"], ["evaluate", "--help"])),
    ],
)
def test_what_should_be_quick_imports_nothing_heavy(code: str, heavy: str) -> None:
    code += f"; import sys; assert not {set(heavy.split())} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_no_module_above_the_engine_loads_torch() -> None:
    folders = ["ui", "server", "scripting", "pipeline", "evaluation", "figures", "records", "settings"]
    paths = [path for folder in folders for path in sorted((PACKAGE / folder).rglob("*.py")) if path.stem != "on_ray"]
    modules = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    modules += [
        f"rita_demo.{name}" for name in ["engine.protocol", "engine.loading", "attacks.registry", "defences.registry"]
    ]
    code = f"import importlib, sys\nfor name in {modules}:\n    importlib.import_module(name)\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


@pytest.mark.slow
def test_the_page_is_built_without_the_model_and_without_libraries_that_few_need() -> None:
    code = """
import sys
from rita_demo.engine.loading import LoadingEngine, embedded_info
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.page import build
engine = LoadingEngine(embedded_info(), None)
example = WorkedExample(engine)
example.start = lambda: None
build(engine, example=example)
print(*{"torch", "open_clip", "sklearn", "skimage", "plotly", "scipy.stats", "umap"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
