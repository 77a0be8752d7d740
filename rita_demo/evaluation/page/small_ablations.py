"""The paper's ablations as small requests, measured in minutes on drawn textures."""

from rita_demo.evaluation.page.streams import DataFolders
from rita_demo.evaluation.request import Request, points
from rita_demo.records.errors import SettingError, check_known
from rita_demo.settings import SETTINGS

RUN_FOLDER = "from-the-page"  # name of the run folder
#: Setting -> the values that are measured.
VALUES: dict[str, tuple[float, ...]] = {
    "transported_mass": (0.1, 0.25, 0.5, 0.75, 1.0),
    "step_back": (0.0, 0.2, 0.4, 0.8),
    "entropy_weight": (0.001, 0.01, 0.1, 1.0),
    "cache_weight": (0.0, 0.1, 0.5, 1.0),
    "slots": (1, 3, 8, 16),
    "views": (32, 64, 96),
    "prompts": (4, 8, 16, 32),
    "tuning_steps": (0, 1, 2, 4),
}
BUDGETS = "1,2,4"  # of the ablation of tuning_steps
MAX_PICTURES = 94


def small_request(folders: DataFolders, setting: str, pictures: int, budget: int, backbone: str) -> Request:
    """A request that varies one setting over :data:`VALUES` on drawn textures, clean and under PGD, as a stream.

    ``tuning_steps`` is measured at every budget of ``BUDGETS``; the other settings at ``budget``.

    Raises:
        SettingError: a setting, number of pictures or budget that is not offered.
    """
    check_known("setting", setting, VALUES)
    if not 4 <= pictures <= MAX_PICTURES:
        raise SettingError(f"Measure 4 to {MAX_PICTURES} pictures here; got {pictures}.")
    SETTINGS["budget"].parse(budget)
    values = ",".join(f"{value:g}" for value in VALUES[setting])
    chosen, _ = points(
        attacks="none,pgd",
        budget=BUDGETS if setting == "tuning_steps" else str(budget),
        protocols="off,stream",
        sweeps=[f"{setting}={values}"],
    )
    return Request(
        datasets=("textures",),
        split="val",
        methods=("clip", "ensemble", "rita", "rita_memory"),
        points=chosen,
        out=folders.runs / RUN_FOLDER,
        limit=pictures,
        backbone=backbone,
    )
