"""Objects of a user's own Python file, written ``FILE.py:NAME`` on the command line: loading, and errors with a line.

The file is executed. Only the owner's command line calls this, never a visitor of the page.
"""

import ast
import hashlib
import importlib.util
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

from rita_demo.records.errors import DemoError

T = TypeVar("T")
_IMPORTED: dict[Path, bytes] = {}  # helper of a user's file -> its content as it was imported


class PluginError(DemoError):
    """A user's own file, or what it defines, cannot be used: one sentence with the file's name and the line.
    ``detail``: the text of an exception in the file. It is for the owner of the file, not for visitors of the page."""

    def __init__(self, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(message, hint)
        self.detail = detail

    @property
    def for_owner(self) -> str:
        return f"{self}: {self.detail}" if self.detail else str(self)


def is_plugin(text: str) -> bool:
    """Whether a command line names an object of a file rather than a registered name."""
    return ".py:" in text or text.endswith(".py")


def load_plugin(spec: str, kind: type[T], record_of: Callable[[Any], T] | None = None) -> T:
    """Execute ``FILE.py`` and return its object ``NAME``; of a plain function what ``record_of`` makes of it. Raises
    PluginError: no such file or name, an error in the file, or an object of another type."""
    file, _, name = spec.rpartition(":")
    if not file.endswith(".py") or not name.isidentifier():
        raise PluginError(f"{spec!r} is not FILE.py:NAME.", f"NAME is the {kind.__name__} that FILE.py defines.")
    path = Path(file)
    if not path.is_file():
        raise PluginError(f"There is no file {file!r}.", "Give the path of a Python file, as FILE.py:NAME.")
    module_spec = importlib.util.spec_from_file_location(f"rita_plugin_{path.stem}", path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    _forget_edited(helper_files(path))
    with plugin_errors(spec):
        module_spec.loader.exec_module(module)
    if not hasattr(module, name):
        also = f", or def {name}(...)" * (record_of is not None)
        raise PluginError(f"{file} defines no {name}.", f"It must contain {name} = {kind.__name__}(...){also}.")
    found = getattr(module, name)
    if record_of is not None and callable(found) and not isinstance(found, kind | type):
        return record_of(found)
    if not isinstance(found, kind):
        wanted = kind.__name__ + " or a function" * (record_of is not None)
        raise PluginError(f"{place(spec)}: {name} is a {type(found).__name__}; expected {wanted}.")
    return found


def plugin_digest(spec: str, files: Iterable[str] = ()) -> str:
    """A hash of the file and its helpers (or of other ``files``) and the name, which changes when one of them is edited."""
    file, _, name = spec.rpartition(":")
    content = b"".join(Path(one).read_bytes() for one in files or [file, *map(str, helper_files(Path(file)))])
    return hashlib.sha256(content + name.encode()).hexdigest()[:16]


def helper_files(file: Path) -> tuple[Path, ...]:
    """The files of its own folder that a Python file imports, and those that these import, sorted; all of a package."""
    found, waiting = set[Path](), [file]
    while waiting:
        for name in _imported_names(waiting.pop()):
            package, module = file.parent / name[0], file.parent.joinpath(*name).with_suffix(".py")
            here = package.rglob("*.py") if (package / "__init__.py").is_file() else filter(Path.is_file, [module])
            new = {*here} - found - {file}
            found |= new
            waiting += new
    return tuple(sorted(found))


def _imported_names(file: Path) -> set[tuple[str, ...]]:
    """The dotted names that a file may import, as parts, without this project's; none if it is no Python."""
    try:
        nodes = [*ast.walk(ast.parse(file.read_bytes()))]
    except (OSError, SyntaxError, ValueError):  # importing it says so
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    own = __name__.partition(".")[0]
    return {tuple(name.split(".")) for name in names if name.partition(".")[0] != own}


def _forget_edited(helpers: Iterable[Path]) -> None:
    """Helpers that were edited since they were imported are imported anew by the next file that asks for them."""
    for helper in helpers:
        content = helper.read_bytes()
        if _IMPORTED.setdefault(helper, content) != content:
            _IMPORTED[helper] = content
            loaded = [
                name for name, one in sys.modules.items() if getattr(one, "__file__", None) == str(helper.absolute())
            ]
            for name in loaded:
                del sys.modules[name]


NOTEBOOK = "a notebook"
SCRIPT = "<script>"  # the NAME of an object that a script made and no file names


def script_spec(one: Any) -> str:
    """The spec of an object of a script or a notebook: the file of its first function, in which errors are looked for."""
    return f"{next(filter(None, map(code_file, _functions(one))), '')}:{SCRIPT}"


def is_script(spec: str) -> bool:
    """Whether a spec is of an object that a script made."""
    return spec.rpartition(":")[2] == SCRIPT


def object_digest(one: Any) -> str:
    """A hash of a record's values and of the code of its functions, with the functions of the same module that they call
    and the plain values that they read there; what else they reach is not in it."""
    values = {name: value for name, value in vars(one).items() if name not in ("plugin", "digest")}
    text = repr({name: value for name, value in values.items() if not _reaches_code(value)})
    seen: dict[int, str] = {}
    for function in _functions(one):
        _add_code(function, seen)
    return hashlib.sha256((text + "".join(seen.values())).encode()).hexdigest()[:16]


def _functions(one: Any) -> list[Callable[..., Any]]:
    """The functions among a record's values, also those of a record inside it."""
    found: list[Callable[..., Any]] = []
    for value in vars(one).values():
        if is_dataclass(value) and not isinstance(value, type):
            found += _functions(value)
        elif callable(value):
            found.append(value)
    return found


def _reaches_code(value: Any) -> bool:
    return callable(value) or (is_dataclass(value) and not isinstance(value, type) and bool(_functions(value)))


def _add_code(function: Callable[..., Any], seen: dict[int, str]) -> None:
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None)
    if code is None or id(code) in seen:
        return
    known = getattr(function, "__globals__", {})
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    named = {name: known[name] for name in _names(code) if name in known}
    reached = [*cells, *named.values()]
    plain = [value for value in reached if isinstance(value, str | int | float | tuple | None)]
    seen[id(code)] = f"{_code_text(code)}{getattr(function, '__defaults__', None)!r}{plain!r}"
    for value in reached:
        if getattr(value, "__module__", None) == function.__module__ and hasattr(value, "__code__"):
            _add_code(value, seen)


def _names(code: CodeType) -> list[str]:
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return [*code.co_names, *chain.from_iterable(inner)]


def _code_text(code: CodeType) -> str:
    consts = [_code_text(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return f"{code.co_code.hex()}{code.co_names}{code.co_varnames}{code.co_freevars}{consts}"


def file_name(spec: str) -> str:
    """The name of the file of a spec, for people; "a notebook" for code that is in no file."""
    path = Path(spec.rpartition(":")[0])
    return path.name if path.is_file() else NOTEBOOK


def package_files(module: str) -> tuple[str, ...]:
    """The files of a module and of all that is loaded of its package, in the order of the modules' names."""
    package = module.partition(".")[0]
    files = {name: getattr(one, "__file__", None) for name, one in sys.modules.items()}
    return tuple(file for name, file in sorted(files.items()) if file and name.partition(".")[0] == package)


def code_file(function: Callable[..., Any]) -> str:
    """The file that a function, or the function that it wraps, was written in; "" if it is not Python code."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code.co_filename if code is not None else ""


def place(spec: str, function: Callable[..., Any] | None = None) -> str:
    """``FILE.py, line N``: of a function of the file, or else of the object itself."""
    file, _, name = spec.rpartition(":")
    if function is not None and Path(code_file(function)).absolute() == Path(file).absolute():
        return f"{file_name(spec)}, line {inspect.unwrap(function).__code__.co_firstlineno}"
    if is_script(spec):
        return file_name(spec)
    for node in ast.parse(Path(file).read_bytes()).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return f"{Path(file).name}, line {node.lineno}"
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return f"{Path(file).name}, line {node.lineno}"
    return Path(file).name


@contextmanager
def plugin_errors(spec: str) -> Iterator[None]:
    """Turn an exception that arises in the file of ``spec``, or below a call from it, into a :class:`PluginError`, also
    one that would end the process. Errors of other code, of a device without memory, and Ctrl-C pass through."""
    file = Path(spec.rpartition(":")[0]).absolute()
    try:
        yield
    except DemoError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).absolute() == file]
        if isinstance(error, SyntaxError) and error.filename and Path(error.filename).absolute() == file:
            lines = [error.lineno]
        passes = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
        if passes or (not lines and not isinstance(error, SystemExit)):  # such as partial(sys.exit) as an answer
            raise
        where = f"{file_name(spec)}, line {lines[-1]}" if lines else file_name(spec)
        message = f"{where}: {type(error).__name__}"
        raise PluginError(message, detail=str(error)) from error
