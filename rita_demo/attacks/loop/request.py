"""What a loop gets and gives: the model, the request, its progress and the batch of finished attacks."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rita_demo.process.lazy import Tensor
from rita_demo.records.run import AttackProgress

Logits = Callable[[Tensor], Tensor]
#: (pixels (B, 3, H, W), B seeds) -> logits (B, n, K) of n random samples each, differentiable. The goal is averaged
#: over the samples. Every step has new seeds; the samples of a picture depend on its own seed only.
SampledLogits = Callable[[Tensor, Sequence[int]], Tensor]


@dataclass(frozen=True)
class AttackBatch:
    """A batch of finished attacks.

    ``frames`` (S+1, B, 3, H, W) uint8: the clean squares, then the iterate after every step; the last one is delivered.
    ``loss`` (S+1, B) and ``probability`` (S+1, B, K): see the module's text. ``label`` (B,): the class that the attack
    moved away from. ``gradient`` (B,): the L2 norm of the first gradient with respect to the pixels; None where the
    attack uses none."""

    frames: Tensor
    loss: Tensor
    probability: Tensor
    label: Tensor
    gradient: Tensor | None = None


@dataclass(frozen=True)
class AttackRequest:
    """The input of a loop, for a batch of B pictures.

    ``budget`` in 1/255: 0 is the identity, also where truncation alone would change pixels. ``steps`` S, at least 0.
    ``seeds``: B whole numbers. ``label`` (B,) classes to leave; None: the model's own answer on the clean squares.
    ``target`` (B,) classes to reach, or None. ``roundtrip``: ``round`` or ``truncate``, how the iterate becomes 8-bit.
    ``sampled_logits``: what the attacker differentiates (``eot`` needs it, with it ``autoattack`` is its version ``rand``);
    None: the model itself. ``second_logits``: in every second restart of ``adaptive``, where the defence has two
    surrogates. ``judge_logits``: what judges a finished restart of it, with as many views as the defence answers with.
    ``start`` (B, 3, H, W): where the first restart of it begins, moved into the budget; None: noise. ``params``: values of
    the attack's own settings. ``names``: of the K classes, for an attack that writes one."""

    budget: int
    steps: int
    seeds: Sequence[int]
    label: Tensor | None = None
    target: Tensor | None = None
    roundtrip: str = "round"
    sampled_logits: SampledLogits | None = None
    second_logits: SampledLogits | None = None
    judge_logits: SampledLogits | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    names: Sequence[str] = ()
    start: Tensor | None = None


#: Yields its progress after every step, returns the batch.
AttackSteps = Generator[AttackProgress, None, AttackBatch]
#: (model, pixels (B, 3, H, W) float in [0, 1] on the 8-bit grid, request)
AttackLoop = Callable[[Logits, Tensor, AttackRequest], AttackSteps]
