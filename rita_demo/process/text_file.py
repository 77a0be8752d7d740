"""Files of text that other programs wrote."""

import json
from pathlib import Path

HEAD = 1024  # bytes from which :func:`text_kind` judges
_GIT_LFS = "version https://git-lfs.github.com/spec/"


def read_text(path: Path) -> str:
    """The text of a file, its lines ended by line feeds; see :func:`decode_text`. Raises OSError, ValueError."""
    return decode_text(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")


def decode_text(data: bytes) -> str:
    """Text in UTF-8, or in UTF-16 or UTF-32 where its byte order mark or the zeros of its first characters say so. The
    mark is no part of the text. Raises ValueError: it is no such text."""
    return data.decode(json.detect_encoding(data))


def text_kind(head: bytes) -> str | None:
    """For example ``"a web page"``, from the first kilobyte of a file; None where that is no text."""
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    # a kilobyte may end in the middle of a character
    text = head.decode(encoding, errors="replace" if len(head) < HEAD else "ignore").lower().strip()
    if not all((c.isprintable() or c.isspace()) and c != "\ufffd" for c in text):
        return None
    if "<svg" in text:
        return "an SVG drawing, which is not supported"
    if "<html" in text or "<!doctype html" in text:
        return "a web page"
    if text.startswith(_GIT_LFS):
        return "a Git LFS pointer, a short text in the place of the file"
    if text.startswith("<?xml"):
        return "an XML text"
    return "a JSON text" if text[:1] in ("{", "[") else "plain text"
