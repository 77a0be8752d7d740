"""Run an attack by name: :func:`attack` on one picture, step by step, and :func:`attack_batch` on several."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.gradient_loop import AttackBatch, AttackProgress, AttackRequest, Logits, SampledLogits, loop_of
from rita_demo.attacks.guest_checks import checked_loop
from rita_demo.attacks.registry import ATTACKS, get_attack
from rita_demo.records import AttackTrace
from rita_demo.records.errors import SettingError


def attack(
    logits: Logits,
    pixels: Tensor,
    label: int | None,
    *,
    name: str,
    budget: int,
    steps: int,
    seed: int,
    target: int | None = None,
    roundtrip: str = "round",
    sampled_logits: SampledLogits | None = None,
    own: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
) -> Generator[AttackProgress, None, AttackTrace]:
    """Attack one square: yields an :class:`AttackProgress` after every step, returns the trace.

    Args:
        logits: (B, 3, H, W) in [0, 1] to (B, K), differentiable; called with B = 1.
        pixels: (3, H, W) float in [0, 1] on the 8-bit grid, on the model's device.
        label: the class to leave; None: the model's own answer on the clean square.
        name: a key of ``ATTACKS``.
        budget: whole number of 1/255, 0 to 255; 0 delivers the same pixels (cw_l2 has no budget).
        steps: of an iterative attack, at least 1; the others have their own number.
        seed: fixes the random start; the same on every device.
        target: the class to reach, instead of only leaving the label.
        roundtrip: ``round`` or ``truncate`` (may leave the ball by one level; ``linf`` shows it).
        sampled_logits: what the attacker differentiates; ``eot`` and ``defence`` need it, with it
            ``autoattack`` is its version ``rand``.
        own: values of the attack's own settings by short name; None: their defaults.
        names: of the K classes, for an attack that writes one.

    Raises:
        SettingError: a value that is not allowed, before the first step.
        GuestError: an attack of a user's own file fails.
    """
    if pixels.ndim != 3 or pixels.shape[0] != 3 or not pixels.is_floating_point():
        raise ValueError(f"pixels are (3, H, W) float in [0, 1]; got {tuple(pixels.shape)}")
    row, request = _make_request(
        logits, pixels[None], [label], name, budget, steps, [seed], [target], roundtrip, sampled_logits, own, names
    )
    return _attack_one_steps(logits, pixels, row, request, target)


def attack_batch(
    logits: Logits,
    pixels: Tensor,
    labels: Sequence[int],
    *,
    name: str,
    budget: int,
    steps: int,
    seeds: Sequence[int],
    targets: Sequence[int | None] | None = None,
    roundtrip: str = "round",
    own: Mapping[str, Any] | None = None,
    names: Sequence[str] = (),
) -> list[AttackTrace]:
    """:func:`attack` on B squares (B, 3, H, W) as one batch, each with its own label, seed and target: the same
    results up to rounding. ``seconds`` is each one's share. Not for attacks that need sampled logits."""
    aims: Sequence[int | None] = [None] * len(pixels) if targets is None else targets
    row, request = _make_request(logits, pixels, labels, name, budget, steps, seeds, aims, roundtrip, None, own, names)
    started = time.perf_counter()
    loop = _start_loop(row, logits, pixels, request)
    while True:
        try:
            next(loop)
        except StopIteration as done:
            seconds = (time.perf_counter() - started) / len(pixels)
            return [_trace(done.value, b, row, request.budget, aims[b], seconds) for b in range(len(pixels))]


def _start_loop(
    row: Attack, logits: Logits, pixels: Tensor, request: AttackRequest
) -> Generator[AttackProgress, None, AttackBatch]:
    loop = loop_of(row)(logits, pixels, request)
    return checked_loop(row, loop, pixels, request) if row.guest else loop


def _make_request(
    logits: Logits,
    pixels: Tensor,
    labels: Sequence[int | None],
    name: str,
    budget: int,
    steps: int,
    seeds: Sequence[int],
    targets: Sequence[int | None],
    roundtrip: str,
    sampled_logits: SampledLogits | None,
    own: Mapping[str, Any] | None,
    names: Sequence[str] = (),
) -> tuple[Attack, AttackRequest]:
    """The attack of that name, and a checked request for B squares."""
    row = get_attack(name)
    _check(row, budget, steps, targets[0], roundtrip)
    if row.access in ("crops", "defence") and sampled_logits is None:
        raise ValueError(f"the attack {name!r} needs sampled_logits")
    if row.transform is not None:
        sampled_logits = row.transform(logits)

    def to_tensor(values: Sequence[int | None]) -> Tensor | None:
        if all(value is None for value in values):
            return None
        return torch.tensor(values, device=pixels.device)  # all or none: None is no number

    return row, AttackRequest(
        budget=budget if row.bounded else 0,
        steps=steps if row.iterative else row.default_steps,
        seeds=list(seeds),
        label=to_tensor(labels),
        target=to_tensor(targets),
        roundtrip=roundtrip,
        sampled_logits=sampled_logits,
        own={one.name: one.default for one in row.settings} | dict(own or {}),
        names=names,
    )


def _attack_one_steps(
    logits: Logits, pixels: Tensor, row: Attack, request: AttackRequest, target: int | None
) -> Generator[AttackProgress, None, AttackTrace]:
    started = time.perf_counter()
    loop = _start_loop(row, logits, pixels[None], request)
    while True:
        try:
            at = next(loop)
        except StopIteration as done:
            seconds = time.perf_counter() - started
            return _trace(done.value, 0, row, request.budget, target, seconds)
        yield AttackProgress(at.step, at.steps, float(at.loss), at.probability[0], at.frame[0].permute(1, 2, 0))


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
    )


def _check(row: Attack, budget: int, steps: int, target: int | None, roundtrip: str) -> None:
    for name, value, low, high in (("budget", budget, 0, 255), ("steps", steps, 1, 10_000)):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not low <= value <= high:
            unit = " of 1/255" if name == "budget" else ""
            raise SettingError(f"{name} is a whole number{unit} from {low} to {high}; got {str(value)[:60]}.")
    if roundtrip not in ("round", "truncate"):
        raise SettingError(f"roundtrip is round or truncate; got {str(roundtrip)[:60]!r}.")
    if target is not None and not row.targetable:
        raise SettingError(
            f"The attack {row.name!r} cannot be aimed at a class.",
            f"Leave the target out, or choose {', '.join(n for n, r in ATTACKS.items() if r.targetable)}.",
        )
