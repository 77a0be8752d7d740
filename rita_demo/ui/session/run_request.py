"""From the form to a checked request: invalid values give an error message."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rita_demo.data import samples, vocabularies
from rita_demo.defences.registry import default_methods
from rita_demo.pipeline.run_request import RunRequest, class_names, method_names
from rita_demo.records import Run
from rita_demo.records.errors import DemoError, PictureError, SettingError, VocabularyError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.session import AttackDefendState
from rita_demo.ui.widgets.setting_controls import settings_from

OWN_CLASSES = "own"  # the vocabulary a visitor types
NOT_GIVEN = "not given"  # no true class
SECOND_BEST = "CLIP’s second best"  # the target that CLIP names when the run begins


def methods_of(form: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The chosen methods, and the three that are always there."""
    ticked = form.get("methods") or []
    if not isinstance(ticked, list):
        raise SettingError("The methods come as a list.", "Tick them in the menu.")
    return method_names(ticked)


def names_of(form: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The class names of the chosen list, or the typed ones."""
    listed = form.get("vocabulary")
    return class_names(form.get("own_names"), None) if listed == OWN_CLASSES else class_names(None, str(listed))


def class_of(names: tuple[str, ...], chosen: JsonValue) -> int | None:
    """The index of a class name; None when nothing was chosen."""
    if chosen is None or chosen in ("", NOT_GIVEN):
        return None
    if not isinstance(chosen, str):
        raise VocabularyError("A class is chosen by its name.", "Choose one from the list.")
    return vocabularies.index_of(names, chosen)


def form_request(form: Mapping[str, JsonValue]) -> RunRequest:
    """The request of a form (component name -> value as it came from the browser) without its picture. Raises DemoError:
    the first invalid value."""
    names, settings = names_of(form), settings_from(form)
    label, target = (class_of(names, form.get(name)) for name in ("truth", "target"))
    return RunRequest(None, names, settings, label, target, methods=methods_of(form))


def without_old_classes(form: Mapping[str, JsonValue], old: tuple[str, ...]) -> dict[str, JsonValue]:
    """The form without a true class or target of the ``old`` names that the typed ones lack: a press right after typing
    comes before the form's own answer (``form.lists_for``). Another unknown class stays, and is an error."""
    typed = names_of(form)
    gone = [name for name in old if name not in typed]
    return {name: NOT_GIVEN if name in ("truth", "target") and value in gone else value for name, value in form.items()}


def parse_request(form: Mapping[str, JsonValue], chosen: AttackDefendState, side: int, *, attack: bool) -> RunRequest:
    """The request of a form for the ``chosen`` picture; ``side``: the model's input side in pixels. Without ``attack`` it
    only defends, whatever attack the form names. Raises DemoError: the first invalid value."""
    request = form_request(form if attack else {**form, "attack": "none", "target": None})
    if chosen.source is not None:
        return replace(request, picture=chosen.source, title="Your picture").opened(side)
    if chosen.sample is None:
        raise PictureError("There is no picture yet.", "Choose a sample or upload your own.")
    one = samples.sample(chosen.sample)
    return replace(
        request, picture=one.load(square=request.settings.square, side=side), title=one.title, sample=one.key
    )


def asks_for_another_run(form: Mapping[str, JsonValue], run: Run) -> bool:
    """Whether a form's values, also invalid ones, are not those of ``run``; of a run that only defends without the
    attack and its target. The picture is not compared."""
    try:
        asked = form_request(form)
    except DemoError:
        return True
    if run.attack is None:
        asked = replace(asked, settings=asked.settings.replace(attack=run.settings.attack), target=None)
    aim = None if run.attack is None else run.attack.target
    shown = RunRequest(None, run.class_prompts.names, run.settings, run.given_label, aim, methods=run.methods)
    return asked != shown


def form_values(run: Run) -> dict[str, Any]:
    """The form that gives this run, by field name: the inverse of :func:`parse_request`."""
    names = run.class_prompts.names
    lists = {one.names: key for key, one in vocabularies.VOCABULARIES.items()}
    target = None if run.attack is None else run.attack.target
    return run.settings.every_value() | {
        "vocabulary": lists.get(names, OWN_CLASSES),
        "own_names": "" if names in lists else vocabularies.format_names(names),
        "truth": names[run.label] if run.label_given else NOT_GIVEN,
        "target": NOT_GIVEN if target is None else names[target],
        "methods": [name for name in run.methods if name not in default_methods()],
    }
