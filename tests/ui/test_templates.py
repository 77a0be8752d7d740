"""No template lets markup through, whatever a class, a method or a file is called."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from markupsafe import escape

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures.theme import class_style
from rita_demo.process.templates import TEMPLATES, html
from rita_demo.records import DefenceFault, Run
from rita_demo.ui import run_panels
from rita_demo.ui.figures import run_figures
from rita_demo.ui.inside import crop_columns, details, headline
from rita_demo.ui.inside.method_settings import fields_html
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from tests.toy_model import ToyEngine

EVIL = "<script>alert('1')</script>\"' onclick='alert(1)'>"
#: Templates of one value or a list of them.
SMALL: dict[str, dict[str, Any]] = {
    "arena_about": {"texts": [(EVIL, EVIL)], "cost": EVIL},
    "arena_details": {
        **dict.fromkeys(("title", "answer", "kind", "mark", "lead"), EVIL),
        "said": [EVIL],
        "picture": EVIL,
        "thumbnail": lambda picture: picture,
    },
    "arena_table": {
        **dict.fromkeys(("many", "question", "earlier"), EVIL),
        "stored": True,
        "by_known": True,
        "missing": True,
        "heads": {EVIL: EVIL},
        "chosen": (EVIL, EVIL),
        "stop": (EVIL, EVIL),
        "rows": [
            (
                *(EVIL, EVIL, {EVIL: SimpleNamespace(**dict.fromkeys(("sign", "kind", "says"), EVIL))}),
                [SimpleNamespace(percent=1.0, interval=(0.0, 2.0), right=EVIL, n=EVIL, earlier=True), None],
            )
        ],
    },
    "chips": {"classes": [0], "names": [EVIL], "here": 0, "style": class_style, "signs": [(EVIL, EVIL)]},
    "cloud_story": {"n": 0, **dict.fromkeys(("name", "kind", "picture", "colour", "said", "missing"), EVIL)},
    "differs": {"settings": [(EVIL, EVIL, EVIL, EVIL)]},
    "gallery": {
        "samples": [(EVIL, SimpleNamespace(title=EVIL, credit=EVIL), EVIL, EVIL, EVIL)],
        "selected": EVIL,
        "legend": EVIL,
    },
    "measured": {"cells": [(SimpleNamespace(accuracy=1, low=0, high=2, n=EVIL), EVIL)]},
    "neighbours": {"rows": [(EVIL, EVIL, 5)], "chance": 1, "n": 3, "said": EVIL},
    "open_picture": {"n": 0, "name": EVIL, "image": EVIL},
    "effect": {"image": EVIL, "lead": EVIL, "text": EVIL, "offer": EVIL, "offered": EVIL},
    "film": {"pictures": [(1, "", 0, True, EVIL)], "t": 1, "places": 1, "before": 0, "after": 1},
    "happened": {"heading": EVIL, "what": EVIL, "answers": [(EVIL, EVIL, True)], "entered": EVIL},
    "shelf": {
        **{"says": EVIL, "note": EVIL, "missing": EVIL},
        "classes": [(EVIL, True, 0, [(0, 0, "", "✓", True, True, True, EVIL)])],
    },
    "stored_view": {
        "stored_as": EVIL,
        "name": EVIL,
        "crop": EVIL,
        "whole": EVIL,
        "frame": EVIL,
        "facts": [(EVIL, EVIL, EVIL)],
    },
    "wall_caption": {"text": EVIL, "cloud": True},
    "wall_tiles": {"tiles": [(0, EVIL, EVIL)]},
    "table": {"columns": [EVIL], "rows": [(EVIL, [EVIL])], "css": EVIL, "scrolls": EVIL, "kinds": [EVIL]},
}


class Tags(HTMLParser):
    """The elements of a piece of HTML; none has an event handler."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not [name for name, _ in attrs if name.startswith("on")]
        self.tags.append(tag)


@pytest.fixture
def evil_session(example_run: Run, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Names of classes, sentences, a method, a file and the attacker's ignorance are markup."""
    evil = replace(DEFENCES["rita"], title=EVIL, input_description=EVIL, sentence=EVIL)
    monkeypatch.setitem(DEFENCES, "rita", evil)
    prompts = replace(
        example_run.class_prompts,
        names=tuple(f"{EVIL}{k}" for k in range(4)),
        prompts=tuple((EVIL,) * len(sentences) for sentences in example_run.class_prompts.prompts),
        unknown=((EVIL,), (), (), ()),
    )
    threat = replace(example_run.threat_model, does_not_know=(EVIL, EVIL), sentences=(EVIL,))
    session = Session()
    attacked = replace(example_run.attacked, faults={EVIL: DefenceFault(EVIL)})
    monkeypatch.setitem(DEFENCES, EVIL, evil)
    session.show(replace(example_run, class_prompts=prompts, threat_model=threat, attacked=attacked))
    session.crops = {"clean": np.zeros((64, 8, 8, 3), np.uint8)}
    session.select(k=0, view=3, atom=0)
    return session


def test_no_name_becomes_markup_in_any_template(evil_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    used, get_template = set(), TEMPLATES.get_template
    monkeypatch.setattr(TEMPLATES, "get_template", lambda name, *parent: used.add(name) or get_template(name, *parent))
    run, drawn = evil_session.run, []
    assert run is not None
    for given in (True, False):
        shown = replace(run, label_given=given)
        for panel in ("verdict_table", "explanation", "threat", "times"):
            drawn.append(getattr(run_panels, panel)(shown))
    room = (crop_columns.columns_html, details.crop_details, details.class_details, headline.headline, headline.notes)
    for panel in (run_panels.summary_bar, run_panels.run_pills, *room):
        drawn.append(panel(evil_session))
    drawn.append(wording.term_html(EVIL))
    bounds = run_figures.bounds_by_side(ToyEngine(spread=0.2), run)
    evil_session.figures = replace(evil_session.figures, theorem_bounds=(run, bounds))
    evil_session.attack_defend.settings = {"hand_prompt": EVIL, "typographic.word": EVIL}
    drawn += [run_figures.Theorem().details(evil_session, (run, bounds), DataFolders()), fields_html((), evil_session)]
    drawn += [html(name, **values) for name, values in SMALL.items()]
    tested_elsewhere = {"page.html", "judge.html"}  # they have scripts: test_standalone_page, test_judge
    assert used == set(TEMPLATES.list_templates()) - tested_elsewhere, "a new template gets its line here"
    assert any("&lt;script&gt;" in shown for shown in drawn)
    for shown in drawn:
        found = Tags(shown)
        assert "script" not in found.tags
        assert EVIL not in shown
        assert found.tags.count("p") == len(re.findall("<p[ >]", shown)), "markup ends where its template ends it"


def test_no_template_switches_escaping_off() -> None:
    for name in TEMPLATES.list_templates():
        source = TEMPLATES.loader.get_source(TEMPLATES, name)[0] if TEMPLATES.loader else ""
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", source), name
    assert TEMPLATES.from_string("{{ name }}").render(name=EVIL) == str(escape(EVIL))
