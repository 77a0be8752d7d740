"""``run``: one picture from Python."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rita_demo.data.picture_sources import Source
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records.json_value import JsonValue
from rita_demo.scripting.explain import explain
from rita_demo.scripting.own import OwnAttack, OwnDefence, attack_name, defence_names
from rita_demo.scripting.run_result import RunResult


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
    answering = None if methods is None else defence_names(methods)
    request = RunRequest.parse(
        picture,
        classes=classes,
        vocabulary=vocabulary,
        label=label,
        target=target,
        methods=answering,
        start=preset,
        attack=attack_name(attack),
        budget=budget,
        steps=steps,
        square=square,
        seed=seed,
        changes=settings,
    )
    used, done = explain(request, engine or backbone, memory=memory)
    if done.class_prompts.warning:
        warnings.warn(done.class_prompts.warning, stacklevel=2)
    return RunResult(done, used)
