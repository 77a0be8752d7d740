"""Weights from the model hub: fetched by the hub's own client, with progress, a way to stop, and the checksum compared.

The client resumes a connection that breaks, several times. A download that is stopped or given up, or whose process ends,
starts anew: the client has no option that goes on with the part that is there (its files ``*.incomplete`` have a new name each
time). What is running can be read and stopped from other threads, by the model's name. Importing this module loads no hub
client."""

import errno
import hashlib
import re
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from rita_demo.process.time_left import LONGER, TimeLeft
from rita_demo.records.errors import BackboneError

STOP_HINT = "Choose it again to start anew, or use the embedded model."
RETRY_HINT = (
    "Try again, name a local file as ARCHITECTURE:path/to/file, or use the embedded model, which needs no download."
)
SHA256 = re.compile("[0-9a-f]{64}")  # how the hub names a large file


@dataclass(frozen=True)
class HubProgress:
    """``done`` of ``total`` bytes (0 while unknown) of a model after ``seconds``."""

    model: str
    done: int
    total: int
    seconds: float
    time_left: TimeLeft = field(default_factory=TimeLeft, compare=False)  # of the download

    @property
    def share(self) -> float:
        """0 to 1."""
        return self.done / self.total if self.total else 0.0

    @property
    def sentence(self) -> str:
        """Megabytes, share and time left."""
        size = f"{self.done / 1e6:.0f}" + (f" of {self.total / 1e6:.0f} MB ({self.share:.0%})" if self.total else " MB")
        left = ""
        if self.total and self.done and self.seconds > 1:
            rest = self.time_left.limit(self.seconds * (self.total - self.done) / self.done)
            said = LONGER if rest is None else f"{timedelta(seconds=rest)} left"
            left = f", {self.done / 1e6 / self.seconds:.1f} MB per second, {said}"
        return f"Downloading {self.model}: {size}{left}"


class Stopped(BackboneError):
    """The download was stopped by a person."""


class _Download:
    """One download that runs: its progress, and whether it is to stop."""

    def __init__(self, model: str) -> None:
        self.model, self.stop, self.time_left = model, threading.Event(), TimeLeft()
        self.progress = HubProgress(model, 0, 0, 0.0)


#: Called with every progress, in the thread that downloads: what a terminal shows.
LISTENERS: list[Callable[[HubProgress], object]] = []
_running: dict[str, _Download] = {}


def progress_of(model: str) -> HubProgress | None:
    """How far the download of a model is; None: none is running."""
    running = _running.get(model)
    return running.progress if running is not None else None


def stop(model: str) -> None:
    """Stop the download of a model, if one is running: at its next chunk it raises :class:`Stopped`."""
    if running := _running.get(model):
        running.stop.set()


def fetch(repository: str, names: tuple[str, ...], model: str) -> Path:
    """The first file of ``names`` that the hub's repository has, from the hub's cache or downloaded into it.

    Raises:
        Stopped: by :func:`stop`. BackboneError: no connection, one that breaks for good, no room, an answer that is not
            the hub's, a file that is not what the hub says.
    """
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError

    # What raises while the client's other protocol, Xet, loads a file is printed and does not stop it. The variable of this name
    # is too late where the client was imported before, as transformers does.
    constants.HF_HUB_DISABLE_XET = True
    warnings.filterwarnings("ignore", "Not enough free disk space")  # _check_room says it in a sentence
    running = _running[model] = _Download(model)
    try:
        for name in names:
            try:
                path = hf_hub_download(repository, name, tqdm_class=_bar(running))
            except EntryNotFoundError as error:
                if type(error).__name__ == "LocalEntryNotFoundError":  # no connection, or no hub
                    raise
            else:
                return _checked(Path(path), running)
        raise BackboneError(f"The hub has no weights of {model} in {repository}.", RETRY_HINT)
    except BackboneError:
        raise
    except Exception as error:  # of the hub's client, of the connection, of the disk
        raise _as_sentence(error, running) from error
    finally:
        del _running[model]


def _bar(running: _Download) -> Any:
    """A class with the part of tqdm's interface that the hub's client uses."""

    class Bar:
        def __init__(self, *_: Any, total: int | None = None, initial: int = 0, **__: Any) -> None:
            self.total, self.n = total or 0, initial
            _check_room(running.model, self.total - initial)

        def update(self, more: float = 1) -> None:
            if running.stop.is_set():
                raise Stopped(f"The download of {running.model} was stopped.", STOP_HINT)
            self.n += int(more)
            at = HubProgress(running.model, self.n, self.total, running.time_left.elapsed, running.time_left)
            running.progress = at
            for listener in LISTENERS:
                listener(at)

        def close(self) -> None: ...

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None: ...

    return Bar


def _check_room(model: str, needed: int) -> None:
    """Raises BackboneError: the disk of the hub's cache has less free than ``needed`` bytes."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE)
    free = shutil.disk_usage(next(place for place in (folder, *folder.parents) if place.is_dir())).free
    if free < needed:
        raise _no_room(model, f"{needed / 1e6:.0f} MB are needed and {free / 1e6:.0f} MB are free")


def _no_room(model: str, how: str) -> BackboneError:
    return BackboneError(
        f"The weights of {model} do not fit on the disk of the model cache: {how}.",
        "Make room, or name a folder on another disk in HF_HOME, and try again.",
    )


def _checked(path: Path, running: _Download) -> Path:
    """The file, if something of it was downloaded now and its name in the cache is its checksum, compared. Raises
    BackboneError: the checksum is another one; the file is deleted."""
    blob = path.resolve()
    if running.progress.done and SHA256.fullmatch(blob.name):
        with blob.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != blob.name:
            blob.unlink()
            path.unlink(missing_ok=True)
            raise BackboneError(
                f"The weights of {running.model} that arrived are not those that the hub names: their checksum is "
                "another one. They were deleted.",
                "Try again; if it happens again, something between here and the hub changes files.",
            )
    return path


def _as_sentence(error: Exception, running: _Download) -> BackboneError:
    """What went wrong, from the errors of the hub's client, which wrap others."""
    model, causes = running.model, list(_chain(error))
    names = {type(one).__name__ for one in causes}
    if any(isinstance(one, OSError) and one.errno in (errno.ENOSPC, errno.EDQUOT) for one in causes):
        return _no_room(model, "it is full")
    if "FileMetadataError" in names:
        return BackboneError(
            f"The weights of {model} could not be downloaded: what answers in the hub's place is not a model hub, but "
            "perhaps the web page of a proxy or of a network that asks to log in.",
            "Open a web page in a browser here, set HTTPS_PROXY, or name a mirror in HF_ENDPOINT; then try again.",
        )
    if any("Consistency check failed" in str(one) for one in causes):
        return BackboneError(
            f"What arrived is not the file with the weights of {model}: it has another size. It may be the web page of a "
            "proxy. It was deleted.",
            RETRY_HINT,
        )
    if done := running.progress.done:
        return BackboneError(
            f"The connection broke after {done / 1e6:.0f} of {running.progress.total / 1e6:.0f} MB of {model}, and "
            "several attempts to go on failed.",
            RETRY_HINT,
        )
    if codes := [code for one in causes if (code := getattr(getattr(one, "response", None), "status_code", 0))]:
        return BackboneError(f"The hub answers {codes[0]} to the request for the weights of {model}.", RETRY_HINT)
    return BackboneError(
        f"The weights of {model} are not on this machine and could not be downloaded: the hub cannot be reached.",
        f"Connect to the internet. {RETRY_HINT}",
    )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
