"""The training of the embedded model, `train(data, out, minutes, resume)`, and of its robust tower, `train_robust`."""

from tools.train.loop import train
from tools.train.recipe import Recipe
from tools.train.robust import RobustRecipe, train_robust

__all__ = ["Recipe", "RobustRecipe", "train", "train_robust"]
