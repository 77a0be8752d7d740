"""``evaluate``: a measurement from Python."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.data.picture_sources import Source
from rita_demo.data.vocabularies import label_index
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.pictures import PictureSet, own_pictures
from rita_demo.evaluation.report.cells import load_runs
from rita_demo.evaluation.request import ChosenPictures, Words, parse_request
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.pipeline.run_request import class_names
from rita_demo.process.environment import data_folder
from rita_demo.records.errors import DataError, SettingError, VocabularyError
from rita_demo.records.json_value import JsonValue
from rita_demo.scripting.explain import load_engine
from rita_demo.scripting.own import OwnAttack, OwnDefence, attack_names, defence_names
from rita_demo.settings.setting import short_repr

if TYPE_CHECKING:
    import pandas as pd

OWN = "own"  # the dataset's name in tables, where it is an iterable


def evaluate(
    dataset: str | Path | Iterable[tuple[Source, int | str]],
    classes: Sequence[str] | str | None = None,
    *,
    methods: OwnDefence | Iterable[OwnDefence] = (),
    attack: OwnAttack | Iterable[OwnAttack] = (),
    defences: OwnDefence | Iterable[OwnDefence] = (),  # as own ones were given before: more methods
    attacks: OwnAttack | Iterable[OwnAttack] = (),
    budget: Words,
    split: str = "test",
    steps: Words | None = None,
    square: str = "model",
    protocols: Words = "off,reset,stream",
    seeds: Words = 0,
    limit: int | None = None,
    pictures: Iterable[str] | None = None,
    memory: str | Path | None = None,
    allow_partial: bool = False,
    target: str | int = "",
    preset: str = "recommended",
    settings: Mapping[str, JsonValue] | None = None,
    data_root: str | Path | None = None,
    backbone: str = "embedded",
    engine: Engine | None = None,
    out: str | Path | None = None,
    report: Callable[[str], object] = lambda _: None,
) -> pd.DataFrame:
    """Measure methods on a dataset: ``rita evaluate`` in Python, with the same options, rows and folder.

    Args:
        dataset: names or folders as on the command line, below ``data_root`` (None: ``RITA_DATA``, else ./data); or an
            iterable of (picture, label) with ``classes``: pictures as :func:`rita_demo.run` takes them, a label is a class
            name or index, as ``target`` is then.
        methods, attack: one or several: names as on the command line, and your own: records, ``FILE.py:NAME`` or plain
            functions, as :func:`rita_demo.run` takes them. What a function calls in its own module counts when it is asked
            whether stored rows are of the same code.
        budget: in 1/255: 4, "4/255", or several.
        pictures: the names of the pictures to measure, such as the column ``picture`` of :func:`rita_demo.only_right`;
            None: all. Without ``limit``, and of one named dataset.
        memory: a file of the page or of :func:`rita_demo.save_memory`; each kept memory begins with it instead of an empty one.
        out: the folder that keeps the results. The same call goes on where an earlier one ended. None: nothing is kept.
        report: gets a sentence of progress after every picture; before the first, what is in the dataset and not measured.
            Listed pictures that are missing and a random split are a warning.

    Returns:
        One row per picture and method, of everything in ``out``: see :func:`rita_demo.load_runs`.

    Raises:
        DemoError: an input that cannot be used, in one sentence.
    """
    if isinstance(dataset, str | Path) and classes is not None:
        raise VocabularyError(
            "A named dataset has its own class names.", "Leave classes out, or pass (picture, label) pairs."
        )

    def warn(sentence: str) -> None:
        if sentence:
            warnings.warn(sentence, stacklevel=4)

    own: dict[str, PictureSet] = {}
    if not isinstance(dataset, str | Path):
        listed = class_names(classes)
        own[OWN] = own_pictures(OWN, listed, dataset, limit)
        target = target if isinstance(target, str) else listed[label_index(listed, target, "target")]
        if pictures is not None:
            raise DataError("Pictures are chosen by their names in a named dataset.", "Pass the chosen pairs alone.")
    elif not isinstance(target, str):
        raise SettingError(f"The target of a named dataset is a class name, or next; got {short_repr(target)}.")
    method_names = [*defence_names(methods), *defence_names(defences)]
    asked: dict[str, Any] = {
        "start": preset,
        "attacks": [*attack_names(attack), *attack_names(attacks)],
        "steps": steps,
    }
    asked |= {"budget": budget, "square": square, "protocols": protocols}
    asked["assignments"] = [f"{name}={value}" for name, value in (settings or {}).items()]
    fields: dict[str, Any] = {"split": split, "limit": limit, "allow_partial": allow_partial, "backbone": backbone}
    fields |= {"target": target, "data_root": data_folder() if data_root is None else Path(data_root)}
    fields["memory"] = None if memory is None else Path(memory)
    fields["chosen"] = None if pictures is None else ChosenPictures(tuple(dict.fromkeys(pictures)))
    with nullcontext(out) if out is not None else tempfile.TemporaryDirectory() as folder:
        names = OWN if own else str(dataset)
        request = parse_request(names, method_names, seeds, asked, out=Path(folder), **fields)
        for step in evaluate_steps(request, engine or load_engine(backbone), own, report, warn):
            report(step.sentence)
        return load_runs(request.out)
