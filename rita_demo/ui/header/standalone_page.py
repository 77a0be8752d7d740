"""One run as an HTML page that needs no server and no network: the Story, and the answers as JSON.

Scripts and styles are inside it, or beside it for the pages of a site (tools/story/site.py).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from rita_demo.attacks import get_attack
from rita_demo.figures import css_variables
from rita_demo.pipeline.export import to_json
from rita_demo.process.templates import html
from rita_demo.records import AttackStepResult, Run, StoryChecks
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.record import story_checks, story_crops, story_steps, story_value
from rita_demo.ui.story.sentences import claim
from rita_demo.ui.story.view import STORY_CSS, TEMPLATE, dump, story_script
from rita_demo.ui.theme import FACE, STYLE, TOUCH, font_face
from rita_demo.ui.widgets.data_uri import data_uri

CSS = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def standalone(
    run: Run,
    crops: Mapping[str, np.ndarray],
    steps: tuple[AttackStepResult, ...] = (),
    checks: StoryChecks | None = None,
) -> str:
    """The page of a run as one file. ``crops``: side -> its views for the screen, (N, s, s, 3) uint8; ``steps``: the stored
    steps of its attack; ``checks``: what the Story asked of its pictures."""
    head = Markup(f"<style>{style_sheet()}</style><script>{script()}</script>")
    return story_page(run, crops, steps, checks, head, answers=json.dumps(to_json(run), indent=1, ensure_ascii=False))


def story_page(
    run: Run,
    crops: Mapping[str, np.ndarray],
    steps: tuple[AttackStepResult, ...],
    checks: StoryChecks | None,
    head: Markup,
    *,
    answers: str = "",
    pictures: Sequence[tuple[str, str, str, bool]] = (),
) -> str:
    """The page of a run. ``head``: :func:`style_sheet` and :func:`script`, or links to them; ``answers``: shown as they
    are; ``pictures``: address, thumbnail and title of every page of its site, and whether it is this one."""
    session = Session()
    session.show(run)
    session.attack_steps, session.checks = steps, checks
    session.crops = dict(crops)
    values = {"value": story_value, "steps": story_steps, "crops": story_crops, "checks": story_checks}
    shown: dict[str, Any] = {"partial": ""} | {name: dump(value(session)) for name, value in values.items()}
    page = html(
        "page",
        title="".join(words for words, _ in claim(run)),
        head=head,
        stored=stored(run),
        pictures=pictures,
        story=Markup(TEMPLATE),
        values=Markup(json.dumps(shown, ensure_ascii=False).replace("<", "\\u003c")),
        answers=answers,
    )
    return str(page)  # no Markup: a notebook escapes the page once more


def style_sheet() -> str:
    """The look of a page, with its letters."""
    face = font_face(data_uri(FACE, "font/woff2"))
    return f"{face}{css_variables()}{STYLE.read_text(encoding='utf-8')}{STORY_CSS}{CSS}"


def script() -> str:
    """``tellStory``, which gets an element and its properties as from Gradio."""
    return f"{TOUCH.read_text(encoding='utf-8')}\nfunction tellStory(element, props, trigger, watch) {{\n{story_script()}\n}}\n"


def stored(run: Run) -> str:
    """What is shown: a stored run, of which model, attack and strength."""
    model = f"A stored run: {run.backbone.title} ({run.backbone.parameters / 1e6:.0f} M parameters)"
    if run.attack is None:
        return f"{model}, no attack."
    kind, steps = get_attack(run.settings.attack), run.threat_model.steps
    strength = f", at most {run.settings.budget}/255" if kind.bounded else ""
    return f"{model}; attack: {kind.title}{strength}{f', {steps} steps' if steps > 1 else ''}."
