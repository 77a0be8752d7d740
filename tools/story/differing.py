"""Look for one picture on which an attack leaves only RITA right, and one on which it leaves only the average right.

``python -m tools.story.differing`` tries the samples and drawn textures in the order of ``rita_demo/pipeline/differing.py`` and
writes the first of each kind to ``assets/measured/differing.json``; it ends when both are found, or after ``--minutes``, and the
next call goes on from there. Without the file it begins anew.
"""

import argparse
import time

from rita_demo.engine.engine import Engine
from rita_demo.pipeline import differing


def main() -> None:
    """Search, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texture-seeds", type=int, default=4, help="pictures of each of the 47 textures")
    parser.add_argument("--minutes", type=float, default=60)
    asked, end = parser.parse_args(), time.monotonic()
    tried, stored = (differing.tried(), differing.stored()) if differing.STORED.exists() else (0, ())
    found, end = {one.right: one for one in stored}, end + 60 * asked.minutes
    for source, budget, one in differing.search(Engine("embedded"), asked.texture_seeds, tried):
        tried += 1
        if one is not None:
            print(f"{tried}: only {one.right} is right on {source} at {budget}/255, leads {one.leads}", flush=True)
            found.setdefault(one.right, one)
        if len(found) == 2 or time.monotonic() > end:
            break
    differing.write([found[right] for right in ("rita", "average") if right in found], tried)
    print(f"{tried} pictures and strengths tried; found: {', '.join(found) or 'none'}")


if __name__ == "__main__":
    main()
