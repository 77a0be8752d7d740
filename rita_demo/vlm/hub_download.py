"""Weights from the model hub: the hub's own client fetches and shows them; here are what a page reads of a download, a way
to stop one, the checksum, and one sentence for what goes wrong.

The client resumes a connection that breaks, several times; a download that is stopped or given up starts anew. Importing
this module loads no hub client."""

import errno
import hashlib
import re
from pathlib import Path
from typing import Any

from rita_demo.records.errors import BackboneError

_EMBEDDED = "use the embedded model, which needs no download"
RETRY_HINT = f"Try again, name a local file as ARCHITECTURE:path/to/file, or {_EMBEDDED}."
#: model -> bytes that are here, and all (0: not known), of what is fetched now
PROGRESS: dict[str, tuple[int, int]] = {}
STOPPED: set[str] = set()  # models whose download ends at its next chunk
_SHA256 = re.compile("[0-9a-f]{64}")  # how the hub's cache names a large file


class Stopped(BackboneError):
    """The download was stopped by a person."""


def fetch(repository: str, names: tuple[str, ...], model: str) -> Path:
    """The first file of ``names`` that the hub's repository has, from the hub's cache or downloaded into it. Raises
    Stopped: the model is among ``STOPPED``. BackboneError: no connection, one that breaks for good, no room, an answer
    that is not the hub's, a file that is not what the hub says."""
    from huggingface_hub import constants, hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
    from huggingface_hub.utils import tqdm

    class Bar(tqdm):
        def __init__(self, *args: Any, total: int | None = None, initial: int = 0, **options: Any) -> None:
            super().__init__(*args, total=total, initial=initial, **options)
            PROGRESS[model] = initial, total or 0

        def update(self, n: float | None = 1) -> bool | None:
            if model in STOPPED:
                hint = "Choose it again to start anew, or use the embedded model."
                raise Stopped(f"The download of {model} was stopped.", hint)
            done, total = PROGRESS[model]  # without a terminal the bar itself does not count
            PROGRESS[model] = done + int(n or 0), total
            return super().update(n)

    # What raises while the client's other protocol, Xet, loads a file is printed and does not stop it. The variable of this
    # name is too late where the client was imported before, as transformers does.
    constants.HF_HUB_DISABLE_XET = True
    try:
        for name in names:
            try:
                path = Path(hf_hub_download(repository, name, tqdm_class=Bar))
            except LocalEntryNotFoundError:  # no connection, or no hub
                raise
            except EntryNotFoundError:
                continue
            blob = path.resolve()
            if model in PROGRESS and _SHA256.fullmatch(blob.name):
                with blob.open("rb") as file:
                    right = hashlib.file_digest(file, "sha256").hexdigest() == blob.name
                if not right:
                    blob.unlink()
                    path.unlink(missing_ok=True)
                    raise failed(model, "their checksum is not the one that the hub names. They were deleted")
            return path
        raise failed(model, f"the hub has none in {repository}")
    except BackboneError:
        raise
    except Exception as error:  # of the hub's client, of the connection, of the disk
        raise failed(model, _reason(error, *PROGRESS.get(model, (0, 0)))) from error
    finally:
        PROGRESS.pop(model, None)


def failed(model: str, why: str) -> BackboneError:
    """The sentence on a download that failed."""
    return BackboneError(f"The weights of {model} could not be downloaded: {why}.", RETRY_HINT)


def _reason(error: Exception, done: int, total: int) -> str:
    """What went wrong, from the errors of the hub's client, which wrap others."""
    causes: list[BaseException] = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    if any(isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT) for cause in causes):
        return "the disk of the model cache is full; HF_HOME may name a folder on another one"
    if "FileMetadataError" in {type(cause).__name__ for cause in causes}:
        return (
            "what answers is not a model hub, but perhaps the web page of a proxy or of a network that asks to log in; "
            "HTTPS_PROXY names a proxy, HF_ENDPOINT a mirror"
        )
    if any("Consistency check failed" in str(cause) for cause in causes):
        return "what arrived has another size, and may be the web page of a proxy. It was deleted"
    if done:
        return f"the connection broke after {done / 1e6:.0f} of {total / 1e6:.0f} MB, several times"
    codes = (getattr(getattr(cause, "response", None), "status_code", 0) for cause in causes)
    return next((f"the hub answers {code}" for code in codes if code), "the hub cannot be reached")
