"""The attacker who knows the defence: gradient ascent on the defence's own logits over fresh views.

APGD (Croce and Hein 2020) halves its step where the loss does not grow. Over fresh views the loss is noisy, which halves
it too early: momentum and a step size that falls from the budget to 1/32 of it are stronger (docs/results.md)."""

from collections.abc import Callable, Generator

from rita_demo.attacks import autoattack
from rita_demo.attacks.contract import KNOWS_MODEL, Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.gradient_loop import (
    AttackBatch,
    AttackProgress,
    AttackRequest,
    AttackSteps,
    Logits,
    one_by_one,
)
from rita_demo.process.lazy import Tensor
from rita_demo.settings import Settings
from rita_demo.settings.setting import Setting

AGAINST, EACH = "adaptive.against", "each"
MOMENTUM = 0.75
LAST_STEP_SIZE = 1 / 32  # of the budget; the first is the budget
DRAWS = 4  # fresh draws of views on which a finished restart is judged
RESTART, START, JUDGE = 10_000, 1_000_000, 2_000_000  # offsets of seeds: no draw is used for two purposes

#: Whether the delivered frame fools the model in every draw, and its mean margin there.
Strength = tuple[bool, float]


def adaptive(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop`` for one picture: restarts of sign ascent with momentum on ``request.sampled_logits``.

    Every step has fresh views and raises the mean over its samples: restart 0 of the margin, restart 1 of DLR (towards
    a target: of log p), restart 2 of the margin again. Where the defence has a second surrogate, odd restarts climb
    that, and the losses change after both. The restart with the highest mean margin on fresh draws of views is
    delivered; there is no further one after a picture that fools the model in every draw. ``loss`` is the margin in
    logits; ``frames`` are those of the delivered restart. With the setting ``search=square`` the defence is only
    queried; with ``apgd`` the package pyautoattack climbs the same function."""
    if request.own["search"] == "square":
        return (yield from autoattack.square(logits, pixels, request, request.own["queries"]))
    if request.own["search"] == "apgd":
        return (yield from autoattack.apgd(logits, pixels, request, request.steps))
    attacker = _Attacker(logits, pixels, request)
    restarts = request.own["restarts"] if request.budget else 1
    strength, best = yield from attacker.restart(0, restarts)
    for number in range(1, restarts):
        if strength[0]:
            break
        again = yield from attacker.restart(number, restarts)
        strength, best = max((strength, best), again, key=lambda found: found[0])
    return best


class _Attacker:
    """The attack on one square (1, 3, H, W)."""

    def __init__(self, logits: Logits, pixels: Tensor, request: AttackRequest) -> None:
        self.logits, self.request = logits, request
        self.clean, self.answer, self.leave, self.reach = gradient_loop.prepare(logits, pixels, request)

    def restart(self, number: int, restarts: int) -> Generator[AttackProgress, None, tuple[Strength, AttackBatch]]:
        """One restart; yields the steps of all."""
        request, radius, steps = self.request, self.request.budget / 255, self.request.steps
        second = components.dlr if self.reach is None else components.cross_entropy
        goal = (components.margin, second)[(number if request.second_logits is None else number // 2) % 2]
        at = components.start_uniform(self.clean, radius, [gradient_loop.fresh_seed(request.seeds[0], START + number)])
        at = components.project_linf(at, self.clean, radius)
        direction = self.clean.new_zeros(())
        _, slope = self.measure(at, RESTART * number, goal)
        gradient = slope.flatten(1).norm(dim=1)
        frames, answers = [components.quantise(self.clean)], [self.answer]
        margins = [self.measure(self.clean, RESTART * number)[0]]
        for step in range(1, steps + 1):
            direction = MOMENTUM * direction + slope / slope.abs().mean().clamp(min=1e-30)
            step_size = radius * LAST_STEP_SIZE ** ((step - 1) / max(steps - 1, 1))
            at = components.project_linf(at + step_size * direction.sign(), self.clean, radius)
            frames.append(components.quantise(at, request.roundtrip if request.budget else "round"))
            seen, wanted = (frames[-1].float() / 255, None) if step == steps else (at, goal)
            margin, slope = self.measure(seen, RESTART * number + step, wanted)
            margins.append(margin)
            answers.append(gradient_loop.answers_of(self.logits, seen))
            yield number * steps + step, restarts * steps, float(margin[0])
        draws = range(JUDGE, JUDGE + (DRAWS if request.sampled_logits else 1))
        judged = [float(self.measure(frames[-1].float() / 255, draw)[0]) for draw in draws]
        strength = min(judged) > 0, sum(judged) / len(judged)
        return strength, gradient_loop.as_batch(frames, margins, answers, self.leave, gradient)

    def measure(self, at: Tensor, draw: int, goal: Callable[..., Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The mean margin over the samples of a draw (1,), and the gradient of the goal's mean (none without a goal)."""
        # The gradient is that of the surrogate of this restart, the measured margin always that of the defence.
        other = self.request.second_logits if goal is not None and draw // RESTART % 2 else None

        def mean(goal: Callable[..., Tensor]) -> Callable[[Tensor], Tensor]:
            return gradient_loop.mean_over_samples(lambda answer: goal(answer, self.leave, self.reach))

        seeds, sampled = [gradient_loop.fresh_seed(self.request.seeds[0], draw)], other or self.request.sampled_logits
        model = (lambda p: sampled(p, seeds)) if sampled else (lambda p: self.logits(p)[:, None])
        answers, _, slope = gradient_loop.loss_and_gradient(
            model, at, mean(goal or components.margin), goal is not None
        )
        return mean(components.margin)(answers), slope


def attacked_defence(settings: Settings) -> str:
    """The name of the defence that the attacker knows; RITA where a table has not chosen one for every row."""
    name = getattr(settings, AGAINST)
    return "rita" if name == EACH else name


def parse_attack(text: str) -> dict[str, str]:
    """Settings of an attack as a terminal names it: ``pgd``, or ``adaptive:mta`` for the attacker who knows MTA."""
    name, _, against = text.partition(":")
    return {"attack": name, AGAINST: against} if name == ATTACK.name and against else {"attack": text}


def attack_text(settings: Settings) -> str:
    """The attack as a terminal names it; the inverse of :func:`parse_attack`."""
    against = getattr(settings, AGAINST)
    return f"{settings.attack}:{against}" if settings.attack == ATTACK.name and against != EACH else settings.attack


ATTACK = Attack(
    name="adaptive",
    title="Against the defence (adaptive)",
    short_title="adaptive",
    sentence="Many steps of falling length against the defence itself on fresh crops, from several starts: the "
    "attacker knows everything but the random seed.",
    cites="Tramèr et al. 2020",
    url="https://arxiv.org/abs/2002.08347",
    victim="the defence itself, on its own answer",
    knows=(*KNOWS_MODEL, "how crops are drawn", "every setting of the defence", "the memory"),
    does_not_know=("the view seed",),
    caveat="AugMix is left out. An attacker with more steps or restarts may be stronger.",
    loop=one_by_one(adaptive),
    iterative=True,
    steps_setting="adaptive.steps",
    progress="step {} of at most {}",
    loss_unit="logits",
    access="defence",
    settings=(
        Setting(
            "against",
            "choice",
            EACH,
            "Known defence",
            "The defence that the attacker knows. each: in a table, every defence is attacked by itself; elsewhere RITA.",
            choices=(EACH,),  # the registry of defences sets the others
        ),
        Setting(
            "steps",
            "int",
            30,
            "Steps of a restart",
            "How many steps the attacker who knows the defence takes.",
            low=1,
            high=1000,
        ),
        Setting(
            "restarts",
            "int",
            2,
            "Restarts",
            "How often the attacker starts anew, with another loss, while the defence stands.",
            low=1,
            high=20,
        ),
        Setting(
            "search",
            "choice",
            "gradient",
            "Search",
            "By the gradient of the defence; by APGD of the package pyautoattack on the same gradient, for comparison; or by "
            "queries alone (Square): better than the gradient only where the defence hides it.",
            choices=("gradient", "apgd", "square"),
        ),
        Setting("queries", "int", 1000, "Queries of Square", "How many.", low=1, high=20_000),
    ),
)
