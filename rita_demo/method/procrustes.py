"""Definition 10: turn the cached views of a class so that their mean points at its mean prompt.

``W_k = argmin_{W orthogonal} ||X_k W - 1 zbar_k'||_F``.  The target repeats one vector, so only
``mean direction of X_k -> direction of zbar_k`` is fixed; ``completion`` fills the other dimensions.
"""

from __future__ import annotations

import torch
from torch import Tensor

from rita_demo.method.precision import unit, wide, working
from rita_demo.records import Alignment

COMPLETIONS = ("svd", "smallest_rotation")
CANCELLED = 1e-6  # below this length, in units of one view, a sum of views has no direction
OPPOSITE = 1e-4  # |u + v| of two unit vectors that no plane of rotation can be read from


def align(
    features: Tensor, count: Tensor, text_mean: Tensor, completion: str = "smallest_rotation"
) -> Alignment:
    """Rotate every class's cached views onto its mean prompt (definition 10).

    Args:
        features: (K, J, D), rows from ``count`` on are ignored; count: (K,) filled slots.
        text_mean: (K, D), zbar_k, any length.
        completion: ``smallest_rotation``: turn in the plane of the two directions, identity elsewhere;
            where the plane is undefined (opposite directions, a sum of zero) nothing is turned and a
            note says so.  ``svd``: literally U V' of the SVD of X'Y, rounding noise and all.

    Returns:
        (K, J, D) aligned unit rows, zeros where empty; strength r_k in [0, 1]; angle in [0, pi].
    """
    if completion not in COMPLETIONS:
        raise ValueError(f"completion is one of {', '.join(COMPLETIONS)}; got {completion!r}.")
    X = working(features)
    filled = torch.arange(X.shape[1], device=X.device) < count[:, None]
    X = torch.where(filled[..., None], X, 0)
    total = wide(X).sum(1)
    mean, zbar = unit(total), unit(wide(text_mean))
    length = total.norm(dim=-1)
    flat = (length < CANCELLED * count) | (zbar.norm(dim=-1) < 0.5)
    together, apart = (mean + zbar).norm(dim=-1), (mean - zbar).norm(dim=-1)
    opposite = ~flat & (together < OPPOSITE)
    fixed = flat | opposite
    if completion == "svd":
        aligned, fixed = _svd(X, text_mean.to(X), count, flat), flat
    else:
        aligned = _rotate(X, mean, zbar)
    aligned = torch.where(fixed[:, None, None], X, unit(aligned))
    full = count > 0
    return Alignment(
        aligned=torch.where(filled[..., None], aligned, 0),
        strength=torch.where(full, length / count.clamp(min=1), 0).to(X.dtype),
        # Two arctangents stay exact for nearly equal and nearly opposite directions; arccos does not.
        angle=torch.where(full & ~flat, 2 * torch.atan2(apart, together), 0).to(X.dtype),
        notes=_notes(full, flat, opposite if completion != "svd" else torch.zeros_like(opposite)),
    )


def _rotate(X: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The rotation that takes u to v and moves nothing outside their plane, on rows (K, J, D).

    Two mirrors: the first takes u to -u, the second, across u + v, takes -u to v.  A product of
    mirrors is orthogonal to rounding however close u and v are, which ``1 / (1 + u.v)`` is not.
    """
    for mirror in (u, unit(u + v)):
        mirror = mirror.to(X)[:, None, :]
        X = X - 2 * (X * mirror).sum(-1, keepdim=True) * mirror
    return X


def _svd(X: Tensor, text_mean: Tensor, count: Tensor, skip: Tensor) -> Tensor:
    """The textbook solution, one D x D decomposition per class that holds something: seconds, not ms."""
    aligned = X.clone()
    for k in torch.nonzero((count > 0) & ~skip).flatten().tolist():
        Y = text_mean[k].expand(len(X[k]), -1)  # the empty rows of X are zero and add nothing
        U, _, Vh = torch.linalg.svd(X[k].T @ Y)
        aligned[k] = X[k] @ (U @ Vh)
    return aligned


def _notes(full: Tensor, flat: Tensor, opposite: Tensor) -> tuple[str, ...]:
    sentences = {
        (
            True,
            False,
        ): "The cached views cancel out (or the prompt has no direction): nothing was turned.",
        (False, True): "The cached views point exactly away from the prompt: nothing was turned.",
    }
    rows = zip((full & flat).tolist(), (full & opposite).tolist(), strict=True)
    return tuple(sentences.get(row, "") for row in rows)
