"""Transport to touch: a few crops, two sentences of each of two classes, and arrows as thick as the plan.

A crop can be dragged; the browser then computes distances, plans and costs (``small_sinkhorn.js``).
"""

from pathlib import Path

from rita_demo.analysis.crop_field import rival_class, small_transport
from rita_demo.plots.labels import truncated
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.html_buttons import JsonWidget

FOLDER = Path(__file__).parent
SOLVER = (FOLDER / "small_sinkhorn.js").read_text(encoding="utf-8")
SCRIPT = SOLVER + Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
CSS = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
THUMBNAIL = 48  # pixels

_TEMPLATE = """<div class="toy" role="group" aria-label="A small transport plan"><p class="about lead"><span></span><span class="drag" hidden> Drag
a dot.</span></p>
<div class="tool" hidden><div><svg class="drawing" role="group" aria-label="Crops as dots, sentences as squares, the plan as arrows"></svg>
<div class="sentences"></div>
<div class="controls"><label class="lambda"><span>cheapest plan</span>
<input type="range" min="-3" max="1" step="0.05" aria-label="Regularisation, from the cheapest plan to an even spread">
<span>spread evenly</span><output></output></label>
<label class="partial"><input type="checkbox"><span></span></label>
<button type="button" class="plain-button">Put everything back</button></div>
<p class="result"></p><p class="sr" role="status"></p></div><details class="detail"><summary>The sums, arrow by arrow</summary>
<p class="small">Each crop may give the same share, and each sentence takes the same.</p><div class="sums"></div></details></div></div>"""

BOTH_MOVE = "In each class's cheapest plan every sentence takes the same; thicker arrows move more."
#: Made-up places, chosen so that the plan decides: a cup looks different from above and from the side.
MADE_UP: dict[str, JsonValue] = {
    "about": "These places are made up, so that the plan decides: A and C each fit one sentence of cup, B lies between. "
    f"A dashed ring: nearer to bowl on average. {BOTH_MOVE}",
    "classes": ["cup", "bowl"],
    "crops": [
        {"name": "crop 1", "at": [0.3, 0.4]},
        {"name": "crop 2", "at": [0.25, -0.05]},
        {"name": "crop 3", "at": [0.3, -0.4]},
    ],
    "sentences": [
        [{"text": "a cup from above", "at": [0.5, 0.45]}, {"text": "a cup from the side", "at": [0.5, -0.45]}],
        [{"text": "a photo of a bowl", "at": [-0.15, 0.08]}, {"text": "a picture of a bowl", "at": [-0.15, -0.08]}],
    ],
    "hidden": [[[0, 0]] * 3] * 2,
    "lambda": 0.01,
    "mass": 1,
}


class TransportToy(JsonWidget):
    """Value: a dict as :func:`toy_value` or :data:`MADE_UP`, or None. The script inserts text as text."""

    template, script, css = _TEMPLATE, SCRIPT, CSS


def toy_value(session: Session) -> dict[str, JsonValue] | None:
    """Three crops of the picture on screen and two sentences of two classes; None before there is a run."""
    run = session.run_at_step
    if run is None or session.run is None:
        return None
    side, prompts = session.selection.side, run.class_prompts
    rival = rival_class(session.run)  # of the delivered picture: the classes are the same at every step
    small = small_transport(run, getattr(run, side), rival)
    crops, count = session.crops_of(side), len(run.attacked.encoded_views.features)
    which = f"the {side} picture{wording.step_suffix(run)}" if run.attack else "this picture"
    answer, mass = prompts.names[getattr(run, side).verdicts["rita"].label], run.settings.transported_mass
    order = f": A leans most to {prompts.names[small.classes[1]]}, C to {prompts.names[small.classes[0]]}"
    why = f": RITA moves only their cheapest {wording.percent(mass)}" if mass < 1 else ""
    return {
        "about": f"{len(small.views)} of the {count} crops of {which}{order if len(small.views) == 3 else ''}. {BOTH_MOVE}",
        "all": {"count": count, "answer": truncated(answer, 24), "why": why},
        "classes": [truncated(prompts.names[k], 24) for k in small.classes],
        "crops": [
            {
                "name": "whole picture" if n == 0 else f"crop {n}",
                "at": small.crop_at[i].tolist(),
                "src": "" if crops is None else jpeg_uri(crops[n], THUMBNAIL),
            }
            for i, n in enumerate(small.views.tolist())
        ],
        "sentences": [
            [
                {"text": truncated(prompts.prompts[k][m], 40), "at": small.sentence_at[c, i].tolist()}
                for i, m in enumerate(small.atoms[c])
            ]
            for c, k in enumerate(small.classes)
        ],
        "hidden": small.hidden.tolist(),
        "lambda": run.settings.entropy_weight,
        "mass": mass,
    }
