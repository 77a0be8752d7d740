"""Run the attack of the settings on a batch of pictures, step by step. What is wrong with the attack of a user's own
file is one sentence with the file and the line."""

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.request import AttackBatch, AttackLoop, AttackRequest, AttackSteps, Logits, SampledLogits
from rita_demo.attacks.registry import ATTACKS, get_attack
from rita_demo.process.lazy import Tensor, torch
from rita_demo.process.plugin_file import PluginError, place, plugin_errors
from rita_demo.records import AttackTrace
from rita_demo.records.errors import SettingError
from rita_demo.records.run import AttackProgress
from rita_demo.settings import Settings

TOLERANCE = 1e-5  # float rounding of pixels in [0, 1]


def attack_steps(
    logits: Logits,
    pixels: Tensor,
    settings: Settings,
    labels: Sequence[int | None],
    seeds: Sequence[int],
    targets: Sequence[int | None] | None = None,
    sampled_logits: SampledLogits | None = None,
    second_logits: SampledLogits | None = None,
    judge_logits: SampledLogits | None = None,
    *,
    names: Sequence[str] = (),
    start: Tensor | None = None,
) -> Generator[AttackProgress, None, list[AttackTrace]]:
    """Attack B squares: yields its progress after every step, returns their traces. ``seconds`` is each one's
    share. Raises SettingError: a value that is not allowed, before the first step. Raises PluginError: an attack of a
    user's own file fails.

    Args:
        logits: (B, 3, H, W) in [0, 1] to (B, K), differentiable.
        pixels: (B, 3, H, W) float in [0, 1] on the 8-bit grid, on the model's device.
        settings: attack, budget (0 delivers the same pixels; cw_l2 has none), steps of an iterative attack, and
            adversarial_roundtrip (``truncate`` may leave the ball by one level; ``linf`` shows it).
        labels: the classes to leave; all None: the model's own answers on the clean squares.
        seeds: fix the random starts; the same on every device, alone and in a batch.
        targets: the classes to reach, instead of only leaving the label; all or none.
        sampled_logits, second_logits, judge_logits, names, start: see :class:`AttackRequest`."""
    row, aims = get_attack(settings.attack), targets or [None] * len(pixels)
    if aims[0] is not None and not row.targetable:
        raise SettingError(
            f"The attack {row.name!r} cannot be aimed at a class.",
            f"Leave the target out, or choose {', '.join(n for n, r in ATTACKS.items() if r.targetable)}.",
        )
    if row.differentiates in ("crops", "defence") and sampled_logits is None:
        raise ValueError(f"the attack {row.name!r} needs sampled_logits")

    def to_tensor(values: Sequence[int | None]) -> Tensor | None:
        return None if values[0] is None else torch.tensor(values, dtype=torch.long, device=pixels.device)

    request = AttackRequest(
        budget=settings.budget if row.bounded else 0,
        steps=row.step_count(settings),
        seeds=list(seeds),
        label=to_tensor(labels),
        target=to_tensor(aims),
        roundtrip=settings.adversarial_roundtrip,
        sampled_logits=sampled_logits if row.transform is None else row.transform(logits),
        params=row.param_values(settings),
        names=names,
        start=start,
        second_logits=second_logits,
        judge_logits=judge_logits,
    )
    started = time.perf_counter()
    loop = _checked_loop(row) if row.plugin else gradient_loop.loop_of(row)
    batch = yield from loop(logits, pixels, request)
    seconds = (time.perf_counter() - started) / len(pixels)
    return [_trace(batch, b, row, request.budget, aims[b], seconds) for b in range(len(pixels))]


def _trace(batch: AttackBatch, b: int, row: Attack, budget: int, target: int | None, seconds: float) -> AttackTrace:
    """The record of picture ``b`` of a batch: norms and verdict of the delivered 8-bit square."""
    frames = batch.frames[:, b].permute(0, 2, 3, 1).contiguous()
    moved = frames[-1].float() - frames[0].float()
    label = int(batch.label[b])
    before, after = (int(batch.probability[i, b].argmax()) for i in (0, -1))
    reached = after == target if target is not None else after != label
    return AttackTrace(
        name=row.name,
        pixels=frames[-1],
        frames=frames,
        loss=batch.loss[:, b],
        probability=batch.probability[:, b],
        label=label,
        target=target,
        budget=budget,
        linf=float(moved.abs().max()),
        l2=float((moved / 255.0).norm()),
        fooled=before == label and reached,
        already_wrong=before != label,
        loss_unit=row.loss_unit,
        seconds=seconds,
        gradient=None if batch.gradient is None else float(batch.gradient[b]),
    )


def _checked_loop(attack: Attack) -> AttackLoop:
    """The loop of a plugin's attack; its exceptions and a wrong result become a :class:`PluginError`."""
    parts = {kind: getattr(attack, kind) for kind in components.COMPONENTS}
    checked: dict[str, Any] = {
        kind: _checked_component(attack, kind, part) for kind, part in parts.items() if callable(part)
    }
    loop = gradient_loop.loop_of(replace(attack, **checked))

    def run(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
        with plugin_errors(attack.plugin):
            batch = yield from loop(logits, pixels, request)
        frames: Any = getattr(batch, "frames", None)
        tensor = isinstance(frames, torch.Tensor)
        problem = _shape_problem(frames, (len(frames), *pixels.shape)) if tensor else "has no frames"
        if not problem and frames.dtype != torch.uint8:
            problem = f"has frames of {frames.dtype}; expected torch.uint8"
        for name in ("loss", "probability"):
            if not problem and not bool(torch.isfinite(getattr(batch, name)).all()):
                problem = f"has a {name} that is not finite"
        if not problem:
            radius = (request.budget + (request.roundtrip == "truncate")) / 255
            problem = _ball_problem(frames[-1].float() / 255, frames[0].float() / 255, radius, bounded=attack.bounded)
        if problem:
            raise PluginError(
                f"{place(attack.plugin, attack.loop)}: the result of the attack {attack.name!r} {problem}."
            )
        return batch

    return run


def _checked_component(attack: Attack, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A component whose result has the shape of its first argument (of a goal: one number per picture) and is finite; a
    projection stays in [0, 1] and, if the attack has a budget, in the ball."""
    stateful = kind == "step" and components.takes_state(function)

    @wraps(function)
    def call(*args: Any) -> Any:
        result = function(*args)
        pair = isinstance(result, tuple) and len(result) == 2
        if stateful and not pair:
            problem = f"is a {type(result).__name__}; expected a pair (pixels, state)"
        else:
            shape = args[0].shape[:1] if kind == "goal" else args[0].shape
            problem = _shape_problem(result[0] if stateful else result, shape)
        if not problem and kind == "project":
            problem = _ball_problem(result, *args[1:], bounded=attack.bounded)
        if problem:
            raise PluginError(f"{place(attack.plugin, function)}: {kind} of the attack {attack.name!r} {problem}.")
        return result

    return call


def _shape_problem(result: object, shape: tuple[int, ...]) -> str:
    if not isinstance(result, torch.Tensor):
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
