"""CW L2: the smallest change that fools the model, without a budget (Carlini and Wagner 2017).

Minimises ``|x' - x|_2^2 + c * max(correct - best other, -kappa)`` over ``x' = (tanh(w) + 1) / 2`` by Adam. Such a
change is often below one level per pixel, which rounding to 8 bit removes: candidates are judged *after* rounding.
The result is the smallest candidate that fools the model; if none does, the one with the largest margin."""

from rita_demo.attacks.contract import KNOWS_MODEL, STRONGER_CAVEAT, Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.request import AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor, torch

C, RATE = 1.0, 0.01  # weight of being fooled against the squared norm; Adam's learning rate
TANH_SCALE = 0.999999  # keeps black and white pixels at a finite w (the authors' own constant)


def carlini_wagner_l2(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop``; budget, seeds and sampled logits of the request are not used. ``loss`` is
    ``-|x' - x|_2^2 + c * margin`` (no unit), kappa = 0, of the 8-bit candidates, like ``probability``."""
    clean, answer, leave, reach = gradient_loop.prepare(logits, pixels, request)

    def goal(answer: Tensor) -> Tensor:
        return C * components.margin(answer, leave, reach).clamp(max=0.0)

    w = ((2 * clean - 1) * TANH_SCALE).atanh()
    moments = 0 * w, 0 * w
    frames, losses, answers = [components.quantise(clean)], [goal(answer)], [answer]
    for step in range(1, request.steps + 1):
        iterate = (w.tanh() + 1) / 2
        slope = 2 * (iterate - clean) - gradient_loop.loss_and_gradient(logits, iterate, goal, True)[2]
        slope = slope * 2 * iterate * (1 - iterate)  # d x' / d w = (1 - tanh(w)^2) / 2
        w, moments = _adam(w, slope, moments, step)
        frames.append(components.quantise((w.tanh() + 1) / 2, request.roundtrip))
        candidate = frames[-1].float() / 255.0
        answer, gain, _ = gradient_loop.loss_and_gradient(logits, candidate, goal, False)
        losses.append(gain - (candidate - clean).square().flatten(1).sum(1))
        answers.append(answer)
        yield step, request.steps, float(losses[-1][0])
    best = _best_candidates(frames, [components.margin(answer, leave, reach) for answer in answers])
    for steps in (frames, losses, answers):
        steps[-1] = torch.stack([steps[number][b] for b, number in enumerate(best)])
    return gradient_loop.as_batch(frames, losses, answers, leave)


def _best_candidates(frames: list[Tensor], margins: list[Tensor]) -> list[int]:
    """The step of the best candidate of every picture: one that fools before one that does not, then the smaller change,
    then the larger margin."""
    norm = torch.stack([(frame.float() - frames[0].float()).flatten(1).norm(dim=1) for frame in frames])
    margin = torch.stack(margins)
    fools = margin > 0
    return torch.where(fools.any(0), norm.where(fools, torch.inf).argmin(0), margin.argmax(0)).tolist()


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
    menu_note="the least change that fools CLIP",
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
