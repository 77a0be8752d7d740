"""The graph of the initial contexts, kept between pictures: every prompt update of one vocabulary begins with the same
forward pass, which is a third of it."""

import weakref
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from rita_demo.process.cpu_threads import single_threaded
from rita_demo.process.gpu import CudaGraphs, on_recording_stream

Encode = Callable[[Tensor], Tensor]  # contexts (P, L, E) -> features (K, P, D)
#: Vocabularies that keep their graphs or recordings: those used last. One may take a gigabyte.
KEPT = {"cuda": 4}


class InitialGraph:
    """The kept graphs of one vocabulary, one for each number P of contexts; ``recorded``: the prompt updates that a GPU
    records, which begin with them."""

    used: ClassVar[list[weakref.ref["InitialGraph"]]] = []  # the one that was used last at the end

    def __init__(self, recorded: bool = False) -> None:
        self.graphs: dict[int, tuple[Tensor, Tensor]] = {}  # P -> contexts (P, L, E) and their features (K, P, D)
        self.recorded = CudaGraphs(recorded)

    def of(self, encode: Encode, context: Tensor) -> tuple[Tensor, Tensor]:
        """The initial contexts (P, L, E) as a leaf, and ``encode`` of them with its graph, which stays: a gradient through it
        is taken with ``retain_graph``."""
        self.mark_as_used(context.device)
        if (kept := self.graphs.get(len(context))) is None:
            # on one thread: the numbers do not depend on which caller was the first
            run = on_recording_stream(context.device)
            with torch.inference_mode(False), torch.enable_grad(), single_threaded(), run:
                leaf = context.detach().clone().requires_grad_()
                kept = self.graphs[len(context)] = leaf, encode(leaf)
        return kept

    def encode(self, encode: Encode, context: Tensor) -> Tensor:
        """``encode(context)``, differentiable once, for initial contexts (P, L, E)."""
        features: Tensor = _Kept.apply(context, *self.of(encode, context))
        return features

    def mark_as_used(self, device: torch.device) -> None:
        """The vocabularies that were used before the last ones free their memory."""
        others = [(reference, owner) for reference in InitialGraph.used if (owner := reference()) not in (None, self)]
        freed = max(len(others) + 1 - KEPT.get(device.type, 1), 0)
        for _, owner in others[:freed]:
            if owner is not None:
                owner.graphs.clear()
                owner.recorded.clear()
        InitialGraph.used = [*(reference for reference, _ in others[freed:]), weakref.ref(self)]


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
            (slope,) = torch.autograd.grad(features, leaf, gradient, retain_graph=True)
        return slope, None, None
