"""The views of one picture: antialiased crops, each in two matrix products, differentiable in the pixels.

A resize is separable: every output row is a weighted sum of input rows, and so are columns. The
weights are those of PIL's ``resize(size, BICUBIC, box=...)``: Keys' cubic with a = -1/2, widened by
the zoom factor when the crop is larger than the output, cut at the picture's edge, normalised."""

import math
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rita_demo.process.cpu_threads import parallel_chunks, single_threaded
from rita_demo.records import ViewSet
from rita_demo.settings import Settings
from rita_demo.vlm.views.augmix import augmix
from rita_demo.vlm.views.boxes import view_boxes

CPU = torch.device("cpu")
REACH = 2.0  # half the width of the cubic filter, in output pixels
STRIPS = 4  # of a crop on a CPU: more strips mean less arithmetic and more calls


def make_views(pixels: Tensor, settings: Settings, side: int) -> ViewSet:
    """Draw ``settings.views`` views of a square (method.md row 2); view 0 is the whole square.

    With ``settings.views_augmix`` the crops (not view 0) are rounded to 8 bit and mixed. Without it the result is
    differentiable with respect to ``pixels``. ``pixels``: (3, H, W) float in [0, 1], H = W. ``side``: the model's input
    side in pixels. Returns a :class:`ViewSet` of torch tensors: ``boxes`` (N, 4) and ``flipped`` (N,) on the CPU,
    ``pixels`` (N, 3, side, side) float32 in [0, 1] on the device of ``pixels``."""
    boxes, flipped = view_boxes(settings)
    views = crop(pixels.float(), boxes, flipped, side)
    if settings.views_augmix and len(views) > 1:
        crops = views[1:].detach().mul(255).round().byte().permute(0, 2, 3, 1).cpu().numpy()
        mixed = torch.from_numpy(augmix(crops, settings.view_seed, first=1)).permute(0, 3, 1, 2)
        views = torch.cat([views[:1], mixed.to(views)])
    return ViewSet(torch.from_numpy(boxes), torch.from_numpy(flipped), settings.view_seed, views)


def crop(pixels: Tensor, boxes: Tensor | np.ndarray, flipped: Tensor | np.ndarray, side: int) -> Tensor:
    """Cut boxes out of a picture and resize each to ``side`` x ``side``. Differentiable with respect to ``pixels``
    (where the result is not outside [0, 1]). Equal to PIL's ``resize((side, side), BICUBIC, box=box)`` up to PIL's
    rounding to 8 bit. Returns (N, 3, side, side) in [0, 1], dtype and device of ``pixels``.

    Args:
        pixels: (3, H, W) float in [0, 1].
        boxes: (N, 4) left, top, right, bottom as fractions of the width and height, in [0, 1].
        flipped: (N,) bool, True mirrors the crop left to right.
        side: output size in pixels."""
    where = torch.as_tensor(boxes, device=CPU).detach().double()
    mirrored = torch.as_tensor(flipped, device=pixels.device).bool()
    _, height, width = pixels.shape
    if pixels.device.type == "cuda":
        rows, columns = _kept_matrices(where.numpy().tobytes(), height, width, side, pixels.device)
    else:  # Apple's mps has no float64
        rows, columns = _matrices(where, height, width, side, CPU)
    rows, columns = rows.to(pixels), columns.to(pixels)
    sideways = pixels.transpose(1, 2).contiguous()

    def cut(view: int) -> Tensor:
        left, top, right, bottom = where[view].tolist()
        top, bottom = top * height, bottom * height
        used = _reached(top, bottom, height, (bottom - top) / side)
        squeezed = _banded(columns[view], sideways[..., used], left * width, right * width)
        top, bottom = top - used.start, bottom - used.start
        return _banded(rows[view, :, used], squeezed.transpose(1, 2), top, bottom)

    def cut_all(views: range) -> Tensor:
        return _clamp(torch.stack([cut(view) for view in views]))

    if pixels.device.type != "cpu":
        upright = cut_together(pixels, rows, columns)
    elif torch.is_grad_enabled() and pixels.requires_grad:
        with single_threaded():
            upright = cut_all(range(len(where)))
    else:
        upright = torch.cat(parallel_chunks(cut_all, len(where)))
    return torch.where(mirrored[:, None, None, None], upright.flip(3), upright)


