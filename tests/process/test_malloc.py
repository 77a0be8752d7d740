"""Encoding many pictures does not make the process grow (Linux with glibc, in a process of its own)."""

import subprocess
import sys
from pathlib import Path

import pytest

GROWTH = """
import numpy as np
from rita_demo.process import malloc
from rita_demo.data.pictures import picture_of
from rita_demo.engine.engine import Engine
from rita_demo.settings import RECOMMENDED

engine, draw = Engine(), np.random.default_rng(0)
sizes = []
for number in range(60):
    engine.encode_views(picture_of(draw.integers(0, 256, (128, 128, 3), np.uint8)), RECOMMENDED)
    if number in (3, 59):
        malloc.trim()
    sizes.append(malloc._resident_bytes() >> 20)
print(sizes[3], max(sizes[4:]), sizes[-1], malloc.TRIM_GROWTH_BYTES >> 20)
"""


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_memory_does_not_grow_over_sixty_pictures() -> None:
    ran = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    before, highest, after, grown = map(int, ran.stdout.split())
    assert after < before + 60  # without it every picture leaves 24 MB of freed views that are not reused
    assert highest < before + grown + 250  # the need of one picture on top
