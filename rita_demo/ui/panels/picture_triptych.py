"""Clean, perturbation, attacked: three pictures, with a line to drag between clean and attacked.

The HTML template is constant; its script inserts text as text, so that a class name cannot become markup. Pictures of
an attack are PNG, equal bit for bit to what is saved.
"""

from pathlib import Path
from typing import Any

import numpy as np

from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records import AttackTrace, ClassPrompts, Picture, Run, Verdict
from rita_demo.records.json_value import Json
from rita_demo.ui.panels.crop_field import shown_step
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import png_uri
from rita_demo.ui.widgets.html_buttons import JsonWidget
from rita_demo.ui.widgets.views_grid import magnified_perturbation

GAIN = 20
TITLES = {"clean": "Clean", "noise": f"Perturbation × {GAIN}", "attacked": "Attacked"}
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")

_FIGURE = """<figure class="pic {kind}"><figcaption><span class="kind">{title}</span>
{save}</figcaption><div class="frame"><p class="hole"></p><img alt="" hidden>{more}
<div class="crop-box" hidden></div></div><h2 class="says"><span class="step">{number}</span><span
 class="lead"></span> <b></b><span class="tail"></span> <span class="share" title="CLIP's probability"></span></h2></figure>"""
_COMPARE = """<img class="before" alt="" hidden><div class="cut" hidden></div>
<input type="range" min="0" max="100" value="0" step="0.5" hidden
 aria-label="Drag to compare: left of the line is the clean picture, right of it the attacked one">"""
_SAVE = '<a class="save" hidden title="Exact to the pixel">Save PNG</a>'
_TEMPLATE = (
    '<div class="pics">'
    + _FIGURE.format(kind="clean", title=TITLES["clean"], number="1", more="", save="")
    + _FIGURE.format(kind="noise", title=TITLES["noise"], number="", more="", save="")
    + _FIGURE.format(kind="attacked", title=TITLES["attacked"], number="2", more=_COMPARE, save=_SAVE)
    + "</div>"
)


class PictureTriptych(JsonWidget):
    """Value: a dict as :func:`pictures_value` makes it; ``box``: the crop to outline, shares of the side."""

    template, script = _TEMPLATE, SCRIPT


def pictures_value(session: Session) -> dict[str, Json] | None:
    """The three pictures of the displayed run and step."""
    run = session.run_at_step
    if run is None:
        return None
    shown, step = session.image_cache, shown_step(run)  # a picture is encoded once, however often its step is selected
    if "clean" not in shown:
        clean = clean_part(run.clean.picture, run.clean.verdicts["clip"], run.class_prompts)
        shown["clean"] = clean | wording.heading_clean(run)
    if run.attack is None:
        missing = placeholder("Press “Attack” in the Story to see it attacked.") | wording.heading_attacked(run)
        clean = shown["clean"] | {"kind": "The picture as it came"}
        return {"clean": clean, "noise": placeholder("Nothing was added here."), "attacked": missing}
    if f"noise {step}" not in shown:
        shown[f"noise {step}"] = perturbation_part(run.attack, step)
        shown[f"attacked {step}"] = _attacked_part(run, run.attack, step)
    return {"clean": shown["clean"], "noise": shown[f"noise {step}"], "attacked": shown[f"attacked {step}"]}


def placeholder(sentence: str) -> dict[str, Json]:
    """A sentence in place of a picture."""
    return {"src": None, "hole": sentence}


def _picture(pixels: np.ndarray, alt: str, lead: str, answer: str = "", tail: str = "") -> dict[str, Json]:
    return {"src": png_uri(pixels), "alt": alt, "lead": lead, "answer": answer, "tail": tail}


def clean_part(picture: Picture, verdict: Verdict, prompts: ClassPrompts) -> dict[str, Any]:
    """The first picture: pixels, CLIP's answer ``verdict``, how it was decoded."""
    lead, edge = "This is a picture. The model says:", picture.pixels.shape[0]
    return _picture(picture.pixels, "The clean picture", lead, prompts.names[verdict.label], ".") | {
        "title": " ".join((f"{edge} × {edge} pixels.", *picture.notes)),
        "share": wording.share(prompts, verdict),
    }


def perturbation_part(attack: AttackTrace, step: int) -> dict[str, Any]:
    """The second picture: attacked minus clean, magnified, grey where nothing changed."""
    pixels = magnified_perturbation(attack.frames[0], attack.frames[step], gain=GAIN)
    moved = np.abs(attack.frames[step].astype(int) - attack.frames[0].astype(int))
    alt = f"What the attack added, {GAIN} times magnified; grey means unchanged"
    share = wording.percent(float((moved.max(axis=2) > 0).mean()))
    lead = f"{_steps_text(step)} change{'s' if step == 1 else ''} a colour value by at most"
    said = (lead, f"{int(moved.max())} of 255", ".") if step else ("Nothing is changed before the first step.",)
    return _picture(pixels, alt, *said) | {
        "title": f"{share} of the pixels changed; L2 length {np.linalg.norm(moved / 255.0):.2f}."
    }


def _steps_text(step: int) -> str:
    return "1 step" if step == 1 else f"{step} steps"


def _attacked_part(run: Run, attack: AttackTrace, step: int) -> dict[str, Any]:
    said, last = run.attacked.verdicts["clip"], last_step(run)
    heading, title = wording.heading_attacked(run), TITLES["attacked"]
    if step != last:
        lead = f"After {_steps_text(step)} of {last}" if step else "Before the attack"
        lead += " the model says:"
        heading = wording.headline(lead, run.class_prompts.names[said.label], ".")
        title = title if step else "Step 0"  # short: on a phone a second line would move the page under a finger
    alt = f"The picture after {_steps_text(step)} of the attack"
    return _picture(attack.frames[step], alt, **heading) | {
        "kind": title,
        "share": wording.share(run.class_prompts, said),
        "fooled": run.label_given and said.label != run.label and not wording.wrong_before(run, "clip"),
        "file": f"attacked-step-{step}-of-{last}.png",
    }


def selected_box(session: Session) -> list[float]:
    """Left, top, right, bottom of the selected view as fractions of the square's side; empty without one (Gradio does
    not tell the browser that a property became None)."""
    run, view = session.run, session.selection.view
    if run is None or view is None:
        return []
    boxes = getattr(run, session.selection.side).encoded_views.views.boxes
    return [float(v) for v in boxes[view]] if 0 <= view < len(boxes) else []
