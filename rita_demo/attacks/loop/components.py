"""The components of the gradient loop: starts, goals, steps, projections, and rounding to 8 bit.

Pixels are (B, 3, H, W) float32 in [0, 1]; ``radius`` is the attack's budget in the same units. An attack names
its components by the keys of the tables at the end of this file."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rita_demo.process.lazy import Tensor, torch, uniform

Start = Callable[[Tensor, float, Sequence[int]], Tensor]
Goal = Callable[[Tensor, Tensor, Tensor | None], Tensor]
Step = Callable[[Tensor, Tensor, float], Tensor]
StepWithState = Callable[[Tensor, Tensor, float, Any], tuple[Tensor, Any]]  # its state is the step's own affair
Projection = Callable[[Tensor, Tensor, float], Tensor]

MOMENTUM = 0.75
KAPPA = 50.0  # logits; a margin is not raised beyond it. Larger than what rounding to 8 bit can take away


def _uniform_noise(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
    """Uniform numbers in [0, 1), one CPU generator per picture. The CPU generator makes the numbers the same on every
    device; one generator per picture makes a picture's attack the same alone and in any batch."""
    shape = pixels.shape[1:]
    rows = [uniform(shape, torch.Generator().manual_seed(int(s))) for s in seeds]
    return torch.stack(rows).to(pixels.device)


# --- starts: (clean pixels, radius, seeds) -> the first iterate


def start_clean(pixels: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
    """Start at the clean picture (FGSM, DI)."""
    return pixels


def start_uniform(pixels: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
    """Start uniformly inside the ball (PGD, Madry et al. 2018)."""
    return pixels + (2.0 * _uniform_noise(pixels, seeds) - 1.0) * radius


def start_signs(pixels: Tensor, radius: float, seeds: Sequence[int]) -> Tensor:
    """Start at a random corner of the ball: every value moves by exactly the budget."""
    noise = _uniform_noise(pixels, seeds)
    return pixels + torch.full_like(noise, radius).masked_fill(noise < 0.5, -radius)


# --- goals: (logits (B, K), label (B,), target (B,) or None) -> (B,) the number to raise


def cross_entropy(answer: Tensor, label: Tensor, target: Tensor | None) -> Tensor:
    """``-log p(label)``, away from the label; or ``log p(target)``, towards the target. In nats."""
    if target is None:
        return torch.nn.functional.cross_entropy(answer, label, reduction="none")
    return -torch.nn.functional.cross_entropy(answer, target, reduction="none")


def margin(answer: Tensor, label: Tensor, target: Tensor | None) -> Tensor:
    """``min(best other - correct, kappa)`` in logits; or ``min(target - best other, kappa)``. Carlini and Wagner 2017,
    f_6, with the sign for ascent; above zero the model is fooled."""
    aim = label if target is None else target
    own = answer.gather(1, aim[:, None])[:, 0]
    rest = answer.masked_fill(torch.nn.functional.one_hot(aim, answer.shape[1]).bool(), -torch.inf).amax(1)
    return (rest - own if target is None else own - rest).clamp(max=KAPPA)


def dlr(answer: Tensor, label: Tensor, target: Tensor | None) -> Tensor:
    """``-(z_y - max_{i != y} z_i) / (z_1st - z_3rd)``: the margin without its scale (Croce and Hein 2020). Only away
    from the label. With fewer than three classes it is the :func:`margin`."""
    if answer.shape[1] < 3:
        return margin(answer, label, None)
    first, _, third = answer.topk(3, dim=1).values.unbind(1)
    own = answer.gather(1, label[:, None])[:, 0]
    rest = answer.masked_fill(torch.nn.functional.one_hot(label, answer.shape[1]).bool(), -torch.inf).amax(1)
    return (rest - own) / (first - third).clamp(min=1e-12)


# --- steps: (iterate, gradient, step size) -> the next iterate, before projection. One with a fourth parameter ``state``
# returns (the next iterate, its state) and gets that state at the step after; at the first step it gets None.


def sign_step(iterate: Tensor, gradient: Tensor, step_size: float) -> Tensor:
    """Steepest ascent in the L-infinity norm: every value moves by the step size."""
    return iterate + step_size * gradient.sign()


def momentum_step(
    iterate: Tensor, gradient: Tensor, step_size: float, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """A sign step along all gradients so far, each divided by its mean size and fading by :data:`MOMENTUM` per step, which
    ``state`` holds (MI-FGSM, Dong et al. 2018)."""
    direction = gradient / gradient.abs().mean(dim=(1, 2, 3), keepdim=True).clamp(min=1e-30)
    if state is not None:
        direction = MOMENTUM * state + direction
    return iterate + step_size * direction.sign(), direction


def no_step(iterate: Tensor, gradient: Tensor, step_size: float) -> Tensor:
    """Stay: for attacks that are complete after the start (noise)."""
    return iterate


# --- projections: (iterate, clean pixels, radius) -> the nearest allowed point


def project_linf(iterate: Tensor, pixels: Tensor, radius: float) -> Tensor:
    """Into the L-infinity ball around the clean picture and into [0, 1], in one clamp."""
    low, high = (pixels - radius).clamp(min=0.0), (pixels + radius).clamp(max=1.0)
    return torch.minimum(torch.maximum(iterate, low), high)


# --- rounding to the 256 levels of a file


def quantise(iterate: Tensor, roundtrip: str = "round") -> Tensor:
    """uint8 levels of pixels in [0, 1].

    ``round`` goes to the nearest level, which stays inside a ball of whole levels around a picture that was on the
    grid. ``truncate`` is ``(255 * x).byte()`` of published code: it drops the fraction. Where float rounding left a
    value just below a level it loses that level, so that the result may leave the ball by one."""
    scaled = iterate.float() * 255.0
    return (scaled if roundtrip == "truncate" else scaled.round()).to(torch.uint8)


STARTS: dict[str, Start] = {"clean": start_clean, "uniform": start_uniform, "signs": start_signs}
GOALS: dict[str, Goal] = {"cross_entropy": cross_entropy, "margin": margin, "dlr": dlr}
STEPS: dict[str, Step | StepWithState] = {"sign": sign_step, "momentum": momentum_step, "none": no_step}
PROJECTIONS: dict[str, Projection] = {"linf": project_linf}
COMPONENTS: dict[str, Mapping[str, Callable[..., Any]]] = {
    "start": STARTS,
    "goal": GOALS,
    "step": STEPS,
    "project": PROJECTIONS,
}


def takes_state(step: Callable[..., Any]) -> bool:
    """Whether a step has the parameter ``state``."""
    try:
        return "state" in inspect.signature(step).parameters
    except ValueError:  # a function that is not written in Python
        return False


def with_state(step: Step | StepWithState) -> StepWithState:
    """A step that has no state as one whose state is always None."""
    if takes_state(step):
        return cast(StepWithState, step)
    return lambda iterate, gradient, step_size, state: (cast(Step, step)(iterate, gradient, step_size), None)
