"""Write ``assets/measured/ladder.csv`` from a folder of ``evaluate``: a line for each attacked picture, which part of RITA has
it right.

``python -m tools.story.ladder RUNS``: RUNS holds CLIP, Ensemble, ``ensemble_area`` and RITA without its memory and with it,
of the same pictures under one attack; docs/results.md has the command.
"""

import argparse
from pathlib import Path

from rita_demo.data import shipped_results
from rita_demo.evaluation.report.comparisons import picture_key
from rita_demo.evaluation.store.cell_file import seed_groups
from rita_demo.records.measurement import LADDER, LadderRow

OF = {("rita", "stream"): "memory"}


def ladder(runs: Path) -> list[LadderRow]:
    """The pictures that every part answered, in the order of the runs."""
    found: dict[tuple[object, ...], dict[str, int]] = {}
    for group in seed_groups(runs):
        columns = group.header.columns
        part = OF.get((columns["method"], columns["protocol"]), columns["method"])
        for row in group.rows:
            found.setdefault((columns["dataset"], *picture_key(row)), {})[part] = int(row["right"])
    return [
        LadderRow(dataset=str(key[0]), picture=str(key[1]), **right)
        for key, right in found.items()
        if right.keys() == {*LADDER}
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    shipped_results.write_records(shipped_results.LADDER, ladder(parser.parse_args().runs))
