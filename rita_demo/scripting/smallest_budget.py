"""``smallest_budget``: how much on one picture, for several defences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rita_demo.data.picture_sources import Source
from rita_demo.defences.registry import validated
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.pipeline.smallest_budget import MOST, row_of, smallest_budget_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records.errors import refuse_gone
from rita_demo.scripting.explain import explain
from rita_demo.scripting.own import OwnDefence, defence_names
from rita_demo.settings import SETTINGS

if TYPE_CHECKING:
    import pandas as pd


def smallest_budget(
    picture: Source,
    classes: Sequence[str] | str | None = None,
    *,
    methods: OwnDefence | Iterable[OwnDefence] = "rita",
    defence: OwnDefence | Iterable[OwnDefence] | None = None,  # as own ones were given before: more methods
    label: str | int | None = None,
    most: int | str = MOST,
    report: Callable[[str], object] = lambda _: None,
    **options: Any,
) -> pd.DataFrame:
    """The smallest budget at which the attacker who knows a defence makes its answer on this picture wrong, by bisection
    (:func:`rita_demo.pipeline.smallest_budget.smallest_budget_steps`): ``rita budget`` in Python.

    Args:
        picture, classes, label, methods, options: as :func:`rita_demo.run` takes them, without an attack; ``budget`` is the first
            that is tried. most: the largest budget, in 1/255.
        report: gets a sentence of progress after every step.

    Returns:
        One row per defence: ``budget`` in 1/255 (0: wrong without an attack; missing: it stood up to ``most``), the wrong
        ``answer``, ``linf`` and ``l2`` of the change; of all attacks together ``attacks``, ``forward`` and ``backward``
        passes of the vision tower in pictures, and ``seconds``; ``tried``: every budget and whether the defence fell.

    Raises:
        DemoError: an input that cannot be used, in one sentence.
    """
    import pandas as pd

    if "out" in options:
        refuse_gone("out of smallest_budget")
    largest = SETTINGS["budget"].parse(most)
    names = validated(dict.fromkeys([*defence_names(methods), *defence_names(defence)]))
    engine, backbone = options.pop("engine", None), options.pop("backbone", "embedded")
    words = {"start": options.pop("preset", "recommended"), "changes": options.pop("settings", None)} | options
    request = RunRequest.parse(picture, classes=classes, label=label, methods=list(names), attack="none", **words)
    model, run = explain(request, engine or backbone)
    budgets = [run_to_end(smallest_budget_steps(model, run, name, largest), report) for name in names]
    rows = [row_of(one, run.class_prompts.names) for one in budgets]
    return pd.DataFrame(rows).set_index("method").astype({"budget": "Int64"})
