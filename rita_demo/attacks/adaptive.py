"""The attacker who knows the defence: gradient ascent on the defence's own logits over fresh views.

APGD (Croce and Hein 2020) halves its step where the loss does not grow. Over fresh views the loss is noisy, which halves
it too early: momentum and a step size that falls from the budget to 1/32 of it are stronger (docs/results.md)."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial

from rita_demo.attacks import autoattack
from rita_demo.attacks.contract import KNOWS_MODEL, Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.gradient_loop import one_by_one
from rita_demo.attacks.loop.request import AttackBatch, AttackRequest, AttackSteps, Logits, SampledLogits
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records.run import AttackProgress
from rita_demo.settings import Settings
from rita_demo.settings.attack_name import EACH
from rita_demo.settings.setting import Setting

LAST_STEP_SIZE = 1 / 32  # of the budget; the first is the budget
DRAWS = 4  # fresh draws of views on which a finished restart is judged
RESTART, START, JUDGE = 10_000, 1_000_000, 2_000_000  # offsets of seeds: no draw is used for two purposes

Goal = Callable[[Tensor], Tensor]  # logits (B, K) -> (B,)


@dataclass(frozen=True)
class _Finished:
    """A finished restart and the judgement of its last picture: ``fools`` in every draw, ``margin`` (logits) and
    ``runner_up`` (1,), the best class beside the label, by the mean over the draws."""

    batch: AttackBatch
    fools: bool
    margin: float
    runner_up: Tensor


def adaptive(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop`` for one picture: restarts of sign ascent with momentum on ``request.sampled_logits``.

    Every step has fresh views and raises the mean over its samples: restart 0 of the margin, restart 1 of the margin of
    the runner-up of the restart before, restart 2 of DLR, then again from the first (towards a target: of the margin
    and of log p in turn). Where the defence has a second surrogate, odd restarts climb that. The last picture of a
    restart is judged on ``request.judge_logits``: as many views as the defence answers with, on seeds that no step
    drew. The restart with the highest mean margin there is delivered; there is no further one after a picture that
    fools the defence in every draw. ``loss`` is the margin in logits; ``frames`` are those of the delivered restart.
    With the setting ``search=square`` the defence is only queried; with ``apgd`` the package pyautoattack climbs the
    same function."""
    if request.params["search"] == "square":
        return (yield from autoattack.square(logits, pixels, request, request.params["queries"]))
    if request.params["search"] == "apgd":
        return (yield from autoattack.apgd(logits, pixels, request, request.steps))
    attacker = _Attacker(logits, pixels, request)
    restarts = request.params["restarts"] if request.budget else 1
    best = yield from attacker.restart(0, restarts)
    for number in range(1, restarts):
        if best.fools:
            break
        again = yield from attacker.restart(number, restarts, best.runner_up)
        best = max(best, again, key=lambda restart: (restart.fools, restart.margin))
    return best.batch


