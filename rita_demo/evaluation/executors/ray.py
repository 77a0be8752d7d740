"""The executor ``ray``: workers of a Ray cluster execute work units, this process alone reads and writes the run.

A worker is a process with one loaded model, one CPU (and one GPU, where the cluster has any) and one thread, so that
workers do not compete. Pictures travel to it and results back; no shared disk is needed. When a worker is lost, its
unit goes to another one and a new worker is started.
"""

import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator, WorkUnit
from rita_demo.evaluation.executors.scheduler import Scheduler
from rita_demo.evaluation.pictures import PictureSet
from rita_demo.evaluation.planned_cells import ModelFacts
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.store.run_folder import RunFolder
from rita_demo.process import environment as variables
from rita_demo.records.errors import BackboneError, DataError, DemoError

MAX_WORKER_LOSSES = 3  # per work unit: a picture that needs more memory than there is ends the run
UPLOADED_PATHS = ("rita_demo", "assets")  # of this repository, to the nodes of a cluster
OBJECT_STORE_BYTES = 256 << 20  # of a cluster that is started here
CONNECT_TIMEOUT = 10.0  # seconds until a cluster must have answered
POLL_SECONDS = 0.2  # between two checks for Ctrl-C
ROOT = Path(__file__).resolve().parents[3]
Loaded = tuple[ModelFacts, list[str]]  # and a sentence on each dataset's class names, "" where there is nothing to say


def measure(
    request: Request, picture_sets: Mapping[str, PictureSet], report: Callable[[str], None], warn: Callable[[str], None]
) -> tuple[int, RunFolder]:
    """Measure what a run folder lacks, which the caller has locked; returns the number of new rows and the folder."""
    with _cluster(), _raise_on_ctrl_c() as check_ctrl_c:
        pool = _WorkerPool(request, picture_sets, report, check_ctrl_c)
        try:
            facts, warnings = pool.model()
            for sentence in warnings:
                warn(sentence)
            run = RunFolder(request, picture_sets, facts)
            return pool.run(Scheduler(run.all_groups())), run
        finally:
            pool.stop()


class Worker:
    """A loaded model in its own process. Expected errors are returned as values."""

    def load(self, backbone: str, datasets: Sequence[PictureSet]) -> Loaded | DemoError:
        """Load the model, describe it, and say which class names of the datasets it cannot tell apart."""
        from rita_demo.engine.engine import Engine  # loads torch

        try:
            self._model = PictureEvaluator(Engine(backbone))
        except DemoError as error:
            return error
        return self._model.facts, [self._model.names_warning(pictures) for pictures in datasets]

    def execute(self, unit: WorkUnit) -> WorkUnit | DemoError:
        """See :meth:`PictureEvaluator.execute`."""
        try:
            return self._model.execute(unit)
        except DemoError as error:
            return error


def remote_worker(kind: type, *, gpu: bool) -> Any:
    """The class as a Ray actor on one CPU, one thread, and one GPU or none."""
    environment = {"OMP_NUM_THREADS": "1"}  # a value of the shell would override Ray's own
    if device := variables.value("RITA_DEVICE"):
        environment["RITA_DEVICE"] = device
    return ray.remote(kind).options(num_cpus=1, num_gpus=int(gpu), runtime_env={"env_vars": environment})


