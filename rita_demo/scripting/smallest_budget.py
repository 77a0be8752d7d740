"""``smallest_budget``: how much on one picture, for several defences; it goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.analysis.visible_change import VisibleChange
from rita_demo.attacks.adaptive import ATTACK as ADAPTIVE
from rita_demo.data.picture_sources import Source
from rita_demo.data.pictures import open_picture, png_bytes
from rita_demo.defences.registry import DEFENCES, validated
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.store import files
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.pipeline.smallest_budget import MOST, BudgetProbe, SmallestBudget, row_of, smallest_budget_steps
from rita_demo.process.generators import Steps
from rita_demo.process.output_file import make_output_folder, output_errors, replace_file
from rita_demo.records import Run
from rita_demo.scripting.explain import explain, load_installed_defences
from rita_demo.scripting.own import OwnDefence, defence_names
from rita_demo.settings import SETTINGS

if TYPE_CHECKING:
    import pandas as pd

Report = Callable[[str], object]


@dataclass(frozen=True)
class _Store:
    """The attacks of one picture and method on disk: a line each in ``probes.jsonl``, and its picture as PNG."""

    folder: Path | None
    key: str

    def find(self, budget: int) -> BudgetProbe | None:
        """What is known of a budget; an attack whose picture is missing is made again."""
        if self.folder is None:
            return None
        for row in files.read_lines(self.folder / "probes.jsonl"):
            picture = self.folder / self._png(budget)
            if (row["key"], row["budget"]) == (self.key, budget) and picture.is_file():
                pixels = open_picture(picture.read_bytes(), square="model", side=row.pop("side")).pixels
                change = VisibleChange(**row.pop("change"))
                fields = {name: value for name, value in row.items() if name not in ("key", "method")}
                return BudgetProbe(**fields, pixels=pixels, change=change)
        return None

    def put(self, method: str, probe: BudgetProbe) -> None:
        if self.folder is None or self.find(probe.budget) is not None:
            return
        make_output_folder(self.folder)
        row = {name: value for name, value in asdict(probe).items() if name != "pixels"}
        row |= {"key": self.key, "method": method, "side": int(probe.pixels.shape[0])}
        with output_errors(self.folder):
            replace_file(self.folder / self._png(probe.budget), png_bytes(probe.pixels))
            files.truncate_partial_line(self.folder / "probes.jsonl")  # of a full disk
            files.append_line(self.folder / "probes.jsonl", row)

    def _png(self, budget: int) -> str:
        return f"{self.key}-{budget}.png"


def smallest_budget(
    picture: Source,
    classes: Sequence[str] | str | None = None,
    *,
    methods: OwnDefence | Iterable[OwnDefence] = "rita",
    defence: OwnDefence | Iterable[OwnDefence] | None = None,  # as own ones were given before: more methods
    label: str | int | None = None,
    most: int | str = MOST,
    out: str | Path | None = None,
    report: Report = lambda _: None,
    **options: Any,
) -> pd.DataFrame:
    """The smallest budget at which the attacker who knows a defence makes its answer on this picture wrong, by bisection
    (:func:`rita_demo.pipeline.smallest_budget.smallest_budget_steps`): ``rita budget`` in Python.

    Args:
        picture, classes, label, methods, options: as :func:`rita_demo.run` takes them, without an attack; ``budget`` is the first
            that is tried. most: the largest budget, in 1/255.
        out: a folder that keeps every attack: the same call goes on where an earlier one ended. None: nothing is kept.
        report: gets a sentence of progress after every step.

    Returns:
        One row per defence: ``budget`` in 1/255 (0: wrong without an attack; missing: it stood up to ``most``), the wrong
        ``answer``, ``linf`` and ``l2`` of the change, ``ssim``, ``ciede2000`` (mean over the pixels) and ``ciede2000_max``; of
        all attacks together ``attacks``, ``forward`` and ``backward`` passes of the vision tower in pictures, and ``seconds``;
        ``tried``: every budget and whether the defence fell.

    Raises:
        DemoError: an input that cannot be used, in one sentence.
    """
    import pandas as pd

    load_installed_defences()
    largest = SETTINGS["budget"].parse(most)
    names = validated(dict.fromkeys([*defence_names(methods), *defence_names(defence)]))
    engine, backbone = options.pop("engine", None), options.pop("backbone", "embedded")
    words = {"start": options.pop("preset", "recommended"), "changes": options.pop("settings", None)} | options
    request = RunRequest.parse(picture, classes=classes, label=label, methods=list(names), attack="none", **words)
    used, run = explain(request, engine or backbone)
    found = list(results(used, run, names, largest, None if out is None else Path(out), report))
    return (
        pd.DataFrame([row_of(one, run.class_prompts.names) for one in found])
        .set_index("method")
        .astype({"budget": "Int64"})
    )


def results(
    engine: Engine, run: Run, methods: Iterable[str], most: int, out: Path | None, report: Report
) -> Iterable[SmallestBudget]:
    """The result of each method on an unattacked run."""
    for method in methods:
        store = _Store(out, _key(engine, run, method))
        steps = Steps(smallest_budget_steps(engine, run, method, most, store.find))
        for sentence, probe in steps:
            if probe is not None:
                store.put(method, probe)
            report(sentence)
        yield steps.value


def _key(engine: Engine, run: Run, method: str) -> str:
    """A hash of all that a probe depends on beside its budget. The first budget decides where an attack begins, so it is
    part of it."""
    settings, row = run.settings.as_dict(), DEFENCES[method]
    own = {name: getattr(run.settings, name) for name in (*row.param_names.values(), *ADAPTIVE.setting_names)}
    value = {"picture": run.clean.picture.key, "names": run.class_prompts.names, "settings": settings | own}
    value |= {"label": run.label, "method": method, "code": row.digest, "weights": engine.weights_key()}
    return files.digest(value | {"form": ADAPTIVE.revision})
