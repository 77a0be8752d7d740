"""From the form to a checked request: invalid values give an error message."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rita_demo.data import samples, vocabularies
from rita_demo.data.pictures import open_picture
from rita_demo.defences.registry import DEFAULT_METHODS, default_methods, with_defaults
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import RunProgress, run_picture_steps
from rita_demo.process.generators import Steps
from rita_demo.records import CacheState, Picture, Run
from rita_demo.records.errors import DemoError, PictureError, SettingError, VocabularyError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import Settings
from rita_demo.ui.session.session import AttackDefendState
from rita_demo.ui.widgets.setting_controls import settings_from

OWN_CLASSES = "own"  # the vocabulary a visitor types
NOT_GIVEN = "not given"  # no true class


@dataclass(frozen=True)
class RunRequest:
    """One run: a square picture (of a ``sample``, or uploaded), K class names, all settings, the true class ``label`` and
    the attack's ``target``; ``selection``: what is selected when it is put on screen, as far as it has it."""

    picture: Picture
    names: tuple[str, ...]
    settings: Settings
    label: int | None
    target: int | None
    title: str = "A picture"
    sample: str | None = None
    methods: tuple[str, ...] = DEFAULT_METHODS
    selection: Mapping[str, Any] = field(default_factory=dict)

    def steps(self, engine: Engine, cache: CacheState | None) -> Steps[RunProgress, Run]:
        """Run it from that cache; see :func:`rita_demo.pipeline.run.run_picture_steps`."""
        options: dict[str, Any] = {"label": self.label, "target": self.target, "methods": self.methods}
        return Steps(run_picture_steps(engine, self.picture, self.names, self.settings, cache=cache, **options))


def methods_of(form: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The chosen methods, and the three that are always there."""
    ticked = form.get("methods") or []
    if not isinstance(ticked, list):
        raise SettingError("The methods come as a list.", "Tick them in the menu.")
    return with_defaults(map(str, ticked))


def names_of(form: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The class names of the chosen list, or the typed ones."""
    chosen = form.get("vocabulary")
    if chosen == OWN_CLASSES:
        typed = form.get("own_names")
        if not isinstance(typed, str):
            raise VocabularyError("Class names are text.", "Type them separated by commas.")
        return vocabularies.parse_names(typed)
    return vocabularies.vocabulary(str(chosen)).names


def class_of(names: tuple[str, ...], chosen: JsonValue) -> int | None:
    """The index of a class name; None when nothing was chosen."""
    if chosen is None or chosen in ("", NOT_GIVEN):
        return None
    if not isinstance(chosen, str):
        raise VocabularyError("A class is chosen by its name.", "Choose one from the list.")
    return vocabularies.index_of(names, chosen)


def parse_request(form: Mapping[str, JsonValue], chosen: AttackDefendState, side: int, *, attack: bool) -> RunRequest:
    """The request of a form (component name -> value as it came from the browser), checked, for the ``chosen`` picture;
    ``side``: the model's input side in pixels. Without ``attack`` it only defends, whatever attack the form names.
    Raises DemoError: the first invalid value."""
    settings = settings_from(form)
    if not attack:
        settings = settings.replace(attack="none")
    names, sample, title = names_of(form), None, "Your picture"
    if chosen.source is not None:
        picture = open_picture(chosen.source, square=settings.square, side=side)
    elif chosen.sample is not None:
        one = samples.sample(chosen.sample)
        picture, sample, title = one.load(square=settings.square, side=side), one.key, one.title
    else:
        raise PictureError("There is no picture yet.", "Choose a sample or upload your own.")
    label, target = class_of(names, form.get("truth")), class_of(names, form.get("target")) if attack else None
    return RunRequest(picture, names, settings, label, target, title, sample, methods_of(form))


def asks_for_another_run(form: Mapping[str, JsonValue], run: Run) -> bool:
    """Whether a form's values, also invalid ones, are not those of ``run``; of a run that only defends without the
    attack and its target. The picture is not compared."""
    try:
        settings, names = settings_from(form), names_of(form)
        label, target = (class_of(names, form.get(name)) for name in ("truth", "target"))
        asked = settings, names, methods_of(form), label, target
    except DemoError:
        return True
    if run.attack is None:
        asked = settings.replace(attack=run.settings.attack), *asked[1:4], None
    aim = None if run.attack is None else run.attack.target
    return asked != (run.settings, run.class_prompts.names, run.methods, run.given_label, aim)


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
