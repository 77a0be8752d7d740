"""Uploaded files: the only ones of this machine that an event may name."""

from pathlib import Path

from gradio.utils import get_upload_folder

from rita_demo.records.json_value import JsonValue


def uploaded_file(path: JsonValue) -> Path | None:
    """The file of an untrusted path; None: it is no regular file in the folder of uploads."""
    if not isinstance(path, str) or "\0" in path:
        return None
    try:
        file = Path(path).resolve()
        inside = file.is_relative_to(Path(get_upload_folder()).resolve())
        return file if inside and file.is_file() and not Path(path).is_symlink() else None
    except (OSError, ValueError):  # a name that is too long, or no text
        return None
