"""All that knows open_clip: which models there are, how pictures and prompts become features."""

from rita_demo.vlm.backbone import Backbone, finite, is_full, no_room
from rita_demo.vlm.device import pick_device
from rita_demo.vlm.registry import BACKBONES, available, load, untrained
from rita_demo.vlm.text import PromptSet, build_prompts, encode_sentences

__all__ = [
    "BACKBONES",
    "Backbone",
    "PromptSet",
    "available",
    "build_prompts",
    "encode_sentences",
    "finite",
    "is_full",
    "load",
    "no_room",
    "pick_device",
    "untrained",
]
