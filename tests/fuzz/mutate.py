"""Valid things broken: bytes, JSON values, safetensors files and zips.

Every function takes the random generator of its case. Hypothesis decides what it answers (``st.randoms``): it makes a
case that fails as simple as it can, and repeats it.
"""

import copy
import io
import json
import math
import random
import struct
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

NUMBERS = (
    *(0, 1, -1, 2, 7, 0.5, -0.0, 255, 256, 65_535, 10**6),
    *(2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(2**63)),
    *(1e308, -1e308, 5e-324, math.nan, math.inf, -math.inf),
)
TEXTS = (
    *("", " ", "\0", "\n", "0", "-1", "1e999", "NaN", "true", "null"),
    *("a" * 5_000, "ä" * 300, "\ud800", "\u202e", "👩‍🚀" * 40),
    *("../../../etc/passwd", "/etc/passwd", "C:\\x", "..", "a/../../b", "a\0b"),
    *("%s%n{0}", "<script>alert(1)</script>", "'; --", "__class__"),
    *("cup, crab", ",,,,", "cup", "pgd", "attacked"),
)
WORDS = (0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 1 << 20)  # four bytes of a header
MEMBERS = ("../out.txt", "/tmp/out", "a/../../b", "x" * 300, "\u202e.png", "more.bin")
PACKINGS = (*[zipfile.ZIP_STORED] * 66, *[zipfile.ZIP_DEFLATED] * 32, *[zipfile.ZIP_LZMA] * 2)


def value(rng: random.Random, deep: int = 2) -> Any:
    """Any JSON value, mostly an edge case."""
    kind = rng.randrange(8 if deep else 5)
    if kind < 5:
        return rng.choice(((None, True, False), NUMBERS, NUMBERS, TEXTS, TEXTS)[kind])
    if kind == 5:
        return [value(rng, deep - 1) for _ in range(rng.randrange(4))]
    if kind == 6:
        return {rng.choice(TEXTS): value(rng, deep - 1) for _ in range(rng.randrange(4))}
    nested: Any = []
    for _ in range(rng.choice((3, 60))):
        nested = [nested] if rng.random() < 0.5 else {"a": nested}
    return nested


def document(rng: random.Random, whole: Any) -> Any:
    """A JSON value with one to three of its nodes replaced, removed, doubled or renamed; deep ones as likely as shallow
    ones."""
    holder = [copy.deepcopy(whole)]
    for _ in range(rng.choice((1, 1, 2, 3))):
        node, key = holder, 0
        while isinstance(node[key], dict | list) and node[key] and rng.random() < 0.75:
            node = node[key]
            key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        how = rng.randrange(6)
        if how == 0 and node is not holder:
            del node[key]
        elif how == 1 and isinstance(node, list) and node is not holder:
            node.append(copy.deepcopy(node[key]))
        elif how == 2 and isinstance(node, dict):
            node[rng.choice(TEXTS)] = node.pop(key)
        elif how == 3 and isinstance(node[key], int | float) and abs(node[key]) < 1e300:
            node[key] = node[key] + rng.choice((1, -1, 0.5, 10**6))
        else:
            node[key] = value(rng)
    return holder[0]


def as_json(rng: random.Random, whole: Any) -> bytes:
    """A broken document as text; now and then broken as text, too."""
    if rng.random() < 0.04:
        return b"[" * 100_000
    data = json.dumps(document(rng, whole), ensure_ascii=rng.random() < 0.9)
    coded = data.encode("utf-8", "surrogatepass")
    return raw(rng, coded) if rng.random() < 0.2 else coded


def raw(rng: random.Random, data: bytes, others: Sequence[bytes] = (b"",)) -> bytes:
    """Bytes cut, flipped, overwritten, repeated, filled in, removed, or mixed with another file's; or all invented."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(made) + 1)
        near = min(at, rng.choice((32, 256, 10**9)))  # headers lie at the beginning
        end = min(len(made), near + rng.choice((1, 2, 4, 8, 64, 4096)))
        flipped = bytes(byte ^ 1 << rng.randrange(8) for byte in made[near : near + 1])
        word = struct.pack(rng.choice("<>") + "I", rng.choice(WORDS))
        begin, stop, new = rng.choice(
            (
                (at, None, b""),
                (near, near + 1, flipped),
                (near, end, _noise(rng, end - near)),
                (near, near, made[at : at + rng.choice((1, 16, 1024))]),
                (near, near + 4, word),
                (near, end, b""),
                (at, None, rng.choice(others)[at:]),
            )
        )
        made[begin:stop] = new
    return _noise(rng, rng.choice((0, 1, 30, 5_000))) if rng.random() < 0.02 else bytes(made)


def _noise(rng: random.Random, count: int) -> bytes:
    """Bytes that one answer of the generator decides."""
    return random.Random(rng.randrange(2**32)).randbytes(count)


def safetensors(rng: random.Random, data: bytes) -> bytes:
    """A file whose header is broken as JSON and fits again, or whose bytes are."""
    if rng.random() < 0.35:
        return raw(rng, data)
    length = int.from_bytes(data[:8], "little")
    header, body = document(rng, json.loads(data[8 : 8 + length])), data[8 + length :]
    coded = json.dumps(header).encode()
    coded += b" " * (-len(coded) % 8)
    size = len(coded) if rng.random() < 0.9 else rng.choice((0, len(coded) + 1, 2**63, 2**64 - 1))
    return struct.pack("<Q", size) + coded + (raw(rng, body) if rng.random() < 0.4 else body)


def zipped(rng: random.Random, data: bytes) -> bytes:
    """A zip with one member changed, dropped, renamed or added, or with broken bytes."""
    if rng.random() < 0.4:
        return raw(rng, data)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        parts = [(info.filename, file.read(info)) for info in file.infolist()]
    documents = [at for at, (name, _) in enumerate(parts) if name.endswith(".json")]
    at, how = rng.randrange(len(parts)), rng.randrange(7)
    if how > 4 and documents:
        at = rng.choice(documents)
    name, content = parts.pop(at)
    broken = as_json(rng, json.loads(content)) if name.endswith(".json") else raw(rng, content)
    renamed = (rng.choice((*MEMBERS, name.upper())), content)
    doubled = [(name, content), (rng.choice(("more.bin", name)), content)]
    empty = (name, bytes(rng.choice((0, 1, 20 << 20))))
    parts[at:at] = ([], [renamed], doubled, [empty])[how] if how < 4 else [(name, broken)]
    buffer, packing = io.BytesIO(), rng.choice(PACKINGS)
    with warnings.catch_warnings():  # two members of one name are meant
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w", packing) as file:
            for name, content in parts:
                info = zipfile.ZipInfo(name)  # dated 1980: the same case at any time
                info.compress_type = packing
                file.writestr(info, content)
    return buffer.getvalue()


def lines(rng: random.Random, text: str) -> bytes:
    """A list of one thing per line, with lines changed, doubled, swapped or dropped."""
    rows = text.split("\n")
    for _ in range(rng.choice((1, 2, 5))):
        at, other, new = rng.randrange(len(rows)), rng.randrange(len(rows)), rng.choice(TEXTS)
        edits = ([], [rows[at], rows[other]], [rows[at], rows[at]], [new], [rows[at] + new])
        rows[at : at + 1] = rng.choice(edits if len(rows) > 1 else edits[1:])
    data = "\n".join(rows).encode("utf-8", "surrogatepass")
    return raw(rng, data) if rng.random() < 0.2 else data
