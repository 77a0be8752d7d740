"""One case again: ``python -m tests.fuzz TARGET NUMBER``; says what is wrong with how it is received."""

import sys
import tempfile
from pathlib import Path

from tests.fuzz.targets import TARGETS, case, fault

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in TARGETS or not sys.argv[2].isdecimal():
        sys.exit(f"{__doc__}\nTargets: {', '.join(TARGETS)}")
    name, number = sys.argv[1], int(sys.argv[2])
    print(repr(case(name, number))[:2_000])
    with tempfile.TemporaryDirectory() as folder:
        said = fault(name, number, Path(folder))
        if said:
            print(said)
            TARGETS[name].check(case(name, number), Path(tempfile.mkdtemp()))
        print("received as it should be")
