"""The proxies that the environment names, ``http_proxy`` and its like: for what is on the network, not for this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLES = frozenset({"http_proxy", "https_proxy", "all_proxy"})  # in small or capital letters


@contextmanager
def without_proxies() -> Iterator[None]:
    """The block asks this machine alone: it sees no proxy, so that none is asked for this machine, and none is refused that
    httpx cannot use (SOCKS, a malformed address). Downloads after the block have them again. Only while no other thread
    downloads."""
    hidden = {name: os.environ.pop(name) for name in tuple(os.environ) if name.lower() in VARIABLES}
    try:
        yield
    finally:
        os.environ.update(hidden)
