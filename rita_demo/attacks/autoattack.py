"""AutoAttack (Croce and Hein 2020) with its authors' package ``pyautoattack``, which is optional.

The package sets the parts, their order and their steps. This file adapts it: one picture at a time (so that the
result does not depend on the batch), the number of classes, random numbers apart from the caller's, and one long
call turned into a generator that reports progress and can be closed."""

import importlib
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any, TypeVar

from rita_demo.attacks.contract import STRONGER_CAVEAT, Attack
from rita_demo.attacks.loop import components, gradient_loop
from rita_demo.attacks.loop.gradient_loop import one_by_one
from rita_demo.attacks.loop.request import AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.settings.setting import Setting

T = TypeVar("T")
Y = TypeVar("Y")
MIN_CLASSES = 4  # the loss of APGD-T compares the four most probable classes
MAX_TARGETS = 9  # target classes of APGD-T and FAB-T, fewer where there are fewer classes
PAUSE_SECONDS = 0.2  # seconds between two reports of progress
#: Queries of the whole of AutoAttack when nothing succeeds, roughly: APGD 101 per run, FAB about 3 per
#: step, Square 5000; ``rand``: two APGD runs with 20 gradients per step. Used for progress only.
EXPECTED_QUERIES = {"standard": 5100 + 400 * MAX_TARGETS, "rand": 2 * 20 * 101}


def autoattack(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop`` for one picture with S = 1: it returns no steps in between.

    Version ``standard`` (APGD-CE, APGD-T, FAB-T, Square) on the model. With ``sampled_logits``: version ``rand``
    (APGD-CE, APGD-DLR, 20 gradients averaged) on their mean, with new samples at every query. Pictures that are already
    classified wrongly do not change, as the protocol says. The request's steps and target are not used. ``loss`` is the
    margin in logits. Progress counts queries. Raises SettingError: fewer than four classes. DemoError: the package is
    not installed."""
    version = "standard" if request.sampled_logits is None else "rand"
    return (yield from _run(logits, pixels, request, version, EXPECTED_QUERIES[version]))


def square(logits: Logits, pixels: Tensor, request: AttackRequest, queries: int) -> AttackSteps:
    """The part Square alone (Andriushchenko et al. 2020): ``queries`` queries of the model, no gradient."""
    return (yield from _run(logits, pixels, request, "custom", queries, ("square",)))


def apgd(logits: Logits, pixels: Tensor, request: AttackRequest, steps: int) -> AttackSteps:
    """The parts APGD-CE and APGD-DLR alone, ``steps`` of each: as many gradients as two restarts of ``adaptive``."""
    return (yield from _run(logits, pixels, request, "custom", 2 * steps, ("apgd-ce", "apgd-dlr")))


def _run(
    logits: Logits, pixels: Tensor, request: AttackRequest, version: str, queries: int, parts: tuple[str, ...] = ()
) -> AttackSteps:
    """The package's own protocol on one picture (1, 3, H, W)."""
    clean, answer, leave, _ = gradient_loop.prepare(logits, pixels, replace(request, target=None))
    seed, sampled, since = request.seeds[0], request.sampled_logits, time.perf_counter()
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
    count = 0

    def run_package(pause: Callable[[tuple[int, int]], None]) -> Tensor:
        def model(at: Tensor) -> Tensor:
            """The model, or with ``sampled_logits`` their mean, with new samples at every query."""
            nonlocal count, since
            count += 1
            if at.requires_grad:
                at.register_hook(_contiguous)
            if time.perf_counter() - since > PAUSE_SECONDS:
                pause((min(count, queries - 1), queries))
                since = time.perf_counter()
            if sampled is None:
                return logits(at).float().clone()  # the package writes into it
            seeds = [gradient_loop.fresh_seed(gradient_loop.fresh_seed(seed, count), row) for row in range(len(at))]
            return sampled(at, seeds).mean(1).float().clone()

        more = {"version": version, "seed": seed, "device": clean.device} | ({"attacks": list(parts)} if parts else {})
        attack = package.AutoAttack(model, norm="Linf", eps=request.budget / 255.0, **more)
        if parts:
            attack.square.n_queries, attack.apgd.n_iter = queries, queries // 2
        attack.apgd_targeted.n_target_classes = attack.fab.n_target_classes = min(MAX_TARGETS, answer.shape[1] - 1)
        attack.logger.disabled = True  # its advice is for the command line
        return attack.run_standard_evaluation(_contiguous(clean), leave, batch_size=1)[0]

    def goal(answer: Tensor) -> Tensor:
        return components.margin(answer, leave, None)

    if request.budget:  # the package divides by it
        delivered = components.quantise((yield from as_generator(run_package)), request.roundtrip)
    else:
        delivered = components.quantise(clean)
    after, loss, _ = gradient_loop.loss_and_gradient(logits, delivered.float() / 255.0, goal, False)
    yield queries, queries
    return gradient_loop.as_batch([components.quantise(clean), delivered], [goal(answer), loss], [answer, after], leave)


def _contiguous(gradient: Tensor) -> Tensor:
    """The package takes views of pictures and gradients; those of convolutions may lie channels last."""
    return gradient.contiguous()


class _Cancelled(BaseException):
    """Raised in a thread whose generator was closed. A BaseException, so that ``except Exception`` passes it on."""


def as_generator(work: Callable[[Callable[[Y], None]], T]) -> Generator[Y, None, T]:
    """Blocking code as a generator: each ``next`` runs ``work(pause)`` up to its next call of ``pause(yielded)``.

    The work has a thread of its own, which runs only during ``next``; a lock that the caller holds there is held no
    longer than that. Torch's global random numbers are the work's own during ``next`` and the caller's outside. Closing
    the generator ends the work at its next pause."""
    resume, paused = threading.Semaphore(0), threading.Semaphore(0)
    outcome: dict[str, Any] = {}

    def pause(yielded: Y) -> None:
        outcome["yielded"] = yielded
        paused.release()
        resume.acquire()
        if "closed" in outcome:
            raise _Cancelled

    def run_work() -> None:
        resume.acquire()
        try:
            if "closed" not in outcome:
                outcome["value"] = work(pause)
        except _Cancelled:
            pass
        except BaseException as error:  # raised again in the caller's thread
            outcome["error"] = error
        finally:
            paused.release()

    thread = threading.Thread(target=run_work, daemon=True)
    thread.start()
    own_state = torch.get_rng_state()
    try:
        while True:
            callers_state = torch.get_rng_state()
            torch.set_rng_state(own_state)
            resume.release()
            paused.acquire()
            own_state = torch.get_rng_state()
            torch.set_rng_state(callers_state)
            if "error" in outcome:
                raise outcome["error"]
            if "value" in outcome:
                return outcome["value"]
            yield outcome["yielded"]
    finally:
        outcome["closed"] = True
        resume.release()
        thread.join()


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
    progress="query {} of at most {}",
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
