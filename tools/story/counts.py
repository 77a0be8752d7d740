"""On how many of the same pictures is only RITA right, and on how many only an average of its crops?

``python -m tools.story.counts RUNS`` writes ``assets/measured/differences.csv`` from a folder of ``evaluate``: a row per
set, attack, kind of average and seed, and one over all seeds, in which a picture counts once, for the method that has it
right under more of them. The commands that fill RUNS are in docs/results.md, section "A fair control".
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rita_demo.data import shipped_results
from rita_demo.evaluation.report.comparisons import compare_paired
from rita_demo.evaluation.store.cell_file import SeedGroup, seed_groups
from rita_demo.records.measurement import DifferenceRow
from rita_demo.settings import RECOMMENDED

METHOD, AVERAGES, ALL = "rita", ("ensemble", "ensemble_area"), "all"


def count(groups: Sequence[SeedGroup]) -> list[DifferenceRow]:
    """The rows of RITA without a memory, as it is recommended, against each average."""
    rows: dict[tuple[str, str, str, str, int, str, str], dict[str, list[dict[str, Any]]]] = {}
    for group in groups:
        header, columns = group.header, group.header.columns
        changed = {"cost": header.settings.get("cost", "cosine"), "rho": header.settings["transported_mass"]}
        if columns["protocol"] != "off" or changed != {"cost": RECOMMENDED.cost, "rho": RECOMMENDED.transported_mass}:
            continue
        where = columns["split"], columns["attack"], columns["backbone"], columns["budget"], header.weights[:8]
        for dataset in (columns["dataset"], ALL):
            for seed in (*sorted({str(row["seed"]) for row in group.rows}), ALL):
                mine = [row for row in group.rows if seed in (ALL, str(row["seed"]))]
                cell = rows.setdefault((dataset, *where, seed), {})
                cell.setdefault(header.method, []).extend(mine)
    found = []
    for (dataset, split, attack, backbone, budget, weights, _seed), by in sorted(rows.items()):
        for average in AVERAGES:
            if pair := compare_paired(by.get(METHOD, ()), by.get(average, ())):
                seeds = ",".join(sorted({str(row["seed"]) for row in by[METHOD]}))
                found.append(
                    DifferenceRow(
                        dataset,
                        split,
                        backbone,
                        attack,
                        budget,
                        METHOD,
                        average,
                        seeds,
                        pair.n,
                        pair.gained,
                        pair.lost,
                        weights,
                    )
                )
    return found


def main() -> None:
    """Count, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    found = count(seed_groups(parser.parse_args().runs))
    shipped_results.write_records(shipped_results.DIFFERENCES, found)
    for one in found:
        if one.dataset == ALL and "," in one.seeds:
            print(f"{one.attack}: {one.only_method} right only with RITA, {one.only_other} only with {one.other}")


if __name__ == "__main__":
    main()
