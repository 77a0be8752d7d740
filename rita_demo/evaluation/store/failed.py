"""The faults of the user's own code as ``tables`` took them before; goes with it."""

from pathlib import Path

from rita_demo.evaluation import failures as found
from rita_demo.evaluation.failures import NO_COUNT, Failure, failure_lines

__all__ = ["NO_COUNT", "Failure", "cell_folders", "failure_lines", "failures"]


def cell_folders(*folders: Path) -> list[Path]:
    return [*folders]


def failures(folders: list[Path]) -> tuple[Failure, ...]:
    return found.failures(*folders)
