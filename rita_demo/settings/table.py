"""Tables that attacks and defences add to. They are complete when they are first read, and nobody who makes a table
imports who adds to it."""

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import TypeVar

V = TypeVar("V")
#: Modules that add to the tables; the package names them, and the first reader imports them.
ADDED_BY: list[str] = []


class Table(MutableMapping[str, V]):
    """Values by name. The first one to read any table imports :data:`ADDED_BY`. ``known``: the values that are there
    already, which may be read and changed without that."""

    def __init__(self, known: dict[str, V]) -> None:
        self.known = known

    def __getitem__(self, name: str) -> V:
        return self._complete()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())

    def __setitem__(self, name: str, value: V) -> None:
        self.known[name] = value

    def __delitem__(self, name: str) -> None:
        del self.known[name]

    def _complete(self) -> dict[str, V]:
        for name in tuple(ADDED_BY):  # another thread that reads meanwhile waits for the same imports
            import_module(name)
        ADDED_BY.clear()
        return self.known
