"""The tour: a small panel that walks through the real page, tab by tab, and outlines what it speaks of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.ui.plotly_view import with_fixed

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Stop:
    """One stop: the ``tab`` it is on, the element it outlines and the one to try (CSS selectors; neither is
    covered by the panel), two sentences, one thing to try."""

    tab: str
    target: str
    control: str
    title: str
    text: str
    task: str


FIRST, INSIDE, MEMORY, STREAM = "Attack & defend", "Inside RITA", "Memory (cache)", "Stream"
STOPS = (
    Stop(
        FIRST, ".pic.clean", "#samples", "One photograph",
        "This is what the camera saw, and what CLIP says about it. The model compares one look at the picture with one "
        "sentence per class, “a photo of a …”, and answers with the closest.",
        "Choose another picture from the strip, or upload your own.",
    ),
    Stop(
        FIRST, ".pic.attacked", ".pic.attacked input", "The same photograph, attacked",
        "Every pixel value may move by a few of 255 levels, in the direction that raises the model's error most. To you "
        "nothing has changed; in between stands what was added, twenty times magnified.",
        "Drag the line in this picture from side to side.",
    ),
    Stop(
        FIRST, "#along", "#scrubber input[type=range]", "Step by step",
        "The attack is a walk of a few steps uphill on CLIP's loss, and the curve above it is how sure each method still "
        "is of the right class. All of the page follows the step that is shown.",
        "Move the slider to step 1: who has already fallen?",
    ),
    Stop(
        FIRST, "#views", "#views", "Sixty-four looks instead of one",
        "RITA cuts the attacked picture into crops, moves them away from where the whole picture lies off them (the step back), and "
        "each is asked on its own. The bar below a crop tells what it "
        "says: a line for the true class, dashes for the attacker's, dots for another.",
        "Press a crop with dashes: where was it cut?",
    ),
    Stop(
        FIRST, "#costs", "#costs", "Moving the cloud",
        "For every class, all crops together are moved onto the class's sentences along the cheapest plan. What that costs "
        "is the class's distance, and the lowest total wins.",
        "Click another class, then a cell of its plan beside it.",
    ),
    Stop(
        INSIDE, "#whatif-banner", "#whatif-view", "What if?",
        "Everything the decision was made from stands on this tab, clean beside attacked, on the same scales. Leave "
        "something out, or move a setting, and all of it is decided again at once.",
        "Choose a view below and press “Leave out the chosen view”.",
    ),
    Stop(
        MEMORY, "#contents", "#poison", "What is remembered",
        "The surest crops enter a small memory under the class they answer with, and later pictures are compared with them "
        "too. Whether that changed anything is said further down; often it does not.",
        "Press “Fill it with attacked samples”: what do wrong memories do?",
    ),
    Stop(
        STREAM, "#stream-start", "#stream-start", "Many pictures",
        "One picture proves nothing. A stream counts who is right over many, with intervals, while the memory fills.",
        "Start a stream of twelve drawn textures.",
    ),
    Stop(
        FIRST, "#attack", "#knob-attack", "And an attacker who knows all this?",
        "The attacker so far knew CLIP, not the crops. One who averages his gradient over crops, or sends it through RITA "
        "as a whole, is much stronger, and nothing on this page is a promise against him.",
        "Choose an attack that knows the defence under “Kind”, and attack again.",
    ),
)  # fmt: skip


class Tour(gr.HTML):
    """A button that starts the tour, and the panel it opens; all of it runs in the browser."""

    def __init__(self, **html: Any) -> None:
        super().__init__(
            "",
            html_template="<button type='button' class='quiet-button'>Tour</button>",
            js_on_load=with_fixed(SCRIPT, stops=[asdict(stop) for stop in STOPS]),
            apply_default_css=False, **html,
        )  # fmt: skip

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"
