"""CW L2: the smallest change that fools the model, without a budget (Carlini and Wagner 2017).

Minimises ``|x' - x|_2^2 + c * max(correct - best other, -kappa)`` over ``x' = (tanh(w) + 1) / 2`` by
Adam. Such a change is often below one level per pixel, which rounding to 8 bit erases: candidates are
judged *after* rounding, and the one delivered is the smallest that still fools the model; where none
does, the one that came nearest.
"""

from __future__ import annotations

from collections.abc import Generator

import torch
from torch import Tensor

from rita_demo.attacks import holes
from rita_demo.attacks.ascent import Ascent, Logits, Progress, Wish, begin, measure

C, RATE = 1.0, 0.01  # weight of being fooled against the squared norm; Adam's learning rate
INSIDE = 0.999999  # keeps black and white pixels at a finite w (the authors' own constant)


def smallest_change(
    logits: Logits, pixels: Tensor, wish: Wish
) -> Generator[Progress, None, Ascent]:
    """A :data:`rita_demo.attacks.ascent.Climb`; the wish's budget, seeds and sight are not used.
    ``loss`` is ``-|x' - x|_2^2 + c * margin`` (no unit), kappa = 0, of the 8-bit candidates, like
    ``probability``."""
    clean, answer, leave, reach = begin(logits, pixels, wish)

    def goal(answer: Tensor) -> Tensor:
        return C * holes.margin(answer, leave, reach).clamp(max=0.0)

    w = torch.atanh((2 * clean - 1) * INSIDE)
    moments = torch.zeros_like(w), torch.zeros_like(w)
    frames, losses, answers = [holes.to_levels(clean)], [goal(answer)], [answer]
    best = _Best(frames[0], holes.margin(answer, leave, reach), losses[0], answer)
    for step in range(1, wish.steps + 1):
        iterate = _pixels(w)
        slope = 2 * (iterate - clean) - measure(logits, iterate, goal, True)[2]
        slope = slope * 2 * iterate * (1 - iterate)  # d x' / d w = (1 - tanh(w)^2) / 2
        w, moments = _adam(w, slope, moments, step)
        frames.append(holes.to_levels(_pixels(w), wish.roundtrip))
        there = frames[-1].float() / 255.0
        answer, gain, _ = measure(logits, there, goal, False)
        losses.append(gain - (there - clean).square().flatten(1).sum(1))
        answers.append(answer)
        best.offer(frames[-1], holes.margin(answer, leave, reach), losses[-1], answer, frames[0])
        if step == wish.steps:
            frames[-1], losses[-1], answers[-1] = best.frame, best.loss, best.answer
        yield Progress(step, wish.steps, losses[-1], answers[-1].softmax(dim=1), frames[-1])
    probability = torch.stack(answers).softmax(dim=2)
    return Ascent(torch.stack(frames), torch.stack(losses), probability, leave)


class _Best:
    """The best candidate so far of every picture: fooled before not, then near before far."""

    def __init__(self, frame: Tensor, margin: Tensor, loss: Tensor, answer: Tensor) -> None:
        self.frame, self.margin, self.loss, self.answer = frame, margin, loss, answer
        self.norm = torch.zeros_like(margin)

    def offer(
        self, frame: Tensor, margin: Tensor, loss: Tensor, answer: Tensor, clean: Tensor
    ) -> None:
        norm = (frame.float() - clean.float()).flatten(1).norm(dim=1)
        fools, fooled = margin > 0, self.margin > 0
        better = (fools & ~fooled) | (fools & fooled & (norm < self.norm))
        better |= ~fools & ~fooled & (margin > self.margin)
        self.frame = torch.where(better[:, None, None, None], frame, self.frame)
        self.answer = torch.where(better[:, None], answer, self.answer)
        self.margin, self.loss, self.norm = (
            torch.where(better, new, old)
            for new, old in ((margin, self.margin), (loss, self.loss), (norm, self.norm))
        )


def _pixels(w: Tensor) -> Tensor:
    return (torch.tanh(w) + 1) / 2


def _adam(
    w: Tensor, slope: Tensor, moments: tuple[Tensor, Tensor], step: int
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One step of Adam (Kingma and Ba 2015) as a function: a generator must not own an optimiser
    whose grad mode is the caller's."""
    first = 0.9 * moments[0] + 0.1 * slope
    second = 0.999 * moments[1] + 0.001 * slope.square()
    root = (second / (1 - 0.999**step)).sqrt() + 1e-8
    return w - RATE * (first / (1 - 0.9**step)) / root, (first, second)
