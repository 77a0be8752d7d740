"""What a file is when it is not a picture we read: so that the sentence can say it."""

from __future__ import annotations

# (offset, magic bytes, what it is)
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF", "a PDF document"),
    (0, b"PK\x03\x04", "a zip archive or an office document"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"%!PS", "a PostScript document"),
    (0, b"\x1aE\xdf\xa3", "a video"),
    (0, b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture, which is not supported"),
    (0, b"\xff\x0a", "a JPEG XL picture, which is not supported"),
    (0, b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture, which is not supported"),
)
_HEIC = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")


def guess(data: bytes) -> str | None:
    """``"a PDF document"`` and the like; None for bytes that start like a picture we read.

    Looks at the first kilobyte only and never raises.
    """
    head = data[:1024]
    if head[4:8] == b"ftyp":
        if head[8:12] in _HEIC:
            return "a HEIC picture (an iPhone's own format), which is not supported"
        return None if head[8:12] in (b"avif", b"avis") else "a video"
    for offset, magic, name in _MAGIC:
        if head[offset : offset + len(magic)] == magic:
            return name
    if _starts_like_a_picture(head):
        return None
    text = _as_text(head)
    if text is None:
        return "of no kind known here"
    lower = text.lower()
    if "<svg" in lower:
        return "an SVG drawing, which is not supported"
    if "<html" in lower or "<!doctype html" in lower:
        return "a web page"
    return "plain text"


def _starts_like_a_picture(head: bytes) -> bool:
    known = (
        b"\x89PNG",
        b"\xff\xd8",
        b"GIF8",
        b"BM",
        b"II*\x00",
        b"MM\x00*",
        b"II+\x00",
        b"MM\x00+",
    )
    return head.startswith(known) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _as_text(head: bytes) -> str | None:
    for encoding in ("utf-8", "utf-16") if head[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8",):
        try:
            # the kilobyte may end in the middle of a character
            text = head.decode(encoding, errors="strict" if len(head) < 1024 else "ignore")
        except UnicodeDecodeError:
            continue
        if all(c.isprintable() or c.isspace() for c in text):
            return text
    return None
