"""AutoAttack (Croce and Hein 2020) through its authors' package ``pyautoattack``, which is optional.

The package decides everything: the parts, their order and steps. Here it is only made to fit: one
picture at a time (so that a picture's attack does not depend on its batch), the number of classes told to
it, its random numbers kept apart from everybody else's, and its one long call cut into stretches, so that
a visitor sees progress and can leave.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.autograd import Function

from rita_demo.attacks import holes
from rita_demo.attacks.ascent import (
    Ascent,
    Logits,
    Progress,
    Sight,
    Wish,
    begin,
    fresh_seed,
    measure,
)
from rita_demo.errors import DemoError, SettingError

T = TypeVar("T")
LEAST_CLASSES = 4  # the loss of APGD-T compares the four best answers
TARGETS = 9  # classes that APGD-T and FAB-T aim at, fewer where there are fewer classes
STRETCH = 0.2  # seconds between two chances to see progress and to stop
#: Queries of the whole of AutoAttack when nothing succeeds, roughly: APGD 101 per run, FAB about 3 per
#: step, Square 5000; ``rand``: two APGD runs with 20 gradients per step. Only progress needs them.
QUERIES = {"standard": 5100 + 400 * TARGETS, "rand": 2 * 20 * 101}


def autoattack(logits: Logits, pixels: Tensor, wish: Wish) -> Generator[Progress, None, Ascent]:
    """A :data:`rita_demo.attacks.ascent.Climb` with S = 1: it keeps no steps.

    Version ``standard`` (APGD-CE, APGD-T, FAB-T, Square) on the model; with a ``sight``, version ``rand``
    (APGD-CE, APGD-DLR, 20 gradients averaged) on the sight's mean logits, fresh at every query. Pictures
    that are already classified wrongly stay as they are, as the protocol has it. The wish's steps
    and target are not used. ``loss`` is the margin in logits. Progress counts queries.

    Raises:
        SettingError: fewer than four classes. DemoError: the package is not installed.
    """
    clean, answer, leave, _ = begin(logits, pixels, replace(wish, target=None))
    budget, seeds, sight = wish.budget, wish.seeds, wish.sight
    if answer.shape[1] < LEAST_CLASSES:
        raise SettingError(
            f"AutoAttack needs at least {LEAST_CLASSES} classes; got {answer.shape[1]}.",
            "Its loss compares the four best answers. Add classes or choose another attack.",
        )
    package = _package()
    version = "standard" if sight is None else "rand"
    classes, each = answer.shape[1], QUERIES[version]
    whole, frames, delivered = each * len(seeds), [holes.to_levels(clean)], []

    def goal(answer: Tensor) -> Tensor:
        return holes.margin(answer, leave, None)

    for number, seed in enumerate(seeds):
        own, true = clean[number, None], leave[number, None]
        queries = _Queries(logits if sight is None else _random_model(sight, seed))
        work = partial(_evaluate, package, queries, own, true, classes, budget, seed, version)
        with closing(in_stretches(work)) as stretches:
            while budget:  # the package divides by the budget
                try:
                    next(stretches)
                except StopIteration as end:
                    own = end.value
                    break
                done = each * number + min(queries.count, each - 1)
                yield Progress(done, whole, goal(answer), answer.softmax(1), frames[0])
        delivered.append(holes.to_levels(own, wish.roundtrip if budget else "round"))
    frames.append(torch.cat(delivered))
    after, loss, _ = measure(logits, frames[1].float() / 255.0, goal, False)
    yield Progress(whole, whole, loss, after.softmax(1), frames[1])
    answers = torch.stack([answer, after])
    return Ascent(torch.stack(frames), torch.stack([goal(answer), loss]), answers.softmax(2), leave)


def _evaluate(
    package: Any,
    model: _Queries,
    clean: Tensor,
    label: Tensor,
    classes: int,
    budget: int,
    seed: int,
    version: str,
    pause: Callable[[], None],
) -> Tensor:
    """The package's own protocol on one picture: (1, 3, H, W) in [0, 1]."""
    model.pause = pause
    attack = package.AutoAttack(
        model, norm="Linf", eps=budget / 255.0, version=version, seed=seed, device=clean.device
    )
    targets = min(TARGETS, classes - 1)
    attack.apgd_targeted.n_target_classes = attack.fab.n_target_classes = targets
    attack.logger.disabled = True  # its advice is for the command line
    found, _ = attack.run_standard_evaluation(clean, label, batch_size=1)
    return found