def _matrices(where: Tensor, height: int, width: int, side: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """The matrices of the rows and of the columns of boxes (N, 4)."""
    rows = resize_matrix(where[:, 1], where[:, 3], height, side, device)
    return rows, resize_matrix(where[:, 0], where[:, 2], width, side, device)


@lru_cache(maxsize=4)  # a picture's view seed mostly stays the same; 25 MB each
def _kept_matrices(boxes: bytes, *sizes: Any) -> tuple[Tensor, Tensor]:
    with torch.inference_mode(False):
        return _matrices(torch.frombuffer(bytearray(boxes), dtype=torch.float64).reshape(-1, 4), *sizes)


def cut_together(pixels: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """All crops (N, 3, side, side) in two matrix products, for a GPU: it multiplies zeros, but starts two kernels instead
    of hundreds. ``rows`` (N, side, H) and ``columns`` (N, side, W): the matrices of :func:`resize_matrix`."""
    squeezed = columns[:, None] @ pixels.transpose(1, 2)
    return _clamp(rows[:, None] @ squeezed.transpose(2, 3))


def _clamp(values: Tensor) -> Tensor:
    """Into [0, 1], with gradient 1 at 0 and 1: ``clamp`` has none there, and an attack could not move such pixels."""
    return torch.where((values < 0) | (values > 1), values.clamp(0, 1), values)


def _banded(matrix: Tensor, values: Tensor, low: float, high: float) -> Tensor:
    """``matrix @ values`` in strips of output rows, each with the few source pixels that it needs. ``matrix`` (side,
    source) resizes the stretch ``low``..``high`` (source pixels) of ``values`` (3, source, X); it is zero elsewhere."""
    side, source = matrix.shape
    zoom = (high - low) / side
    edges = [side * s // STRIPS for s in range(STRIPS + 1)]
    parts = []
    for first, last in pairwise(edges):
        reached = _reached(low + first * zoom, low + last * zoom, source, zoom)
        parts.append(matrix[first:last, reached] @ values[:, reached])
    return torch.cat(parts, dim=1)


def _reached(low: float, high: float, source: int, zoom: float) -> slice:
    """The source pixels that the filter needs for the stretch ``low``..``high``."""
    margin = REACH * max(zoom, 1.0) + 1
    return slice(max(math.floor(low - margin), 0), min(math.ceil(high + margin), source))


@cache  # what a GPU has recorded reads it where it is
def whole_square_matrix(source: int, side: int, device: torch.device) -> Tensor:
    """The weights (side, source) of :func:`resize_matrix` for a whole square."""
    with torch.inference_mode(False):
        low, high = (torch.full((1,), end, dtype=torch.float64, device=CPU) for end in (0, 1))
        return resize_matrix(low, high, source, side, device)[0]


def resize_squares(pixels: Tensor, side: int) -> Tensor:
    """View 0 of squares (B, 3, S, S): (B, 3, side, side), as :func:`crop` makes it, in two products."""
    matrix = whole_square_matrix(pixels.shape[-1], side, pixels.device).to(pixels)
    return _clamp(matrix @ (matrix @ pixels.transpose(2, 3)).transpose(2, 3))


def resize_matrix(low: Tensor, high: Tensor, source: int, side: int, device: torch.device = CPU) -> Tensor:
    """Weights (N, side, source) float32 on ``device`` that resize the stretch ``low``..``high`` to ``side`` pixels.

    Only the non-zero weights of an output pixel are computed and put into the dense matrix: for 64 crops of 448 pixels
    this is 30 times less work than evaluating the filter everywhere. ``low``, ``high``: (N,) float64 on the CPU,
    fractions of the source's length, low < high. ``source``: length of the source in pixels. ``side``: length of the
    output in pixels."""
    widest = max(float((high - low).max()) * source / side, 1.0)
    low, high = low.to(device), high.to(device)
    zoom = (high - low) * source / side  # source pixels per output pixel
    stretch = zoom.clamp(min=1.0)
    centre = (low * source)[:, None] + (torch.arange(side, device=device).double() + 0.5) * zoom[:, None]
    reach = (REACH * stretch)[:, None]
    first = (centre - reach + 0.5).floor().clamp(min=0)  # PIL's rounding of the filter's support
    last = (centre + reach + 0.5).floor().clamp(max=source)
    taps = torch.arange(math.ceil(2 * REACH * widest) + 2, device=device).double()
    index = first[..., None] + taps
    weight = cubic((index + 0.5 - centre[..., None]) / stretch[:, None, None])
    weight = torch.where(index < last[..., None], weight, 0.0)
    weight = weight / weight.sum(-1, keepdim=True)
    matrix = torch.zeros(len(low), side, source, dtype=torch.float32, device=device)
    return matrix.scatter_add_(2, index.long().clamp(max=source - 1), weight.float())


def cubic(distance: Tensor) -> Tensor:
    """Keys' cubic convolution kernel with a = -1/2 (PIL's BICUBIC), zero beyond 2."""
    x = distance.abs()
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < REACH, far, 0.0))
