"""Write ``assets/measured/ladder.csv`` from a folder of ``evaluate``: a line for each attacked picture, which part of RITA has
it right.

``python -m tools.story.ladder RUNS``: RUNS holds CLIP, Ensemble, ``ensemble_area`` and RITA without its memory and with it,
of the same pictures under one attack; docs/results.md has the command."""

import argparse
from pathlib import Path

from rita_demo.data import shipped_results
from rita_demo.evaluation.frames import read
from rita_demo.evaluation.report.paired import ATTACKED
from rita_demo.records.measurement import LADDER, LadderRow


def ladder(runs: Path) -> list[LadderRow]:
    """The pictures that every part answered, in the order of the runs."""
    rows = read(runs)
    rows = rows[rows["fault"].isna()]
    parts = ["memory" if both == ("rita", "stream") else both[0] for both in zip(rows["method"], rows["protocol"])]
    key = ["dataset", *ATTACKED]
    table = rows.assign(part=parts, right=rows["right"].astype(int)).pivot_table(
        "right", key, "part", "last", sort=False
    )
    whole = table.reindex(columns=list(LADDER)).dropna().astype(int).reset_index()
    return [LadderRow(**line) for line in whole[["dataset", "picture", *LADDER]].to_dict("records")]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    shipped_results.write_records(shipped_results.LADDER, ladder(parser.parse_args().runs))
