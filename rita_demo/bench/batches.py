"""What batches would save: the time of a view, and of a step of an attack, alone and with others.

``python -m rita_demo.bench.batches`` prints milliseconds for each, and how many gradients have another sign in a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter

import torch
from torch import Tensor
from torch.nn import functional as F

from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load

VIEWS, PICTURES = (16, 64, 256), (1, 8)  # in one batch
CLASSES, SCALE = 47, 100.0  # of the attacked classifier
ROUNDS = 5


def gradient(backbone: Backbone, pictures: Tensor) -> Tensor:
    """An attack's gradient, (B, 3, S, S): of the cross-entropy of class 0 among ``CLASSES`` random directions, with respect
    to ``pictures`` of that shape in [0, 1]."""
    asked = pictures.clone().requires_grad_()
    features = backbone.encode_pixels(asked)
    random = torch.Generator().manual_seed(1)
    directions = F.normalize(torch.randn(features.shape[1], CLASSES, generator=random), dim=0)
    logits = SCALE * features @ directions
    loss = F.cross_entropy(logits, torch.zeros(len(pictures), dtype=torch.long), reduction="sum")
    return torch.autograd.grad(loss, asked)[0]


def changed_signs(backbone: Backbone, pictures: Tensor) -> float:
    """The share of the gradients' entries whose sign depends on whether the pictures are in one batch."""
    alone = torch.cat([gradient(backbone, one[None]) for one in pictures])
    return float((alone.sign() != gradient(backbone, pictures).sign()).float().mean())


def milliseconds(work: Callable[[], object], count: int) -> float:
    """Median of ``ROUNDS`` after a first one, divided by the ``count`` of pictures or views."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        begin = perf_counter()
        work()
        seconds.append(perf_counter() - begin)
    return 1000 * median(seconds) / count


def main() -> None:
    backbone = load("embedded")
    random = torch.Generator().manual_seed(0)
    shape = (3, backbone.side, backbone.side)
    for count in VIEWS:
        views = torch.rand(count, *shape, generator=random)
        print(f"{count} views in a batch: {milliseconds(partial(backbone.encode_views, views), count):.2f} ms a view")
    for count in PICTURES:
        batch = torch.rand(count, *shape, generator=random)
        each = milliseconds(partial(gradient, backbone, batch), count)
        print(f"{count} pictures in a step of an attack: {each:.1f} ms a picture")
    print(f"gradients with another sign in a batch of {PICTURES[-1]}: {changed_signs(backbone, batch):.1e}")


if __name__ == "__main__":
    main()
