"""Whether this machine has a graphics card that torch cannot use. Loads no torch."""

import sys
from pathlib import Path

from rita_demo.process import environment

CARDS = Path("/proc/driver/nvidia/gpus")  # of NVIDIA's driver: a folder for every card


def warning(device: str) -> str:
    """A sentence where a model is on the CPU although there is a card, and nobody asked for that; else "". A run that comes
    from another machine says nothing of this one's card: torch is asked too, once it is loaded."""
    if device != "cpu" or environment.value("RITA_DEVICE") or not CARDS.is_dir() or not any(CARDS.iterdir()):
        return ""
    torch = sys.modules.get("torch")
    if torch is None or torch.cuda.is_available():
        return ""
    reasons = "its driver may be older than torch, torch may be built without CUDA, or a container may lack the card"
    return f"The model runs on the CPU, because torch cannot use this machine's graphics card: {reasons}."
