"""The type of a file that is not a supported picture, for error messages."""

# (first bytes, type)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"8BPS", "a Photoshop document"),
    (b"%!PS", "a PostScript document"),
    (b"\x1aE\xdf\xa3", "a video"),
    (b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture, which is not supported"),
    (b"\xff\x0a", "a JPEG XL picture, which is not supported"),
    (b"\x00\x00\x00\x0cJXL ", "a JPEG XL picture, which is not supported"),
)
_HEIC = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")


def guess_file_type(data: bytes) -> str | None:
    """For example ``"a PDF document"``; None for bytes that start like a supported picture. Uses the first kilobyte."""
    head = data[:1024]
    if head[4:8] == b"ftyp":
        if head[8:12] in _HEIC:
            return "a HEIC picture (an iPhone's own format), which is not supported"
        return None if head[8:12] in (b"avif", b"avis") else "a video"
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return name
    if _is_picture(head):
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


def _is_picture(head: bytes) -> bool:
    known = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+")
    return head.startswith(known) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


def _as_text(head: bytes) -> str | None:
    for encoding in ("utf-8", "utf-16") if head[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8",):
        try:
            # a kilobyte may end in the middle of a character
            text = head.decode(encoding, errors="strict" if len(head) < 1024 else "ignore")
        except UnicodeDecodeError:
            continue
        if all(c.isprintable() or c.isspace() for c in text):
            return text
    return None
