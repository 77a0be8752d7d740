"""Uploads that leave nothing behind but the files they are for.

Gradio forgets what it had begun to write when a connection breaks, when a file comes under another name than the one
it looks for, or when the second of two files cannot be stored: such files were in nobody's budget and stayed for good.
And each event that is given an upload made an empty file beside it.
A process that is killed in the middle of one leaves its folder; another removes it when nobody has written there for an hour.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import HTTPException
from gradio import routes
from gradio.utils import NamedString

ASIDE = "rita-arriving-"
ABANDONED = 3600.0  # seconds without a byte

_write = routes.upload_fn
_read = gr.UploadButton._process_single_file


def tidy() -> None:
    """From now on an upload is written aside, and what it did not bring to its end is deleted."""
    routes.upload_fn = _tidily
    setattr(gr.UploadButton, "_process_single_file", _as_it_lies)  # noqa: B010, an assignment mypy forbids


def forget_abandoned(upload_dir: str | Path, older: float = ABANDONED) -> None:
    """Remove folders of uploads that a killed process left, with nothing in them younger than this many seconds."""
    for aside in Path(upload_dir).glob(f"{ASIDE}*"):
        try:
            last = max(path.stat().st_mtime for path in (aside, *aside.rglob("*")))
        except OSError:  # it is coming to its end
            continue
        if time.time() - last > older:
            shutil.rmtree(aside, ignore_errors=True)


def _as_it_lies(button: gr.UploadButton, file: Any) -> Any:
    """An upload's path, without the empty file that Gradio makes to say it."""
    if button.type != "filepath" or button.file_types:
        return _read(button, file)
    return NamedString(file.path)


async def _tidily(
    request: Any, upload_dir: str | Path, *how: Any, **more: Any
) -> tuple[list[str], list[str], list[str]]:
    """Gradio's ``upload_fn`` in a folder of its own; what it stored goes to its place: ``folder/digest/name``."""
    Path(upload_dir).mkdir(parents=True, exist_ok=True)
    aside = tempfile.mkdtemp(prefix=ASIDE, dir=upload_dir)
    try:
        stored, late, _ = await _write(request, aside, *how, **more)
        if late:  # it could not even be renamed beside itself
            raise HTTPException(400, "This file cannot be stored under its name.")
        return [_settle(Path(file), Path(upload_dir)) for file in dict.fromkeys(stored)], [], []
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _settle(file: Path, upload_dir: Path) -> str:
    place = upload_dir / file.parent.name / file.name
    place.parent.mkdir(exist_ok=True)
    return str(file.replace(place))