class _WorkerPool:
    """As many workers as the cluster has room for, at most one per picture. ``ray.util.ActorPool`` does not say which
    unit is lost with a worker, and holds on to the worker."""

    def __init__(
        self,
        request: Request,
        picture_sets: Mapping[str, PictureSet],
        report: Callable[[str], None],
        check_ctrl_c: Callable[[], None],
    ) -> None:
        resources = ray.cluster_resources()
        unit = "GPU" if resources.get("GPU", 0) >= 1 else "CPU"
        self._worker_class = remote_worker(Worker, gpu=unit == "GPU")
        self._to_load = request.backbone, [replace(pictures, items=()) for pictures in picture_sets.values()]
        self._report, self._check_ctrl_c = report, check_ctrl_c
        self._busy: dict[Any, tuple[Any, WorkUnit | None]] = {}  # result -> worker, unit; None: loading the model
        self._idle: list[Any] = []
        self._losses: Counter[Any] = Counter()
        self._loaded: Loaded | None = None
        pictures = sum(len(picture_sets[name].items) for name, _ in request.runs)
        count = max(1, min(int(resources.get(unit, 1)), pictures))
        report(f"Workers that load the model: {count}")
        for _ in range(count):
            self._add_worker()

    def model(self) -> Loaded:
        """What the first worker says that has loaded the model.

        Raises:
            DemoError: the model cannot be loaded there.
        """
        while self._loaded is None:
            self._next_result()
        return self._loaded

    def run(self, scheduler: Scheduler) -> int:
        """Execute all units; returns the number of new rows.

        Raises:
            DemoError: a unit fails, or the workers have different models.
        """
        while True:
            while self._idle and (unit := scheduler.next_unit()) is not None:
                worker = self._idle.pop()
                self._busy[worker.execute.remote(unit)] = (worker, unit)
            if self._idle and all(unit is None for _, unit in self._busy.values()):
                return scheduler.new_rows  # a worker is idle, and no result is expected
            unit, result = self._next_result()
            if unit is not None and result is not None:
                step = scheduler.complete(unit, result)
                self._report(f"{step.pace}; {step.sentence}")
            elif unit is not None:
                scheduler.requeue(unit)

    def stop(self) -> None:
        """End all workers."""
        for worker in [*self._idle, *(worker for worker, _ in self._busy.values())]:
            with suppress(RayError):  # the cluster may be lost
                ray.kill(worker)

    def _add_worker(self) -> None:
        worker = self._worker_class.remote()
        self._busy[worker.load.remote(*self._to_load)] = (worker, None)

    def _next_result(self) -> tuple[WorkUnit | None, Any]:
        """Wait for a worker; its unit (None: it was loading the model) and the result, None where the worker was lost."""
        ready: list[Any] = []
        while not ready:
            self._check_ctrl_c()
            ready, _ = ray.wait(list(self._busy), num_returns=1, timeout=POLL_SECONDS)
        worker, unit = self._busy.pop(ready[0])
        try:
            answer = ray.get(ready[0])
        except RayTaskError as error:  # an unexpected error: raised as it would be without Ray
            raise error.cause from error
        except RayError:  # the process, its machine, or the result was lost
            self._replace_worker(unit)
            return unit, None
        self._idle.append(worker)
        if isinstance(answer, DemoError):
            raise answer
        if unit is None:
            self._loaded = self._loaded or answer
            self._losses.pop(None, None)  # only consecutive losses count
            _check_same_model(self._loaded[0], answer[0])
        return unit, answer

    def _replace_worker(self, unit: WorkUnit | None) -> None:
        what = None if unit is None else (unit.group, unit.in_stream, min(unit.requests))
        self._losses[what] += 1
        if self._losses[what] == MAX_WORKER_LOSSES:
            doing = "loading the model" if unit is None else "measuring the same picture"
            raise DataError(
                f"{MAX_WORKER_LOSSES} workers ended while {doing}, perhaps for lack of memory.",
                "Stored results are kept; run the same command on larger machines or with --executor local.",
            )
        self._report("A worker was lost; its work is done again")
        self._add_worker()


def _check_same_model(*workers: ModelFacts) -> None:
    """A run must not mix numbers of different models or devices."""
    if workers[0] != workers[1]:
        one, other = (f"{f.info.name} ({f.weights[:8]}, {f.info.device}, {f.info.precision})" for f in workers)
        raise BackboneError(
            f"The cluster's workers have different models: {one} and {other}.",
            "Give every node the same checkpoint and the same kind of device.",
        )


@contextmanager
def _raise_on_ctrl_c() -> Iterator[Callable[[], None]]:
    """Yields a function that raises ``KeyboardInterrupt`` after Ctrl-C. Python's own exception would be raised in
    whatever runs at that moment, and Ray's callbacks swallow it. A second Ctrl-C raises at once."""
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield check
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _cluster() -> Iterator[None]:
    """The Ray of this process if it is initialised, else the cluster of RAY_ADDRESS, else one started here."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    if address := os.environ.get("RAY_ADDRESS"):
        _check_reachable(address)
        excludes = [f"/{path.name}" for path in ROOT.iterdir() if path.name not in UPLOADED_PATHS]
        options |= {"address": address, "runtime_env": {"working_dir": str(ROOT), "excludes": excludes}}
    else:
        options |= {"address": "local", "include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        if not address:
            raise DataError("Ray does not start here.", f"Ray's message: {reason}") from error
        raise DataError(
            f"The Ray cluster cannot be joined: {reason}.",
            "It must have this Ray's version, and its token must be set here (RAY_AUTH_MODE, RAY_AUTH_TOKEN).",
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself waits for minutes where nothing answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_TIMEOUT).close()
    except (OSError, OverflowError) as error:
        raise DataError(
            f"No Ray cluster answers at {address[:100]}.",
            "Correct RAY_ADDRESS, or unset it to start Ray on this machine.",
        ) from error
