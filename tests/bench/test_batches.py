"""What batches would save, on a small model."""

from __future__ import annotations

import torch

from rita_demo.bench.batches import changed_signs, gradient, milliseconds


class Linear:
    """The pixels are the features."""

    def encode_pixels(self, pixels: torch.Tensor) -> torch.Tensor:
        return pixels.flatten(1)


class Mixing(Linear):
    """A model that answers the opposite in a batch."""

    def encode_pixels(self, pixels: torch.Tensor) -> torch.Tensor:
        return super().encode_pixels(pixels if len(pixels) == 1 else -pixels)


def test_signs_change_only_where_a_picture_depends_on_its_batch() -> None:
    pictures = torch.rand(4, 3, 2, 2, generator=torch.Generator().manual_seed(0))
    assert gradient(Linear(), pictures).shape == pictures.shape
    assert changed_signs(Linear(), pictures) == 0
    assert changed_signs(Mixing(), pictures) > 0.5


def test_milliseconds_are_per_picture() -> None:
    calls = []
    assert milliseconds(lambda: calls.append(1), 4) >= 0
    assert len(calls) == 6  # the first is not timed
