"""Settings of which a method or an attack can read only those that it declares: stored rows are found by these alone, so a
setting that it reads and does not declare would be taken for the same."""

from collections.abc import Collection, Mapping
from typing import Any

from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import Settings, get_setting


class Declared:
    """The ``names`` of some settings, to be read and replaced; any other raises SettingError. ``owner``: who declares them;
    ``field``: where it names them."""

    def __init__(self, settings: Settings, names: Collection[str], owner: str, field: str) -> None:
        self._settings, self._names, self._owner, self._field = settings, names, owner, field

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            full = get_setting(name).name
        except SettingError:
            raise AttributeError(name) from None
        if full in self._names:
            return getattr(self._settings, full)
        raise SettingError(
            f"{self._owner[0].upper()}{self._owner[1:]} reads the setting {full}, which it does not declare.",
            f"Name it among its {self._field}: stored rows are found by the settings that it declares.",
        )

    def replace(self, **changes: JsonValue) -> "Declared":
        """A copy with some settings changed."""
        return Declared(self._settings.replace(**changes), self._names, self._owner, self._field)


def whole(settings: Any) -> Settings:
    """All settings, of those that somebody declares."""
    return settings._settings if isinstance(settings, Declared) else settings


class DeclaredParams(dict[str, Any]):
    """Short names and values of somebody's own settings; asking for another raises SettingError."""

    def __init__(self, owner: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        raise SettingError(
            f"{self._owner[0].upper()}{self._owner[1:]} reads the setting {name}, which it does not declare.",
            "Name it among its settings: stored rows are found by the settings that it declares.",
        )
