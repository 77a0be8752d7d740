"""The page's state as a short query string, and back: sample, classes, attack, settings, selection.

The link is followed by doing what a person would: the form is filled in, the button's own job waits for its turn
and runs, and then the selection is made.  A picture that was uploaded is never part of a link, and everything in one
was written by a stranger: it is read by the same checks as the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import gradio as gr

from rita_demo.data import samples, vocabularies
from rita_demo.errors import SettingError
from rita_demo.methods import ALWAYS
from rita_demo.records import Story
from rita_demo.settings import KNOBS, RECOMMENDED
from rita_demo.ui.ask import NOBODY, OWN, class_of, methods_of, names_of
from rita_demo.ui.controls import settings_from
from rita_demo.ui.sessions import SIDES, Session

LONGEST = 1800  # letters of a query; browsers and mail programs cut longer ones
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
#: Read by nobody here: Gradio's own.
FOREIGN = ("__theme", "view_api", "session_hash", "deep_link")
BROKEN = "Open the page without it, or ask for the link again."


@dataclass(frozen=True)
class Link:
    """A link that was read: a sample's name, the form's values by name (knobs too), and what to select."""

    sample: str
    form: dict[str, Any]
    select: dict[str, Any] = field(default_factory=dict)

    @property
    def attack(self) -> bool:
        """Whether the picture is attacked first."""
        return self.form["attack"] != "none"


def query(session: Session) -> str:
    """The query string of what is on screen, without the tab; "" when there is no link to it."""
    story, sample = session.story, session.told
    if story is None or sample is None:
        return ""
    pairs = [("sample", sample), *_classes(story, sample), *_settings(story), *_selection(session)]
    text = urlencode(pairs)
    return text if len(text) <= LONGEST else ""


def _classes(story: Story, sample: str) -> list[tuple[str, str]]:
    one, names = samples.SAMPLES[sample], story.bank.names
    found = []
    if names != one.names:
        lists = {v.names: key for key, v in vocabularies.VOCABULARIES.items()}
        found.append(("classes", lists.get(names, ",".join(names))))
    truth = names[story.label] if story.label_given else ""
    if truth != one.label:
        found.append(("truth", truth))
    if story.attack is not None and story.attack.target is not None:
        found.append(("target", names[story.attack.target]))
    more = [m for m in story.methods if m not in ALWAYS]
    return found + ([("methods", ",".join(more))] if more else [])


def _settings(story: Story) -> list[tuple[str, str]]:
    changed = story.settings.differs_from(RECOMMENDED)
    return [(name, str(getattr(story.settings, name)).lower()) for name in changed]


def _selection(session: Session) -> list[tuple[str, str]]:
    story, at = session.story, session.selection
    assert story is not None
    found = []
    if at.k is not None and at.k != story.attacked.verdicts["rita"].label:
        found.append(("class", story.bank.names[at.k]))
    for name in ("view", "atom", "step"):
        value = getattr(at, name)
        last = None if story.attack is None else len(story.attack.frames) - 1
        if value is not None and not (name == "step" and value == last):
            found.append((name, str(value)))
    return found + (
        [("side", at.side)] if story.attack is not None and at.side != "attacked" else []
    )


def read(params: Mapping[str, str]) -> Link | None:
    """The link in a page's query; None when there is none.

    Raises:
        DemoError: a sentence on the first thing in it that cannot be used.
    """
    given = {k: str(v) for k, v in params.items() if k not in FOREIGN and k != "tab"}
    if not given:
        return None
    unknown = [k for k in given if k not in KNOBS and k not in _NAMES]
    if unknown:
        raise SettingError(f"This link has a part nobody knows: {unknown[0][:40]!r}.", BROKEN)
    one = samples.sample(given.get("sample", ""))
    form = RECOMMENDED.as_dict() | {k: v for k, v in given.items() if k in KNOBS}
    form = settings_from(form).as_dict()
    listed = given.get("classes", one.vocabulary or ",".join(one.names))
    known = listed in vocabularies.VOCABULARIES
    form |= {
        "vocabulary": listed if known else OWN,
        "own_names": "" if known else listed,
        "target": given.get("target", "") or NOBODY,
        "methods": [m for m in given.get("methods", "").split(",") if m],
    }
    names = names_of(form)
    own = one.label if one.label in names else NOBODY
    form["truth"] = given.get("truth", own) or NOBODY
    for name in ("truth", "target"):
        class_of(names, form[name])
    methods_of(form)
    return Link(one.key, form, _selected(given, names))


_NAMES = (
    "sample",
    "classes",
    "truth",
    "target",
    "methods",
    "class",
    "view",
    "atom",
    "step",
    "side",
)


def _selected(given: Mapping[str, str], names: tuple[str, ...]) -> dict[str, Any]:
    """What to select once the story is there; :func:`within` drops what it does not have."""
    found: dict[str, Any] = {}
    if "class" in given:
        found["k"] = class_of(names, given["class"])
    for name in ("view", "atom", "step"):
        if name in given:
            if not given[name].isdecimal() or len(given[name]) > 6:
                raise SettingError(f"The {name} in this link is not a number.", BROKEN)
            found[name] = int(given[name])
    if given.get("side") in SIDES:
        found["side"] = given["side"]
    return found


def within(select: Mapping[str, Any], story: Story) -> dict[str, Any]:
    """The part of a selection that the story has."""
    k = select.get("k", story.attacked.verdicts["rita"].label)
    most = {
        "view": len(story.attacked.glance.features),
        "atom": len(story.bank.prompts[k]),
        "step": 0 if story.attack is None else len(story.attack.frames),
    }
    return {n: v for n, v in select.items() if n not in most or v < most[n]}


class Share(gr.HTML):
    """Keeps the address bar at the state on screen, and copies it when asked.

    Its value is the query string; "" means that what is on screen has no link.
    """

    def __init__(self, **html: Any) -> None:
        super().__init__(
            "",
            html_template="<button type='button' class='quiet-button'>Share</button><span role='status'></span>",
            js_on_load=SCRIPT, apply_default_css=False, **html,
        )  # fmt: skip

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"
