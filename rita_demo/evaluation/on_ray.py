"""The executor ``ray``: pieces are done by workers of a Ray cluster, this process alone reads and writes the run.

A worker is a process with one loaded model, one CPU (and one GPU, where the cluster has any) and one
thread, so that many do not wait for each other. Pictures travel to it and results back; it needs no disk
in common with anybody. When one is lost, its piece is given to another and a new worker is asked for.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from rita_demo import environment as variables
from rita_demo.engine import Engine
from rita_demo.errors import BackboneError, DataError, DemoError
from rita_demo.evaluation.answering import Answering, Facts
from rita_demo.evaluation.collection import Collection
from rita_demo.evaluation.executor import Say
from rita_demo.evaluation.groups import RunFolder, tasks_of
from rita_demo.evaluation.pieces import Piece, Result, do
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.schedule import Schedule

TRIES = 3  # workers that one piece may cost: a picture that needs more memory than there is ends the run
SHIPPED = ("rita_demo", "assets")  # of this repository, to the nodes of a cluster
OBJECTS = 256 << 20  # bytes of memory for what is under way, in a cluster started here
PATIENCE = 10.0  # seconds until a cluster must have answered
ROOT = Path(__file__).resolve().parents[2]


def measure(request: Request, collections: Mapping[str, Collection], say: Say) -> int:
    """An :data:`rita_demo.evaluation.executor.Executor`."""
    with _cluster(), _heeding() as heed:
        tasks = tasks_of(request)
        pictures = sum(len(collections[task.dataset].entries) for task in tasks)
        crew = _Crew(request.backbone, pictures, say, heed)
        try:
            run = RunFolder(request, collections, crew.facts())
            return crew.work(Schedule(chain.from_iterable(run.groups(task) for task in tasks)))
        finally:
            crew.dismiss()


class Worker:
    """A loaded model in a process of its own. Errors a person can put right come back as values."""

    def load(self, backbone: str) -> Facts | DemoError:
        """Load the model; what it is."""
        try:
            self._model = Answering(Engine(backbone))
        except DemoError as error:
            return error
        return self._model.facts

    def do(self, piece: Piece) -> Result | DemoError:
        """See :func:`rita_demo.evaluation.pieces.do`."""
        try:
            return do(self._model, piece)
        except DemoError as error:
            return error


def remote_worker(kind: type, *, gpu: bool) -> Any:
    """The class as a Ray actor on one CPU, one thread, and one GPU or none."""
    environment = {"OMP_NUM_THREADS": "1"}  # Ray's own choice gives way to a shell's
    if device := variables.value("RITA_DEVICE"):
        environment["RITA_DEVICE"] = device
    return ray.remote(kind).options(
        num_cpus=1, num_gpus=int(gpu), runtime_env={"env_vars": environment}
    )


class _Crew:
    """As many workers as the cluster has room for, and what each of them is doing."""

    def __init__(self, backbone: str, most: int, say: Say, heed: Callable[[], None]) -> None:
        there = ray.cluster_resources()
        unit = "GPU" if there.get("GPU", 0) >= 1 else "CPU"
        self._worker = remote_worker(Worker, gpu=unit == "GPU")
        self._backbone, self._say, self._heed = backbone, say, heed
        self._busy: dict[Any, tuple[Any, Piece | None]] = {}  # None: loading
        self._idle: list[Any] = []
        self._lost: Counter[Any] = Counter()
        self._facts: Facts | None = None
        count = max(1, min(int(there.get(unit, 1)), most))
        say(f"Workers that load the model: {count}")
        for _ in range(count):
            self._hire()

    def facts(self) -> Facts:
        """What the first worker that is ready says of its model.

        Raises:
            DemoError: the model cannot be had there.
        """
        while self._facts is None:
            self._wait()
        return self._facts

    def work(self, schedule: Schedule) -> int:
        """Do all there is to do; the number of new rows.

        Raises:
            DemoError: a piece that cannot be done; the workers differ.
        """
        while True:
            while self._idle and (piece := schedule.next()) is not None:
                worker = self._idle.pop()
                self._busy[worker.do.remote(piece)] = (worker, piece)
            if self._idle and all(piece is None for _, piece in self._busy.values()):
                return schedule.new  # somebody has nothing to do, and nobody brings anything
            piece, result = self._wait()
            if piece is not None and result is not None:
                self._say(schedule.done(piece, result).sentence)
            elif piece is not None:
                schedule.again(piece)

    def dismiss(self) -> None:
        """End all workers."""
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            with suppress(RayError):  # the cluster may be what was lost
                ray.kill(worker)

    def _hire(self) -> None:
        worker = self._worker.remote()
        self._busy[worker.load.remote(self._backbone)] = (worker, None)

    def _wait(self) -> tuple[Piece | None, Result | None]:
        """Until a worker is back, with a piece and its result; without the result where the worker was lost."""
        self._heed()
        (ref,), _ = ray.wait(list(self._busy), num_returns=1)
        worker, piece = self._busy.pop(ref)
        try:
            answer = ray.get(ref)
        except RayTaskError as error:  # a bug of ours: as it would be told without Ray
            raise error.cause from error
        except RayError:  # the process, its machine, or the result on its way
            self._lose(piece)
            return piece, None
        self._idle.append(worker)
        if isinstance(answer, DemoError):
            raise answer
        if isinstance(answer, Facts):
            self._check(answer)
            return None, None
        return piece, answer

    def _lose(self, piece: Piece | None) -> None:
        what = None if piece is None else (piece.home, piece.stops[0].index)
        self._lost[what] += 1
        if self._lost[what] == TRIES:
            doing = "loading the model" if piece is None else "measuring the same picture"
            raise DataError(
                f"{TRIES} workers ended while {doing}, perhaps for want of memory.",
                "What is measured is kept; the same command goes on, on larger machines or with --executor local.",
            )
        self._say("A worker was lost; what it did is done again")
        self._hire()

    def _check(self, facts: Facts) -> None:
        """Numbers of different models, or of different kinds of machine, are not mixed in one run."""
        self._facts = self._facts or facts
        self._lost.pop(None, None)  # only losses in a row count
        if facts != self._facts:
            one, other = (
                f"{f.info.name} ({f.weights[:8]}, {f.info.device}, {f.info.precision})"
                for f in (self._facts, facts)
            )
            raise BackboneError(
                f"The cluster's workers have different models: {one} and {other}.",
                "Give every node the same checkpoint and the same kind of device.",
            )


@contextmanager
def _heeding() -> Iterator[Callable[[], None]]:
    """What is given raises ``KeyboardInterrupt`` when somebody pressed Ctrl-C and a library lost that: Python raises it in
    whatever runs just then, and what is raised in a callback of Ray's goes nowhere."""
    pressed, before = list[int](), signal.getsignal(signal.SIGINT)

    def press(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if callable(before):
            before(number, frame)

    def heed() -> None:
        if pressed:
            raise KeyboardInterrupt

    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield heed  # somebody else's business
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield heed
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _cluster() -> Iterator[None]:
    """Ray as it is in this process already; else the cluster of RAY_ADDRESS; else one of this machine's own."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    how: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address := os.environ.get("RAY_ADDRESS"):
        _knock(address)
        left_out = [f"/{path.name}" for path in ROOT.iterdir() if path.name not in SHIPPED]
        code = {"working_dir": str(ROOT), "excludes": left_out}
        how |= {"address": address, "runtime_env": code}
    else:
        how |= {"address": "local", "include_dashboard": False, "object_store_memory": OBJECTS}
    try:
        ray.init(**how)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        said = str(error).strip().splitlines()[0][:200]
        if not address:
            raise DataError("Ray does not start here.", f"It says: {said}") from error
        raise DataError(
            f"The Ray cluster cannot be joined: {said}.",
            "It must have this Ray's version, and its token must be here (RAY_AUTH_MODE, RAY_AUTH_TOKEN).",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Ray itself waits for minutes where nobody answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise DataError(
            f"No Ray cluster answers at {address[:100]}.",
            "Correct RAY_ADDRESS, or unset it to start Ray on this machine.",
        ) from error
