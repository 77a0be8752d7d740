"""How much of an attack is left in each crop: why crops help against an attack on the whole picture."""

from dataclasses import dataclass

import numpy as np

from rita_demo.figures.analysis.crop_field import margins, rival_class
from rita_demo.records import Array, Run


@dataclass(frozen=True)
class PushLeft:
    """The fall of the margin between two classes, in each view. View 0 is the whole picture."""

    reference: int  # the class that counts as right
    rival: int  # the class it is compared with
    fall: Array  # (N,) margin without the attack minus margin with it, in cosine distance
    share: Array  # (N,) fall / fall[0]; below 0: the attack helps the right class in this crop
    median: int | None  # the crop with the median share of crops 1..N-1 (of two the lower); None without crops


def push_left(run: Run) -> PushLeft | None:
    """The fall of every view from the clean to the attacked picture; the margin is that of :func:`margins`, between the
    reference class and :func:`rival_class`. None: there is no attack, or it does not lower the whole picture's margin."""
    pair = run.label, rival_class(run)
    fall = margins(run, run.clean, pair) - margins(run, run.attacked, pair)
    if run.attack is None or not fall[0] > 0:
        return None
    share = fall / fall[0]
    order = 1 + np.argsort(share[1:], kind="stable")
    median = int(order[(len(order) - 1) // 2]) if len(order) else None
    return PushLeft(*pair, fall, share, median)
