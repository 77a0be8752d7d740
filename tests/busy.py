"""A machine on which other programs compute, too."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAMS_PER_CORE = 4


@contextmanager
def busy_machine() -> Iterator[None]:
    """Programs that compute all the time, several for every core."""
    count = PROGRAMS_PER_CORE * (os.cpu_count() or 1)
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()
