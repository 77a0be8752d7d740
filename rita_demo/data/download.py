"""Download a dataset from its own server with pooch: with progress, resumable, checked and unpacked."""

import os
import shutil
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.data.datasets import Archive, Dataset
from rita_demo.data.folders import read_folder
from rita_demo.records.errors import DataError

CHUNK = 1 << 18  # bytes read at once
TIMEOUT_SECONDS = 30.0  # without a byte
PROGRESS_SECONDS = 0.3
BY_HAND = "Try again later, or put the dataset into the data folder by hand."
MAX_SIZE_FACTOR = 1.25  # times ``Archive.megabytes``
_download_lock = threading.Lock()


@dataclass(frozen=True)
class DownloadProgress:
    """``done`` of ``total`` bytes (0 while unknown), and a ``sentence`` on the current step."""

    done: int
    total: int
    sentence: str


class _Bar:
    """The progress bar that pooch draws: it ends a download that nobody waits for, or that is too long for its archive."""

    def __init__(self, part: Path, archive: Archive) -> None:
        self.part, self.archive, self.stopped = part, archive, False
        self.start = self.done = part.stat().st_size
        self.total = 0  # bytes of the answer, which pooch sets

    def update(self, _: int) -> None:
        if self.stopped:
            raise InterruptedError
        self.done = self.part.stat().st_size
        if max(self.start + self.total, self.done) > self.archive.megabytes * 1e6 * MAX_SIZE_FACTOR:
            self.part.unlink()
            limit = f"more than {self.part.stem} can hold ({self.archive.megabytes} MB)"
            raise DataError(f"The server sends {limit}. The download was stopped.", BY_HAND)

    def reset(self) -> None: ...

    def close(self) -> None: ...


def download_steps(dataset: Dataset, root: Path) -> Generator[DownloadProgress, None, None]:
    """Download a dataset into the data folder, in CoOp's layout. Closing the generator keeps the partial file. Raises
    DataError: another download is running, no connection, an interruption, a damaged file, a full disk."""
    import pooch

    title, archive = dataset.title, dataset.archive
    assert archive is not None, f"{title} has no archive"
    if not _download_lock.acquire(blocking=False):
        raise DataError("Another dataset is being fetched right now.", "Try again when that is done.")
    try:
        root = Path(os.path.realpath(root))
        root.mkdir(parents=True, exist_ok=True)
        part = root / f"{archive.url.rpartition('/')[2]}.part"
        part.touch()
        bar = _Bar(part, archive)
        with ThreadPoolExecutor(1) as pool:
            fetching = pool.submit(_fetch, title, archive, part, bar)
            try:
                while wait([fetching], PROGRESS_SECONDS).not_done:
                    total = bar.start + bar.total if bar.total else 0
                    of = f" of {total / 1e6:.1f}" if total else ""
                    yield DownloadProgress(bar.done, total, f"Fetching {title}: {bar.done / 1e6:.1f}{of} MB")
            finally:
                bar.stopped = True
            fetching.result()
        size = part.stat().st_size
        yield DownloadProgress(size, size, f"Checking {title}")
        if pooch.file_hash(part, "md5") != archive.md5:
            part.unlink()
            message = f"The downloaded file is not {part.stem}: its checksum is another one. It was deleted."
            raise DataError(message, "Press the button again to fetch it anew.")
        yield DownloadProgress(size, size, f"Unpacking {title}")
        _unpack(dataset, archive, part, root)
        yield DownloadProgress(size, size, f"{title} is here")
    except OSError as error:
        hint = "Make room in the server's data folder, then press the button again."
        raise DataError(f"{title} cannot be stored: {error.strerror or error}.", hint) from error
    finally:
        _download_lock.release()


def _fetch(title: str, archive: Archive, part: Path, bar: _Bar) -> None:
    """Download the archive into the file ``part``, continuing after its last byte."""
    import pooch
    import requests

    have = part.stat().st_size
    with part.open("ab") as file:

        def begin(answer: requests.Response, **_: Any) -> None:
            if answer.status_code == 200:  # the server starts again from the beginning
                file.truncate(0)
            answer.raw.headers.pop("Content-Encoding", None)  # what a server calls packed is the archive
            bar.start = part.stat().st_size

        headers = {"User-Agent": "rita-demo"} | ({"Range": f"bytes={have}-"} if have else {})
        options: dict[str, Any] = {"headers": headers, "hooks": {"response": begin}, "timeout": TIMEOUT_SECONDS}
        try:
            verify = os.environ.get("SSL_CERT_FILE", True)  # the certificates of an institute, as for the hub
            pooch.HTTPDownloader(bar, CHUNK, verify=verify, **options)(archive.url, file, None)
        except requests.HTTPError as error:
            answer: Any = error.response
            if have and answer.status_code == 416:  # range not satisfiable: the file is complete
                return
            message = f"The server of {title} answers {answer.status_code} {answer.reason}."
            raise DataError(message, BY_HAND) from error
        except requests.RequestException as error:
            if have := part.stat().st_size:
                message = f"The connection to the server of {title} broke after {have / 1e6:.1f} MB."
                raise DataError(message, "Press the button again: it goes on where it stopped.") from error
            message = f"The server of {title} cannot be reached from here."
            raise DataError(message, "Check the connection; the drawn textures need none.") from error


def _unpack(dataset: Dataset, archive: Archive, part: Path, root: Path) -> None:
    """Move the pictures to their place and delete the rest. The archive is deleted last: after an interruption (a
    full disk, a kill) the next attempt finds it and downloads nothing."""
    place = Path(os.path.realpath(root / dataset.folder / dataset.pictures))
    # on the disk of the place, where a link leads to another
    home = next(folder for folder in place.parents if folder.is_dir())
    aside = home / f".unpacking-{dataset.name}"
    shutil.rmtree(aside, ignore_errors=True)
    if place.is_dir() and read_folder(place).folders:  # interrupted between the last two steps
        part.unlink()
        return
    aside.mkdir()
    try:
        if part.stem.endswith(".zip"):
            shutil.unpack_archive(part, aside, "zip")
        else:
            shutil.unpack_archive(part, aside, "gztar", filter="data")
        if archive.inner_archive:
            shutil.unpack_archive(aside / archive.inner_archive, aside, filter="data")
        pictures = aside / archive.pictures
        for left in place.iterdir() if place.is_dir() else ():  # files of a system or a program
            left.replace(pictures / left.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        pictures.replace(place)
        part.unlink()
    finally:
        shutil.rmtree(aside, ignore_errors=True)