class _Attacker:
    """The attack on one square (1, 3, H, W)."""

    def __init__(self, logits: Logits, pixels: Tensor, request: AttackRequest) -> None:
        self.logits, self.request = logits, request
        self.clean, self.answer, self.leave, self.reach = gradient_loop.prepare(logits, pixels, request)

    def restart(
        self, number: int, restarts: int, runner_up: Tensor | None = None
    ) -> Generator[AttackProgress, None, _Finished]:
        """One restart; yields the steps of all. ``runner_up`` (1,): of the best one so far."""
        request, radius, steps = self.request, self.request.budget / 255, self.request.steps
        goal = self.goal(number, runner_up)
        if number or request.start is None:
            seed = gradient_loop.fresh_seed(request.seeds[0], START + number)
            at = components.start_uniform(self.clean, radius, [seed])
        else:
            at = request.start
        at = components.project_linf(at, self.clean, radius)
        state = None
        _, slope = self.measure(at, RESTART * number, goal)
        gradient = slope.flatten(1).norm(dim=1)
        frames, answers = [components.quantise(self.clean)], [self.answer]
        margins = [self.measure(self.clean, RESTART * number)[0]]
        for step in range(1, steps + 1):
            step_size = radius * LAST_STEP_SIZE ** ((step - 1) / max(steps - 1, 1))
            at, state = components.momentum_step(at, slope, step_size, state)
            at = components.project_linf(at, self.clean, radius)
            frames.append(components.quantise(at, request.roundtrip if request.budget else "round"))
            seen, wanted = (frames[-1].float() / 255, None) if step == steps else (at, goal)
            margin, slope = self.measure(seen, RESTART * number + step, wanted)
            margins.append(margin)
            answers.append(gradient_loop.answers_of(self.logits, seen))
            square = frames[-1][0].permute(1, 2, 0).cpu().numpy()
            yield number * steps + step, restarts * steps, float(margin[0]), square
        batch = gradient_loop.as_batch(frames, margins, answers, self.leave, gradient)
        return _Finished(batch, *self.judge(frames[-1].float() / 255))

    def goal(self, number: int, runner_up: Tensor | None) -> Goal:
        """What restart ``number`` raises: (logits (B, K)) -> (B,)."""
        if self.reach is not None:
            towards = (components.margin, components.cross_entropy)[number % 2]
            return partial(towards, label=self.leave, target=self.reach)
        kind, aim = ((components.margin, None), (components.margin, runner_up), (components.dlr, None))[number % 3]
        return partial(kind, label=self.leave, target=aim)

    def measure(self, at: Tensor, draw: int, goal: Goal | None = None) -> tuple[Tensor, Tensor]:
        """The mean margin over the samples of a draw (1,), and the gradient of the goal's mean (none without a goal)."""
        # The gradient is that of the surrogate of this restart, the measured margin always that of the defence.
        other = self.request.second_logits if goal is not None and draw // RESTART % 2 else None
        mean = gradient_loop.mean_over_samples
        answers, _, slope = gradient_loop.loss_and_gradient(
            self._model(other or self.request.sampled_logits, draw), at, mean(goal or self.margin), goal is not None
        )
        return mean(self.margin)(answers), slope

    def judge(self, at: Tensor) -> tuple[bool, float, Tensor]:
        """The judgement of a delivered picture, as the fields of :class:`_Finished`."""
        judged = self.request.judge_logits or self.request.sampled_logits
        draws = range(JUDGE, JUDGE + (DRAWS if judged else 1))
        each = torch.cat([gradient_loop.answers_of(self._model(judged, draw), at)[0] for draw in draws])  # (n, K)
        margins = torch.cat([self.margin(answer[None]) for answer in each])
        others = each.mean(0, keepdim=True).scatter(1, self.leave[:, None], -torch.inf)
        return bool((margins > 0).all()), float(margins.mean()), others.argmax(1)

    def margin(self, answer: Tensor) -> Tensor:
        """The margin (1,) of logits (1, K): above zero the attacker has what they want."""
        return components.margin(answer, self.leave, self.reach)

    def _model(self, sampled: SampledLogits | None, draw: int) -> Logits:
        """Logits (B, n, K) of the samples of a draw; without samples the model's own as one."""
        seeds = [gradient_loop.fresh_seed(self.request.seeds[0], draw)]
        return (lambda p: sampled(p, seeds)) if sampled else (lambda p: self.logits(p)[:, None])


def _details(settings: Settings) -> tuple[str, ...]:
    """How a restart is judged, and where the second one aims."""
    if getattr(settings, "adaptive.search") != "gradient":
        return ()
    views, restarts = settings.views, getattr(settings, "adaptive.restarts")
    aimed = " The second start is aimed at the runner-up of the first." if restarts > 1 else ""
    return (f"The last picture of a start is judged on {DRAWS} sets of {views} views that no step drew.{aimed}",)


AGAINST_HELP = (
    "The defence that the attacker knows. each: in a table, every defence is attacked by itself; elsewhere RITA."
)
STEPS_HELP = "How many steps the attacker who knows the defence takes."
RESTARTS_HELP = (
    "How often the attacker starts anew, with another loss, while the defence stands; the second start is aimed at "
    "the runner-up."
)
SEARCH_HELP = (
    "By the gradient of the defence; by APGD of the package pyautoattack on the same gradient, for comparison; or by "
    "queries alone (Square): better than the gradient only where the defence hides it."
)
ATTACK = Attack(
    name="adaptive",
    title="Against the defence (adaptive)",
    short_title="adaptive",
    menu_note="knows the defence, computes through it",
    sentence="Many steps of falling length against the defence itself on fresh crops, from several starts: the "
    "attacker knows everything but the random seed.",
    cites="Tramèr et al. 2020",
    url="https://arxiv.org/abs/2002.08347",
    victim="the defence itself, on its own answer",
    knows=(*KNOWS_MODEL, "how crops are drawn", "every setting of the defence", "the memory"),
    does_not_know=("the view seed",),
    caveat="AugMix is left out. An attacker with more steps or restarts may be stronger.",
    details=_details,
    loop=one_by_one(adaptive),
    iterative=True,
    steps_setting="adaptive.steps",
    progress="step {} of at most {}",
    loss_unit="logits",
    differentiates="defence",
    settings=(
        # the registry of defences sets the other choices
        Setting("against", "choice", EACH, "Known defence", AGAINST_HELP, choices=(EACH,)),
        Setting("steps", "int", 30, "Steps of a restart", STEPS_HELP, low=1, high=1000),
        Setting("restarts", "int", 2, "Restarts", RESTARTS_HELP, low=1, high=20),
        Setting("search", "choice", "gradient", "Search", SEARCH_HELP, choices=("gradient", "apgd", "square")),
        Setting("queries", "int", 1000, "Queries of Square", "How many.", low=1, high=20_000),
    ),
)
