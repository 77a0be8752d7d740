"""From a filled-in form to what the engine is asked: hostile values end here, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rita_demo.data import samples, vocabularies
from rita_demo.data.pictures import open_picture
from rita_demo.errors import PictureError, SettingError, VocabularyError
from rita_demo.methods import ALWAYS, chosen
from rita_demo.records import Picture, Story
from rita_demo.settings import Settings
from rita_demo.ui.controls import settings_from
from rita_demo.ui.sessions import Session

OWN = "own"  # the vocabulary a visitor types
NOBODY = "not given"  # no true class


@dataclass(frozen=True)
class Ask:
    """One press of the button: a square (of a ``sample``, or the visitor's own), K class names, every
    setting, what is right, where to push."""

    picture: Picture
    names: tuple[str, ...]
    settings: Settings
    label: int | None
    target: int | None
    title: str = "A picture"
    sample: str | None = None
    methods: tuple[str, ...] = ALWAYS


def methods_of(form: Mapping[str, Any]) -> tuple[str, ...]:
    """Who is asked: the methods ticked, and the three that are always there."""
    ticked = form.get("methods") or []
    if not isinstance(ticked, list):
        raise SettingError("The methods come as a list.", "Tick them in the menu.")
    return chosen(ticked)


def names_of(form: Mapping[str, Any]) -> tuple[str, ...]:
    """The class names of the chosen list, or the typed ones."""
    chosen = form.get("vocabulary")
    if chosen == OWN:
        typed = form.get("own_names")
        if not isinstance(typed, str):
            raise VocabularyError("Class names are text.", "Type them separated by commas.")
        return vocabularies.parse_names(typed)
    return vocabularies.vocabulary(str(chosen)).names


def class_of(names: tuple[str, ...], chosen: Any) -> int | None:
    """A chosen or typed class name as its number; None when nothing was chosen."""
    if chosen is None or chosen in ("", NOBODY):
        return None
    if not isinstance(chosen, str):
        raise VocabularyError("A class is chosen by its name.", "Choose one from the list.")
    return vocabularies.index_of(names, chosen)


def picture_for(session: Session, settings: Settings, side: int) -> Picture:
    """The square of what the visitor chose last: an upload or a sample."""
    if session.source is not None:
        return open_picture(session.source, square=settings.square, side=side)
    if session.sample is not None:
        return samples.sample(session.sample).load(square=settings.square, side=side)
    raise PictureError("There is no picture yet.", "Choose a sample or upload your own.")


def title_of(session: Session) -> str:
    """What the log calls the picture chosen last."""
    if session.source is None and session.sample in samples.SAMPLES:
        return samples.SAMPLES[str(session.sample)].title
    return "Your picture"


def read_ask(form: Mapping[str, Any], session: Session, side: int, *, attack: bool) -> Ask:
    """Everything the engine needs, checked.

    Args:
        form: component name -> value as it came from the browser.
        session: whose picture it is.
        side: the model's input side in pixels.
        attack: False only defends, whatever attack the form names.

    Raises:
        DemoError: a sentence on the first thing that cannot be used.
    """
    settings = settings_from(form)
    if not attack:
        settings = settings.but(attack="none")
    names = names_of(form)
    return Ask(
        picture=picture_for(session, settings, side),
        names=names,
        settings=settings,
        label=class_of(names, form.get("truth")),
        target=class_of(names, form.get("target")) if attack else None,
        title=title_of(session),
        sample=session.sample if session.source is None else None,
        methods=methods_of(form),
    )


def form_of(story: Story) -> dict[str, Any]:
    """The form that asks for this story, by field name: what :func:`read_ask` was given."""
    names = story.bank.names
    lists = {one.names: key for key, one in vocabularies.VOCABULARIES.items()}
    target = None if story.attack is None else story.attack.target
    return story.settings.as_dict() | {
        "vocabulary": lists.get(names, OWN),
        "own_names": "" if names in lists else ", ".join(names),
        "truth": names[story.label] if story.label_given else NOBODY,
        "target": NOBODY if target is None else names[target],
        "methods": [name for name in story.methods if name not in ALWAYS],
    }
