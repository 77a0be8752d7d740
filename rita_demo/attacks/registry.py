"""All attacks by name. Every module of this folder with an ``ATTACK`` is one; a user's own comes from ``FILE.py:NAME``."""

import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

from rita_demo.attacks.contract import Attack, Differentiated
from rita_demo.process.plugin_file import (
    PluginError,
    is_script,
    load_plugin,
    object_digest,
    place,
    plugin_digest,
    script_spec,
)
from rita_demo.records.errors import SettingError, check_known, refuse_gone
from rita_demo.settings import Settings, register, register_choices, unregister

T = TypeVar("T", bound=Any)
#: The order of menus and tables; others follow in the order of the alphabet.
ORDER = "none noise fgsm pgd cw_linf cw_l2 di patch typographic reverse autoattack eot adaptive"
ATTACKS: dict[str, Attack] = {}


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


_registry = Registry(Attack, ATTACKS, "attack")
add_plugin, remove, plugin_specs = _registry.add_plugin, _registry.remove, _registry.plugin_specs
add_object = _registry.add_object


def get_attack(name: str) -> Attack:
    """The attack of that name, or a :class:`SettingError` that lists the valid ones."""
    if name not in ATTACKS:
        refuse_gone(name)
    check_known("attack", name, ATTACKS)
    return ATTACKS[name]


def differentiated(settings: Settings) -> Differentiated:
    """What the attack of these settings differentiates."""
    return get_attack(settings.attack).differentiated(settings)


_registry.discover(__name__, ORDER.split())
