"""Soft labels of the training pictures from the trunk's public ImageNet classifier (distillation, Hinton et al. 2015).

They keep the model from forgetting the ImageNet classes that its own training data lacks.
"""

import hashlib
import os
from pathlib import Path

import numpy as np
import timm
import torch
from torch.nn import functional as F

from rita_demo.training.augment import normalised
from rita_demo.training.corpus import Corpus
from rita_demo.training.trunk_weights import load_in_order, package_weights

TOP_ANSWERS = 5  # answers kept per picture; their probabilities are scaled to sum to 1
SIDE = 160  # pixels of the central square, the teacher's input


def soft_labels(corpus: Corpus, architecture: str, package: str, cache: Path) -> tuple[np.ndarray, np.ndarray] | None:
    """The teacher's best answers: ImageNet classes (P, 5) int64 and probabilities (P, 5) float32, stored in `cache`.

    Pictures of textures have probability 0 everywhere, since ImageNet has no textures. None without the package.
    """
    weights = package_weights(package) if package else None
    if weights is None:
        return None
    key = f"{architecture} {package} {SIDE} {len(corpus.label)} {corpus.size.sum()}"
    file = cache / f"teacher_{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"
    if not file.is_file():
        model = timm.create_model(architecture, num_classes=1000)
        load_in_order(model, weights, package)
        number, share = _teacher_answers(corpus, model.eval())
        np.savez(file.with_suffix(".partial.npz"), number=number, share=share)
        os.replace(file.with_suffix(".partial.npz"), file)
    stored = np.load(file)
    return stored["number"], stored["share"]


@torch.inference_mode()
def _teacher_answers(corpus: Corpus, model: torch.nn.Module) -> tuple[np.ndarray, np.ndarray]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = model.to(device, memory_format=torch.channels_last)
    number = np.zeros((len(corpus.label), TOP_ANSWERS), np.int64)
    share = np.zeros((len(corpus.label), TOP_ANSWERS), np.float32)
    textures = [corpus.groups[name] for name in ("dtd", "textures") if name in corpus.groups]
    asked = np.setdiff1d(np.arange(len(corpus.label)), np.concatenate([[], *textures]))
    for begin in range(0, len(asked), 64):
        rows = asked[begin : begin + 64].astype(int)
        pixels = normalised(torch.stack([_square(corpus.picture(row)) for row in rows]))
        pixels = pixels.to(device, memory_format=torch.channels_last)
        with torch.autocast(device.type, torch.bfloat16):
            answer = model(pixels).float().softmax(-1).topk(TOP_ANSWERS)
        number[rows] = answer.indices.cpu().numpy()
        share[rows] = F.normalize(answer.values, p=1, dim=-1).cpu().numpy()
    return number, share


def _square(picture: np.ndarray) -> torch.Tensor:
    """The centre square of a uint8 picture (H, W, 3) as float32 (3, SIDE, SIDE) in [0, 1]."""
    height, width = picture.shape[:2]
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    cut = torch.from_numpy(np.array(picture[top : top + side, left : left + side]))
    cut = cut.permute(2, 0, 1).unsqueeze(0).float() / 255
    return F.interpolate(cut, size=(SIDE, SIDE), mode="bilinear", antialias=True)[0].clamp(0, 1)
