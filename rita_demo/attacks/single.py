"""``attack``: one picture, any row of the table, checked wishes, one record as the result; and several at once."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

import torch
from torch import Tensor

from rita_demo.attacks.ascent import Ascent, Logits, Progress, Sight, Wish
from rita_demo.attacks.diversity import diverse
from rita_demo.attacks.rows import ATTACKS, Attack, attack_row
from rita_demo.errors import SettingError
from rita_demo.records import AttackTrace


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
    sight: Sight | None = None,
) -> Generator[Progress, None, AttackTrace]:
    """Attack one square: yields a :class:`Progress` after every step, returns the trace.

    Args:
        logits: (B, 3, H, W) in [0, 1] to (B, K), differentiable; called with B = 1.
        pixels: (3, H, W) float in [0, 1] on the 8-bit grid, on the model's device.
        label: the class to leave, or None for the model's own answer on the clean square.
        name: a key of :data:`ATTACKS`.
        budget: whole number of 1/255, 0 to 255; 0 delivers the same pixels (cw_l2 has no budget).
        steps: for iterative attacks, at least 1; the others take their own number.
        seed: fixes the random start; the same on every device.
        target: the class to reach instead of merely leaving the label.
        roundtrip: ``round`` or ``truncate`` (may leave the ball by one level; ``linf`` says so).
        sight: what the attacker looks through; ``eot`` and ``defence`` need one, ``autoattack`` with
            one is its version ``rand``.

    Raises:
        SettingError: before the first step, naming what is allowed and what came.
    """
    if pixels.ndim != 3 or pixels.shape[0] != 3 or not pixels.is_floating_point():
        raise ValueError(f"pixels are (3, H, W) float in [0, 1]; got {tuple(pixels.shape)}")
    row, wish = _wish(
        logits, pixels[None], [label], name, budget, steps, [seed], [target], roundtrip, sight
    )
    return _attack(logits, pixels, row, wish, target)


def attack_together(
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
) -> list[AttackTrace]:
    """The same for B squares (B, 3, H, W) as one batch, each with its own label, seed and target; what :func:`attack`
    makes of each, up to rounding. ``seconds`` is each one's share. Not for attacks that look through crops
    or the defence."""
    aims: Sequence[int | None] = [None] * len(pixels) if targets is None else targets
    row, wish = _wish(logits, pixels, labels, name, budget, steps, seeds, aims, roundtrip, None)
    started = time.perf_counter()
    climb = row.climb(logits, pixels, wish)
    while True:
        try:
            next(climb)
        except StopIteration as done:
            seconds = (time.perf_counter() - started) / len(pixels)
            return [
                _trace(done.value, b, row, wish.budget, aims[b], seconds)
                for b in range(len(pixels))
            ]


def _wish(
    logits: Logits,
    pixels: Tensor,
    labels: Sequence[int | None],
    name: str,
    budget: int,
    steps: int,
    seeds: Sequence[int],
    targets: Sequence[int | None],
    roundtrip: str,
    sight: Sight | None,
) -> tuple[Attack, Wish]:
    """A row of the table, and a checked wish for B squares."""
    row = attack_row(name)
    _check(row, budget, steps, targets[0], roundtrip)
    if row.through in ("crops", "defence") and sight is None:
        raise ValueError(f"the attack {name!r} looks through something: give it a sight")
    if row.through == "diversity":
        sight = diverse(logits)

    def each(values: Sequence[int | None]) -> Tensor | None:
        if all(value is None for value in values):
            return None
        return torch.tensor(values, device=pixels.device)  # all or none: None is no number

    return row, Wish(
        budget=budget if row.bounded else 0,
        steps=row.steps(steps),
        seeds=list(seeds),
        label=each(labels),
        target=each(targets),
        roundtrip=roundtrip,
        sight=sight,
    )


def _attack(
    logits: Logits, pixels: Tensor, row: Attack, wish: Wish, target: int | None
) -> Generator[Progress, None, AttackTrace]:
    started = time.perf_counter()
    climb = row.climb(logits, pixels[None], wish)
    while True:
        try:
            at = next(climb)
        except StopIteration as done:
            seconds = time.perf_counter() - started
            return _trace(done.value, 0, row, wish.budget, target, seconds)
        yield Progress(
            at.step, at.steps, float(at.loss), at.probability[0], at.frame[0].permute(1, 2, 0)
        )


def _trace(
    ascent: Ascent, b: int, row: Attack, budget: int, target: int | None, seconds: float
) -> AttackTrace:
    """The record of picture ``b`` of a batch: norms and verdict of the delivered 8-bit square."""
    frames = ascent.frames[:, b].permute(0, 2, 3, 1).contiguous()
    moved = frames[-1].float() - frames[0].float()
    label = int(ascent.label[b])
    before, after = (int(ascent.probability[i, b].argmax()) for i in (0, -1))
    reached = after == target if target is not None else after != label
    return AttackTrace(
        name=row.name,
        pixels=frames[-1],
        frames=frames,
        loss=ascent.loss[:, b],
        probability=ascent.probability[:, b],
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
            raise SettingError(
                f"{name} is a whole number{unit} from {low} to {high}; got {str(value)[:60]}."
            )
    if roundtrip not in ("round", "truncate"):
        raise SettingError(f"roundtrip is round or truncate; got {str(roundtrip)[:60]!r}.")
    if target is not None and not row.targetable:
        raise SettingError(
            f"The attack {row.name!r} cannot be aimed at a class.",
            f"Leave the target out, or choose {', '.join(n for n, r in ATTACKS.items() if r.targetable)}.",
        )
