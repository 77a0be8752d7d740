"""What an engine computes once: encoded views, their pixels and prompts, by content."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from rita_demo.engine.lru_cache import LRUCache
from rita_demo.records import EncodedViews, Picture
from rita_demo.settings import Settings

PROMPT_SETTINGS = ("prompts", "context_init", "context_seed", "descriptions", "hand_prompt")
VIEW_SETTINGS = ("views", "view_seed", "view_scale", "views_augmix")
ENCODED_VIEWS_BYTES = 64 << 20  # of features: 512 pictures at 64 views of 512 numbers


class EngineCaches:
    """Least recently used entries are evicted.

    Args:
        model: its name, part of every key.
        pixel_bytes: room for the pixels of encoded views; 0 keeps none.
    """

    def __init__(self, model: str, pixel_bytes: int) -> None:
        self._model, self.keeps_pixels = model, pixel_bytes > 0
        self.prompts: LRUCache[Any] = LRUCache(16)
        self.encoded_views: LRUCache[EncodedViews] = LRUCache(ENCODED_VIEWS_BYTES, lambda v: v.features.nbytes)
        self.view_pixels: LRUCache[np.ndarray] = LRUCache(pixel_bytes, lambda pixels: pixels.nbytes)

    def views_key(self, picture: Picture, settings: Settings) -> str:
        """Names the views of a picture."""
        return hash_key(self._model, picture.key, *_values(settings, VIEW_SETTINGS))

    def prompts_key(self, names: tuple[str, ...], settings: Settings) -> str:
        """Names the prompts of some classes."""
        return hash_key(*names, *_values(settings, PROMPT_SETTINGS))


def class_prompts_key(model: str, names: tuple[str, ...]) -> str:
    """Names the classes of a model; a cache (memory) belongs to one of these."""
    return hash_key(model, *names)


def hash_key(*parts: str) -> str:
    """24 hexadecimal digits of all parts together."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]


def _values(settings: Settings, names: tuple[str, ...]) -> list[str]:
    return [str(getattr(settings, name)) for name in names]
