"""A few results by key, the least recently used dropped first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """The last few results by key, least recently used out first; safe to share between threads.

    Args:
        limit: what all results may weigh together.
        weigh: one result's weight; by default each weighs 1.
    """

    def __init__(self, limit: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        self._limit, self._weigh = limit, weigh
        self._items: OrderedDict[str, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str, make: Callable[[], V]) -> V:
        """What is kept under the key, made first where it is missing."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
                return self._items[key]
        value = make()  # outside the lock: making may take seconds and may come back here
        self.keep(key, value)
        return value

    def find(self, key: str) -> V | None:
        """What is kept under the key, if anything."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def keep(self, key: str, value: V) -> None:
        """Keep it, in the place of the least recently used ones where there is no room."""
        with self._lock:
            self._items[key] = value
            weight = sum(map(self._weigh, self._items.values()))
            while weight > self._limit:
                weight -= self._weigh(self._items.popitem(last=False)[1])
