"""The executor ``ray``: pictures are measured by stateless tasks of a Ray cluster, and this process alone writes.

A task gets the cells, a few pictures and what is known of them, and gives rows and artifacts back. Ray does a task again
whose worker was lost. The model stays in a worker's process from task to task. The pictures of a stream follow one another:
its next task begins with the memory after the last one.
"""

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError, RayTaskError

from rita_demo.evaluation.artifacts import Artifacts
from rita_demo.evaluation.evaluate_picture import Group, PictureEvaluator
from rita_demo.evaluation.rows import Row
from rita_demo.process import environment as variables
from rita_demo.records.errors import BackboneError, DataError, DemoError

RETRIES = 2  # of a task whose worker was lost: a picture that needs more memory than there is ends the run
PICTURES = 4  # of a task
UPLOADED_PATHS = ("rita_demo", "assets")  # of this repository, to the nodes of a cluster
OBJECT_STORE_BYTES = 256 << 20  # of a cluster that is started here
SECONDS = 10.0  # until a cluster must have answered
ROOT = Path(__file__).resolve().parents[2]
#: A chain of parts of a group, of which each begins when the one before it is done, and the group's cells that it has.
Chain = tuple[Group, Group, Iterator[Group]]


def measure(backbone: str, weights: str, groups: Iterable[Group]) -> Iterator[tuple[Group, int, list[Row]]]:
    """Measure what the groups lack; yields each picture's place and rows as they come back. ``weights``: a hash of
    those of the model here. Raises DemoError: a cluster that cannot be reached, another model there, a picture that
    cannot be used."""
    with _cluster():
        gpus, cpus = (int(ray.cluster_resources().get(kind, 0)) for kind in ("GPU", "CPU"))
        environment = {"OMP_NUM_THREADS": "1"}  # so that workers do not compete
        if device := variables.value("RITA_DEVICE"):
            environment["RITA_DEVICE"] = device
        options = {"num_cpus": 1, "num_gpus": int(gpus > 0), "runtime_env": {"env_vars": environment}}
        task = ray.remote(measure_part).options(max_retries=RETRIES, **options)
        chains, running, devices = _chains(groups), dict[Any, Chain](), set[tuple[str, str]]()
        try:
            while True:
                for chain in islice(chains, max(0, 2 * (gpus or cpus or 1) - len(running))):
                    running[task.remote(backbone, weights, next(chain[2]))] = chain
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1)
                group, own, parts = chain = running.pop(ready[0])
                rows, added, caches, device = _answer(ready[0])
                devices.add(device)
                if len(devices) > 1:  # a run does not mix numbers of different devices
                    raise BackboneError(f"The cluster's workers compute on different devices: {sorted(devices)}.")
                group.artifacts.added |= added
                for state, cache in zip(own.states, caches, strict=True):
                    state.cache = cache
                if (part := next(parts, None)) is not None:
                    running[task.remote(backbone, weights, part)] = chain
                for index, measured in rows:
                    yield group, index, measured
        finally:
            for result in running:
                ray.cancel(result, force=True)


def _chains(groups: Iterable[Group]) -> Iterator[Chain]:
    """The work of all groups: a stream's pictures are one chain, others are each a chain of one part."""
    for group in groups:
        for in_stream in (True, False):
            own = replace(group, states=[state for state in group.states if (state.cache is not None) is in_stream])
            places = own.missing
            batches = [places[at : at + PICTURES] for at in range(0, len(places), PICTURES)]
            for chain in [batches] if in_stream and batches else [[some] for some in batches]:
                yield group, own, map(partial(_part, own), chain)


def _part(group: Group, places: list[int]) -> Group:
    """The same cells on a few pictures, with their files and what is known of them."""
    items = {at: group.stream[at].with_data() for at in places}
    kept = {place for each in group.places.values() for place in each.all()}
    known = Artifacts(None, group.artifacts.of_pictures(kept, items.values()))
    states = [replace(state, missing=state.missing.intersection(places), decided={}) for state in group.states]
    attacked = group.attacked.intersection(item.id for item in items.values())
    return replace(group, states=states, stream=items, attacked=attacked, artifacts=known)


@lru_cache(maxsize=1)
def _evaluator(backbone: str) -> PictureEvaluator:
    """The model of this worker's process."""
    from rita_demo.engine.engine import Engine  # loads torch

    return PictureEvaluator(Engine(backbone))


def measure_part(backbone: str, weights: str, part: Group) -> Any:
    """The task: the rows of each place, the new artifacts, the memories after them, and the device. Expected errors come
    back as values: Ray would try again."""
    try:
        evaluator = _evaluator(backbone)
        if evaluator.facts.weights != weights:
            return BackboneError("The cluster has other weights of this model.", "Give every node the same checkpoint.")
        rows, info = [(at, evaluator.measure(part, at)) for at in part.missing], evaluator.facts.info
        return rows, part.artifacts.added, [state.cache for state in part.states], (info.device, info.precision)
    except DemoError as error:
        return error


def _answer(result: Any) -> Any:
    try:
        answer = ray.get(result)
    except RayTaskError as error:  # an unexpected error: raised as it would be without Ray
        raise error.cause from error
    except RayError as error:
        raise DataError(
            f"{RETRIES + 1} workers ended while measuring the same pictures, perhaps for lack of memory.",
            "Stored results are kept; run the same command on larger machines or with --executor local.",
        ) from error
    if isinstance(answer, DemoError):
        raise answer
    return answer


@contextmanager
def _cluster() -> Iterator[None]:
    """The Ray of this process if it is initialised, else the cluster of RAY_ADDRESS, else one started here."""
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "address": "local"}
    if address := os.environ.get("RAY_ADDRESS"):
        host, _, port = address.removeprefix("ray://").rpartition(":")
        try:  # Ray itself waits for minutes where nothing answers
            if port.isdecimal():
                socket.create_connection((host.strip("[]"), int(port)), SECONDS).close()
        except (OSError, OverflowError) as error:
            message = f"No Ray cluster answers at {address[:100]}."
            raise DataError(message, "Correct RAY_ADDRESS, or unset it to start Ray on this machine.") from error
        excludes = [f"/{path.name}" for path in ROOT.iterdir() if path.name not in UPLOADED_PATHS]
        options |= {"address": address, "runtime_env": {"working_dir": str(ROOT), "excludes": excludes}}
    else:
        options |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        hint = "A cluster has this Ray's version, and its token is set here (RAY_AUTH_MODE, RAY_AUTH_TOKEN)."
        raise DataError(f"Ray does not start, or its cluster cannot be joined: {reason}.", hint) from error
    try:
        yield
    finally:
        ray.shutdown()
