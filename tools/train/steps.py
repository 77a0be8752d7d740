"""A training step: the losses, the update, the running average of the weights, and the checkpoint. The contrastive loss is
InfoNCE of CLIP, with all pictures of a class as positives."""

import io
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from open_clip import CLIP
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.process.output_file import replace_file
from rita_demo.records.errors import DemoError
from tools.train.batches import Batch
from tools.train.model_config import ANCHORS, device_of, encode_image, encode_text
from tools.train.recipe import Recipe, learning_rate

FILE = "checkpoint.pt"


@dataclass
class State:
    """The state of a run besides model and optimizer. Batches are functions of (seed, step)."""

    seed: int
    step: int = 0
    seconds: float = 0.0  # of training, over all resumed parts
    average: dict[str, Tensor] = field(default_factory=dict)  # EMA of weights and buffers
    seen: set[int] = field(default_factory=set)  # token ids in texts with pictures


def save_training(out: Path, model: CLIP, optimizer: torch.optim.Optimizer, state: State) -> None:
    """Write `out/checkpoint.pt` by way of a temporary file, so that a killed run can be resumed."""
    content = {**vars(state), "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    buffer = io.BytesIO()
    torch.save(content, buffer)
    replace_file(out / FILE, buffer.getvalue())


def resume_training(out: Path, model: CLIP, optimizer: torch.optim.Optimizer, seed: int) -> State:
    """Fill model and optimizer from `out/checkpoint.pt` and return the rest."""
    content: dict[str, Any] = torch.load(out / FILE, map_location=device_of(model), weights_only=True)
    if content["seed"] != seed:
        message = f"The checkpoint was made with seed {content['seed']}, this run asks for seed {seed}."
        raise DemoError(message, "Give the same seed or another --out folder.")
    model.load_state_dict(content.pop("model"))
    optimizer.load_state_dict(content.pop("optimizer"))
    return State(**content | {"seen": set(content["seen"])})


def batch_losses(
    model: CLIP, batch: Batch, recipe: Recipe, ambiguous: Tensor, imagenet: Tensor, with_text: bool
) -> Tensor:
    """The losses of a batch (4,): anchors of pictures, the teacher's answers, anchors of prompts, contrastive; without
    texts the first two.

    An untrained text tower gives all sentences nearly the same feature (cosine 0.99), so that the image tower learns
    slowly from it. Free vectors ("anchors", the weights of a cosine classifier) differ from the first step; pictures
    and prompts both move to the anchor of their class. The exported model has no anchors. ``ambiguous``: (C, C) bool:
    pairs of classes with similar meaning. ``imagenet``: (1000,) the anchor of each ImageNet class, (0,) without a teacher."""
    device, smoothing = device_of(model), recipe.smoothing
    batch = replace(batch, **{name: part.to(device) for name, part in vars(batch).items() if name != "seen"})
    pixels = batch.pixels.contiguous(memory_format=torch.channels_last)
    # On a CPU the backward pass of depthwise convolutions takes twice as long in bfloat16.
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        images = encode_image(model, pixels)
    scale, anchors = model.logit_scale.exp(), F.normalize(getattr(model, ANCHORS), dim=-1)
    label = batch.label[batch.label >= 0]
    logits = scale * images[batch.label >= 0] @ anchors.T
    losses = [smoothed_cross_entropy(logits, label, ambiguous[label], smoothing)]
    answers = batch.teacher_probabilities  # rows of zeros do not count
    if answers.shape[1] == len(imagenet) > 0:
        share = (scale * images @ anchors[imagenet].T).log_softmax(dim=1)
        losses.append(-(answers * share).sum() / answers.sum().clamp(min=1))
    else:
        losses.append(0 * losses[0])
    if with_text:
        with torch.autocast(device.type, torch.bfloat16):
            prompts = texts = encode_text(model, batch.prompts)
            if len(batch.captions):
                texts = torch.cat([texts, encode_text(model, batch.captions)])
        named = batch.prompt_label < len(ambiguous)
        label = batch.prompt_label[named]
        logits = scale * prompts[named] @ anchors.detach().T  # prompts do not move the anchors
        losses.append(smoothed_cross_entropy(logits, label, ambiguous[label], 0.0))
        logits, weights = scale * images @ texts.T, (smoothing, recipe.text_to_image)
        losses.append(contrastive_loss(logits, batch.target, batch.ignored, *weights))
    return torch.stack(losses)


def contrastive_loss(logits: Tensor, target: Tensor, ignored: Tensor, smoothing: float, text_to_image: float) -> Tensor:
    """Cross-entropy of pictures over texts, plus `text_to_image` times texts over pictures (supervised contrastive, Khosla et
    al. 2020: the mean over a text's own pictures of -log softmax over all).

    Args:
        logits: (B, T) of pictures and texts. target: (B,) the text of each picture. ignored: (B, T) bool: pairs that are
            neither positive nor negative. smoothing: mass spread over the texts that are not ignored."""
    forward = smoothed_cross_entropy(logits, target, ignored, smoothing)
    own = F.one_hot(target, logits.shape[1]).T.float()
    count = own.sum(1)
    backward_share = logits.masked_fill(ignored, -1e4).T.log_softmax(dim=1)
    per_text = -(own * backward_share).sum(1) / count.clamp(min=1)
    return forward + text_to_image * per_text.sum() / (count > 0).sum()


def smoothed_cross_entropy(logits: Tensor, target: Tensor, ignored: Tensor, smoothing: float) -> Tensor:
    """Mean cross-entropy of logits (B, T) with label smoothing; pairs that are ignored (B, T) do not count."""
    share = logits.masked_fill(ignored, -1e4).log_softmax(dim=1)
    right = share.gather(1, target[:, None])[:, 0]
    spread = share.masked_fill(ignored, 0).sum(1) / (~ignored).sum(1)
    return -((1 - smoothing) * right + smoothing * spread).mean()


def update(
    model: CLIP, optimizer: torch.optim.Optimizer, state: State, recipe: Recipe, progress: float, losses: Tensor
) -> None:
    """One step of the optimizer, and of the running average of weights and buffers: a <- rate a + (1 - rate) w."""
    for group in optimizer.param_groups:
        group["lr"] = group["highest"] * learning_rate(recipe, progress)
    optimizer.zero_grad()
    (losses @ torch.tensor(recipe.loss_weights[: len(losses)], device=losses.device)).backward()
    nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    optimizer.step()
    with torch.no_grad():
        if model.logit_scale.requires_grad:
            model.logit_scale.clamp_(max=math.log(recipe.last_scale))
        current = model.state_dict()
        names = [name for name, tensor in current.items() if tensor.is_floating_point() and name != "attn_mask"]
        if not state.average:
            state.average = {name: current[name].clone() for name in names}
        average, weights = [state.average[name] for name in names], [current[name] for name in names]
        rate = min(recipe.average, (1 + state.step) / (10 + state.step))  # at the start the weights change fast
        torch._foreach_lerp_(average, weights, 1 - rate)


def parameter_groups(model: CLIP, recipe: Recipe) -> list[dict]:
    """Image and text weights in training, with their own rates; no decay on vectors, embeddings and positions."""
    groups: dict[tuple[float, bool], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        decays = parameter.ndim >= 2 and "embedding" not in name and name != ANCHORS
        rate = recipe.image_rate if name.startswith("visual.") else recipe.text_rate
        rate = recipe.trunk_rate if name.startswith("visual.trunk.") else rate
        groups.setdefault((rate, decays), []).append(parameter)
    return [
        {"params": parameters, "highest": rate, "weight_decay": recipe.decay if decays else 0.0}
        for (rate, decays), parameters in groups.items()
    ]
