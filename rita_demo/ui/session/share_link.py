"""The page's state as a short query string, and back: sample, classes, attack, settings, selection.

A link is opened like this: the form is filled in, the run waits in the queue and runs, then the selection is set. An
uploaded picture is never part of a link. A link is untrusted: it passes the same checks as the form.

The browser's history has the same text for every run, so that Back opens the run before. Of a picture that is no sample it
names the key: the browser keeps that picture itself, for this tab only, and sends it again.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rita_demo.data import samples, vocabularies
from rita_demo.records import BackboneInfo, Run
from rita_demo.records.errors import SettingError, refuse_gone
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.ui.session.run_request import NOT_GIVEN, OWN_CLASSES, class_of, form_request, form_values, names_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.html_buttons import HtmlWidget
from rita_demo.ui.widgets.setting_controls import settings_from

MAX_QUERY_LENGTH = 1800  # characters of a query; browsers and mail programs cut longer ones
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
#: Ignored here: Gradio's own, the open tab, the lecture mode, a switch of before, and what makes the same link a new one.
IGNORED_KEYS = ("__theme", "view_api", "session_hash", "deep_link", "tab", "lecture", "again", "side")
QUERY_KEYS = ("sample", "classes", "truth", "target", "methods", "class", "view", "atom", "step")
BROKEN_LINK_HINT = "Open the page without it, or ask for the link again."


@dataclass(frozen=True)
class ShareLink:
    """A parsed link: a sample's name ("": another picture), the form's values by name (settings too), and the selection."""

    sample: str
    form: dict[str, JsonValue]
    selection: dict[str, Any] = field(default_factory=dict)


def query(session: Session) -> str:
    """The query string of the run and selection on screen, without the tab; "" if it has no link."""
    text = "" if session.run_sample is None else history_text(session)
    return text if len(text) <= MAX_QUERY_LENGTH else ""


def history_text(session: Session) -> str:
    """The run and selection on screen as the browser's history has them, of any picture and length; "" without a run."""
    run, sample = session.run, session.run_sample
    if run is None:
        return ""
    one, at = samples.SAMPLES.get(sample or ""), session.selection
    names, form = run.class_prompts.names, form_values(run)
    pairs: dict[str, JsonValue] = {"own": run.clean.picture.key} if sample is None else {"sample": sample}
    if one is None or names != one.names:
        own = form["vocabulary"] == OWN_CLASSES
        pairs["classes"] = vocabularies.format_names(names, ",") if own else form["vocabulary"]
    if form["truth"] != (NOT_GIVEN if one is None else one.label):
        pairs["truth"] = "" if form["truth"] == NOT_GIVEN else form["truth"]
    if form["target"] != NOT_GIVEN:
        pairs["target"] = form["target"]
    if form["methods"]:
        pairs["methods"] = ",".join(form["methods"])
    pairs |= {name: str(getattr(run.settings, name)).lower() for name in run.settings.differs_from(RECOMMENDED)}
    if at.k is not None and at.k != run.attacked.verdicts["rita"].label:
        pairs["class"] = names[at.k]
    pairs |= {name: value for name in ("view", "atom", "step") if (value := getattr(at, name)) is not None}
    if run.attack is not None and at.step == len(run.attack.frames) - 1:
        del pairs["step"]
    return urlencode(pairs)


def share_value(session: Session, default_model: BackboneInfo) -> str:
    """The value of :class:`ShareButton`; ``default_model``: the one that a link opens with."""
    run, link = session.run, query(session)
    if run is None:
        return ""
    file = "“Save this run” in the Lab makes a file of this run to pass on."
    if session.run_sample is None:
        says = file
    elif not link:
        says = f"This list of class names is too long for a link. {file}"
    else:
        says = "The link starts from an empty memory; what-ifs are not part of it."
        if run.backbone.name != default_model.name:
            says += f" It opens with the model {default_model.title}, not with {run.backbone.title}."
    return json.dumps({"link": link, "run": history_text(session), "says": says}, ensure_ascii=False)


def parse_link(params: Mapping[str, str], *, from_history: bool = False) -> ShareLink | None:
    """The link in a page's query, or a text of its history; None when there is none. Its selection is the one to set after
    the run; :func:`valid_selection` drops what the run does not have. Raises DemoError: the first invalid part."""
    given = {k: str(v) for k, v in params.items() if k not in IGNORED_KEYS}
    if not given:
        return None
    own = from_history and given.pop("own", None) is not None
    unknown = [k for k in given if k not in SETTINGS and k not in QUERY_KEYS]
    if unknown:
        refuse_gone(unknown[0])
        raise SettingError(f"This link has an unknown part: {unknown[0][:40]!r}.", BROKEN_LINK_HINT)
    one = None if own else samples.sample(given.get("sample", ""))
    form = settings_from(given).every_value()
    usual = "" if one is None else one.vocabulary or vocabularies.format_names(one.names)
    listed = given.get("classes", usual)
    known = listed in vocabularies.VOCABULARIES
    form |= {
        "vocabulary": listed if known else OWN_CLASSES,
        "own_names": "" if known else listed,
        "target": given.get("target", "") or NOT_GIVEN,
        "methods": [m for m in given.get("methods", "").split(",") if m],
    }
    names = names_of(form)
    label = one.label if one is not None and one.label in names else NOT_GIVEN
    form["truth"] = given.get("truth", label) or NOT_GIVEN
    form_request(form)
    selection: dict[str, Any] = {"k": class_of(names, given["class"])} if "class" in given else {}
    for name in ("view", "atom", "step"):
        if name in given:
            if not given[name].isdecimal() or len(given[name]) > 6:
                raise SettingError(f"The {name} in this link is not a number.", BROKEN_LINK_HINT)
            selection[name] = int(given[name])
    return ShareLink("" if one is None else one.key, form, selection)


def valid_selection(selection: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """The part of a selection that the run has."""
    k = selection.get("k", run.attacked.verdicts["rita"].label)
    most = {
        "view": len(run.attacked.encoded_views.features),
        "atom": len(run.class_prompts.prompts[k]),
        "step": 0 if run.attack is None else len(run.attack.frames),
    }
    return {n: v for n, v in selection.items() if n not in most or v < most[n]}


class ShareButton(HtmlWidget):
    """Keeps the address bar and the browser's history at the state on screen; a click copies the link. Its value, as JSON:
    ``link``: the query string, "" if what is on screen has no link; ``run``: :func:`history_text`; ``says``: the sentence
    on what is shared. ``undo`` reports {"run": a text of the history, "picture": of one that is no sample, a data URI}."""

    template, script = "<button type='button' class='quiet-button'>Share</button><span role='status'></span>", SCRIPT
