"""What has settings of its own, attacks and defences, and how they are found by name."""

import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from rita_demo.process.plugin_file import (
    PluginError,
    is_script,
    load_plugin,
    object_digest,
    place,
    plugin_digest,
    script_spec,
)
from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import Settings, register, register_choices, unregister
from rita_demo.settings.declared import DeclaredParams
from rita_demo.settings.setting import Setting

T = TypeVar("T", bound=Any)


class WithSettings:
    """An attack or a defence: its texts are checked, and it may have settings of its own."""

    name: str
    settings: tuple[Setting, ...]

    def __post_init__(self) -> None:
        kind = type(self).__name__.lower()
        for field in ("name", "title", "sentence"):
            if not isinstance(getattr(self, field), str) or not getattr(self, field):
                raise ValueError(f"{field} of the {kind} is a text that is not empty")
        if not self.name.isidentifier():
            raise ValueError(f"the name of the {kind} has letters, digits and _ only; got {self.name!r}")

    @property
    def param_names(self) -> dict[str, str]:
        """Short name -> full name of its own settings."""
        return {setting.name: setting.stored_name or f"{self.name}.{setting.name}" for setting in self.settings}

    def param_values(self, settings: Settings) -> dict[str, JsonValue]:
        """Short names and values of its own settings; asking for another raises SettingError."""
        owner = f"the {type(self).__name__.lower()} {self.name!r}"
        return DeclaredParams(owner, {short: getattr(settings, name) for short, name in self.param_names.items()})


@dataclass(frozen=True)
class Registry(Generic[T]):
    """Attacks or defences by name, in ``known``; ``setting`` is the one whose choices are ``first`` and the names."""

    kind: type[T]
    known: dict[str, T]
    setting: str
    first: tuple[str, ...] = ()

    def discover(self, registry: str, order: Sequence[str], also: Sequence[T] = ()) -> None:
        """Add those of all modules beside the module ``registry``, and ``also``. Names that ``order`` lacks follow."""
        package = registry.rpartition(".")[0]
        files = pkgutil.iter_modules(sys.modules[package].__path__)
        modules = [import_module(f"{package}.{file.name}") for file in files]
        variable = self.kind.__name__.upper()
        records = [*(getattr(module, variable) for module in modules if hasattr(module, variable)), *also]
        rank = {name: place for place, name in enumerate(order)}
        for record in sorted(records, key=lambda record: rank.get(record.name, len(rank))):
            self._add(record)

    def add_plugin(self, spec: str, record_of: Callable[[Any], T] | None = None) -> T:
        """Register the object ``FILE.py:NAME`` of the command line; a second time it is returned as it is, unless the
        file was edited. ``record_of`` makes a record of a plain function. Raises PluginError: the file or the object
        cannot be used, or its name or that of a setting is taken."""
        record = load_plugin(spec, self.kind, record_of)
        return self._add_plugin(replace(record, plugin=spec, digest=plugin_digest(spec)))

    def add_object(self, record: T) -> T:
        """Register an object of a script or a notebook; one of that name from a script is replaced. Raises PluginError: its
        name, or that of a setting, is taken by another."""
        if self.known.get(record.name) is record:
            return record
        return self._add_plugin(replace(record, plugin=script_spec(record), digest=object_digest(record)))

    def _add_plugin(self, record: T) -> T:
        script, earlier = is_script(record.plugin), self.known.get(record.name)
        where = "" if script else f"{place(record.plugin)}: "
        if earlier is not None:
            same_file = Path(earlier.plugin).absolute() == Path(record.plugin).absolute()
            if not (is_script(earlier.plugin) if script else same_file):
                taken = f"{self.kind.__name__.lower()} {record.name!r} exists already."
                raise PluginError(f"{where}the {taken}" if where else f"The {taken}", "Choose another name.")
            if earlier.digest == record.digest and not script:
                return earlier
            self.remove(record.name)  # of a script the newest: what it reads around it is not in its hash
        try:
            self._add(record)
        except SettingError as error:
            raise PluginError(f"{where}{error.message}", error.hint) from error
        return record

    def remove(self, name: str) -> None:
        """Forget one, its settings and the choice of it: as if it had never been added."""
        for setting in self.known.pop(name).param_names.values():
            unregister(setting)
        self._update_choices()

    def plugin_specs(self) -> tuple[str, ...]:
        """``FILE.py:NAME`` of all that came from a file."""
        return tuple(record.plugin for record in self.known.values() if record.plugin)

    def _add(self, record: T) -> None:
        added: list[str] = []
        try:
            for setting in record.settings:
                added.append(register(record.name, setting))
        except SettingError:
            for name in added:
                unregister(name)
            raise
        self.known[record.name] = record
        self._update_choices()

    def _update_choices(self) -> None:
        register_choices(self.setting, (*self.first, *self.known))
