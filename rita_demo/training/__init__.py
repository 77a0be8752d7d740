"""The training of the embedded model: `train(data, out, minutes, resume)`."""

from rita_demo.training.loop import train
from rita_demo.training.recipe import Recipe

__all__ = ["Recipe", "train"]
