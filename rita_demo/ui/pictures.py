"""Clean, perturbation, attacked: three pictures, with a line to drag between before and after.

One ``gr.HTML`` whose template never changes; its script fills in text as text, so that a class name
cannot become markup.  Pictures of an attack are PNG, bit for bit: what is shown is what is saved.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np

from rita_demo.records import AttackTrace, Picture, Story
from rita_demo.ui import words
from rita_demo.ui.images import png_uri
from rita_demo.ui.sessions import Session
from rita_demo.ui.sprite import magnified_perturbation

GAIN = 20
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

_FIGURE = """<figure class="pic {kind}"><figcaption><span class="kind">{title}</span>
<span class="note"></span></figcaption><div class="frame"><p class="hole"></p><img alt="" hidden>{more}
<div class="crop-box" hidden></div></div><h2 class="says"><span class="step">{number}</span><span
 class="lead"></span> <b></b><span class="tail"></span></h2><p class="share"></p></figure>"""
_COMPARE = """<img class="before" alt="" hidden><div class="cut" hidden></div>
<input type="range" min="0" max="100" value="0" step="0.5" hidden
 aria-label="Drag to compare: left of the line is the clean picture, right of it the attacked one">"""
_TEMPLATE = (
    '<div class="pics">'
    + _FIGURE.format(kind="clean", title="Clean", number="1", more="")
    + _FIGURE.format(kind="noise", title=f"Perturbation × {GAIN}", number="", more="")
    + _FIGURE.format(kind="attacked", title="Attacked", number="2", more=_COMPARE)
    + '<a class="save" hidden>Save this square as PNG, exact to the pixel</a></div>'
)


class Pictures(gr.HTML):
    """Value: a dict as :func:`pictures_value` makes it; ``box``: the crop to outline, shares of the side."""

    def __init__(
        self, value: dict[str, Any] | None = None, box: list[float] | None = None, **html: Any
    ) -> None:
        # Gradio calls this again with ``box`` when an event updates it, and reads it back as an attribute
        self.box = box
        super().__init__(
            value,
            html_template=_TEMPLATE,
            js_on_load=SCRIPT,
            apply_default_css=False,
            box=box,
            **html,
        )

    def postprocess(self, value: Any) -> str | None:
        """The dict as one JSON string."""
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def preprocess(self, payload: Any) -> None:
        """What the browser holds is never read back."""
        return None

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


def pictures_value(session: Session) -> dict[str, Any] | None:
    """What the three pictures show for the story and the step looked at."""
    story = session.now
    if story is None:
        return None
    shown = session.shown  # a picture is encoded once, however often the scrubber passes it
    if "clean" not in shown:
        part = clean_part(story.clean.picture, story.clean.verdicts["clip"], story.bank.names)
        shown["clean"] = part | asdict(words.heading_clean(story))
    clean = dict(shown["clean"])
    if story.attack is None:
        clean["kind"] = "The picture as it came"
        return {
            "clean": clean,
            "noise": _hole("Nothing was added here."),
            "attacked": _not_attacked(story),
        }
    last = len(story.attack.frames) - 1
    step = last if story.step is None else story.step
    if f"noise {step}" not in shown:
        shown[f"noise {step}"] = noise_part(story.attack, step)
        shown[f"attacked {step}"] = _attacked_part(story, step, last)
    return {
        "clean": clean, "noise": shown[f"noise {step}"], "attacked": shown[f"attacked {step}"],
    }  # fmt: skip


def _hole(sentence: str) -> dict[str, Any]:
    return {"src": None, "hole": sentence}


def _not_attacked(story: Story) -> dict[str, Any]:
    return _hole("Press “Attack and defend” to see it attacked.") | asdict(
        words.heading_attacked(story)
    )


def waiting_pictures(picture: Picture) -> dict[str, Any]:
    """The picture alone, while nothing is known about it yet."""
    side = picture.pixels.shape[0]
    clean = {
        "src": png_uri(picture.pixels),
        "alt": "The clean picture",
        "note": f"{side} × {side} px",
        "lead": "This is a photograph. The model is looking at it.",
    }
    coming = _hole("The attack is at work …")
    return {"clean": clean, "noise": coming, "attacked": coming}


def clean_part(picture: Picture, verdict: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The first picture: pixels, CLIP's answer, how it was decoded."""
    side = picture.pixels.shape[0]
    return {
        "src": png_uri(picture.pixels),
        "alt": "The clean picture",
        "note": f"{side} × {side} px",
        "title": " ".join(picture.notes),
        "lead": "This is a photograph. The model says:",
        "answer": names[verdict.label],
        "tail": ".",
        "share": _share(verdict.probability[verdict.label], len(names)),
    }


def _share(share: float, classes: int) -> str:
    return f"CLIP gives it {words.percent(share)} among {classes} classes."


def noise_part(attack: AttackTrace, step: int) -> dict[str, Any]:
    """The second picture: attacked minus clean, magnified, grey where nothing changed."""
    pixels = magnified_perturbation(attack.frames[0], attack.frames[step], gain=GAIN)
    moved = np.abs(attack.frames[step].astype(int) - attack.frames[0].astype(int))
    share = float((moved.max(axis=2) > 0).mean())
    return {
        "src": png_uri(pixels),
        "alt": f"What the attack added, {GAIN} times magnified; grey means unchanged",
        "note": "grey = unchanged",
        "lead": f"What {_steps(step)} of the attack added. The largest change is",
        "answer": f"{int(moved.max())}/255",
        "tail": " of the brightness range.",
        "share": f"{words.percent(share)} of the pixels changed; L2 length {_l2(moved):.2f}.",
    }


def _l2(moved: np.ndarray) -> float:
    return float(np.sqrt(((moved / 255.0) ** 2).sum()))


def _steps(step: int) -> str:
    return "1 step" if step == 1 else f"{step} steps"


def _attacked_part(story: Story, step: int, last: int) -> dict[str, Any]:
    assert story.attack is not None
    said = story.attacked.verdicts["clip"]
    label = said.label
    heading = words.heading_attacked(story)
    if step != last:
        lead = f"After {_steps(step)} of {last} the model says:"
        heading = words.Says(lead, story.bank.names[label], ".")
    return asdict(heading) | {
        "src": png_uri(story.attack.frames[step]),
        "alt": f"The picture after {_steps(step)} of the attack",
        "note": "drag the line to compare",
        "share": _share(said.probability[label], len(story.bank.names)),
        "fooled": label != story.label,
        "file": f"attacked-step-{step}-of-{last}.png",
    }


def box_of(session: Session) -> list[float] | None:
    """Left, top, right, bottom of the chosen view as shares of the square's side."""
    story, view = session.story, session.selection.view
    if story is None or view is None:
        return None
    side = story.attacked if session.selection.side == "attacked" else story.clean
    boxes = side.glance.views.boxes
    return [float(v) for v in boxes[view]] if 0 <= view < len(boxes) else None
