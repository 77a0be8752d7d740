"""A loaded model: pixels to unit features. Its weights are frozen."""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, TypedDict

import torch
from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from open_clip.transformer import ResidualAttentionBlock, Transformer
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.process import environment
from rita_demo.process.cpu_threads import parallel_chunks
from rita_demo.process.gpu import CudaGraphs
from rita_demo.process.lazy import uniform
from rita_demo.records import BackboneInfo, Passes
from rita_demo.records.errors import BackboneError
from rita_demo.vlm.fold_batchnorm import fold_batchnorm
from rita_demo.vlm.text_tower import TextTower, text_tower

CHUNK_SIZE = {"cpu": 16, "mps": 64, "cuda": 256}  # on a CPU the output of a layer stays below 32 MB (malloc.py)
SMALL_TOWER = 10_000_000  # weights; on a CPU every layer of it is too little work for more than one core
ROUNDING = 1e-4  # largest 1 - cosine of a feature to that in float32
PRECISIONS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Preprocessing(TypedDict, total=False):
    """Channel mean and standard deviation, and how pictures are resized; CLIP's own where it is missing."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    interpolation: str


class PassCounter:
    """How many pictures went through the vision tower, ``forward`` and ``backward``, for everybody who uses it; what a GPU
    replays from a recording is not counted. Thread-safe."""

    def __init__(self) -> None:
        self._lock, self._forward, self._backward = threading.Lock(), 0, 0

    def add(self, forward: int = 0, backward: int = 0) -> None:
        """Count more of them."""
        with self._lock:
            self._forward += forward
            self._backward += backward

    def __deepcopy__(self, memo: object) -> PassCounter:
        return PassCounter()

    def count(self) -> Passes:
        """The passes so far."""
        with self._lock:
            return Passes(self._forward, self._backward)


class Backbone:
    """A frozen image and text encoder in float32 on one device.

    Args:
        model: an open_clip ``CLIP`` or ``CustomTextCLIP``; it is changed: frozen, in eval mode, moved to ``device``.
        tokenizer: open_clip's tokenizer for it.
        name: the name it is loaded by. title: the name to show. note: one sentence about it.
        mean, std: (3,) of the colour channels, as in the training of the model.
        interpolation: "bicubic" or "bilinear", for squares of another size than the model's.
        precision: of :meth:`encode_views`; "float32", "float16" or "bfloat16".
        seen_words: the words of the class names in training (:func:`rita_demo.vlm.words.word_list`), or None where they
            are not known.
        tower: the text tower of a model that is not open_clip's, see :func:`rita_demo.vlm.own_model.own_model`.

    Attributes: info: :class:`BackboneInfo`. temperature: 1 / logit scale. side: input side in pixels. tower: the text
    tower. seen_words: as above. device: the device of the weights. one_core: whether one core works faster on a picture
    than all of them. graphs: what a GPU records and repeats. Raises BackboneError: the model is of an unsupported kind."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        title: str,
        device: str = "cpu",
        note: str = "",
        mean: tuple[float, ...] = (0.48145466, 0.4578275, 0.40821073),
        std: tuple[float, ...] = (0.26862954, 0.26130258, 0.27577711),
        interpolation: str = "bicubic",
        precision: str = "float32",
        seen_words: frozenset[str] | None = None,
        tower: TextTower | None = None,
    ) -> None:
        model = model.float().eval().requires_grad_(False).to(device)
        if isinstance(model.visual, ModifiedResNet | TimmModel):  # mostly convolutions: twice as fast on CPUs
            model.visual.to(memory_format=torch.channels_last)
        self.device = torch.device(device)
        self.tower: TextTower = tower or text_tower(model, tokenizer, name)
        self.seen_words = seen_words
        size = model.visual.image_size
        high, wide = (size, size) if isinstance(size, int) else size
        if high != wide:
            raise BackboneError(f"{name} wants pictures of {wide} x {high} pixels, not squares.")
        self.side = int(high)
        self._visual: nn.Module = model.visual
        small = sum(p.numel() for p in model.visual.parameters()) < SMALL_TOWER
        self.one_core = small and self.device.type == "cpu"
        self._folded = fold_batchnorm(model.visual, self.side)
        self.graphs = CudaGraphs(self.device.type == "cuda")
        self.passes = PassCounter()
        self._mean = torch.tensor(mean, dtype=torch.float32, device=self.device).view(1, 3, 1, 1)
        self._std = torch.tensor(std, dtype=torch.float32, device=self.device).view(1, 3, 1, 1)
        self._interpolation = interpolation
        self._dtype = PRECISIONS[precision]
        self._logit_scale: Tensor = model.logit_scale
        scale = float(self._logit_scale.exp().reshape(()))
        self.temperature = 1 / scale
        self._rounded: nn.Module | None = None  # the tower in ``precision``
        with torch.no_grad():
            black = check_finite(self._encode(self._black()))
            if self.device.type == "cuda":
                self._rounded = None if self._dtype == torch.float32 else self._round_weights()
                put_tokens_first(model.visual)  # and not the rounded copy, which needs no gradient
        self.info = BackboneInfo(
            name=name,
            title=title,
            parameters=sum(p.numel() for p in model.parameters()),
            side=self.side,
            width=black.shape[1],
            device=self.device.type,
            precision=precision,
            logit_scale=scale,
            note=note,
        )

    def encode_pixels(self, pixels: Tensor) -> Tensor:
        """Unit features (B, D) float32 of pictures (B, 3, H, W) float in [0, 1], H = W. Differentiable with respect to
        ``pixels``, always in float32. Squares of another size are resized to ``side`` with antialiasing and clamped to
        [0, 1], as PIL does. Raises BackboneError: ``pixels`` has another shape, or its numbers are not floats."""
        self._check_shape(pixels, side=None)
        features, count = self._encode(pixels), len(pixels)
        self.passes.add(forward=count)
        if features.requires_grad:
            features.register_hook(lambda _: self.passes.add(backward=count))
        return features

    def encode_views(self, pixels: Tensor, pictures: int = 1) -> Tensor:
        """Unit features (N, D) float32 of views (N, 3, side, side) float in [0, 1]; no gradient.

        Views are encoded in chunks that fit into memory, in ``info.precision``, with batch norms folded in (in float32
        the same numbers to 1e-6). The first view of a picture is always encoded in float32: plain CLIP answers from it,
        and the attack, which runs in float32, must get the same answer. ``pictures``: number of pictures that the views
        belong to; N / pictures views of each, picture after picture. Raises BackboneError: ``pixels`` has another
        shape, or its numbers are not floats; or the device's memory does not hold a single view."""
        self._check_shape(pixels, side=self.side)
        self.passes.add(forward=len(pixels))
        chunk = CHUNK_SIZE[self.device.type]
        with torch.no_grad():
            if self._dtype == torch.float32:
                if not self.one_core:
                    return in_chunks(self._encode_crops, pixels, chunk)
                chunks = pixels.split(chunk)  # the same ones on any number of cores: the same bits
                encode = self._encode_crops
                parts = parallel_chunks(lambda some: [in_chunks(encode, chunks[n], chunk) for n in some], len(chunks))
                return torch.cat(list(chain(*parts)))
            each = pixels.unflatten(0, (pictures, -1))
            first = in_chunks(self._encode_exactly, each[:, 0], chunk)[:, None]
            if each.shape[1] == 1:
                return first.flatten(0, 1)
            rest = in_chunks(self._encode_rounded, each[:, 1:].flatten(0, 1), chunk)
            return torch.cat([first, rest.unflatten(0, (pictures, -1))], 1).flatten(0, 1)

    def free_memory(self) -> None:
        """Give back what a GPU holds beside the weights: recordings, and freed memory that torch keeps."""
        self.graphs.clear()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def has_failed(self, error: BaseException) -> bool:
        """Whether the device no longer answers after this error: some errors of a GPU are the last thing that it says until
        the process ends."""
        if self.device.type == "cpu" and not isinstance(error, torch.AcceleratorError):
            return False
        try:
            self._encode(self._black()).sum().item()
        except RuntimeError as second:
            return not is_out_of_memory(second)
        return False

    def unfused(self) -> Backbone:
        """A copy with the vision tower as open_clip builds it: channels first, nothing folded, float32."""
        copied = copy.deepcopy(self)
        copied._dtype, copied.info = torch.float32, replace(self.info, precision="float32")
        copied._visual.to(memory_format=torch.contiguous_format)
        copied._folded = copied._rounded = None
        return copied

    def weights_key(self) -> str:
        """A hash of all weights (16 hex digits): the same on every device."""
        digest = hashlib.sha256()
        parts = (self._visual.state_dict(), self.tower.weights(), {"logit_scale": self._logit_scale})
        for name, tensor in chain.from_iterable(part.items() for part in parts):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def _encode(self, pixels: Tensor) -> Tensor:
        pixels = pixels.to(self.device, torch.float32)
        if pixels.shape[-1] != self.side:
            pixels = F.interpolate(pixels, self.side, mode=self._interpolation, antialias=True).clamp(0, 1)
        return self._features(self._visual, pixels)

    def _encode_crops(self, pixels: Tensor) -> Tensor:
        return self._features(self._folded or self._visual, pixels.to(self.device, torch.float32))

    def _encode_exactly(self, pixels: Tensor) -> Tensor:
        (features,) = self.graphs.run("whole pictures", lambda pixels: [self._encode(pixels)], pixels.to(self.device))
        return features

    def _encode_rounded(self, pixels: Tensor) -> Tensor:
        if self._rounded is not None:
            return self._features(self._rounded, pixels.to(self.device, torch.float32), self._dtype)
        with torch.autocast(self.device.type, dtype=self._dtype):
            return self._encode_crops(pixels)

    def _black(self) -> Tensor:
        return torch.zeros(1, 3, self.side, self.side, dtype=torch.float32, device=self.device)

    def _round_weights(self) -> nn.Module | None:
        """The tower with weights in the precision, which a GPU multiplies twice as fast as autocast does; None for a model
        whose features it changes too much: its layers then keep the numbers between them in float32."""
        rounded = copy.deepcopy(self._folded or self._visual).to(self._dtype)
        noise = uniform([1, 3, self.side, self.side], torch.Generator().manual_seed(0)).to(self.device)
        cosine = (self._features(rounded, noise, self._dtype) * self._encode(noise)).sum()
        return rounded if float(cosine) > 1 - ROUNDING else None  # False for NaN

    def _features(self, visual: nn.Module, pixels: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
        features = visual(((pixels - self._mean) / self._std).to(dtype))
        return F.normalize(features.float(), dim=-1)

    def _check_shape(self, pixels: Tensor, side: int | None) -> None:
        wanted = f"(N, 3, {side}, {side})" if side else "(N, 3, H, H)"
        square = pixels.ndim == 4 and pixels.shape[1:] == (3, side or pixels.shape[3], pixels.shape[3])
        if not (square and pixels.numel() and pixels.is_floating_point()):
            raise BackboneError(
                f"The model expects square pictures {wanted} as floats in [0, 1]; "
                f"got {tuple(pixels.shape)} {str(pixels.dtype).removeprefix('torch.')}.",
                "Cut the picture to a square first.",
            )


def put_tokens_first(visual: nn.Module) -> None:
    """Change open_clip's own vision transformer to work on (T, B, E), tokens first; its answers stay. Other towers stay as they
    are.

    open_clip's blocks work on (B, T, E). Torch's attention turns that around to (T, B, E) without moving a number, and a product
    of such a tensor with frozen weights becomes T small products instead of a large one, forward and backward. With the axes
    turned around once, before the first block, the same numbers are multiplied at once. The attention that needs no gradient
    has a path of its own for (B, T, E): a tower that is never differentiated keeps that order."""
    transformer = getattr(visual, "transformer", None)
    if not isinstance(transformer, Transformer):
        return
    if all(type(block) is ResidualAttentionBlock for block in transformer.resblocks):
        transformer.batch_first = False
        for block in transformer.resblocks:
            block.attn.batch_first = False


def in_chunks(encode: Callable[[Tensor], Tensor], pixels: Tensor, size: int) -> Tensor:
    """``encode`` (n, ...) -> (n, D) on at most ``size`` pictures at once; out of memory halves ``size``. Raises
    BackboneError: the memory does not hold a single picture."""
    parts = []
    while len(pixels):
        size, part = min(size, len(pixels)), None
        try:
            part = encode(pixels[:size])
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        if part is not None:
            parts.append(part)
            pixels = pixels[size:]
        elif size == 1:
            raise out_of_memory_error()
        else:  # outside the except block: the error still references the tensors that did not fit
            size //= 2
            torch.cuda.empty_cache()
    return torch.cat(parts)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out. On a CPU, and where a library of a GPU asked for the memory, torch raises a
    plain RuntimeError; its text tells."""
    words = ("DefaultCPUAllocator", "not enough memory", "CUDA error: out of memory", "STATUS_ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(part in str(error) for part in words)
    )


def out_of_memory_error() -> BackboneError:
    """The error for a device without enough memory."""
    return BackboneError(
        "The model needs more memory than its device has left.",
        "Try again with fewer views or class names, or choose a smaller model.",
    )


def failed_device_error() -> BackboneError:
    """The error for a GPU that no longer answers."""
    hint = "Nothing can be computed until the server is started again."
    return BackboneError("The graphics card does not answer any more.", hint)


def check_finite(features: Tensor) -> Tensor:
    """The features as they came. Raises BackboneError: one of them is NaN or infinite."""
    if not bool(torch.isfinite(features).all()):
        raise BackboneError(
            "The model's answer is not a number (NaN or infinity).",
            "Its weights may be damaged: get them again, or choose another model.",
        )
    return features


def pick_device() -> str:
    """``RITA_DEVICE`` where it is set, else the fastest device of this machine: "cuda", "mps" or "cpu". Raises
    BackboneError: the device of ``RITA_DEVICE`` cannot be used."""
    if asked := environment.value("RITA_DEVICE"):
        try:
            torch.zeros(1, dtype=torch.float32, device=asked)
        except (RuntimeError, AssertionError, NotImplementedError):
            raise BackboneError(
                f"RITA_DEVICE asks for {asked[:40]!r}, which cannot be used here.",
                "Leave it out, or set it to cpu, cuda, cuda:1 or mps.",
            ) from None
        return asked
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def pick_precision(device: str) -> str:
    """Precision of encoding views: float16 on CUDA (costs within 3e-4 of float32, docs/performance.md), else float32. On CPUs
    bfloat16 takes about half the time, but with the embedded model it changes the cost of a class by up to 3 % and one
    label of eight (docs/performance.md)."""
    return "float16" if device.startswith("cuda") else "float32"
