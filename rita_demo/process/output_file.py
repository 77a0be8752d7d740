"""Files that a person names as output, each replaced whole or not at all, and this user's temporary folders.

The system's temporary folder is shared: in one that another user has made, nothing can be written."""

import errno
import os
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rita_demo.records.errors import DataError

UPLOADS = "GRADIO_TEMP_DIR"
UPLOADS_HINT = f"Set {UPLOADS} to a folder of your own."


def write_output(path: Path, data: bytes) -> None:
    """Write the file that a person named. An earlier one stays as it was until all is written. Raises DataError: names
    the file and the system's reason."""
    with output_errors(path):
        replace_file(path, data)


def check_output(path: Path) -> None:
    """Before the work: raises DataError about a file that could not be written."""
    with output_errors(path, "cannot be written"):
        about = _about(path)
        if about is None or stat.S_ISREG(about.st_mode):
            folder = Path(os.path.realpath(path)).parent
            os.stat(folder)
            if _stream(about) is None and not os.access(folder, os.W_OK | os.X_OK):
                raise _error(errno.EACCES)


def make_output_folder(path: Path) -> None:
    """Make the folder that a person named, where it is missing. Raises DataError: names it and the system's reason."""
    with output_errors(path, "cannot be made"):
        path.mkdir(parents=True, exist_ok=True)


@contextmanager
def output_errors(path: Path, what: str = "could not be written") -> Iterator[None]:
    """Turn an error of the file system into a :class:`DataError` that names ``path``."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise DataError(f"{path} {what}: {getattr(error, 'strerror', None) or error}.") from error


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file, which takes the place of an earlier one when it is complete. A link stays a link, and the permissions
    of the earlier file stay. A pipe, a device and this process's own output (/dev/stdout) are written to. Raises OSError."""
    about = _about(path)
    if (stream := _stream(about)) is not None:
        for printed in filter(None, (sys.stdout, sys.stderr)):
            printed.flush()  # what was printed before stands before
        with open(os.dup(stream), "wb") as file:  # /dev/stdout opened anew would be written from its beginning
            file.write(data)
    elif about is not None and not stat.S_ISREG(about.st_mode):
        with path.open("wb") as file:
            file.write(data)
    else:
        target = Path(os.path.realpath(path))
        half = target.with_name(f".{uuid.uuid4().hex[:12]}.part")  # short: the name may be as long as the system allows
        try:
            with half.open("xb") as file:
                file.write(data)
            if about is not None:
                with suppress(OSError):  # a file system without permissions
                    half.chmod(stat.S_IMODE(about.st_mode))
            half.replace(target)
        except BaseException:  # Ctrl-C too
            with suppress(OSError):
                half.unlink(missing_ok=True)
            raise


def _about(path: Path) -> os.stat_result | None:
    """What the path leads to; None: nothing yet. Raises OSError: it cannot be written to."""
    try:
        about = os.stat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(about.st_mode):
        raise _error(errno.EISDIR)
    if _stream(about) is None and not os.access(path, os.W_OK):
        raise _error(errno.EACCES)
    return about


def _stream(about: os.stat_result | None) -> int | None:
    """The number of this process's output, 1 or 2, that the file is; None: neither."""
    for number in (1, 2):
        with suppress(OSError):  # it is closed
            if about is not None and os.path.samestat(about, os.fstat(number)):
                return number
    return None


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def choose_upload_folder() -> None:
    """Set where uploads are stored, before Gradio is imported: ``GRADIO_TEMP_DIR``, or a folder of this user. Gradio's own
    default is one folder for all users. Raises DataError: nothing can be written there."""
    named = os.environ.get(UPLOADS)
    folder = Path(named) if named else own_temp_folder("uploads")
    if not is_writable(folder):
        raise DataError(f"Uploads cannot be stored in {str(folder)!r}: nothing can be written there.", UPLOADS_HINT)
    os.environ[UPLOADS] = str(folder)


def own_temp_folder(name: str) -> Path:
    """A folder of that name which only this user can open, the same at each start. Raises DataError: it cannot be made, or
    another user has made it."""
    try:
        parent = Path(tempfile.gettempdir(), f"rita-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
        parent.mkdir(mode=0o700, exist_ok=True)
        about = parent.lstat()
    except OSError as error:
        raise DataError("Nothing can be written to the system's temporary folder.", UPLOADS_HINT) from error
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise DataError(f"The temporary folder {str(parent)!r} is another user's.", UPLOADS_HINT)
    return parent / name


def is_writable(folder: Path) -> bool:
    """Whether a file can be made in this folder, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
