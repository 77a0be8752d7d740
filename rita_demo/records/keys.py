"""Short names made of what they stand for."""

import hashlib


def hash_key(*parts: str) -> str:
    """24 hexadecimal digits of all parts together."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:24]


def class_prompts_key(model: str, names: tuple[str, ...]) -> str:
    """Names the classes of a model; a cache (memory) belongs to one of these."""
    return hash_key(model, *names)
