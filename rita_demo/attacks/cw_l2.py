"""CW L2: the smallest change that fools the model, without a budget (Carlini and Wagner 2017).

Minimises ``|x' - x|_2^2 + c * max(correct - best other, -kappa)`` over ``x' = (tanh(w) + 1) / 2`` by Adam. Such a
change is often below one level per pixel, which rounding to 8 bit removes: candidates are judged *after* rounding.
The result is the smallest candidate that fools the model; if none does, the one with the largest margin.
"""

from rita_demo.attacks.contract import KNOWS_MODEL, STRONGER_CAVEAT, Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.gradient_loop import AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor

C, RATE = 1.0, 0.01  # weight of being fooled against the squared norm; Adam's learning rate
TANH_SCALE = 0.999999  # keeps black and white pixels at a finite w (the authors' own constant)


def carlini_wagner_l2(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop``; budget, seeds and sampled logits of the request are not used.

    ``loss`` is ``-|x' - x|_2^2 + c * margin`` (no unit), kappa = 0, of the 8-bit candidates, like ``probability``.
    """
    clean, answer, leave, reach = gradient_loop.prepare(logits, pixels, request)

    def goal(answer: Tensor) -> Tensor:
        return C * components.margin(answer, leave, reach).clamp(max=0.0)

    w = ((2 * clean - 1) * TANH_SCALE).atanh()
    moments = 0 * w, 0 * w
    frames, losses, answers = [components.quantise(clean)], [goal(answer)], [answer]
    best = _BestCandidates(frames[0], components.margin(answer, leave, reach), losses[0], answer)
    for step in range(1, request.steps + 1):
        iterate = _pixels(w)
        slope = 2 * (iterate - clean) - gradient_loop.loss_and_gradient(logits, iterate, goal, True)[2]
        slope = slope * 2 * iterate * (1 - iterate)  # d x' / d w = (1 - tanh(w)^2) / 2
        w, moments = _adam(w, slope, moments, step)
        frames.append(components.quantise(_pixels(w), request.roundtrip))
        candidate = frames[-1].float() / 255.0
        answer, gain, _ = gradient_loop.loss_and_gradient(logits, candidate, goal, False)
        losses.append(gain - (candidate - clean).square().flatten(1).sum(1))
        answers.append(answer)
        best.update(frames[-1], components.margin(answer, leave, reach), losses[-1], answer, frames[0])
        if step == request.steps:
            frames[-1], losses[-1], answers[-1] = best.frame, best.loss, best.answer
        yield step, request.steps
    return gradient_loop.as_batch(frames, losses, answers, leave)


class _BestCandidates:
    """The best candidate so far of every picture: one that fools before one that does not, then the smaller change."""

    def __init__(self, frame: Tensor, margin: Tensor, loss: Tensor, answer: Tensor) -> None:
        self.frame, self.margin, self.loss, self.answer = frame, margin, loss, answer
        self.norm = 0 * margin

    def update(self, frame: Tensor, margin: Tensor, loss: Tensor, answer: Tensor, clean: Tensor) -> None:
        norm = (frame.float() - clean.float()).flatten(1).norm(dim=1)
        fools, fooled = margin > 0, self.margin > 0
        better = (fools & ~fooled) | (fools & fooled & (norm < self.norm))
        better |= ~fools & ~fooled & (margin > self.margin)
        self.frame = frame.where(better[:, None, None, None], self.frame)
        self.answer = answer.where(better[:, None], self.answer)
        self.margin, self.loss, self.norm = (
            new.where(better, old) for new, old in ((margin, self.margin), (loss, self.loss), (norm, self.norm))
        )


def _pixels(w: Tensor) -> Tensor:
    return (w.tanh() + 1) / 2


def _adam(w: Tensor, slope: Tensor, moments: tuple[Tensor, Tensor], step: int) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """One step of Adam (Kingma and Ba 2015) as a function: an optimiser in a generator would depend on the
    caller's grad mode."""
    first = 0.9 * moments[0] + 0.1 * slope
    second = 0.999 * moments[1] + 0.001 * slope.square()
    root = (second / (1 - 0.999**step)).sqrt() + 1e-8
    return w - RATE * (first / (1 - 0.9**step)) / root, (first, second)


ATTACK = Attack(
    name="cw_l2",
    title="Smallest change (CW L2)",
    short_title="CW L2",
    sentence="Searches for the smallest change that fools CLIP. It has no limit on strength and does not try to "
    "be more wrong than that.",
    cites="Carlini and Wagner 2017",
    url="https://arxiv.org/abs/1608.04644",
    knows=KNOWS_MODEL[:3],
    caveat="There is no limit on strength: read it together with how far the pixels moved. " + STRONGER_CAVEAT,
    loop=carlini_wagner_l2,
    stochastic=False,
    bounded=False,
    default_steps=50,
    loss_unit="no unit",
)
