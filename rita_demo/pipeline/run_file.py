"""A whole run as bytes; see :mod:`rita_demo.data.record_file`.

The clean picture is not in it, and of the attack's pictures what every step changed.
"""

from dataclasses import replace

import numpy as np

from rita_demo.data import record_file
from rita_demo.records import ImageResult, Picture, Run


def pack(run: Run, title: str) -> bytes:
    """The bytes of an attacked run and of its title; the same run gives the same bytes."""
    return record_file.pack(_without_pictures(run), title)


def unpack(data: bytes, clean: Picture) -> Run:
    """The run of :func:`pack`. ``clean``: its clean picture. Raises ValueError: it is of another picture."""
    run = record_file.unpack(data)
    if run.clean.picture.key != clean.key:
        raise ValueError("the run is of another picture")
    return _with_pictures(run, clean)


def _without_pictures(run: Run) -> Run:
    """The run without pixels but those that each step of the attack changed, modulo 256."""
    assert run.attack is not None
    none, frames = np.zeros(0, np.uint8), run.attack.frames
    attack = replace(run.attack, pixels=none, frames=np.diff(frames, axis=0))
    clean, attacked = (replace(side, picture=replace(side.picture, pixels=none)) for side in (run.clean, run.attacked))
    return replace(run, attack=attack, clean=clean, attacked=attacked)


def _with_pictures(run: Run, clean: Picture) -> Run:
    assert run.attack is not None
    frames = np.cumsum(np.concatenate([clean.pixels[None], run.attack.frames]), axis=0, dtype=np.uint8)

    def shown(side: ImageResult, pixels: np.ndarray) -> ImageResult:
        return replace(side, picture=replace(side.picture, pixels=pixels))

    attack = replace(run.attack, pixels=frames[-1], frames=frames)
    return replace(run, attack=attack, clean=shown(run.clean, frames[0]), attacked=shown(run.attacked, frames[-1]))
