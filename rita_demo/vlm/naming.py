"""What stands behind the colon of a model's name, and which activation the name before it means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip

from rita_demo.errors import BackboneError
from rita_demo.vlm.checkpoint import SUFFIXES

EXCEPT = "+except="
QUICK = "-quickgelu"


@dataclass(frozen=True)
class Source:
    """``WEIGHTS``, ``WEIGHTS+VISION`` or ``WEIGHTS+VISION+except=KEY,KEY``.

    ``weights`` is a tag or a file with the whole model, ``vision`` a file with a vision tower that takes the
    place of that model's own ("" for none), ``named`` the keys that may be missing or left over in it.
    """

    weights: str
    vision: str = ""
    named: frozenset[str] = frozenset()

    @property
    def behind(self) -> str:
        """What stands behind the weights, files without their folders."""
        keys = EXCEPT + ",".join(sorted(self.named)) if self.named else ""
        return f"+{Path(self.vision).name}{keys}" if self.vision else ""


def split_source(source: str, tags: Iterable[str]) -> Source:
    """Take apart what stands behind the colon. ``tags``: open_clip's for the architecture.

    A plus sign separates only where a tag or a checkpoint's suffix ends, so that paths may have some.

    Raises:
        BackboneError: ``+except=`` without a vision tower or without keys.
    """
    rest, said, keys = source.partition(EXCEPT)
    named = frozenset(key.strip() for key in keys.split(",") if key.strip())
    ends = [at for at, sign in enumerate(rest) if sign == "+"]
    parts = [(rest[:at], rest[at + 1 :]) for at in ends]
    known = set(tags)
    found = [p for p in parts if tag_of(p[0]) in known or p[0].lower().endswith(SUFFIXES)]
    weights, vision = found[0] if found else (rest, "")
    if said and not (vision and named):
        raise BackboneError(
            f"{EXCEPT} names keys of a vision tower's checkpoint; here there is no "
            f"{'key behind' if vision else 'such checkpoint before'} it.",
            f"Write ARCHITECTURE:WEIGHTS+VISION.pt{EXCEPT}KEY,KEY, or leave it out.",
        )
    return Source(weights, vision, named)


def tag_of(text: str) -> str:
    """open_clip's own spelling of a tag."""
    return text.lower().replace("-", "_")


def activation(config: dict[str, Any]) -> str:
    """ "quick-GELU" or "plain GELU", and in which towers: convolutions and timm's have their own."""
    vision = config["vision_cfg"]
    own = "timm_model_name" in vision or isinstance(vision.get("layers"), list)
    return ("quick-GELU" if config.get("quick_gelu") else "plain GELU") + (
        " in its text tower" if own else ""
    )


def chosen_activation(architecture: str, config: dict[str, Any], behind: str) -> str:
    """A sentence on the activation that weights from a file are run with, and how to choose the other.

    No file of weights says which one they were trained with, and the wrong one gives slightly wrong features
    without any error: the name decides, so the visitor has to hear what it decided. ``behind``: what he
    wrote behind the colon, without folders.
    """
    taken = f"Runs with {activation(config)}, because it was named {architecture}"
    other = architecture.removesuffix(QUICK) if config.get("quick_gelu") else architecture + QUICK
    if other == architecture or other not in open_clip.list_models():
        return f"{taken}; open_clip has no variant with the other activation."
    if config.get("quick_gelu"):
        return f"{taken}; weights that were trained with plain GELU want {other}:{behind} instead."
    return (
        f"{taken} and the file cannot tell; weights that come from OpenAI's were trained with quick-GELU and "
        f"want {other}:{behind} instead."
    )
