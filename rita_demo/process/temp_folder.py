"""Temporary folders of this user. The system's temporary folder is shared: in one that another user has made, nothing can
be written."""

import os
import tempfile
from pathlib import Path

from rita_demo.records.errors import DataError

UPLOADS = "GRADIO_TEMP_DIR"
HINT = f"Set {UPLOADS} to a folder of your own."


def choose_upload_folder() -> None:
    """Set where uploads are stored, before Gradio is imported: ``GRADIO_TEMP_DIR``, or a folder of this user. Gradio's own
    default is one folder for all users. Raises DataError: nothing can be written there."""
    named = os.environ.get(UPLOADS)
    folder = Path(named) if named else own_temp_folder("uploads")
    if not is_writable(folder):
        raise DataError(f"Uploads cannot be stored in {str(folder)!r}: nothing can be written there.", HINT)
    os.environ[UPLOADS] = str(folder)


def own_temp_folder(name: str) -> Path:
    """A folder of that name which only this user can open, the same at each start. Raises DataError: it cannot be made, or
    another user has made it."""
    try:
        parent = Path(tempfile.gettempdir(), f"rita-{os.getuid() if hasattr(os, 'getuid') else 'user'}")
        parent.mkdir(mode=0o700, exist_ok=True)
        about = parent.lstat()
    except OSError as error:
        raise DataError("Nothing can be written to the system's temporary folder.", HINT) from error
    if hasattr(os, "getuid") and about.st_uid != os.getuid():
        raise DataError(f"The temporary folder {str(parent)!r} is another user's.", HINT)
    return parent / name


def is_writable(folder: Path) -> bool:
    """Whether a file can be made in this folder, which is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
