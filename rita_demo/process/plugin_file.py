"""Defences and attacks of one's own: objects of a Python file, written ``FILE.py:NAME``, or of a script or a notebook.
Loading, the hash of their code, and errors with a line.

The file is executed. Only the owner's command line and scripts call this, never a visitor of the page.
"""

import ast
import hashlib
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from functools import cache
from importlib.util import cache_from_source, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from rita_demo.records.errors import DemoError

T = TypeVar("T")
NOTEBOOK = "a notebook"
SCRIPT = "<script>"  # the NAME of an object that a script made and no file names
_PROJECT = __name__.partition(".")[0]
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
    path = Path(file).absolute()
    if not path.is_file():
        raise PluginError(f"There is no file {file!r}.", "Give the path of a Python file, as FILE.py:NAME.")
    module_spec = spec_from_file_location(f"rita_plugin_{path.stem}", file)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = module_from_spec(module_spec)
    _forget_others(path)
    sys.path.insert(0, str(path.parent))
    try:
        with plugin_errors(spec):
            module_spec.loader.exec_module(module)
    finally:
        with suppress(ValueError):  # the file removed it itself
            sys.path.remove(str(path.parent))
    if not hasattr(module, name):
        also = f", or def {name}(...)" * (record_of is not None)
        raise PluginError(f"{file} defines no {name}.", f"It must contain {name} = {kind.__name__}(...){also}.")
    value = getattr(module, name)
    if record_of is not None and callable(value) and not isinstance(value, kind | type):
        return record_of(value)
    if not isinstance(value, kind):
        wanted = kind.__name__ + " or a function" * (record_of is not None)
        raise PluginError(f"{place(spec)}: {name} is a {type(value).__name__}; expected {wanted}.")
    return value


def plugin_digest(spec: str) -> str:
    """A hash of a file and its helpers, and the name: what it reads elsewhere is not in it."""
    file, _, name = spec.rpartition(":")
    return _hash(_code(Path(file)) + name.encode())


def object_digest(record: Any) -> str:
    """A hash of the values of a script's record and of the code of its functions: their file and its helpers, or in a
    notebook their source. What they read elsewhere, as a variable of the notebook, is not in it."""
    return _hash(_content(record))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _code(file: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (file, *helper_files(file)))


def _content(value: Any) -> bytes:
    """Bytes that are others when the value of a record is another."""
    if is_dataclass(value) and not isinstance(value, type):
        fields = {name: field for name, field in vars(value).items() if name not in ("plugin", "digest")}
        return b"".join(name.encode() + _content(field) for name, field in fields.items())
    return _function_code(inspect.unwrap(value)) if callable(value) else repr(value).encode()


@cache  # a function stays what it was when its file is edited
def _function_code(function: Callable[..., Any]) -> bytes:
    cells = (cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
    plain = [value for value in cells if isinstance(value, int | float | str | tuple | None)]  # make(1) is not make(2)
    name = f"{getattr(function, '__qualname__', '')}{plain or ''}"
    if str(getattr(function, "__module__", "")).partition(".")[0] == _PROJECT:  # the version says what it is
        return name.encode()
    if (file := Path(code_file(function))).is_file():
        return _code(file) + name.encode()
    try:
        return inspect.getsource(function).encode() + name.encode()
    except (OSError, TypeError):  # what has no source cannot be known again
        return uuid4().bytes


def helper_files(file: Path) -> tuple[Path, ...]:
    """The files of its own folder that a Python file imports, and those that these import, sorted; all of a package."""
    helpers, waiting = set[Path](), [file]
    while waiting:
        for name in _imported_names(waiting.pop()):
            package, module = file.parent / name[0], file.parent.joinpath(*name).with_suffix(".py")
            here = package.rglob("*.py") if (package / "__init__.py").is_file() else filter(Path.is_file, [module])
            new = {*here} - helpers - {file}
            helpers |= new
            waiting += new
    return tuple(sorted(helpers))


def _imported_names(file: Path) -> set[tuple[str, ...]]:
    """The dotted names that a file may import, as parts, without this project's; none if it is no Python."""
    try:
        nodes = [*ast.walk(ast.parse(file.read_bytes()))]
    except (OSError, SyntaxError, ValueError):  # importing it says so
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.level < 2:  # of a module of a package: .part
            start = [node.module] if node.module else []
            names += [*start, *(".".join([*start, alias.name]) for alias in node.names)]
    return {tuple(name.split(".")) for name in names if name.partition(".")[0] != _PROJECT}


def _forget_others(file: Path) -> None:
    """Helpers of a file that were edited since they were imported, and those of that name in another folder, are imported
    anew."""
    helpers = helper_files(file)
    for path in (file, *helpers):
        with suppress(OSError):  # compiled code counts as current where the edit has its second and its size
            Path(cache_from_source(str(path))).unlink(missing_ok=True)
    for helper in helpers:
        name = ".".join(helper.relative_to(file.parent).with_suffix("").parts).removesuffix(".__init__")
        loaded, content = Path(getattr(sys.modules.get(name), "__file__", None) or ""), helper.read_bytes()
        if loaded in _IMPORTED and (loaded != helper or _IMPORTED[helper] != content):
            del sys.modules[name]
        _IMPORTED[helper] = content


def script_spec(record: Any) -> str:
    """The spec of an object of a script or a notebook: the file of its first function, in which errors are looked for."""
    return f"{next(filter(None, map(code_file, _functions(record))), '')}:{SCRIPT}"


def _functions(record: Any) -> list[Callable[..., Any]]:
    """The functions among a record's values, also those of a record inside it."""
    functions: list[Callable[..., Any]] = []
    for value in vars(record).values():
        if is_dataclass(value) and not isinstance(value, type):
            functions += _functions(value)
        elif callable(value):
            functions.append(value)
    return functions


def is_script(spec: str) -> bool:
    """Whether a spec is of an object that a script made."""
    return spec.rpartition(":")[2] == SCRIPT


def file_name(spec: str) -> str:
    """The name of the file of a spec, for people; "a notebook" for code that is in no file."""
    path = Path(spec.rpartition(":")[0])
    return path.name if path.is_file() else NOTEBOOK


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
