"""Whether this machine has a graphics card that torch does not use. Loads no torch."""

from pathlib import Path

from rita_demo.process import environment

CARDS = Path("/proc/driver/nvidia/gpus")  # of NVIDIA's driver: a folder for every card


def unused(device: str) -> bool:
    """Whether the model is on the CPU although there is a card, and nobody asked for that."""
    return device == "cpu" and not environment.value("RITA_DEVICE") and CARDS.is_dir() and any(CARDS.iterdir())
