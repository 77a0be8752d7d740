"""Zero-shot accuracy of a model in training, on small validation splits in memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import open_clip
import torch
from open_clip import CLIP, SimpleTokenizer
from PIL import Image
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchvision.transforms import v2

from rita_demo.records.intervals import wilson
from tools import textures
from tools.train.corpus import DTD_NAMES, coop_split
from tools.train.model_config import device_of, encode_image, encode_text, normalised

BATCH = 128


@dataclass(frozen=True)
class Split:
    """Pictures at the model's input size, and their class names."""

    pixels: Tensor  # (P, 3, S, S) uint8
    label: Tensor  # (P,) int64
    names: tuple[str, ...]


def zero_shot_splits(
    data: Path, part: str, drawn_per_class: int, size: int, most: int | None = None
) -> dict[str, Split]:
    """Those of a part (train, val, test) that are present (DTD also among all 47 words), and drawn textures; of each at
    ``most`` so many pictures, spread evenly."""
    rows = {"Caltech101": coop_split(data, "caltech101", part), "DTD": coop_split(data, "dtd", part)}
    splits = {name: load_split(found, size) for name, found in rows.items() if found}
    if "DTD" in splits:
        splits["DTD among 47"] = load_split(rows["DTD"], size, DTD_NAMES)
    square = v2.Resize(size, interpolation=v2.InterpolationMode.BICUBIC)
    drawn = [textures.draw(k, seed) for seed in textures.SEEDS[part][:drawn_per_class] for k in textures.CLASSES]
    pixels = torch.stack([square(torch.from_numpy(one).permute(2, 0, 1)) for one in drawn])
    label = torch.arange(len(textures.CLASSES)).repeat(drawn_per_class)
    splits["drawn textures"] = Split(pixels, label, textures.CLASSES)
    if most is not None:
        for name, split in splits.items():
            chosen = torch.linspace(0, len(split.label) - 1, min(most, len(split.label))).long()
            splits[name] = Split(split.pixels[chosen], split.label[chosen], split.names)
    return splits


def load_split(rows: list[tuple[Path, str]], size: int, names: tuple[str, ...] = ()) -> Split:
    """Pictures resized and centre-cropped as open_clip does; `names` defaults to the classes present."""
    vocabulary = names or tuple(sorted({name for _, name in rows}))
    square = v2.Compose([v2.Resize(size, interpolation=v2.InterpolationMode.BICUBIC), v2.CenterCrop(size)])
    pixels = []
    for path, _ in rows:
        with Image.open(path) as opened:
            pixels.append(v2.functional.pil_to_tensor(square(opened.convert("RGB"))))
    return Split(torch.stack(pixels), torch.tensor([vocabulary.index(name) for _, name in rows]), vocabulary)


def class_features(model: CLIP, names: tuple[str, ...]) -> Tensor:
    """Unit text features (K, D) of "a photo of a {name}."."""
    tokens = SimpleTokenizer()([f"a photo of a {name}." for name in names])
    longest = int(tokens.argmax(dim=1).max()) + 1  # the end token has the largest id
    return encode_text(model, tokens[:, :longest].to(device_of(model)))


@torch.no_grad()
def cosines(model: CLIP, split: Split) -> Tensor:
    """(P, K) float32 on the CPU: cosine of every picture with every class's prompt, for a model in evaluation mode."""
    device, rows = device_of(model), []
    with torch.autocast(device.type, torch.bfloat16):
        text = class_features(model, split.names)
        for pixels in split.pixels.split(BATCH):
            image = encode_image(model, normalised(pixels.to(device).float() / 255))
            rows.append((image.float() @ text.float().T).cpu())
    return torch.cat(rows)


def accuracy(cosine: Tensor, split: Split) -> float:
    """Percent of pictures whose class has the highest cosine with the picture."""
    return 100 * (cosine.argmax(dim=1) == split.label).float().mean().item()


def calibrated_scale(scored: list[tuple[Tensor, Split]], highest: float) -> float:
    """The logit scale (inverse temperature), at most ``highest``, with the lowest log loss on validation pictures: temperature
    scaling (Guo et al. 2017), as smoothed labels and crops make a model less confident than it should be on whole pictures.
    It changes no answer. ``scored``: (cosines (P, K), split) pairs."""
    scales = torch.logspace(0.5, torch.tensor(highest).log10().item(), 200)
    losses = torch.stack([torch.stack([cross_entropy(at * c, s.label) for at in scales]) for c, s in scored]).mean(0)
    return scales[losses.argmin()].item()


def report(model: Path, data: Path, part: str = "val") -> None:
    """Print the accuracies of the model card, measured with open_clip ("a photo of a {class}."), with Wilson's 95 %
    intervals. ``model``: folder with open_clip_config.json and the weights; ``data``: folder with caltech-101/ and dtd/
    in CoOp's layout (ten textures of each class are drawn); ``part``: `val` or `test`."""
    loaded = cast(CLIP, open_clip.create_model(f"local-dir:{model}")).eval()
    side = loaded.visual.image_size
    for name, split in zero_shot_splits(data, part, 10, side if isinstance(side, int) else side[0]).items():
        percent, count = accuracy(cosines(loaded, split), split), len(split.label)
        low, high = (100 * end for end in wilson(percent / 100 * count, count))
        interval = f"(n = {count}, {low:.1f} to {high:.1f})"
        print(f"{part}, {name} ({len(split.names)} prompts): {percent:.1f} % {interval}")
