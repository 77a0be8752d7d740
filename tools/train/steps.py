"""The parts of a training step: losses, update, running average of the weights, checkpoint."""

import copy
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from open_clip import CLIP
from torch import Tensor, nn

from rita_demo.records.errors import DemoError
from tools.train.batches import Batch
from tools.train.loss import anchor_loss, contrastive_loss, teacher_loss
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
    temporary = out / (FILE + ".tmp")
    with temporary.open("wb") as handle:
        torch.save(content, handle)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, out / FILE)


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
    texts the first two."""
    device = device_of(model)
    batch = replace(batch, **{name: part.to(device) for name, part in vars(batch).items() if name != "seen"})
    pixels = batch.pixels.contiguous(memory_format=torch.channels_last)
    # On a CPU the backward pass of depthwise convolutions takes twice as long in bfloat16.
    with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        images = encode_image(model, pixels)
    losses = [anchor_loss(images, batch.label, model, ambiguous, recipe.smoothing)]
    known = batch.teacher_probabilities.shape[1] == len(imagenet) > 0
    losses += [teacher_loss(images, batch.teacher_probabilities, model, imagenet) if known else 0 * losses[0]]
    if with_text:
        with torch.autocast(device.type, torch.bfloat16):
            prompts = texts = encode_text(model, batch.prompts)
            if len(batch.captions):
                texts = torch.cat([texts, encode_text(model, batch.captions)])
        named = batch.prompt_label < len(ambiguous)
        losses += [anchor_loss(prompts[named], batch.prompt_label[named], model, ambiguous, 0.0, fixed=True)]
        scale, weights = model.logit_scale.exp(), (recipe.smoothing, recipe.text_to_image)
        losses += [contrastive_loss(images, texts, scale, batch.target, batch.ignored, *weights)]
    return torch.stack(losses)


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
        rate = min(
            recipe.average, (1 + state.step) / (10 + state.step)
        )  # smaller at the start: the weights change fast
        torch._foreach_lerp_(average, weights, 1 - rate)


def averaged_model(model: CLIP, state: State) -> CLIP:
    """A copy of the model with the averaged weights, in evaluation mode."""
    copied = copy.deepcopy(model)
    copied.load_state_dict(state.average, strict=False)
    return copied.eval()


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
