"""One loop, four holes: start, goal, move, projection. Every gradient attack is a filling.

The attacker works on a float iterate that is never rounded on the way (rounding inside the loop
would make it weaker); only the last iterate goes through 8 bit, because a file does.
What is *measured* follows from that: ``loss`` and ``probability`` of steps 1..S-1 belong to the
iterate the attacker has, those of step 0 to the clean square and those of step S to the delivered
8-bit pixels. ``frames`` are all 8-bit, for the eye.

An attacker may look at the model through something: random resizes, crops, a whole defence. Such a
:data:`Sight` is what he differentiates and what ``loss`` tells; ``probability`` stays the plain model's.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from rita_demo.attacks import holes
from rita_demo.errors import SettingError

Logits = Callable[[Tensor], Tensor]
#: (pixels (B, 3, H, W), B seeds) -> logits (B, n, K) of n random samples each, differentiable. The
#: goal is averaged over the samples. Fresh seeds come at every step; one picture's are its own.
Sight = Callable[[Tensor, Sequence[int]], Tensor]


@dataclass(frozen=True)
class Holes:
    """A filling of the loop. ``stride`` is the step length as a share of the radius."""

    start: Callable[[Tensor, float, Sequence[int]], Tensor] = holes.from_clean
    goal: Callable[[Tensor, Tensor, Tensor | None], Tensor] = holes.cross_entropy
    move: Callable[[Tensor, Tensor, float], Tensor] = holes.by_sign
    project: Callable[[Tensor, Tensor, float], Tensor] = holes.to_linf_ball
    stride: float = 1.0
    uses_gradient: bool = True


@dataclass(frozen=True)
class Progress:
    """After one step. From a loop over a batch: ``loss`` (B,), ``probability`` (B, K), ``frame``
    (B, 3, H, W) uint8; from :func:`rita_demo.attacks.attack`: a float, (K,) and (H, W, 3)."""

    step: int
    steps: int
    loss: Tensor | float
    probability: Tensor
    frame: Tensor


@dataclass(frozen=True)
class Ascent:
    """A batch of finished attacks.

    ``frames`` (S+1, B, 3, H, W) uint8: the clean squares, then the iterate after every step, as it
    would look on disk; the last one is what is delivered. ``loss`` (S+1, B) and ``probability``
    (S+1, B, K): see the module's text. ``label`` (B,) what the attack moved away from.
    """

    frames: Tensor
    loss: Tensor
    probability: Tensor
    label: Tensor


@dataclass(frozen=True)
class Wish:
    """What a loop is asked for, for a batch of B pictures.

    ``label`` (B,) classes to leave, or None for the model's own answer on the clean squares; ``target``
    (B,) classes to reach, or None; ``budget`` in 1/255: 0 is the identity, also where truncation alone
    would change pixels; ``steps`` S, at least 0; ``seeds`` B whole numbers, one per picture;
    ``roundtrip`` ``round`` or ``truncate``, how the iterate becomes 8-bit; ``sight`` what the attacker
    differentiates, None: the model itself.
    """

    budget: int
    steps: int
    seeds: Sequence[int]
    label: Tensor | None = None
    target: Tensor | None = None
    roundtrip: str = "round"
    sight: Sight | None = None


#: A loop: the model, pixels (B, 3, H, W) float in [0, 1] on the 8-bit grid, and what is asked for.
#: Yields after every step, returns the whole attack.
Climb = Callable[[Logits, Tensor, Wish], Generator[Progress, None, Ascent]]


def ascend(
    logits: Logits, pixels: Tensor, wish: Wish, *, filling: Holes
) -> Generator[Progress, None, Ascent]:
    """Attack a batch by gradient; a :data:`Climb` once ``filling`` is given.

    Args:
        logits: (B, 3, H, W) in [0, 1] to (B, K), differentiable; CLIP's are ``cos / tau``.
        filling: what goes into the holes.

    Raises:
        SettingError: a label or target that is not a class, or a target that is the label.
    """
    clean, answer, leave, reach = begin(logits, pixels, wish)
    radius, steps, sight = wish.budget / 255.0, wish.steps, wish.sight
    to_levels = partial(holes.to_levels, roundtrip=wish.roundtrip if wish.budget else "round")

    def goal(answer: Tensor) -> Tensor:
        return filling.goal(answer, leave, reach)

    def look(at: Tensor, step: int, gradient: bool) -> tuple[Tensor, Tensor, Tensor]:
        if sight is None:
            return measure(logits, at, goal, gradient)
        through, draws = sight, [fresh_seed(seed, step) for seed in wish.seeds]
        _, loss, slope = measure(lambda p: through(p, draws), at, over_samples(goal), gradient)
        return measure(logits, at, goal, False)[0], loss, slope

    loss = goal(answer) if sight is None else look(clean, 0, False)[1]
    frames, losses, answers = [to_levels(clean)], [loss], [answer]
    iterate = filling.project(filling.start(clean, radius, wish.seeds), clean, radius)
    gradient = look(iterate, 0, True)[2] if filling.uses_gradient and steps else clean
    for step in range(1, steps + 1):
        moved = filling.move(iterate, gradient, filling.stride * radius)
        iterate = filling.project(moved, clean, radius)
        frames.append(to_levels(iterate))
        if step == steps:  # measured on what is delivered; nobody needs its gradient
            answer, loss, _ = look(frames[-1].float() / 255.0, step, False)
        else:
            answer, loss, gradient = look(iterate, step, True)
        losses.append(loss)
        answers.append(answer)
        yield Progress(step, steps, loss, answer.softmax(dim=1), frames[-1])
    probability = torch.stack(answers).softmax(dim=2)
    return Ascent(torch.stack(frames), torch.stack(losses), probability, leave)


def begin(
    logits: Logits, pixels: Tensor, wish: Wish
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """What every loop starts with: the clean squares on the 8-bit grid, whatever float arithmetic
    came before, the model's logits (B, K) on them, the classes to leave and those to reach."""
    clean = holes.to_levels(pixels).float() / 255.0
    answer, _, _ = measure(logits, clean, lambda answer: answer[:, 0], False)
    with torch.inference_mode(False):  # a clone is a normal tensor, whatever the caller's mode
        leave = (answer.argmax(dim=1) if wish.label is None else wish.label).clone()
        reach = None if wish.target is None else wish.target.clone()
    _check_classes(leave, reach, answer.shape[1])
    return clean, answer, leave, reach


