"""Definition 10: rotate the cached views of a class so that their mean points at its mean prompt.

``W_k = argmin_{W orthogonal} ||X_k W - 1 zbar_k'||_F``. The target repeats one vector, so only the image of the mean
direction of X_k is fixed (the direction of zbar_k); ``completion`` chooses the other dimensions."""

from collections.abc import Sequence

import torch
from torch import Tensor

from rita_demo.method.cost import at_least_float32, to_float64, unit
from rita_demo.records import Alignment, CacheState

MIN_MEAN_LENGTH = 1e-6  # a mean of views that is shorter has no direction
OPPOSITE_TOLERANCE = 1e-4  # unit vectors with a smaller |u + v| are opposite and define no plane of rotation
NOTES = {  # by whether there is no direction, and whether it is the opposite one
    (True, False): "The cached views cancel out (or the prompt has no direction): nothing is rotated.",
    (False, True): "The cached views point exactly away from the prompt: nothing is rotated.",
}


def align(features: Tensor, count: Tensor, text_mean: Tensor, completion: str = "smallest_rotation") -> Alignment:
    """Rotate every class's cached views onto its mean prompt (definition 10). Returns (K, J, D) aligned unit rows,
    zeros where empty; resultant length r_k in [0, 1]; angle in [0, pi].

    Args:
        features: (K, J, D), rows from ``count`` on are ignored. count: (K,) filled slots.
        text_mean: (K, D), zbar_k, any length.
        completion: ``smallest_rotation`` rotates in the plane of the two directions and is the identity elsewhere.
            Where the plane is undefined (opposite directions, a sum of zero) nothing is rotated and a note gives the
            reason. ``svd`` is U V' of the SVD of X'Y; rounding noise decides its other dimensions."""
    X = at_least_float32(features)
    filled = torch.arange(X.shape[1], device=X.device) < count[:, None]
    X = torch.where(filled[..., None], X, 0)
    total = to_float64(X).sum(1)
    mean, zbar = unit(total), unit(to_float64(text_mean))
    length = total.norm(dim=-1)
    flat = (length < MIN_MEAN_LENGTH * count) | (zbar.norm(dim=-1) < 0.5)
    together, apart = (mean + zbar).norm(dim=-1), (mean - zbar).norm(dim=-1)
    opposite = ~flat & (together < OPPOSITE_TOLERANCE)
    fixed = flat | opposite
    if completion == "svd":
        aligned, fixed = _svd(X, text_mean.to(X), count, flat), flat
    else:
        aligned = _rotate(X, mean, zbar)
    aligned = torch.where(fixed[:, None, None], X, unit(aligned))
    full = count > 0
    opposite = opposite & (completion != "svd")
    each = zip(*torch.stack([full & flat, full & opposite]).tolist(), strict=True)
    return Alignment(
        aligned=torch.where(filled[..., None], aligned, 0),
        resultant_length=torch.where(full, length / count.clamp(min=1), 0).to(X.dtype),
        # The arctangent is exact for nearly equal and nearly opposite directions; arccos is not.
        angle=torch.where(full & ~flat, 2 * torch.atan2(apart, together), 0).to(X.dtype),
        notes=tuple(NOTES.get(row, "") for row in each),
    )


def align_together(caches: Sequence[CacheState], text_means: Sequence[Tensor], completion: str) -> list[Alignment]:
    """:func:`align` of several caches of one shape, where the means of the prompts lie: their classes are rotated at once."""
    device, classes = text_means[0].device, len(text_means[0])
    features, count = (_joined(parts).to(device) for parts in zip(*((cache.features, cache.count) for cache in caches)))
    whole = align(features, count, _joined(text_means), completion)
    tensors = (part.split(classes) for part in (whole.aligned, whole.resultant_length, whole.angle))
    notes = [whole.notes[n : n + classes] for n in range(0, len(whole.notes), classes)]
    return [Alignment(*fields) for fields in zip(*tensors, notes, strict=True)]


def _joined(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts))


def _rotate(X: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The rotation that maps u to v and is the identity outside their plane, on rows (K, J, D). Two reflections: the
    first maps u to -u, the second, across u + v, maps -u to v. Their product is orthogonal up to rounding for all u and
    v; the closed form with ``1 / (1 + u.v)`` is not."""
    for mirror in (u, unit(u + v)):
        mirror = mirror.to(X)[:, None, :]
        X = X - 2 * (X * mirror).sum(-1, keepdim=True) * mirror
    return X


def _svd(X: Tensor, text_mean: Tensor, count: Tensor, skip: Tensor) -> Tensor:
    """The textbook solution: one D x D decomposition per class with items. It takes seconds."""
    aligned = X.clone()
    for k in torch.nonzero((count > 0) & ~skip).flatten().tolist():
        Y = text_mean[k].expand(len(X[k]), -1)  # the empty rows of X are zero and add nothing
        U, _, Vh = torch.linalg.svd(X[k].T @ Y)
        aligned[k] = X[k] @ (U @ Vh)
    return aligned
