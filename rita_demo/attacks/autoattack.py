"""AutoAttack (Croce and Hein 2020) with its authors' package ``pyautoattack``, which is optional.

The package sets the parts, their order and their steps. This file adapts it: one picture at a time (so that the result
does not depend on the batch), the number of classes, and random numbers apart from the caller's."""

import importlib
from dataclasses import replace

from rita_demo.attacks.contract import STRONGER_CAVEAT, Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.gradient_loop import one_by_one
from rita_demo.attacks.loop.request import AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.settings.setting import Setting

MIN_CLASSES = 4  # the loss of APGD-T compares the four most probable classes
MAX_TARGETS = 9  # target classes of APGD-T and FAB-T, fewer where there are fewer classes


def autoattack(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop`` for one picture with S = 1: it returns no steps in between.

    Version ``standard`` (APGD-CE, APGD-T, FAB-T, Square) on the model. With ``sampled_logits``: version ``rand``
    (APGD-CE, APGD-DLR, 20 gradients averaged) on their mean, with new samples at every query. Pictures that are already
    classified wrongly do not change, as the protocol says. The request's steps and target are not used. ``loss`` is the
    margin in logits. Raises SettingError: fewer than four classes. DemoError: the package is not installed."""
    return (yield from _run(logits, pixels, request, "standard" if request.sampled_logits is None else "rand"))


def square(logits: Logits, pixels: Tensor, request: AttackRequest, queries: int) -> AttackSteps:
    """The part Square alone (Andriushchenko et al. 2020): ``queries`` queries of the model, no gradient."""
    return (yield from _run(logits, pixels, request, "custom", ("square",), queries))


def apgd(logits: Logits, pixels: Tensor, request: AttackRequest, steps: int) -> AttackSteps:
    """The parts APGD-CE and APGD-DLR alone, ``steps`` of each: as many gradients as two restarts of ``adaptive``."""
    return (yield from _run(logits, pixels, request, "custom", ("apgd-ce", "apgd-dlr"), steps))


def _run(
    logits: Logits, pixels: Tensor, request: AttackRequest, version: str, parts: tuple[str, ...] = (), steps: int = 0
) -> AttackSteps:
    """The package's own protocol on one picture (1, 3, H, W). ``steps``: of each of the ``parts``, for version custom."""
    clean, answer, leave, _ = gradient_loop.prepare(logits, pixels, replace(request, target=None))
    sampled, queries = request.sampled_logits, 0
    if answer.shape[1] < MIN_CLASSES:
        raise SettingError(
            f"AutoAttack needs at least {MIN_CLASSES} classes; got {answer.shape[1]}.",
            "Its loss compares the four most probable classes. Add classes or choose another attack.",
        )
    try:
        package = importlib.import_module("pyautoattack")
    except ImportError as error:
        raise DemoError(
            "AutoAttack needs the package pyautoattack, which is not installed.",
            "Install it (pip install pyautoattack==0.2.0), or choose another attack.",
        ) from error

    def model(at: Tensor) -> Tensor:
        """The model, or with ``sampled_logits`` their mean, with new samples at every query."""
        nonlocal queries
        queries += 1
        if at.requires_grad:
            at.register_hook(torch.Tensor.contiguous)  # the package takes views; a convolution's may lie channels last
        if sampled is None:
            return logits(at).float().clone()  # the package writes into it
        seed = gradient_loop.fresh_seed(request.seeds[0], queries)
        return sampled(at, [gradient_loop.fresh_seed(seed, row) for row in range(len(at))]).mean(1).float().clone()

    def goal(answer: Tensor) -> Tensor:
        return components.margin(answer, leave, None)

    more = {"version": version, "seed": request.seeds[0], "device": clean.device}
    more |= {"attacks": list(parts)} if parts else {}
    attack = package.AutoAttack(model, norm="Linf", eps=request.budget / 255.0, **more)
    if steps:
        attack.square.n_queries = attack.apgd.n_iter = steps
    attack.apgd_targeted.n_target_classes = attack.fab.n_target_classes = min(MAX_TARGETS, answer.shape[1] - 1)
    attack.logger.disabled = True  # its advice is for the command line
    # A part begins at the clean picture and with the seed: one call for each gives what one for all gives. Not with samples,
    # which the number of the query draws.
    calls = [[part] for part in attack.attacks_to_run] if sampled is None else [attack.attacks_to_run]
    square, own_random_numbers = clean.contiguous(), [clean.device] if clean.is_cuda else []
    adversarial = square
    for done, attack.attacks_to_run in enumerate(
        calls if request.budget else [], 1
    ):  # the package divides by the budget
        with torch.inference_mode(False), torch.enable_grad(), torch.random.fork_rng(own_random_numbers):
            adversarial = attack.run_standard_evaluation(square, leave, batch_size=1)[0]
        yield done, len(calls)
        if not torch.equal(adversarial, square):  # it fooled the model
            break
    delivered = components.quantise(adversarial, request.roundtrip if request.budget else "round")
    after, loss, _ = gradient_loop.loss_and_gradient(logits, delivered.float() / 255.0, goal, False)
    return gradient_loop.as_batch([components.quantise(clean), delivered], [goal(answer), loss], [answer, after], leave)


VERSIONS = {
    "standard": "Version standard (APGD-CE, APGD-T, FAB-T, Square).",
    "rand": "Version rand (APGD-CE, APGD-DLR, 20 gradients averaged), against random crops.",
}
ATTACK = Attack(
    name="autoattack",
    title="Four attacks in turn (AutoAttack)",
    short_title="AutoAttack",
    menu_note="gradients and queries until CLIP falls",
    sentence="Three attacks that use the gradient and one that only queries the model, one after the other until "
    "one fools CLIP; nothing to tune. It may take minutes.",
    cites="Croce and Hein 2020",
    url="https://arxiv.org/abs/2003.01690",
    caveat="Pictures that CLIP already gets wrong do not change, as the protocol of AutoAttack says; they are "
    "counted as “already wrong”. " + STRONGER_CAVEAT,
    loop=one_by_one(autoattack),
    targetable=False,
    default_steps=100,
    loss_unit="logits",
    steps_note=" of each gradient attack",
    progress="part {} of at most {}",
    seconds=90,
    differentiates=lambda settings: "crops" if settings.autoattack == "rand" else "model",
    settings=(
        Setting(
            name="version",
            stored_name="autoattack",
            kind="choice",
            default="standard",
            label="Version of AutoAttack",
            help="Standard attacks CLIP as it is; rand attacks CLIP on random crops.",
            choices=("standard", "rand"),
        ),
    ),
    details=lambda settings: (VERSIONS[settings.autoattack],),
)
