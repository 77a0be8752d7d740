"""Run the attack of the settings on a batch of pictures, step by step."""

import time
from collections.abc import Generator, Sequence

import torch
from torch import Tensor

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.loop.gradient_loop import AttackBatch, AttackRequest, Logits, SampledLogits, loop_of
from rita_demo.attacks.loop.guest_checks import checked_loop
from rita_demo.attacks.registry import ATTACKS, get_attack
from rita_demo.records import AttackTrace
from rita_demo.records.errors import SettingError
from rita_demo.settings import Settings


def attack_steps(
    logits: Logits,
    pixels: Tensor,
    settings: Settings,
    labels: Sequence[int | None],
    seeds: Sequence[int],
    targets: Sequence[int | None] | None = None,
    sampled_logits: SampledLogits | None = None,
    names: Sequence[str] = (),
    second_logits: SampledLogits | None = None,
) -> Generator[tuple[int, int], None, list[AttackTrace]]:
    """Attack B squares: yields (steps done, steps) after every step, returns their traces. ``seconds`` is each one's share.

    Args:
        logits: (B, 3, H, W) in [0, 1] to (B, K), differentiable.
        pixels: (B, 3, H, W) float in [0, 1] on the 8-bit grid, on the model's device.
        settings: attack, budget (0 delivers the same pixels; cw_l2 has none), steps of an iterative attack, and
            adversarial_roundtrip (``truncate`` may leave the ball by one level; ``linf`` shows it).
        labels: the classes to leave; all None: the model's own answers on the clean squares.
        seeds: fix the random starts; the same on every device, alone and in a batch.
        targets: the classes to reach, instead of only leaving the label; all or none.
        sampled_logits: what the attacker differentiates; ``eot`` and ``defence`` need it, with it
            ``autoattack`` is its version ``rand``.
        names: of the K classes, for an attack that writes one.
        second_logits: what ``adaptive`` differentiates in every second restart, where the defence has two surrogates.

    Raises:
        SettingError: a value that is not allowed, before the first step.
        GuestError: an attack of a user's own file fails.
    """
    row, aims = get_attack(settings.attack), targets or [None] * len(pixels)
    if aims[0] is not None and not row.targetable:
        raise SettingError(
            f"The attack {row.name!r} cannot be aimed at a class.",
            f"Leave the target out, or choose {', '.join(n for n, r in ATTACKS.items() if r.targetable)}.",
        )
    if row.access in ("crops", "defence") and sampled_logits is None:
        raise ValueError(f"the attack {row.name!r} needs sampled_logits")

    def to_tensor(values: Sequence[int | None]) -> Tensor | None:
        return None if values[0] is None else torch.tensor(values, device=pixels.device)

    request = AttackRequest(
        budget=settings.budget if row.bounded else 0,
        steps=row.step_count(settings),
        seeds=list(seeds),
        label=to_tensor(labels),
        target=to_tensor(aims),
        roundtrip=settings.adversarial_roundtrip,
        sampled_logits=sampled_logits if row.transform is None else row.transform(logits),
        own=row.own_values(settings),
        names=names,
        second_logits=second_logits,
    )
    started = time.perf_counter()
    loop = loop_of(row)(logits, pixels, request)
    batch = yield from (checked_loop(row, loop, pixels, request) if row.guest else loop)
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
