"""DTD and Caltech101 from their own servers: with progress, going on after a cut, checked, unpacked.

Addresses and checksums are torchvision's, and so are the check and the unpacking; its download itself
tells no progress and starts again after a cut, so the bytes are fetched here.
"""

from __future__ import annotations

import http.client
import math
import shutil
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from rita_demo.data.datasets import DATASETS
from rita_demo.errors import DataError

CHUNK = 1 << 18  # bytes read at once
PATIENCE = 30.0  # seconds without a byte
AGENT = {"User-Agent": "rita-demo"}
#: What ends a connection. An ``ssl.SSLError`` is an OSError, as is a full disk, and not that.
CUT = (
    urllib.error.URLError,
    http.client.HTTPException,
    TimeoutError,
    ConnectionError,
    ssl.SSLError,
)
LARGER = 1.25  # times the megabytes we know of: more is not this archive, whatever its server says
_busy = threading.Lock()


@dataclass(frozen=True)
class Archive:
    """A dataset's archive: ``url``, ``md5``, about how many ``megabytes``, and where its pictures lie inside;
    ``inner``: an archive inside the archive that holds them."""

    dataset: str
    url: str
    md5: str
    megabytes: int
    pictures: str
    inner: str = ""

    @property
    def file(self) -> str:
        """The archive's own name."""
        return self.url.rpartition("/")[2]


ARCHIVES: dict[str, Archive] = {
    "dtd": Archive(
        "dtd", "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz",
        "fff73e5086ae6bdbea199a49dfb8a4c1", 600, "dtd/images",
    ),
    "caltech101": Archive(
        "caltech101", "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
        "3138e1922a9193bfa496528edbbc45d0", 130, "101_ObjectCategories",
        inner="caltech-101/101_ObjectCategories.tar.gz",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Fetched:
    """How far a download is: ``done`` of ``total`` bytes (0 while unknown), and what happens now."""

    done: int
    total: int
    sentence: str


def fetching(archive: Archive, root: Path) -> Generator[Fetched, None, None]:
    """Fetch a dataset into the data folder, in CoOp's layout. Stopping it keeps what has come.

    Raises:
        DataError: no connection, a cut, a damaged file, no room; and what to do.
    """
    title = DATASETS[archive.dataset].title
    if not _busy.acquire(blocking=False):
        raise DataError("Another dataset is being fetched right now.", "Try again when it is here.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        part = root / f"{archive.file}.part"
        for at in _bytes(archive, part):
            yield Fetched(at.done, at.total, f"Fetching {title}: {_size(at)}")
        size = part.stat().st_size
        yield Fetched(size, size, f"Checking {title}")
        _check(archive, part)
        yield Fetched(size, size, f"Unpacking {title}")
        _unpack(archive, part, root)
        yield Fetched(size, size, f"{title} is here")
    except OSError as error:
        raise DataError(
            f"{title} cannot be stored: {error.strerror or error}.",
            "Make room in the server's data folder, then press the button again.",
        ) from error
    finally:
        _busy.release()


def _bytes(archive: Archive, part: Path) -> Iterator[Fetched]:
    """The archive into ``part``, from where it was left."""
    have = part.stat().st_size if part.is_file() else 0
    try:
        ask = urllib.request.Request(archive.url, headers=AGENT | _rest(have))
        with urllib.request.urlopen(ask, timeout=PATIENCE) as answer:
            if have and answer.status != 206:  # it starts again from the beginning
                have = 0
            length = int(answer.headers.get("Content-Length") or 0)
            total = (
                have + length if length else 0
            )  # a rest of unknown length says nothing of the whole
            most = min(total or math.inf, archive.megabytes * 1e6 * LARGER)
            if total > most:
                raise _endless(archive, part)
            with part.open("r+b" if have else "wb") as file:
                file.seek(have)
                while chunk := answer.read(CHUNK):
                    if have + len(chunk) > most:
                        raise _endless(archive, part)
                    file.write(chunk)
                    have += len(chunk)
                    yield Fetched(have, total, "")
    except urllib.error.HTTPError as error:
        if have and error.code == 416:  # nothing is left to fetch
            return
        raise DataError(
            f"The server of {DATASETS[archive.dataset].title} answers {error.code} {error.reason}.",
            "Try again later, or put the dataset into the data folder by hand.",
        ) from error
    except CUT as error:
        raise _cut(archive, have) from error
    if total and have < total:
        raise _cut(archive, have)


def _rest(have: int) -> dict[str, str]:
    return {"Range": f"bytes={have}-"} if have else {}


def _cut(archive: Archive, have: int) -> DataError:
    title = DATASETS[archive.dataset].title
    if not have:
        return DataError(
            f"The server of {title} cannot be reached from here.",
            "Check the connection; the procedural textures need none.",
        )
    return DataError(
        f"The connection to the server of {title} broke after {have / 1e6:.1f} MB.",
        "Press the button again: it goes on where it stopped.",
    )


def _endless(archive: Archive, part: Path) -> DataError:
    part.unlink(missing_ok=True)  # whatever it is, to go on with it makes it no shorter
    return DataError(
        f"The server sends more than {archive.file} can hold ({archive.megabytes} MB). It was left.",
        "Try again later, or put the dataset into the data folder by hand.",
    )


def _check(archive: Archive, part: Path) -> None:
    from torchvision.datasets.utils import check_integrity

    if not check_integrity(part, archive.md5):
        part.unlink()
        raise DataError(
            f"What came is not {archive.file}: its checksum is another one. It was deleted.",
            "Press the button again to fetch it anew.",
        )


def _unpack(archive: Archive, part: Path, root: Path) -> None:
    """The pictures to their place; the archive and everything else in it are deleted. The archive goes last: whatever
    ends this before (a full disk, a kill), the next attempt finds it and fetches nothing."""
    from torchvision.datasets.utils import extract_archive

    row = DATASETS[archive.dataset]
    place, aside = root / row.folder / row.pictures, root / f".unpacking-{archive.dataset}"
    shutil.rmtree(aside, ignore_errors=True)
    if place.is_dir() and any(place.iterdir()):  # ended between the two last steps: it came whole
        part.unlink()
        return
    aside.mkdir()
    named = aside / archive.file  # its kind is told by its name, which a .part does not have
    named.symlink_to(part.resolve())
    try:
        extract_archive(named, aside)
        if archive.inner:
            extract_archive(aside / archive.inner, aside)
        place.parent.mkdir(parents=True, exist_ok=True)
        (aside / archive.pictures).replace(place)
        part.unlink()
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _size(at: Fetched) -> str:
    return f"{at.done / 1e6:.1f}" + (f" of {at.total / 1e6:.1f} MB" if at.total else " MB")
