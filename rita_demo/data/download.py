"""Download a dataset from its own server: with progress, resumable, checked and unpacked. (torchvision's download of the
same files reports no progress and cannot resume.)"""

import hashlib
import http.client
import os
import shutil
import ssl
import tarfile
import threading
import urllib.error
import urllib.request
import zipfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.datasets import Archive, Dataset
from rita_demo.data.folders import read_folder
from rita_demo.records.errors import DataError

CHUNK = 1 << 18  # bytes read at once
TIMEOUT_SECONDS = 30.0  # without a byte
HEADERS = {"User-Agent": "rita-demo"}
BY_HAND = "Try again later, or put the dataset into the data folder by hand."
#: Errors of the connection. ``ssl.SSLError`` is an OSError, but other OSErrors (a full disk) are not here.
CONNECTION_ERRORS = (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError, ssl.SSLError)
MAX_SIZE_FACTOR = 1.25  # times ``Archive.megabytes``
_download_lock = threading.Lock()


@dataclass(frozen=True)
class DownloadProgress:
    """``done`` of ``total`` bytes (0 while unknown), and a ``sentence`` on the current step."""

    done: int
    total: int
    sentence: str


def download_steps(dataset: Dataset, root: Path) -> Generator[DownloadProgress, None, None]:
    """Download a dataset into the data folder, in CoOp's layout. Closing the generator keeps the partial file.

    Raises:
        DataError: another download is running, no connection, an interruption, a damaged file, a full disk.
    """
    title, archive = dataset.title, dataset.archive
    assert archive is not None, f"{title} has no archive"
    if not _download_lock.acquire(blocking=False):
        raise DataError("Another dataset is being fetched right now.", "Try again when that is done.")
    try:
        root = Path(os.path.realpath(root))
        root.mkdir(parents=True, exist_ok=True)
        part = root / f"{archive.url.rpartition('/')[2]}.part"
        yield from _fetch_steps(title, archive, part)
        size = part.stat().st_size
        yield DownloadProgress(size, size, f"Checking {title}")
        _check(archive, part)
        yield DownloadProgress(size, size, f"Unpacking {title}")
        _unpack(dataset, archive, part, root)
        yield DownloadProgress(size, size, f"{title} is here")
    except OSError as error:
        hint = "Make room in the server's data folder, then press the button again."
        raise DataError(f"{title} cannot be stored: {error.strerror or error}.", hint) from error
    finally:
        _download_lock.release()


def _fetch_steps(title: str, archive: Archive, part: Path) -> Iterator[DownloadProgress]:
    """Download the archive into the file ``part``, continuing after its last byte."""
    have = part.stat().st_size if part.is_file() else 0
    try:
        range_header = {"Range": f"bytes={have}-"} if have else {}
        request = urllib.request.Request(archive.url, headers=HEADERS | range_header)
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            if have and answer.status != 206:  # the server starts again from the beginning
                have = 0
            length = int(answer.headers.get("Content-Length") or 0)
            total = have + length if length else 0
            most = archive.megabytes * 1e6 * MAX_SIZE_FACTOR  # a longer answer cannot be this archive
            with part.open("r+b" if have else "wb") as file:
                file.seek(have)
                while (chunk := answer.read(CHUNK)) and max(total, have + len(chunk)) <= most:
                    file.write(chunk)
                    have += len(chunk)
                    size = f"{have / 1e6:.1f}" + (f" of {total / 1e6:.1f} MB" if total else " MB")
                    yield DownloadProgress(have, total, f"Fetching {title}: {size}")
        if chunk:
            part.unlink()
            limit = f"more than {part.stem} can hold ({archive.megabytes} MB)"
            raise DataError(f"The server sends {limit}. The download was stopped.", BY_HAND)
        if have < total:
            raise ConnectionError("the answer is too short")
    except urllib.error.HTTPError as error:
        if have and error.code == 416:  # range not satisfiable: the file is complete
            return
        message = f"The server of {title} answers {error.code} {error.reason}."
        raise DataError(message, BY_HAND) from error
    except CONNECTION_ERRORS as error:
        if have:
            message = f"The connection to the server of {title} broke after {have / 1e6:.1f} MB."
            raise DataError(message, "Press the button again: it goes on where it stopped.") from error
        message = f"The server of {title} cannot be reached from here."
        raise DataError(message, "Check the connection; the drawn textures need none.") from error


def _check(archive: Archive, part: Path) -> None:
    with part.open("rb") as file:
        md5 = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if md5 != archive.md5:
        part.unlink()
        message = f"The downloaded file is not {part.stem}: its checksum is another one. It was deleted."
        raise DataError(message, "Press the button again to fetch it anew.")


def _unpack(dataset: Dataset, archive: Archive, part: Path, root: Path) -> None:
    """Move the pictures to their place and delete the rest. The archive is deleted last: after an interruption (a
    full disk, a kill) the next attempt finds it and downloads nothing."""
    place = Path(os.path.realpath(root / dataset.folder / dataset.pictures))
    home = next(
        folder for folder in place.parents if folder.is_dir()
    )  # on the disk of the place, where a link leads to another
    aside = home / f".unpacking-{dataset.name}"
    shutil.rmtree(aside, ignore_errors=True)
    if place.is_dir() and read_folder(place).folders:  # interrupted between the last two steps
        part.unlink()
        return
    aside.mkdir()
    try:
        _extract(part, aside)
        if archive.inner_archive:
            _extract(aside / archive.inner_archive, aside)
        pictures = aside / archive.pictures
        for left in place.iterdir() if place.is_dir() else ():  # files of a system or a program
            left.replace(pictures / left.name)
        place.parent.mkdir(parents=True, exist_ok=True)
        pictures.replace(place)
        part.unlink()
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _extract(archive: Path, folder: Path) -> None:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as files:
            files.extractall(folder)
    else:
        with tarfile.open(archive) as files:
            files.extractall(folder, filter="data")
