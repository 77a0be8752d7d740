"""Class names and pictures to features: the model, its lock and its caches."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Generic, TypeVar

import numpy as np
import torch

from rita_demo import method
from rita_demo.data.descriptions import descriptions_for
from rita_demo.data.vocabularies import prompt_template
from rita_demo.engine.conversion import array_to_tensor, tensor_to_numpy, to_numpy
from rita_demo.process import malloc
from rita_demo.process.gpu import fast_products
from rita_demo.process.torch_state import methods_in_plain_torch
from rita_demo.records import ClassPrompts, EncodedViews, Picture, ViewSet
from rita_demo.records.errors import BackboneError, SettingError
from rita_demo.records.keys import class_prompts_key, hash_key
from rita_demo.settings import Settings, in_groups
from rita_demo.vlm.backbone import Backbone, check_finite, failed_device_error, is_out_of_memory, out_of_memory_error
from rita_demo.vlm.prompts import PromptSet, build_prompts
from rita_demo.vlm.views.boxes import area_fractions
from rita_demo.vlm.views.crops import make_views

V = TypeVar("V")
ENCODED_VIEWS_BYTES = 64 << 20  # of features: 512 pictures at 64 views of 512 numbers


class LRUCache(Generic[V]):
    """Values by key; the least recently used ones are evicted first. Thread-safe. ``limit``: the largest size of all
    values together. ``size_of``: the size of one value; by default 1."""

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

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._items.clear()

    def put(self, key: str, value: V) -> None:
        """Store a value, and evict others until the limit holds."""
        with self._lock:
            self._items[key] = value
            size = sum(map(self._size_of, self._items.values()))
            while size > self._limit:
                size -= self._size_of(self._items.popitem(last=False)[1])


@methods_in_plain_torch
class Encoder:
    """A frozen model for one caller at a time, with its prompts and views in caches: what the engine is made on.

    ``info``: name, size, input side and device of the model; ``failure``: why it can no longer be used, of a GPU that no
    longer answers; ``view_pixel_bytes``: room for the pixels of encoded views."""

    def __init__(self, backbone: Backbone, view_pixel_bytes: int = 0) -> None:
        self._backbone, self.info = backbone, backbone.info
        self.failure: BackboneError | None = None
        self._lock = threading.RLock()
        self._keeps_pixels = view_pixel_bytes > 0
        self._prompts: LRUCache[PromptSet] = LRUCache(16)
        self._encoded_views: LRUCache[EncodedViews] = LRUCache(ENCODED_VIEWS_BYTES, lambda v: v.features.nbytes)
        self._view_pixels: LRUCache[np.ndarray] = LRUCache(view_pixel_bytes, lambda pixels: pixels.nbytes)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The model for one caller; on a GPU its products are in TF32. Raises BackboneError: the device's memory does not
        suffice, after smaller batches of views were tried, or it no longer answers."""
        with self._lock, fast_products(self._backbone.device):
            if self.failure is not None:
                raise self.failure
            try:
                yield
                return
            except (RuntimeError, MemoryError) as error:
                full = is_out_of_memory(error)
                if not full and not self._backbone.has_failed(error):
                    raise
                cause = error.with_traceback(None)  # its frames hold the tensors that did not fit
            if not full:
                self.failure = failed_device_error()
                raise self.failure from cause
            self._prompts.clear()
            self._backbone.free_memory()
            raise out_of_memory_error() from cause

    # --- class names

    def prompts(self, names: tuple[str, ...], settings: Settings) -> PromptSet:
        """Class names as prompts. Raises as :meth:`~rita_demo.engine.engine.Engine.encode_classes`."""
        template = prompt_template(settings.hand_prompt, names)

        def build() -> PromptSet:
            descriptions = descriptions_for(names, settings.descriptions)
            prompts = build_prompts(self._backbone, names, settings, descriptions, template)
            check_finite(prompts.features)
            return prompts

        with self.lock():
            key = hash_key(*names, template, *_values(settings, "prompts"))
            return self._prompts.get_or_create(key, build)

    def prompts_of(self, class_prompts: ClassPrompts, settings: Settings) -> PromptSet:
        """The model's prompts of these classes. Raises SettingError: they are of another model, whose features would fit
        by chance, or not at all."""
        if class_prompts.key != class_prompts_key(self.info.name, class_prompts.names):
            raise SettingError(
                "Another model was chosen since this picture was decided.",
                "Run a picture with it first, or go back to the model it was decided with.",
            )
        return self.prompts(class_prompts.names, settings)

    def method_prompts(self, class_prompts: ClassPrompts, settings: Settings) -> method.Prompts:
        """:meth:`prompts_of` as an argument of the method."""
        prompts = self.prompts_of(class_prompts, settings)
        return method.Prompts(
            encode=prompts.encode,
            context=prompts.context,
            features=prompts.features,
            weight=prompts.weight,
            temperature=self._backbone.temperature,
            initial=prompts.initial,
            recorded=prompts.recorded(),
        )

    # --- pictures

    def encode_views(self, picture: Picture, settings: Settings) -> EncodedViews:
        """Draw the views of a picture and encode each; cached by content."""
        key = self._views_key(picture, settings)
        return self._encoded_views.get_or_create(key, lambda: self._encode(picture, settings, key))

    def encode_views_batch(
        self, pictures: Sequence[Picture], settings: Settings, seeds: Sequence[int]
    ) -> list[EncodedViews]:
        """:meth:`encode_views` of several pictures, each with its own view seed, in one batch; not cached."""
        with self.lock():
            drawn = [
                make_views(self.pixels(picture), settings.replace(view_seed=seed), self.info.side)
                for picture, seed in zip(pictures, seeds, strict=True)
            ]
            pixels = torch.cat([views.pixels for views in drawn if views.pixels is not None])
            features = tensor_to_numpy(check_finite(self._backbone.encode_views(pixels, len(drawn))))
        each = features.reshape(len(drawn), -1, features.shape[1])
        asked = [(picture.key, str(settings), str(seed)) for picture, seed in zip(pictures, seeds)]
        keys = [hash_key("together", self.info.name, *key) for key in asked]
        return [EncodedViews(to_numpy(replace(views, pixels=None)), x, key) for views, x, key in zip(drawn, each, keys)]

    def view_pixels(self, picture: Picture, settings: Settings) -> np.ndarray:
        """The views as pictures for the screen: (N, side, side, 3) uint8, kept from :meth:`encode_views` or drawn."""

        def draw() -> np.ndarray:
            with self.lock():
                return _display_pixels(make_views(self.pixels(picture), settings, self.info.side))

        return self._view_pixels.get_or_create(self._views_key(picture, settings), draw)

    def pixels(self, picture: Picture) -> torch.Tensor:
        """(H, W, 3) uint8 -> (3, H, W) float32 in [0, 1] on the device."""
        return self.tensor(picture.pixels).permute(2, 0, 1).float() / 255

    def tensor(self, array: np.ndarray) -> torch.Tensor:
        """An array on the model's device."""
        return array_to_tensor(array, self._backbone.device)

    def area_fraction(self, encoded_views: EncodedViews) -> torch.Tensor:
        """(N,) the share of the picture's area that each view shows."""
        return self.tensor(area_fractions(encoded_views.views.boxes))

    def _encode(self, picture: Picture, settings: Settings, key: str) -> EncodedViews:
        with self.lock():
            begin = time.perf_counter()
            drawn = make_views(self.pixels(picture), settings, self.info.side)
            cut = time.perf_counter()
            assert drawn.pixels is not None  # just made
            features = tensor_to_numpy(check_finite(self._backbone.encode_views(drawn.pixels)))
            end = time.perf_counter()
            if self._keeps_pixels:
                self._view_pixels.put(key, _display_pixels(drawn))
        views = to_numpy(replace(drawn, pixels=None))
        del drawn
        malloc.trim_if_grown()
        return EncodedViews(views, features, key, {"views": cut - begin, "encoding": end - cut})

    def _views_key(self, picture: Picture, settings: Settings) -> str:
        return hash_key(self.info.name, picture.key, *_values(settings, "views"))


def _values(settings: Settings, group: str) -> list[str]:
    """The values of all settings of a group: views and prompts are kept under those of theirs."""
    return [str(getattr(settings, name)) for name in in_groups(group)]


def _display_pixels(drawn: ViewSet) -> np.ndarray:
    """The pixels of views, (N, 3, side, side) in [0, 1], as (N, side, side, 3) uint8."""
    assert isinstance(drawn.pixels, torch.Tensor)
    return tensor_to_numpy(drawn.pixels.mul(255).round().clamp(0, 255).byte().permute(0, 2, 3, 1))
