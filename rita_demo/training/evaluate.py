"""Zero-shot accuracy of a model in training, on small validation splits in memory."""

from dataclasses import dataclass
from pathlib import Path

import torch
from open_clip import CLIP, SimpleTokenizer
from PIL import Image
from torch import Tensor
from torch.nn.functional import cross_entropy
from torchvision.transforms import v2

from rita_demo.data import textures
from rita_demo.training.augment import normalised
from rita_demo.training.batches import pad_tokens
from rita_demo.training.model_config import device_of, encode_image, encode_text

PROMPT = "a photo of a {}."


@dataclass(frozen=True)
class Split:
    """Pictures at the model's input size, and their class names."""

    pixels: Tensor  # (P, 3, S, S) uint8
    label: Tensor  # (P,) int64
    names: tuple[str, ...]


def load_split(rows: list[tuple[Path, str]], size: int, names: tuple[str, ...] = ()) -> Split:
    """Pictures resized and centre-cropped as open_clip does; `names` defaults to the classes present."""
    vocabulary = names or tuple(sorted({name for _, name in rows}))
    square = v2.Compose([v2.Resize(size, interpolation=v2.InterpolationMode.BICUBIC), v2.CenterCrop(size)])
    pixels = []
    for path, _ in rows:
        with Image.open(path) as opened:
            pixels.append(v2.functional.pil_to_tensor(square(opened.convert("RGB"))))
    label = torch.tensor([vocabulary.index(name) for _, name in rows])
    return Split(torch.stack(pixels), label, vocabulary)


def drawn_split(part: str, per_class: int, size: int) -> Split:
    """The first `per_class` drawn textures of every class of a split."""
    square = v2.Resize(size, interpolation=v2.InterpolationMode.BICUBIC)
    drawn = [textures.draw(name, seed) for seed in textures.seeds(part)[:per_class] for name in textures.CLASSES]
    pixels = [square(torch.from_numpy(one).permute(2, 0, 1)) for one in drawn]
    label = torch.arange(len(textures.CLASSES)).repeat(per_class)
    return Split(torch.stack(pixels), label, textures.CLASSES)


def class_features(model: CLIP, names: tuple[str, ...]) -> Tensor:
    """Unit text features (K, D) of "a photo of a {name}."."""
    tokenizer = SimpleTokenizer()
    start, end = tokenizer.sot_token_id, tokenizer.eot_token_id
    texts = [[start, *tokenizer.encode(PROMPT.format(name)), end] for name in names]
    return encode_text(model, pad_tokens(texts).to(device_of(model)))


@torch.no_grad()
def cosines(model: CLIP, split: Split, batch: int = 128) -> Tensor:
    """(P, K) float32 on the CPU: cosine of every picture with every class's prompt."""
    device = device_of(model)
    was_training = model.training
    model.eval()
    rows = []
    with torch.autocast(device.type, torch.bfloat16):
        text = class_features(model, split.names)
        for begin in range(0, len(split.label), batch):
            image = encode_image(model, normalised(split.pixels[begin : begin + batch].to(device).float() / 255))
            rows.append((image.float() @ text.float().T).cpu())
    model.train(was_training)
    return torch.cat(rows)


def accuracy(cosine: Tensor, split: Split) -> float:
    """Percent of pictures whose class has the highest cosine with the picture."""
    return 100 * (cosine.argmax(dim=1) == split.label).float().mean().item()


def calibrated_scale(scored: list[tuple[Tensor, Split]], highest: float) -> float:
    """The logit scale (inverse temperature) with the lowest log loss on validation pictures.

    Label smoothing and crops make a trained model less confident than it should be on whole pictures. One number
    corrects that (temperature scaling, Guo et al. 2017) and changes no answer.

    Args:
        scored: (cosines (P, K), split) pairs, equally weighted.
        highest: upper bound of the scale.
    """
    scales = torch.logspace(0.5, torch.tensor(highest).log10().item(), 200).tolist()

    def log_loss(scale: float) -> float:
        losses = [cross_entropy(scale * cosine, split.label) for cosine, split in scored]
        return torch.stack(losses).mean().item()

    return min(scales, key=log_loss)
