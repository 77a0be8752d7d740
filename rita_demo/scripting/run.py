"""``run``: one picture from Python, and the run as Python and notebooks see it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.data.picture_sources import Source
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.export import to_json, verdict_rows, write_bundle
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.output_file import write_output
from rita_demo.records import Run
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.scripting.explain import explain, page_html
from rita_demo.scripting.own import OwnAttack, OwnDefence, attack_name, defence_names

if TYPE_CHECKING:
    import pandas as pd


def run(
    picture: Source,
    classes: Sequence[str] | str | None = None,
    *,
    vocabulary: str | None = None,
    label: str | int | None = None,
    attack: OwnAttack = "pgd",
    budget: int | str = 4,
    steps: int | None = None,
    target: str | int | None = None,
    seed: int | None = None,
    square: str | None = None,
    methods: OwnDefence | Iterable[OwnDefence] | None = None,
    defence: OwnDefence | Iterable[OwnDefence] | None = None,  # as it was said before: answers beside the methods
    memory: str | Path | None = None,
    preset: str = "recommended",
    settings: Mapping[str, JsonValue] | None = None,
    backbone: str = "embedded",
    engine: Engine | None = None,
) -> RunResult:
    """Attack a picture and defend it: ``rita explain`` in Python, with the same numbers.

    Args:
        picture: a path, an open file or its bytes, a PIL picture, or an array or tensor: (H, W, 3) or (3, H, W), uint8 or
            floats in [0, 1]; see :func:`rita_demo.data.pictures.open_picture`.
        classes: the class names, a list or text with commas; or ``vocabulary``: a ready list (caltech101, dtd, imagenet).
        label: the true class, by its name or index; None: CLIP's own answer on the clean picture.
        attack: a name, ``adaptive:METHOD``, or ``none``: then the picture is only defended; or your own: an
            :class:`~rita_demo.attacks.contract.Attack`, ``FILE.py:NAME``, or a function that takes one step.
        budget: in 1/255: 4, or "4/255". steps: gradient steps of the attack. target: the class that the attack aims at, as the label.
        seed: of the attack and the views. square: ``model`` or ``picture``, which square is attacked.
        methods: who answers beside CLIP, Ensemble and RITA; None: all but RITA's ablations and those on request (COLA, AGC, TDA).
            Names (a list, or text with commas), and your own: a :class:`~rita_demo.defences.contract.Defence`,
            ``FILE.py:NAME``, or a function from a ``DefenceInput`` to probabilities (K,). An own one is known by its name
            until the program ends, and answers in every later run.
        memory: the file of a memory, of the page or of :func:`rita_demo.save_memory`, from which RITA decides; None: an empty
            one. It has the class names in their order, and the model.
        preset, settings: where the settings start, and changes {name: value}, which win over all other options.
        backbone: a model's name, loaded once; or ``engine``: one that is loaded.

    Raises:
        DemoError: an input that cannot be used, in one sentence.
    """
    defence_names(defence)  # an own one always answers
    words: dict[str, Any] = {
        "classes": classes,
        "vocabulary": vocabulary,
        "label": label,
        "target": target,
        "seed": seed,
    }
    words |= {"methods": None if methods is None else defence_names(methods), "attack": attack_name(attack)}
    words |= {"budget": budget, "steps": steps, "square": square, "start": preset, "changes": settings}
    model, done = explain(RunRequest.parse(picture, **words), engine or backbone, memory=memory)
    if done.class_prompts.warning:
        warnings.warn(done.class_prompts.warning, stacklevel=2)
    return RunResult(done, model)


@dataclass(frozen=True, repr=False)
class RunResult:
    """A picture attacked and defended. ``run`` is the whole record: pictures, features, plans, memory, times.

    A notebook shows it as the page of :meth:`to_html` in a sandboxed frame.
    """

    run: Run
    engine: Engine

    def to_json(self) -> dict[str, Any]:
        """What ``explain --json`` writes, as a dict."""
        return to_json(self.run)

    def to_frame(self) -> pd.DataFrame:
        """One row per method: its answer on the clean and on the attacked picture, with probability and margin."""
        import pandas as pd

        head, *rows = verdict_rows(self.run)
        return pd.DataFrame(rows, columns=head).set_index("method")

    def to_html(self) -> str:
        """One page with pictures and figures, about 7 MB: what ``explain --html`` writes."""
        return self._page

    def save(self, path: str | Path) -> Path:
        """Write the zip that ``rita open`` shows again; returns its path. Raises DataError: the name does not end in
        .zip, or the file cannot be written: an earlier one is as it was. SettingError: the run used a file of this
        machine."""
        path = Path(path)
        if path.suffix.lower() != ".zip":
            raise DataError(f"A run is saved as a zip; got {path.name[:60]!r}.", 'For example save("run.zip").')
        write_output(path, write_bundle(self.run, self._page))
        return path

    @cached_property
    def _page(self) -> str:
        return page_html(self.engine, self.run)

    def __repr__(self) -> str:
        head = f"RunResult, attack {self.run.settings.attack}, true class {self.to_json()['label']}"
        return f"{head}\n{self.to_frame().to_string()}"

    def _repr_html_(self) -> str:
        """The page in a frame that runs its scripts and reaches nothing else."""
        style = "width: 100%; height: 720px; border: 1px solid #8888; background: white"
        size = f"{len(self._page.encode()) / 1e6:.1f} MB of HTML"
        return (
            f'<iframe title="A run of the RITA demo" sandbox="allow-scripts" style="{style}" '
            f'srcdoc="{escape(self._page)}"></iframe><div><small>{size}, kept in the notebook file.</small></div>'
        )
