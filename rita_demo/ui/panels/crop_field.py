"""The crop field on the page: one dot per crop on one of two answers' sides, and a control that plays the attack.

The browser moves the dots: all stored steps are handed over once (:func:`crop_field_value`), and between two of them a dot
moves on a straight line.
"""

import json
from pathlib import Path

from rita_demo.analysis import crop_field as positions
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.plots.labels import truncated
from rita_demo.records import ImageResult, Run, Verdict
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.html_buttons import JsonWidget

NO_VIEW = -1  # Gradio does not tell the browser that a property became None
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
TEMPLATE = """<div class="field"><div class="field-bar">
<button type="button" class="play">▶ Play the attack</button>
<input type="range" min="0" max="7" step="any" value="7" aria-label="Attack step shown"><output aria-live="off"></output>
<button type="button" class="counted" aria-pressed="false"
 title="A dot's area becomes the crop's share of the mass that RITA moves onto its answer">RITA's weights</button></div>
<svg role="img"></svg><p class="axis"></p><p class="field-says" role="status"></p>
<div class="foot"><div class="chips"></div><div class="look"><canvas width="264" height="264" aria-hidden="true"></canvas>
<p class="picked" aria-live="polite"></p></div></div></div>"""


class CropField(JsonWidget):
    """Value: :func:`crop_field_value`; ``step`` and ``view``: what is selected. ``release`` reports {"step": a stored
    step}, ``click`` {"view": a crop}."""

    selects = ("click", "release")
    template, script = TEMPLATE, SCRIPT


def crop_field_value(session: Session) -> str | None:
    """The field of the run on screen, all stored steps at once, as JSON."""
    run = session.run
    if run is None:
        return None
    field = positions.crop_field(run, session.attack_steps)
    sides = {result.step: result.image_result for result in session.attack_steps}
    sides |= {0: run.clean, last_step(run): run.attacked}
    labels = list(dict.fromkeys([field.reference, field.rival, *(k for s in field.steps for k in s.answers.tolist())]))
    value = {
        "key": run.key,
        "last": last_step(run),
        "reach": field.reach,
        "names": [truncated(run.class_prompts.names[k], 24) for k in labels],  # the reference class, its rival, others
        "boxes": field.boxes.round(4).tolist(),
        "picture": jpeg_uri(run.attacked.picture.pixels, side=264),  # as large as its canvas
        "methods": [
            {"name": n, "title": DEFENCES[n].title, "colour": f"var(--rita-{DEFENCES[n].role or 'text'})"}
            for n in run.answered
        ],
        "steps": [_step_value(run, step, sides[step.step], labels) for step in field.steps],
    }
    return json.dumps(value)


def shown_step(run: Run | None) -> int:
    """The attack step that the page shows."""
    if run is None:
        return 0
    return last_step(run) if run.step is None else run.step


def _step_value(run: Run, step: positions.CropFieldStep, side: ImageResult, labels: list[int]) -> dict[str, JsonValue]:
    """``labels``: the classes of the names that "answers" counts in."""
    arrays = {name: getattr(step, name).round(5).tolist() for name in ("crops", "counted", "share")}
    return (
        arrays
        | {
            "step": step.step,
            "answers": [labels.index(k) for k in step.answers.tolist()],
            "methods": {name: round(value, 5) for name, value in step.methods.items()},
            "third": {  # the answers that are on neither side
                name: truncated(run.class_prompts.names[side.verdicts[name].label], 24)
                for name in run.answered
                if side.verdicts[name].label not in labels[:2]
            },
            "says": {name: _chip(run, side.verdicts[name]) for name in run.answered},
        }
    )


def _chip(run: Run, verdict: Verdict) -> dict[str, str]:
    """A defence's answer with its probability; a mark and a colour only where the true class is known."""
    name = truncated(run.class_prompts.names[verdict.label], 24)
    text = f"{name} {wording.share(run.class_prompts, verdict)}".rstrip()
    if run.given_label is None:
        return {"kind": "dim", "text": text}
    right = verdict.label == run.given_label
    return {"kind": "good" if right else "bad", "text": f"{'✓' if right else '✗'} {text}"}
