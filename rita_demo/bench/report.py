"""The report as text."""

from __future__ import annotations

from typing import Any

from rita_demo.process.text_columns import align_columns

#: Ratio -> its goal on two CPU cores with the embedded model, and whether the goal is an upper limit.
GOALS: dict[str, tuple[float, bool]] = {
    "decision_over_floor": (0.15, True),
    "image_over_floor": (1.3, True),
    "plain_over_image": (12.0, False),
    "rescore_over_150ms": (1.0, True),
    "decision_k1000_over_1s": (1.0, True),
    "decision_k1000_memory_over_1gib": (1.0, True),
}


def as_text(report: dict[str, Any], notes: list[str]) -> str:
    """Two tables: milliseconds and their ratio to the floor, then the ratios with their goals."""
    config, machine, floor = report["config"], report["machine"], report["stages"]["floor"]
    head = ", ".join(f"{axis} = {config[axis]}" for axis in ("N", "K", "M", "J"))
    where = machine["gpu"] or machine["processor"] or machine["system"]
    rows = [["stage", "ms (median)", "of the floor"]]
    rows += [[name, f"{1000 * seconds:.1f}", f"{seconds / floor:.2f}"] for name, seconds in report["stages"].items()]
    goals = [["ratio", "value", "goal", ""]]
    for name, value in report["ratios"].items():
        goal, met = "", ""
        if name in GOALS:
            limit, small = GOALS[name]
            goal = f"{'at most' if small else 'at least'} {limit:g}"
            met = "met" if (value <= limit) == small else "not met"
        goals.append([name, f"{value:.3f}", goal, met])
    title = (
        f"{config['backbone']} ({config['precision']}) on {where}, {machine['threads']} threads; "
        f"{head}, square of {config['side']} px."
    )
    below = ["", *notes] if notes else []
    return "\n".join([title, "", *align_columns(rows), "", *align_columns(goals), *below])
