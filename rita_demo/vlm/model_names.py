"""The parts of a model's name after the colon, and the activation that the architecture's name stands for."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.checkpoint import SUFFIXES

EXCEPT_OPTION = "+except="
QUICKGELU_SUFFIX = "-quickgelu"


@dataclass(frozen=True)
class ModelSource:
    """``WEIGHTS``, ``WEIGHTS+VISION`` or ``WEIGHTS+VISION+except=KEY,KEY``.

    ``weights`` is a tag or a file with the whole model, ``vision`` a file with the vision tower that replaces that
    model's own ("" for none), ``allowed_keys`` the keys that may be missing or left over in it.
    """

    weights: str
    vision: str = ""
    allowed_keys: frozenset[str] = frozenset()

    @property
    def suffix(self) -> str:
        """The part of the name after the weights, files without their folders."""
        keys = EXCEPT_OPTION + ",".join(sorted(self.allowed_keys)) if self.allowed_keys else ""
        return f"+{Path(self.vision).name}{keys}" if self.vision else ""


def split_source(source: str, tags: Iterable[str]) -> ModelSource:
    """Split the part of a name after the colon. ``tags``: open_clip's tags for the architecture.

    A plus sign separates only after a tag or after the suffix of a checkpoint, so that paths may contain some.

    Raises:
        BackboneError: ``+except=`` without a vision tower or without keys.
    """
    rest, option, keys = source.partition(EXCEPT_OPTION)
    allowed_keys = frozenset(key.strip() for key in keys.split(",") if key.strip())
    parts = [(rest[:at], rest[at + 1 :]) for at, sign in enumerate(rest) if sign == "+"]
    known = set(tags)
    found = [p for p in parts if tag_of(p[0]) in known or p[0].lower().endswith(SUFFIXES)]
    weights, vision = found[0] if found else (rest, "")
    if option and not (vision and allowed_keys):
        raise BackboneError(
            f"{EXCEPT_OPTION} names keys of a vision tower's checkpoint; here there is no "
            f"{'key after' if vision else 'such checkpoint before'} it.",
            f"Write ARCHITECTURE:WEIGHTS+VISION.pt{EXCEPT_OPTION}KEY,KEY, or leave it out.",
        )
    return ModelSource(weights, vision, allowed_keys)


def tag_of(text: str) -> str:
    """open_clip's own spelling of a tag."""
    return text.lower().replace("-", "_")


def activation_name(config: dict[str, Any]) -> str:
    """ "quick-GELU" or "plain GELU"; convolutional and timm vision towers have other activations of their own."""
    vision = config["vision_cfg"]
    own = "timm_model_name" in vision or isinstance(vision.get("layers"), list)
    return ("quick-GELU" if config.get("quick_gelu") else "plain GELU") + (" in its text tower" if own else "")


def activation_note(architecture: str, config: dict[str, Any], suffix: str) -> str:
    """A sentence on the activation that weights from a file are run with, and how to choose the other one.

    A file of weights does not say which activation it was trained with, and the wrong one gives slightly wrong
    features without any error. The name decides, so the note states it.

    Args:
        suffix: the part of the name after the colon, files without their folders.
    """
    taken = f"Runs with {activation_name(config)}, because it was named {architecture}"
    other = architecture.removesuffix(QUICKGELU_SUFFIX) if config.get("quick_gelu") else architecture + QUICKGELU_SUFFIX
    if other == architecture or other not in open_clip.list_models():
        return f"{taken}; open_clip has no variant with the other activation."
    if config.get("quick_gelu"):
        return f"{taken}; weights that were trained with plain GELU want {other}:{suffix} instead."
    return (
        f"{taken} and the file cannot tell; weights that come from OpenAI's were trained with quick-GELU and "
        f"want {other}:{suffix} instead."
    )
