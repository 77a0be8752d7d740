"""The tour: a small panel that explains the page tab by tab and outlines the part it explains."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rita_demo.ui.widgets.html_buttons import HtmlWidget
from rita_demo.ui.widgets.plotly_view import with_constants

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class TourStep:
    """One step: its ``tab``, the element it outlines and the ``control`` to try (CSS selectors; the panel covers
    neither), one or two sentences, and a ``task``."""

    tab: str
    target: str
    control: str
    title: str
    text: str
    task: str


ATTACK_DEFEND, INSIDE, MEMORY, STREAM = "Attack & defend", "Inside RITA", "Memory (cache)", "Stream"
TOUR_STEPS = (
    TourStep(
        ATTACK_DEFEND,
        ".pic.clean",
        "#samples",
        "One picture",
        "This is a picture, and CLIP's answer. CLIP compares the whole picture with one sentence per class, “a photo of a "
        "…”, and answers with the closest.",
        "Choose another sample, or upload your own picture.",
    ),
    TourStep(
        ATTACK_DEFEND,
        ".pic.attacked",
        ".pic.attacked input",
        "The same picture, attacked",
        "Every pixel value changes by at most a few of 255 levels, so that CLIP's error grows; the attack chooses "
        "neither the wrong class nor how sure CLIP is. You hardly see the change; the perturbation is that change, twenty "
        "times as strong.",
        "Drag the line in this picture to the left and right.",
    ),
    TourStep(
        ATTACK_DEFEND,
        "#field",
        "#field .play",
        "One dot for every crop",
        "A crop right of the line fits the right class better, one left of it the wrong answer. The large dot is the whole "
        "picture, which CLIP sees; the diamonds are the defences.",
        "Press “Play the attack”: how many dots cross the line?",
    ),
    TourStep(
        ATTACK_DEFEND,
        "#views",
        "#views",
        "Sixty-four crops instead of one picture",
        "RITA cuts the attacked picture into crops. The bar below a crop shows its own answer: a line for the true class, "
        "dashes for the wrong answer, dots for another.",
        "Press a crop with dashes: which part of the picture is it?",
    ),
    TourStep(
        ATTACK_DEFEND,
        "#toy",
        "#toy .drawing",
        "The cost of a class",
        "For every class, the crops are moved onto the class's sentences along the cheapest plan (optimal transport). The "
        "class whose plan costs least wins: here with three crops and two classes, in the chart with all.",
        "Drag crop A towards the sentences of the other class: which class becomes cheaper?",
    ),
    TourStep(
        INSIDE,
        "#whatif-banner",
        "#whatif-view",
        "What if?",
        "This tab shows what the decision was made from, clean beside attacked. Leave something out or change a setting, and "
        "RITA decides again at once.",
        "Choose a view below and leave it out.",
    ),
    TourStep(
        MEMORY,
        "#contents",
        "#poison",
        "What the memory holds",
        "The surest crops enter a small memory under the class they answer with, and later pictures are compared with them. "
        "The tab shows whether that changed the answer; often it does not.",
        "Choose the motorbike on the first tab, then press “Add attacked samples”: what do views under a wrong class do?",
    ),
    TourStep(
        STREAM,
        "#stream-start",
        "#stream-start",
        "Many pictures",
        "One picture shows little. A stream measures accuracy over many, with intervals, while the memory fills.",
        "Set “How many” to 12 and start a stream of drawn textures. Twelve are too few to say whether the memory helps: look "
        "how wide the intervals are.",
    ),
    TourStep(
        ATTACK_DEFEND,
        "#push",
        "#know",
        "What if the attacker knows the defence?",
        "So far the attacker knew CLIP, not the crops. One who attacks the crops, or RITA as a whole, is much stronger: nothing "
        "on this page guarantees a defence against that.",
        "Press “Attack that defence”.",
    ),
)


class Tour(HtmlWidget):
    """A button that starts the tour, and the panel it opens; all of it runs in the browser."""

    def __init__(self, **html: Any) -> None:
        super().__init__(
            "",
            html_template="<button type='button' class='quiet-button'>Tour</button>",
            js_on_load=with_constants(SCRIPT, stops=[asdict(stop) for stop in TOUR_STEPS]),
            apply_default_css=False,
            **html,
        )