def _package() -> Any:
    try:
        return importlib.import_module("pyautoattack")
    except ImportError as error:
        raise DemoError(
            "AutoAttack needs the package pyautoattack, which is not installed.",
            "Install it (pip install pyautoattack==0.2.0), or choose another attack.",
        ) from error


def _random_model(sight: Sight, seed: int) -> Logits:
    """A sight as a random model: its samples' mean logits, new samples at every query."""
    count = iter(range(1, 1 << 62))

    def logits(pixels: Tensor) -> Tensor:
        query = next(count)
        seeds = [fresh_seed(fresh_seed(seed, query), row) for row in range(len(pixels))]
        return sight(pixels, seeds).mean(1)

    return logits


class _Queries:
    """A model that counts what it is asked, pauses now and then, and keeps its parameters' ``.grad``
    out of the package's ``backward``."""

    def __init__(self, logits: Logits) -> None:
        self.count = 0
        self.pause: Callable[[], None] = lambda: None
        self._logits, self._since = logits, time.perf_counter()

    def __call__(self, pixels: Tensor) -> Tensor:
        self.count += 1
        if time.perf_counter() - self._since > STRETCH:
            self.pause()
            self._since = time.perf_counter()
        if torch.is_grad_enabled() and pixels.requires_grad:
            return _ThroughPixels.apply(pixels, self._logits)
        with torch.no_grad():
            return self._logits(pixels).float().clone()  # the package writes into it


class _ThroughPixels(Function):
    """The model's logits with a gradient for the pixels and nothing else."""

    @staticmethod
    def forward(ctx: Any, pixels: Tensor, logits: Logits) -> Tensor:
        with torch.enable_grad():
            ctx.leaf = pixels.detach().requires_grad_()
            ctx.answer = logits(ctx.leaf).float()
        return ctx.answer.detach().clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        (slope,) = torch.autograd.grad(ctx.answer, ctx.leaf, upstream, retain_graph=True)
        return slope, None


class _Left(BaseException):
    """Thrown into work that nobody waits for any more; no ``except Exception`` swallows it."""


def in_stretches(work: Callable[[Callable[[], None]], T]) -> Generator[None, None, T]:
    """Blocking code as a generator: ``work(pause)`` runs up to its next ``pause()`` at every ``next``.

    It runs in a thread of its own, which moves only while somebody waits in ``next``: whoever holds a lock
    there holds it for the stretch and no longer. Torch's global random numbers are the work's own during
    a stretch and the caller's outside. Closing the generator ends the work at its pause.
    """
    turn, back = threading.Semaphore(0), threading.Semaphore(0)
    outcome: dict[str, Any] = {}

    def pause() -> None:
        back.release()
        turn.acquire()
        if "left" in outcome:
            raise _Left

    def body() -> None:
        turn.acquire()
        try:
            if "left" not in outcome:
                outcome["value"] = work(pause)
        except _Left:
            pass
        except BaseException as error:  # the waiting side raises it
            outcome["error"] = error
        finally:
            back.release()

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    numbers = torch.get_rng_state()
    try:
        while True:
            callers = torch.get_rng_state()
            torch.set_rng_state(numbers)
            turn.release()
            back.acquire()
            numbers = torch.get_rng_state()
            torch.set_rng_state(callers)
            if "error" in outcome:
                raise outcome["error"]
            if "value" in outcome:
                return outcome["value"]
            yield
    finally:
        outcome["left"] = True
        turn.release()
        thread.join()
