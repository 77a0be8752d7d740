"""``load_runs``: the rows of run folders as one table, with what a reader of its means must know."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from rita_demo.evaluation.failures import NO_COUNT, failures
from rita_demo.evaluation.measurement import settings_text
from rita_demo.evaluation.rows import measurements, read

if TYPE_CHECKING:
    import pandas

#: Measurements that are equal in these differ in their settings, class names, weights or code alone.
SAME = ["dataset", "split", "backbone", "method", "attack", "budget", "steps", "protocol"]


def load_runs(*folders: str | Path) -> pandas.DataFrame:
    """One row per picture, method and cell of the folders that ``evaluate`` wrote to, or of folders of such folders.

    The columns are those of :func:`rita_demo.evaluation.rows.read` (docs/result-files.md has units). ``attack`` is what the
    tables call it, such as ``adaptive:rita``; in mixed traffic a clean picture has ``none``. Where a method was measured
    under several settings, as in a sweep, a warning says so: a mean that does not group by them is of all. Another one says
    which pictures have no row, because the user's own code failed.

    Raises:
        DataError: a folder is not a run folder, or its database is damaged or of an earlier version.
    """
    frame, about = read(*folders), measurements(*folders)
    for sentence in filter(
        None, [_several_settings(about), *(f"Failed: {str(one).rstrip('.')}. {NO_COUNT}" for one in failures(*folders))]
    ):
        warnings.warn(sentence, stacklevel=2)
    answered = frame[frame.fault.isna()].drop(columns=["fault", "detail"])
    return answered.astype({"right": bool}).reset_index(drop=True)


def _several_settings(about: pandas.DataFrame) -> str:
    """A sentence on a method that was measured under several settings, everything in a column being equal; "" for none."""
    for _, same in about.groupby(SAME, sort=False) if len(about) else ():
        if (count := same.settings.nunique()) > 1:
            one = same.drop_duplicates("settings")
            texts = list(dict.fromkeys(settings_text(settings) or "recommended" for settings in one.non_default))
            shown = "; ".join(texts) if len(texts) > 1 else "other pictures, class names, weights or code"
            return (
                f"{one.method.iloc[0]} on {one.dataset.iloc[0]} was measured under {count} settings ({shown[:300]}): group by "
                "settings and non_default, or a mean is of all of them together."
            )
    return ""
