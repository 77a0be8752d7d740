"""Pictures with two objects: does transport help where a mean of the views is the wrong model?

Two pictures of different classes are put onto one square, so that both labels are right. The views are 64 crops, or 64
patches (the vision tower's last map for the square at 256 pixels). A rule gives every class a score; a picture is right
when the two classes with the highest scores are the two labels. ``nearest`` is partial transport without transport: the
mean of the share of views that are nearest to the class.

``python -m tools.bench.two_objects --data-root DATA --dataset caltech101 --split test``
"""

import argparse
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from open_clip.timm_model import TimmModel
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from rita_demo.data.pictures import open_picture
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect
from rita_demo.evaluation.report.comparisons import PairedComparison
from rita_demo.method import cosine_cost, transport
from rita_demo.records.errors import BackboneError
from rita_demo.records.intervals import wilson
from rita_demo.settings import RECOMMENDED
from rita_demo.views.crops import make_views
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load

SIDE = 256  # pixels of the square
LAYOUTS = ("diagonal", "halves", "corner")
SHARES = (1.0, 0.35, 0.1)  # of the views that are transported, or averaged
ENTROPY_WEIGHT = 0.01
Scores = dict[str, Tensor]  # rule -> (K,) higher is nearer


def compose(first: np.ndarray, second: np.ndarray, layout: str, random: np.random.Generator) -> np.ndarray:
    """Two squares (H, H, 3) uint8 on one of ``SIDE`` pixels: in opposite corners on their mean colour, the middle halves
    side by side, or the second in a corner of the first at 3/8 of its side."""
    a, b = (np.asarray(Image.fromarray(one).resize((SIDE, SIDE), Image.Resampling.BICUBIC)) for one in (first, second))
    if layout == "halves":
        return np.concatenate([a[:, SIDE // 4 : -SIDE // 4], b[:, SIDE // 4 : -SIDE // 4]], 1)
    down, right = (int(corner) for corner in random.integers(0, 2, 2))
    canvas, side, placed = a.copy(), SIDE * 3 // 8, [(b, down, right)]
    if layout == "diagonal":
        canvas, side = np.full_like(a, np.concatenate([a, b]).mean((0, 1)).round()), SIDE // 2
        placed = [(a, down, right), (b, 1 - down, 1 - right)]
    for picture, row, column in placed:
        top, left = row * (SIDE - side), column * (SIDE - side)
        small = Image.fromarray(picture).resize((side, side), Image.Resampling.BICUBIC)
        canvas[top : top + side, left : left + side] = np.asarray(small)
    return canvas


def encode_patches(backbone: Backbone, pixels: Tensor) -> Tensor:
    """Unit features (B, P, D) float32 of the places of the vision tower's last map, row after row; no gradient.

    ``pixels`` (B, 3, S, S) float in [0, 1]; P = (S / 32)^2 for the embedded towers. Where S is the model's side, the mean
    over the places before they are scaled to unit length is the feature of the whole picture. Raises BackboneError:
    the tower is not a convolutional one with a pooled map."""
    tower = backbone._visual
    if not isinstance(tower, TimmModel) or not hasattr(tower.trunk, "conv_head"):
        raise BackboneError(f"{backbone.info.title} has no map of patches.", "Use the embedded model.")
    with torch.no_grad():
        normal = (pixels.to(backbone.device, torch.float32) - backbone._mean) / backbone._std
        places = tower.trunk.forward_features(normal).flatten(2).transpose(1, 2)
        return F.normalize(tower.head(places), dim=-1)


def scores(views: Tensor, text: Tensor, prompts: Tensor, weight: Tensor, temperature: float) -> Scores:
    """The rules on a cloud of unit ``views`` (N, D); ``text`` (K, D) one prompt per class, ``prompts`` (K, M, D) with
    ``weight`` (K, M)."""
    cosine = views @ text.T
    answers = (cosine / temperature).softmax(-1)
    found = {"mean of the answers (Ensemble)": answers.mean(0), "surest answer": answers.max(0).values}
    uniform = torch.full((len(views),), 1 / len(views))
    for share in SHARES:
        nearest = cosine.topk(max(1, round(share * len(views))), dim=0).values.mean(0)
        moved = transport(
            cosine_cost(views, prompts), uniform, weight, entropy_weight=ENTROPY_WEIGHT, transported_mass=share
        )
        found |= {f"nearest {share:g}": nearest, f"transport of {share:g}": -moved.distance}
    return found


def answers(
    backbone: Backbone, dataset: str, root: Path | None, split: str, count: int
) -> dict[str, dict[str, list[bool]]]:
    """Rule -> layout -> whether both labels are on top, for ``count`` pictures of each layout; the seeds are fixed."""
    pictures = collect(dataset, root, split, limit=None, allow_partial=True)
    encoded = Engine(backbone).encode_classes(pictures.names, RECOMMENDED)
    text, prompts, weight = map(torch.from_numpy, (encoded.template_features, encoded.features, encoded.weight))
    text = F.normalize(text, dim=-1)
    right: dict[str, dict[str, list[bool]]] = {}
    for layout in LAYOUTS:
        random = np.random.default_rng(0)
        for _ in range(count):
            one, two = random.choice(len(pictures.items), 2, replace=False)
            while pictures.items[one].label == pictures.items[two].label:
                two = random.integers(len(pictures.items))
            pair = [pictures.items[index] for index in (one, two)]
            first, second = (open_picture(item.source()).pixels for item in pair)
            square = compose(first, second, layout, random)
            pixels = torch.from_numpy(square).permute(2, 0, 1).float() / 255
            crops = make_views(pixels, RECOMMENDED, backbone.side).pixels
            assert crops is not None  # just made
            with torch.no_grad():
                clouds = {"crops": backbone.encode_views(crops), "patches": encode_patches(backbone, pixels[None])[0]}
                found = {"whole picture (CLIP)": clouds["crops"][0] @ text.T}
                for name, views in clouds.items():
                    each = scores(views, text, prompts, weight, backbone.temperature)
                    found |= {f"{name}: {rule}": score for rule, score in each.items()}
            for rule, score in found.items():
                hit = set(score.topk(2).indices.tolist()) == {item.label for item in pair}
                right.setdefault(rule, {}).setdefault(layout, []).append(hit)
    return right


def table(right: dict[str, dict[str, list[bool]]], title: str) -> str:
    """A Markdown table: percent of pictures whose two best classes are both labels, with Wilson's 95 % interval; the
    last line compares transport with the nearest views, McNemar's exact p."""
    lines = [f"| {title} | {' | '.join(LAYOUTS)} |", "|---" * (len(LAYOUTS) + 1) + "|"]
    for rule, per_layout in right.items():
        lines.append(f"| {rule} | {' | '.join(map(_percent, per_layout.values()))} |")
    for cloud in ("crops", "patches"):
        moved, nearest = (list(chain(*right[f"{cloud}: {rule} 0.1"].values())) for rule in ("transport of", "nearest"))
        gained, lost = (sum(a > b for a, b in zip(*both)) for both in ((moved, nearest), (nearest, moved)))
        lines.append(
            f"\n{cloud}: only transport of 0.1 is right on {gained}, only nearest 0.1 on {lost} of {len(moved)}, "
            f"p {PairedComparison(len(moved), gained, lost).p_value:.2g}"
        )
    return "\n".join(lines)


def _percent(hits: list[bool]) -> str:
    low, high = wilson(sum(hits), len(hits))
    return f"{100 * sum(hits) / len(hits):.0f} ({100 * low:.0f}-{100 * high:.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--dataset", default="textures")
    parser.add_argument("--split", default="val")
    parser.add_argument("--limit", type=int, default=200, help="pictures of each layout")
    parser.add_argument("--backbone", default="embedded", choices=("embedded", "embedded-robust"))
    given = parser.parse_args()
    found = answers(load(given.backbone, None), given.dataset, given.data_root, given.split, given.limit)
    print(table(found, f"{given.dataset}, {given.split}, n = {given.limit} each"))


if __name__ == "__main__":
    main()
