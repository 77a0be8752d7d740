"""The paper's ablations as small requests that ``evaluate`` can answer in minutes on drawn textures."""

from __future__ import annotations

from rita_demo.errors import SettingError
from rita_demo.evaluation.request import Request, points
from rita_demo.measuring.places import Places
from rita_demo.settings import KNOBS

FOLDER = "from-the-page"  # the run folder of what is measured from the page
#: Setting -> the values that are measured; rho, kappa, lambda, alpha, J, views 16-128, prompts 4-32.
VALUES: dict[str, tuple[float, ...]] = {
    "transported_mass": (0.1, 0.25, 0.5, 0.75, 1.0),
    "step_back": (0.0, 0.2, 0.4, 0.8),
    "entropy_weight": (0.001, 0.01, 0.1, 1.0),
    "cache_weight": (0.0, 0.1, 0.5, 1.0),
    "slots": (1, 3, 8, 16),
    "views": (16, 32, 64, 128),
    "prompts": (4, 8, 16, 32),
    "tuning_steps": (0, 1, 4),
}
BUDGETS = "1,4,8"  # of the grid with the tuning steps
MOST = 94  # pictures


def small(places: Places, knob: str, pictures: int, budget: int, backbone: str) -> Request:
    """Vary one setting over :data:`VALUES` on drawn textures, clean and under PGD, the memory kept.

    ``tuning_steps`` is measured at every budget of ``BUDGETS``; the other settings at ``budget``.
    """
    if knob not in VALUES:
        raise SettingError(f"The setting is one of {', '.join(VALUES)}; got {str(knob)[:40]!r}.")
    if not 4 <= pictures <= MOST:
        raise SettingError(f"Measure 4 to {MOST} pictures here; got {pictures}.")
    KNOBS["budget"].parse(budget)
    values = ",".join(f"{value:g}" for value in VALUES[knob])
    chosen, _ = points(
        attacks="none,pgd",
        budget=BUDGETS if knob == "tuning_steps" else str(budget),
        protocols="off,stream",
        sweeps=[f"{knob}={values}"],
    )
    return Request(
        datasets=("textures",),
        split="val",
        methods=("clip", "ensemble", "rita", "rita_memory"),
        points=chosen,
        out=places.runs / FOLDER,
        limit=pictures,
        backbone=backbone,
    )