def measure(
    logits: Logits, pixels: Tensor, goal: Callable[[Tensor], Tensor], gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The logits in float32, the goal (B,), and its gradient w.r.t. the pixels where it is wanted.

    ``autograd.grad`` with respect to the pixels alone: ``.grad`` of the model's parameters is never
    touched. The grad mode is set here and not in the generator, where it would leak to the caller.
    """
    with torch.inference_mode(False), torch.set_grad_enabled(gradient):
        pixels = pixels.detach().clone().requires_grad_(gradient)
        answer = logits(pixels).float()
        loss = goal(answer)
        if not gradient:
            return answer.detach(), loss.detach(), torch.empty(0)
        # the sum keeps the pictures of a batch independent of each other
        (slope,) = torch.autograd.grad(loss.sum(), pixels)
    return answer.detach(), loss.detach(), slope


def over_samples(goal: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The mean of a goal over samples: logits (B, n, K) to (B,) (expectation over transformation)."""
    return lambda answer: torch.stack([goal(sample) for sample in answer.unbind(1)]).mean(0)


def fresh_seed(seed: int, step: int) -> int:
    """A seed for one step's draws that no view seed equals by habit: mixed, not counted up."""
    return int(np.random.SeedSequence([seed, step]).generate_state(1)[0])


def _check_classes(label: Tensor, target: Tensor | None, classes: int) -> None:
    for name, rows in (("label", label), ("target", target)):
        if rows is not None and bool(((rows < 0) | (rows >= classes)).any()):
            raise SettingError(
                f"The {name} is a class number from 0 to {classes - 1}; got {rows.tolist()}."
            )
    if target is not None and bool((target == label).any()):
        raise SettingError(
            "The target must differ from the class the attack moves away from.",
            "Choose another target, or none.",
        )
