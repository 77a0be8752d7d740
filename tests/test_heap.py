"""Looking at many pictures does not make the process grow (Linux with glibc, in a process of its own)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

GROWTH = """
import numpy as np
from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.settings import RECOMMENDED

def resident():
    line = next(l for l in open("/proc/self/status") if l.startswith("VmRSS"))
    return int(line.split()[1]) >> 10

engine, draw = Engine(), np.random.default_rng(0)
for number in range(24):
    engine.look(picture_of(draw.integers(0, 256, (128, 128, 3), np.uint8)), RECOMMENDED)
    if number == 3:
        before = resident()
print(resident() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_twenty_pictures_leave_memory_flat() -> None:
    ran = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, text=True, check=True)
    grown = int(ran.stdout)
    print(f"20 pictures, 64 views each: {grown} MB more (views of one picture: 12 MB)")
    assert grown < 120  # each would keep 24 MB of freed views from being used again
