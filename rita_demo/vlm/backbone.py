"""One loaded model: pixels to unit features. Frozen: nothing here ever receives a gradient."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import torch
from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.errors import BackboneError
from rita_demo.records import BackboneInfo
from rita_demo.vlm.folding import folded
from rita_demo.vlm.tower import TextTower, text_tower

VIEWS_AT_ONCE = {
    "cpu": 16,
    "mps": 64,
    "cuda": 256,
}  # a CPU: what a layer makes stays below 32 MB (heap.py)
PRECISIONS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Backbone:
    """A frozen image and text encoder in float32 on one device.

    Args:
        model: an open_clip ``CLIP`` or ``CustomTextCLIP``; taken over: frozen, in eval mode, moved.
        tokenizer: open_clip's tokenizer for it.
        name: as the visitor asks for it. title: for people. note: one plain sentence.
        mean, std: of the colour channels, what the model was trained with.
        interpolation: "bicubic" or "bilinear", for pictures that are not at the model's side.
        precision: of :meth:`encode_views`; "float32", "float16" or "bfloat16".
        seen_tokens: ids met in training, or None when the model knows the whole vocabulary.

    Attributes:
        info: :class:`BackboneInfo`. temperature: 1 / logit scale. side: input side in pixels.
        tower: the text tower. seen_tokens: as above. device: where the weights are.

    Raises:
        BackboneError: the model is not of a kind that is supported.
    """

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
        seen_tokens: frozenset[int] | None = None,
    ) -> None:
        model = model.float().eval().requires_grad_(False).to(device)
        if isinstance(model.visual, ModifiedResNet | TimmModel):  # convolutions, as a rule
            # up to twice as fast on CPUs, same numbers to 1e-6
            model.visual.to(memory_format=torch.channels_last)
        self.device = torch.device(device)
        self.tower: TextTower = text_tower(model, tokenizer, name)
        self.seen_tokens = seen_tokens
        self.side = _square_side(model.visual.image_size, name)
        self._visual: nn.Module = model.visual
        self._folded = folded(model.visual, self.side)
        self._mean = torch.tensor(mean, device=self.device).view(1, 3, 1, 1)
        self._std = torch.tensor(std, device=self.device).view(1, 3, 1, 1)
        self._interpolation = interpolation
        self._dtype = PRECISIONS[precision]
        self._logit_scale: Tensor = model.logit_scale
        scale = float(self._logit_scale.exp().reshape(()))
        self.temperature = 1 / scale
        self.info = BackboneInfo(
            name=name,
            title=title,
            parameters=sum(p.numel() for p in model.parameters()),
            side=self.side,
            width=self._width(),
            device=self.device.type,
            precision=precision,
            logit_scale=scale,
            note=note,
        )

    def encode_pixels(self, pixels: Tensor) -> Tensor:
        """Unit features (B, D) float32 of pictures (B, 3, H, W) float in [0, 1], H = W.

        Differentiable with respect to ``pixels``, always in float32. Squares of another size are
        resized to ``side`` with antialiasing and clamped to [0, 1], as PIL does.

        Raises:
            BackboneError: ``pixels`` has another shape, or its numbers are not floats.
        """
        self._expect(pixels, side=None)
        return self._encode(pixels)

    def encode_views(self, pixels: Tensor, pictures: int = 1) -> Tensor:
        """Unit features (N, D) float32 of views (N, 3, side, side) float in [0, 1]; no gradient.

        The views may be those of several ``pictures``, as many of each, one picture's after the other's.

        In chunks that fit into memory, in ``info.precision``, with batch norms folded in (float32: same numbers to 1e-6).
        A picture's first view is always encoded in float32: it is what plain CLIP answers with, and the attacker's
        answer must be the same to the last digit shown.

        Raises:
            BackboneError: ``pixels`` has another shape, or its numbers are not floats; not even one view
                fits into the device's memory.
        """
        self._expect(pixels, side=self.side)
        chunk = VIEWS_AT_ONCE[self.device.type]
        reduced = self._dtype != torch.float32
        with torch.no_grad():
            if not reduced:
                return in_chunks(self._encode_crops, pixels, chunk)
            each = pixels.unflatten(0, (pictures, -1))
            first = in_chunks(self._encode, each[:, 0], chunk)[:, None]
            if each.shape[1] == 1:
                return first.flatten(0, 1)
            with torch.autocast(self.device.type, dtype=self._dtype):
                rest = in_chunks(self._encode_crops, each[:, 1:].flatten(0, 1), chunk)
            return torch.cat([first, rest.unflatten(0, (pictures, -1))], 1).flatten(0, 1)

    def as_built(self) -> Backbone:
        """A copy with the vision tower as open_clip builds it: channels first, nothing folded, all in float32."""
        copied = copy.deepcopy(self)
        copied._dtype, copied.info = torch.float32, replace(self.info, precision="float32")
        copied._visual.to(memory_format=torch.contiguous_format)
        copied._folded = None
        return copied

    def weights_key(self) -> str:
        """Names the weights by their content: the same on every device, another after any training."""
        digest = hashlib.sha256()
        parts = (
            self._visual.state_dict(),
            self.tower.weights(),
            {"logit_scale": self._logit_scale},
        )
        for name, tensor in chain.from_iterable(part.items() for part in parts):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    def _encode(self, pixels: Tensor) -> Tensor:
        pixels = pixels.to(self.device, torch.float32)
        if pixels.shape[-1] != self.side:
            size, mode = (self.side, self.side), self._interpolation
            pixels = F.interpolate(pixels, size=size, mode=mode, antialias=True).clamp(0, 1)
        return self._features(self._visual, pixels)

    def _encode_crops(self, pixels: Tensor) -> Tensor:
        return self._features(self._folded or self._visual, pixels.to(self.device, torch.float32))

    def _features(self, visual: nn.Module, pixels: Tensor) -> Tensor:
        features = visual((pixels - self._mean) / self._std)
        return F.normalize(features.float(), dim=-1)

    def _expect(self, pixels: Tensor, side: int | None) -> None:
        wanted = f"(N, 3, {side}, {side})" if side else "(N, 3, H, H)"
        square = pixels.ndim == 4 and pixels.shape[1] == 3 and pixels.shape[2] == pixels.shape[3]
        filled = square and len(pixels) > 0 and pixels.shape[3] > 0
        if not filled or not pixels.is_floating_point() or (side and pixels.shape[3] != side):
            raise BackboneError(
                f"The model expects square pictures {wanted} as floats in [0, 1]; "
                f"got {tuple(pixels.shape)} {str(pixels.dtype).removeprefix('torch.')}.",
                "Cut the picture to a square first.",
            )

    def _width(self) -> int:
        probe = torch.zeros(1, 3, self.side, self.side, device=self.device)
        with torch.no_grad():
            return finite(self._encode(probe)).shape[-1]


def in_chunks(encode: Callable[[Tensor], Tensor], pixels: Tensor, size: int) -> Tensor:
    """``encode`` (n, ...) -> (n, D) on at most ``size`` pictures at once, on half as many whenever the device's
    memory does not hold them, and so on.

    Raises:
        BackboneError: it does not hold one.
    """
    parts, at = [], 0
    while at < len(pixels):
        size, fits = min(size, len(pixels) - at), True
        try:
            parts.append(encode(pixels[at : at + size]))
        except (RuntimeError, MemoryError) as error:
            if not is_full(error):
                raise
            fits = False
        if fits:
            at += size
        elif size == 1:
            raise no_room()
        else:  # not in the handler: the error holds on to what did not fit
            size //= 2
            torch.cuda.empty_cache()
    return torch.cat(parts)


def is_full(error: BaseException) -> bool:
    """Whether an error says that the memory does not suffice. On a GPU it is of a kind of its own; on a CPU torch
    raises a plain RuntimeError, and only its words tell."""
    words = ("DefaultCPUAllocator", "not enough memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and any(part in str(error) for part in words)
    )


def no_room() -> BackboneError:
    """What a visitor is told where the device's memory does not suffice."""
    return BackboneError(
        "The model needs more memory than its device has left.",
        "Try again with fewer views or class names, or choose a smaller model.",
    )


def finite(features: Tensor) -> Tensor:
    """The same features, once it is known that every one is a number.

    Raises:
        BackboneError: the model made NaN or infinity of something.
    """
    if not bool(torch.isfinite(features).all()):
        raise BackboneError(
            "The model's answer is not a number (NaN or infinity).",
            "Its weights may be damaged: get them again, or choose another model.",
        )
    return features


def _square_side(size: int | tuple[int, ...] | list[int], name: str) -> int:
    sides = (size, size) if isinstance(size, int) else tuple(size)
    if sides[0] != sides[1]:
        raise BackboneError(
            f"{name} wants pictures of {sides[1]} x {sides[0]} pixels, not squares."
        )
    return int(sides[0])
