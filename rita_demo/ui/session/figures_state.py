"""What the room *Figures* shows to one visitor, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rita_demo.evaluation.page import OnlyRight
from rita_demo.records import Run, TheoremBounds
from rita_demo.records.measurement import AblationPoint, PlacedCloud, RunTime

if TYPE_CHECKING:
    from pandas import DataFrame

    from rita_demo.ui.session.session import Session


@dataclass(frozen=True)
class Compared:
    """Two measurements by their names, the pictures that the first alone has right, and small ones of the first of these as
    data URIs, "" where a file is not here."""

    first: str
    second: str
    found: OnlyRight
    images: tuple[str, ...]


#: The figures of the wall, in the order of their tiles.
FIGURES = ("cloud", "kl", "theorem", "settings", "paper", "overview")


@dataclass(frozen=True)
class FiguresState:
    """``shown``: one of ``FIGURES``. ``projection`` is "PCA" or "UMAP"; ``k`` the selected class of the cloud, ``picture`` one
    of its pictures, ``point`` one of its points, ``lasso_points`` those inside the lasso; ``released_class``: the class of the selection
    of all rooms that was deselected here. ``theorem_bounds``: Theorem 1 on a run; ``ablation_points`` and ``times``: the measurements of
    ``run_folder`` ("": those shipped with this copy). ``printed``: the paper's accuracies beside them. ``compared``: two runs, picture by picture. ``setting`` and ``dataset``: of the
    figures of measurements."""

    shown: str = FIGURES[0]
    placed_cloud: PlacedCloud | None = None
    projection: str = "UMAP"
    k: int | None = None
    picture: int | None = None
    point: int | None = None
    lasso_points: tuple[int, ...] = ()
    released_class: int | None = None
    theorem_bounds: tuple[Run, dict[str, TheoremBounds]] | None = None
    run_folder: str = ""
    ablation_points: tuple[AblationPoint, ...] = ()
    times: tuple[RunTime, ...] = ()
    printed: DataFrame | None = field(default=None, compare=False)
    compared: Compared | None = None
    setting: str = "step_back"
    dataset: str = "DTD"


def selected_class(session: Session) -> int | None:
    """The selected class of the cloud: that of the selection of all tabs if the cloud has it, else the one chosen here."""
    figures = session.figures
    if figures.placed_cloud is None:
        return None
    k = session.selected_class_in(figures.placed_cloud.cloud.names)
    return figures.k if k is None or session.selection.k == figures.released_class else k
