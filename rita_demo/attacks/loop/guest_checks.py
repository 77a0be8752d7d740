"""Checks of an attack from a user's own file: a wrong result is one sentence with the file and the line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from rita_demo.attacks.contract import Attack
from rita_demo.process.guest_file import GuestError, guest_errors, place

if TYPE_CHECKING:
    from rita_demo.attacks.loop.gradient_loop import AttackRequest, AttackSteps

TOLERANCE = 1e-5  # float rounding of pixels in [0, 1]


def checked_component(attack: Attack, kind: str, function: Callable[..., Any]) -> Callable[..., Tensor]:
    """A component of a guest's attack that raises a :class:`GuestError` where its result cannot be used.

    The shape is the first argument's (of a goal: one number per picture), all values are finite, and a projection
    stays in [0, 1] and, if the attack has a budget, in the ball.
    """

    def call(*args: Any) -> Tensor:
        result = function(*args)
        problem = _shape_problem(result, args[0].shape[:1] if kind == "goal" else args[0].shape)
        if not problem and kind == "project":
            problem = _ball_problem(result, *args[1:], bounded=attack.bounded)
        if problem:
            raise GuestError(f"{place(attack.guest, function)}: {kind} of the attack {attack.name!r} {problem}.")
        return result

    return call


def checked_loop(attack: Attack, loop: AttackSteps, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """A guest's running attack: its exceptions and a wrong result become a :class:`GuestError`."""
    with guest_errors(attack.guest):
        batch = yield from loop
    frames: Any = getattr(batch, "frames", None)
    problem = _shape_problem(frames, (len(frames), *pixels.shape)) if isinstance(frames, Tensor) else "has no frames"
    if not problem and frames.dtype != torch.uint8:
        problem = f"has frames of {frames.dtype}; expected torch.uint8"
    for name in ("loss", "probability"):
        if not problem and not bool(torch.isfinite(getattr(batch, name)).all()):
            problem = f"has a {name} that is not finite"
    if not problem:
        radius = (request.budget + (request.roundtrip == "truncate")) / 255
        problem = _ball_problem(frames[-1] / 255, frames[0] / 255, radius, bounded=attack.bounded)
    if problem:
        raise GuestError(f"{place(attack.guest, attack.loop)}: the result of the attack {attack.name!r} {problem}.")
    return batch


def _shape_problem(result: Any, shape: tuple[int, ...]) -> str:
    if not isinstance(result, Tensor):
        return f"is a {type(result).__name__}; expected a torch.Tensor"
    if tuple(result.shape) != tuple(shape):
        return f"has shape {tuple(result.shape)}; expected {tuple(shape)}"
    return "" if bool(torch.isfinite(result).all()) else "has values that are not finite (NaN or infinite)"


def _ball_problem(result: Tensor, clean: Tensor, radius: float, *, bounded: bool) -> str:
    if float(result.min()) < -TOLERANCE or float(result.max()) > 1 + TOLERANCE:
        return "leaves the range of pixels, 0 to 1"
    moved = float((result - clean).abs().max())
    if bounded and moved > radius + TOLERANCE:
        return f"moves a pixel value by {255 * moved:.4g}/255; the budget is {255 * radius:.4g}/255"
    return ""
