"""Random crops, flips and colour changes of uint8 pictures.

Crops are made picture by picture, because pictures differ in size; flips and colours in batches.
"""

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from rita_demo.training.model_config import MEAN, STD


def random_box(height: int, width: int, smallest: float, generator: np.random.Generator) -> tuple[int, int, int, int]:
    """A crop (top, left, height, width): area uniform in [smallest, 1], aspect log-uniform in [3/4, 4/3]."""
    for _ in range(10):
        area = height * width * generator.uniform(smallest, 1.0)
        aspect = math.exp(generator.uniform(math.log(3 / 4), math.log(4 / 3)))
        tall, wide = round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))
        if 0 < tall <= height and 0 < wide <= width:
            top = int(generator.integers(0, height - tall + 1))
            left = int(generator.integers(0, width - wide + 1))
            return top, left, tall, wide
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side


def crop(picture: np.ndarray, size: int, smallest: float, generator: np.random.Generator) -> Tensor:
    """A random resized crop of a uint8 picture (H, W, 3) as uint8 (3, size, size)."""
    height, width = picture.shape[:2]
    top, left, tall, wide = random_box(height, width, smallest, generator)
    cut = torch.from_numpy(np.array(picture[top : top + tall, left : left + wide]))
    channels_last = cut.permute(2, 0, 1).unsqueeze(0)
    return F.interpolate(channels_last, size=(size, size), mode="bilinear", antialias=True, align_corners=False)[0]


def recolour(pixels: Tensor, colour: float, grey: float, generator: np.random.Generator) -> Tensor:
    """Flip half of the pictures and jitter colours; uint8 (B, 3, S, S) to float32 in [0, 1]."""
    count = len(pixels)

    def factor() -> Tensor:
        return torch.from_numpy(generator.uniform(1 - colour, 1 + colour, (count, 1, 1, 1)).astype(np.float32))

    flipped = torch.from_numpy(generator.random(count) < 0.5)[:, None, None, None]
    pixels = torch.where(flipped, pixels.flip(-1), pixels).float().div_(255)
    pixels = pixels.mul_(factor())
    middle = pixels.mean(dim=(1, 2, 3), keepdim=True)
    pixels = pixels.sub_(middle).mul_(factor()).add_(middle)
    luma = (pixels * torch.tensor([0.299, 0.587, 0.114])[:, None, None]).sum(1, keepdim=True)
    made_grey = torch.from_numpy(generator.random(count) < grey)[:, None, None, None]
    saturation = torch.where(made_grey, torch.zeros(()), factor())
    return pixels.sub_(luma).mul_(saturation).add_(luma).clamp_(0, 1)


def normalised(pixels: Tensor) -> Tensor:
    """(B, 3, S, S) in [0, 1] to the model's input: minus the mean, over the standard deviation."""
    mean = torch.tensor(MEAN, device=pixels.device)[:, None, None]
    std = torch.tensor(STD, device=pixels.device)[:, None, None]
    return (pixels - mean) / std
