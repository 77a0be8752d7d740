"""The loop of every gradient attack, with four components: start, goal, step, projection.

The attacker's iterate is a float picture that is never rounded in between (rounding inside the loop makes an attack
weaker); only the last iterate is rounded to 8 bit, as a file is. So ``loss`` and ``probability`` of steps 1..S-1 are
those of the float iterate, of step 0 those of the clean square, and of step S those of the delivered 8-bit pixels.
``frames`` are all 8-bit, for display.

An attacker may differentiate the model behind something random: resizes, crops, a whole defence. These
:data:`SampledLogits` give the gradient and ``loss``; ``probability`` stays the plain model's."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from rita_demo.attacks.contract import Attack
from rita_demo.attacks.loop import components
from rita_demo.attacks.loop.request import AttackBatch, AttackLoop, AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records.errors import SettingError

T = TypeVar("T")
Measured = tuple[Tensor, Tensor, Tensor]  # logits (B, K), goal (B,), and the goal's gradient (B, 3, H, W) or nothing


def loop_of(attack: Attack) -> AttackLoop:
    """The loop that runs an attack: its own, or :func:`gradient_attack` with its components."""
    return attack.loop or partial(gradient_attack, attack=attack)


def gradient_attack(logits: Logits, pixels: Tensor, request: AttackRequest, *, attack: Attack) -> AttackSteps:
    """Attack a batch by gradient; an :data:`AttackLoop` once ``attack`` is given. ``logits``: (B, 3, H, W) in [0, 1] to
    (B, K), differentiable; CLIP's are ``cos / tau``. ``attack``: names the components. Raises SettingError: a label or
    target that is not a class, or a target that is the label."""
    start, project = _chosen(attack.start, components.STARTS), _chosen(attack.project, components.PROJECTIONS)
    goal_of, step_from = _chosen(attack.goal, components.GOALS), _chosen(attack.step, components.STEPS)
    clean, answer, leave, reach = prepare(logits, pixels, request)
    radius, steps, sampled = request.budget / 255.0, request.steps, request.sampled_logits
    to_levels = partial(components.quantise, roundtrip=request.roundtrip if request.budget else "round")

    recorded = partial(_as_it_is, logits) if attack.plugin else recorder(logits)
    classes = [leave] if reach is None else [leave, reach]

    def goal(answer: Tensor) -> Tensor:
        return goal_of(answer, leave, reach)

    def measured(model: Logits, at: Tensor, leave: Tensor, reach: Tensor | None = None, *, gradient: bool) -> Measured:
        return loss_and_gradient(model, at, lambda answer: goal_of(answer, leave, reach), gradient)

    def evaluate(at: Tensor, step: int, gradient: bool) -> Measured:
        if sampled is None:
            key = goal_of, gradient, reach is None
            answer, loss, slope = recorded(key, partial(measured, gradient=gradient), at, *classes)
            return answer, loss, slope
        seeds = [fresh_seed(seed, step) for seed in request.seeds]
        _, loss, slope = loss_and_gradient(lambda p: sampled(p, seeds), at, mean_over_samples(goal), gradient)
        return answers_of(logits, at), loss, slope

    loss = goal(answer) if sampled is None else evaluate(clean, 0, False)[1]
    frames, losses, answers = [to_levels(clean)], [loss], [answer]
    iterate = project(start(clean, radius, request.seeds), clean, radius)
    gradient = evaluate(iterate, 0, True)[2] if attack.uses_gradient and steps else clean
    first = gradient.flatten(1).norm(dim=1) if attack.uses_gradient and steps else None
    take_step, state = components.with_state(step_from), None
    for step in range(1, steps + 1):
        iterate, state = take_step(iterate, gradient, attack.relative_step_size * radius, state)
        iterate = project(iterate, clean, radius)
        frames.append(to_levels(iterate))
        if step == steps:  # measured on the delivered pixels; their gradient is not needed
            answer, loss, _ = evaluate(frames[-1].float() / 255.0, step, False)
        else:
            answer, loss, gradient = evaluate(iterate, step, True)
        losses.append(loss)
        answers.append(answer)
        yield step, steps, float(loss[0])
    return as_batch(frames, losses, answers, leave, first)


def _chosen(part: str | T, table: Mapping[str, T]) -> T:
    return table[part] if isinstance(part, str) else part


def one_by_one(loop: AttackLoop) -> AttackLoop:
    """A loop for one picture as a loop for a batch: a picture's result does not depend on the others."""

    def for_batch(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
        batches = []
        for n, seed in enumerate(request.seeds):
            label, target = (None if rows is None else rows[n, None] for rows in (request.label, request.target))
            alone = replace(request, seeds=[seed], label=label, target=target)
            batches.append((yield from loop(logits, pixels[n, None], alone)))
        gradients = [batch.gradient for batch in batches if batch.gradient is not None]
        return AttackBatch(
            frames=torch.cat([batch.frames for batch in batches], 1),
            loss=torch.cat([batch.loss for batch in batches], 1),
            probability=torch.cat([batch.probability for batch in batches], 1),
            label=torch.cat([batch.label for batch in batches]),
            gradient=torch.cat(gradients) if gradients else None,
        )

    return for_batch


def as_batch(
    frames: list[Tensor], losses: list[Tensor], answers: list[Tensor], label: Tensor, gradient: Tensor | None = None
) -> AttackBatch:
    """The record of a finished loop from S+1 frames (B, 3, H, W), losses (B,) and logits (B, K)."""
    return AttackBatch(torch.stack(frames), torch.stack(losses), torch.stack(answers).softmax(dim=2), label, gradient)


def prepare(logits: Logits, pixels: Tensor, request: AttackRequest) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The first step of every loop: the clean squares exactly on the 8-bit grid, the model's logits (B, K) on them,
    the classes to leave and those to reach."""
    clean = components.quantise(pixels).float() / 255.0
    answer = answers_of(logits, clean)
    with torch.inference_mode(False):  # a clone is a normal tensor, whatever the caller's mode
        leave = (answer.argmax(dim=1) if request.label is None else request.label).clone()
        reach = None if request.target is None else request.target.clone()
    for name, rows in (("label", leave), ("target", reach)):
        if rows is not None and bool(((rows < 0) | (rows >= answer.shape[1])).any()):
            raise SettingError(f"The {name} is a class number from 0 to {answer.shape[1] - 1}; got {rows.tolist()}.")
    if reach is not None and bool((reach == leave).any()):
        raise SettingError(
            "The target must differ from the class the attack moves away from.", "Choose another target, or none."
        )
    return clean, answer, leave, reach


def answers_of(logits: Logits, pixels: Tensor) -> Tensor:
    """The model's logits (B, K) in float32, without a gradient."""

    def answer(model: Logits, pixels: Tensor) -> tuple[Tensor]:
        return (loss_and_gradient(model, pixels, lambda answer: answer[:, 0], False)[0],)

    return recorder(logits)("answers", answer, pixels)[0]


def recorder(logits: Logits) -> Callable[..., tuple[Tensor, ...]]:
    """``logits.recorded(key, step, *inputs)`` of a model that a GPU records; of any other one, ``step(logits, *inputs)``."""
    return getattr(logits, "recorded", partial(_as_it_is, logits))


def _as_it_is(
    logits: Logits, key: Hashable, step: Callable[..., tuple[Tensor, ...]], *inputs: Tensor
) -> tuple[Tensor, ...]:
    return step(logits, *inputs)


def loss_and_gradient(logits: Logits, pixels: Tensor, goal: Callable[[Tensor], Tensor], gradient: bool) -> Measured:
    """The logits in float32, the goal (B,), and its gradient w.r.t. the pixels (empty without ``gradient``).
    ``autograd.grad`` with respect to the pixels alone leaves ``.grad`` of the model's parameters untouched. The grad
    mode is set here and not in the generator, which would change it for its caller."""
    with torch.inference_mode(False), torch.set_grad_enabled(gradient):
        pixels = pixels.detach().clone().requires_grad_(gradient)
        answer = logits(pixels).float()
        loss = goal(answer)
        if not gradient:
            return answer.detach(), loss.detach(), torch.empty(0, dtype=torch.float32, device="cpu")
        # the sum keeps the pictures of a batch independent of each other
        (slope,) = torch.autograd.grad(loss.sum(), pixels)
    return answer.detach(), loss.detach(), slope


def mean_over_samples(goal: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The mean of a goal over samples: logits (B, n, K) to (B,) (expectation over transformation)."""
    return lambda answer: torch.stack([goal(sample) for sample in answer.unbind(1)]).mean(0)


def fresh_seed(seed: int, step: int) -> int:
    """The seed of one step's samples. Mixed, not counted up, so that it differs from the usual view seeds."""
    import numpy as np

    return int(np.random.SeedSequence([seed, step]).generate_state(1)[0])
