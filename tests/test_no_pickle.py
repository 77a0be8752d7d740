"""No file is ever unpickled: read from the source, since one careless line is enough."""

import ast

import pytest

from tests.live_server import ROOT

FILES = [ROOT / "app.py", *(path for name in ("rita_demo", "tools") for path in sorted((ROOT / name).rglob("*.py")))]
#: Modules that run a program that a file holds. ``pickle`` may be imported for the name of its error.
PROGRAMS = {"cloudpickle", "dill", "joblib", "marshal", "shelve", "jsonpickle"}
RUNS = {"eval", "exec", "compile", "__import__"}


def calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    """Every call with the dotted name of what is called."""
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def unsafe_calls(source: str) -> list[str]:
    """The calls and imports that could run what a file holds."""
    tree, found = ast.parse(source), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [name for name in names if name.split(".")[0] in PROGRAMS]
    for name, call in calls(tree):
        options = {k.arg: ast.unparse(k.value) for k in call.keywords}
        torch = name in {"torch.load", "load_checkpoint", "load_state_dict"}
        if torch and options.get("weights_only") != "True":
            found.append(ast.unparse(call))
        if name.startswith("pickle.") or name in RUNS or options.get("allow_pickle", "False") != "False":
            found.append(ast.unparse(call))
        if name.startswith("yaml.") and not name.startswith("yaml.safe_"):
            found.append(ast.unparse(call))
    return found


@pytest.mark.slow
def test_our_code_never_unpickles_or_executes_file_content() -> None:
    assert {str(p): found for p in FILES if (found := unsafe_calls(p.read_text()))} == {}


def test_the_scanner_finds_unsafe_calls() -> None:
    unsafe = "torch.load(f, weights_only=False)|pickle.loads(b)|eval(text)|np.load(f, allow_pickle=True)|import joblib|yaml.load(f)"
    assert all(map(unsafe_calls, unsafe.split("|")))
    assert not unsafe_calls("torch.load(f, weights_only=True)\nnp.load(f)\nre.compile(x)\nmodel.eval()")
