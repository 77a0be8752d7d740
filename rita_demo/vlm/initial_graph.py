"""The graph of the initial contexts, kept between pictures: every prompt update of one vocabulary begins with the same
forward pass, which is a third of it."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rita_demo.process.cpu_threads import single_threaded

Encode = Callable[[Tensor], Tensor]  # contexts (P, L, E) -> features (K, P, D)


class InitialGraph:
    """The kept graphs of one vocabulary, one for each number P of contexts. Only the vocabulary that was used last keeps
    its graphs: one may take hundreds of megabytes."""

    last: weakref.ref["InitialGraph"] | None = None

    def __init__(self) -> None:
        self.graphs: dict[int, tuple[Tensor, Tensor]] = {}  # P -> contexts (P, L, E) and their features (K, P, D)

    def encode(self, encode: Encode, context: Tensor) -> Tensor:
        """``encode(context)``, differentiable once, for initial contexts (P, L, E)."""
        before = None if InitialGraph.last is None else InitialGraph.last()
        if before is not None and before is not self:
            before.graphs.clear()
        InitialGraph.last = weakref.ref(self)
        if (kept := self.graphs.get(len(context))) is None:
            # on one thread: the numbers do not depend on which caller was the first
            with torch.inference_mode(False), torch.enable_grad(), single_threaded():
                leaf = context.detach().clone().requires_grad_()
                kept = self.graphs[len(context)] = leaf, encode(leaf)
        features: Tensor = _Kept.apply(context, *kept)
        return features


class _Kept(torch.autograd.Function):
    """Features that are there already; their gradient goes through the kept graph, which stays."""

    @staticmethod
    def forward(ctx: Any, context: Tensor, leaf: Tensor, features: Tensor) -> Tensor:
        ctx.kept = leaf, features
        return features.detach().clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        leaf, features = ctx.kept
        with torch.enable_grad():
            (found,) = torch.autograd.grad(features, leaf, gradient, retain_graph=True)
        return found, None, None
