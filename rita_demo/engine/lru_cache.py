"""A cache with a limit on the size of its entries together."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

V = TypeVar("V")


class LRUCache(Generic[V]):
    """Values by key; the least recently used ones are evicted first. Thread-safe.

    Args:
        limit: the largest size of all values together.
        size_of: the size of one value; by default 1.
    """

    def __init__(self, limit: int, size_of: Callable[[V], int] = lambda _: 1) -> None:
        self._limit, self._size_of = limit, size_of
        self._items: OrderedDict[str, V] = OrderedDict()
        self._lock = threading.Lock()

    def get_or_create(self, key: str, create: Callable[[], V]) -> V:
        """The value under the key, created where it is missing."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
                return self._items[key]
        value = create()  # outside the lock: this may take seconds and may use the cache itself
        self.put(key, value)
        return value

    def put(self, key: str, value: V) -> None:
        """Store a value, and evict others until the limit holds."""
        with self._lock:
            self._items[key] = value
            size = sum(map(self._size_of, self._items.values()))
            while size > self._limit:
                size -= self._size_of(self._items.popitem(last=False)[1])
