"""The training of the embedded model, `train(data, out, minutes, resume)`, and of its robust tower, `train_robust`."""

from rita_demo.training.loop import train
from rita_demo.training.recipe import Recipe
from rita_demo.training.robust import RobustRecipe, train_robust

__all__ = ["Recipe", "RobustRecipe", "train", "train_robust"]
