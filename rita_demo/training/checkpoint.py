"""The checkpoint of a run, written atomically so that a killed run can be resumed."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from open_clip import CLIP
from torch import Tensor

from rita_demo.records.errors import DemoError

FILE = "checkpoint.pt"


@dataclass
class State:
    """The state of a run besides model and optimizer. Batches are functions of (seed, step)."""

    seed: int
    step: int = 0
    seconds: float = 0.0  # of training, over all resumed parts
    average: dict[str, Tensor] = field(default_factory=dict)  # EMA of weights and buffers
    seen: set[int] = field(default_factory=set)  # token ids in texts with pictures


def save(out: Path, model: CLIP, optimizer: torch.optim.Optimizer, state: State) -> None:
    """Write `out/checkpoint.pt` by way of a temporary file."""
    content = {**vars(state), "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    temporary = out / (FILE + ".tmp")
    with temporary.open("wb") as handle:
        torch.save(content, handle)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(temporary, out / FILE)


def load(out: Path, model: CLIP, optimizer: torch.optim.Optimizer, seed: int) -> State:
    """Fill model and optimizer from `out/checkpoint.pt` and return the rest."""
    device = next(model.parameters()).device
    content: dict[str, Any] = torch.load(out / FILE, map_location=device, weights_only=True)
    if content["seed"] != seed:
        raise DemoError(
            f"The checkpoint was made with seed {content['seed']}, this run asks for seed {seed}.",
            "Give the same seed or another --out folder.",
        )
    model.load_state_dict(content.pop("model"))
    optimizer.load_state_dict(content.pop("optimizer"))
    return State(**content | {"seen": set(content["seen"])})
