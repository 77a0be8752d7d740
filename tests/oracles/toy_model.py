"""A toy model: a text encoder (numpy and torch) and a stream of pictures as clouds of views.

As in CLIP all texts share one direction and all pictures another. Classes differ little, so that with tau = 0.01 some
views are confident and some are not. Each view has random components of its class and of a second one: the entropies lie
on both sides of the limit."""

from dataclasses import dataclass

import numpy as np
import torch

from rita_demo.method import Prompts
from tests.oracles.transport import unit

F = np.ndarray

K, M, L, E, D, N = 5, 3, 1, 4, 16, 24
TAU = 0.01


@dataclass(frozen=True)
class ToyModel:
    """``context`` (M, L, E); ``z_weight`` (K, M); ``pictures``: clouds (N, D) of unit views."""

    context: F
    class_part: F  # (K, D)
    mixing: F  # (L * E, D)
    z_weight: F
    pictures: tuple[F, ...]

    @property
    def area_fraction(self) -> F:
        """(N,) area of every view as a share of the square, 1 for view 0."""
        return np.concatenate([[1.0], np.linspace(0.95, 0.08, N - 1)])

    def encode(self, context: F) -> F:
        """Contexts (M, L, E) -> unit prompts (K, M, D): normalised class part + tanh of a linear map."""
        own = context.reshape(len(context), -1) @ self.mixing
        return unit(self.class_part[:, None] + 0.25 * np.tanh(own[None] + 2 * self.class_part[:, None]))

    def encode_torch(self, context: torch.Tensor) -> torch.Tensor:
        """The same in torch, differentiable, in the context's dtype."""
        part = torch.as_tensor(self.class_part, dtype=context.dtype)
        own = context.flatten(1) @ torch.as_tensor(self.mixing, dtype=context.dtype)
        return torch.nn.functional.normalize(part[:, None] + 0.25 * torch.tanh(own[None] + 2 * part[:, None]), dim=-1)

    def prompts(self, dtype: torch.dtype = torch.float64) -> Prompts:
        """What the implementation decides with."""
        context = torch.tensor(self.context, dtype=dtype)
        weight = torch.tensor(self.z_weight, dtype=dtype)
        return Prompts(self.encode_torch, context, self.encode_torch(context), weight, TAU)


def make_toy_model(seed: int = 7, padded: bool = False) -> ToyModel:
    """``padded``: the last two classes have fewer prompts than the others (weight zero)."""
    rng = np.random.default_rng(seed)
    text, image = unit(rng.normal(size=(2, D)))
    direction = unit(rng.normal(size=(K, D)))
    image = unit(image - np.linalg.pinv(direction) @ (direction @ image))  # no class by itself
    toy = ToyModel(
        context=rng.normal(size=(M, L, E)),
        class_part=text + 0.35 * direction,
        mixing=rng.normal(size=(L * E, D)) / np.sqrt(L * E),
        z_weight=np.full((K, M), 1.0 / M),
        pictures=(),
    )
    if padded:
        toy.z_weight[K - 2] = [0.5, 0.5, 0.0]
        toy.z_weight[K - 1] = [0.0, 1.0, 0.0]
    pictures = []
    for true, other in [(0, 1), (1, 0), (0, 2), (2, 3), (0, 1), (1, 2)]:
        lean = rng.uniform(-0.05, 0.3, size=(N, 1))
        side = rng.uniform(0.0, 0.2, size=(N, 1))
        noise = 0.03 * rng.normal(size=(N, D))
        pictures.append(unit(image + 0.2 * text + lean * direction[true] + side * direction[other] + noise))
    return ToyModel(toy.context, toy.class_part, toy.mixing, toy.z_weight, tuple(pictures))
