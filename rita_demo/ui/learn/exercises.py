"""Six exercises: each sets up a run, asks for a prediction, and reads the answer from that run."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qsl

import numpy as np

from rita_demo.records import Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.share_link import ShareLink, parse_link
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import place_link
from rita_demo.ui.widgets.setting_controls import settings_from

NOT_SET_UP = (
    "The run of this exercise is not on screen yet. Press “Set it up”, wait until it is done, then press Reveal again."
)
NO_PREDICTION = "Predict first: choose one of the three."


@dataclass(frozen=True)
class Exercise:
    """``query`` is the share link of the run, ``answer(run)`` gives the number of the right choice and a sentence with
    the run's own numbers, ``where`` says where the page shows that number, ``at`` is that place (CSS selector)."""

    title: str
    query: str
    question: str
    choices: tuple[str, str, str]
    answer: Callable[[Run], tuple[int, str]]
    where: str
    at: str

    @property
    def link(self) -> ShareLink:
        link = parse_link(dict(parse_qsl(self.query)))
        assert link is not None
        return link

    def is_set_up(self, session: Session) -> bool:
        """Whether the run on screen is this exercise's."""
        run, link = session.run, self.link
        return run is not None and session.run_sample == link.sample and run.settings == settings_from(link.form)


def _fooled(run: Run) -> tuple[int, str]:
    before, after = (side.verdicts["clip"] for side in (run.clean, run.attacked))
    truth, said = (run.class_prompts.names[k] for k in (run.label, after.label))
    shares = [float(verdict.probability[run.label]) for verdict in (before, after)]
    choice = 2 if said != truth else 1 if shares[1] < 0.75 * shares[0] else 0
    first, second = map(wording.percent, shares)
    return choice, f"CLIP gives {truth} {first} before and {second} after. It says {said}."


def _crops(run: Run) -> tuple[int, str]:
    count, truth = len(run.attacked.encoded_views.features), run.class_prompts.names[run.label]
    votes = wording.votes(run.attacked, run.label)
    return int(3 * votes > count) + int(3 * votes > 2 * count), f"{votes} of {count} crops still say {truth}."


def _flat_plan(run: Run) -> tuple[int, str]:
    trace, k = run.attacked.trace, run.attacked.verdicts["rita"].label
    paid = float(trace.prompt_transport.distance[k])
    flat = np.asarray(trace.view_weight)[:, None] * np.asarray(trace.prompt_weight)[k]
    mean = float((flat * np.asarray(trace.prompt_transport.cost)[k]).sum())
    gap, name = abs(mean - paid), run.class_prompts.names[k]
    said = f"The transport cost of {name} is {paid:.4f}, the plain mean {mean:.4f}: {gap:.4f} apart."
    return (0 if gap < 0.01 else 1 if gap < 0.05 else 2), said


def _stored(run: Run) -> tuple[int, str]:
    events = run.attacked.trace.cache_update.events
    choice = 0 if not events else 1 if all(event.label == run.label for event in events) else 2
    return choice, wording.heading_cache(run)


def _known(run: Run) -> tuple[int, str]:
    verdict, truth = run.attacked.verdicts["rita"], run.class_prompts.names[run.label]
    said = run.class_prompts.names[verdict.label]
    before = wording.percent(run.clean.verdicts["rita"].probability[run.label])
    after = wording.percent(verdict.probability[run.label])
    votes, count = wording.votes(run.attacked, run.label), len(run.attacked.encoded_views.features)
    choice = 2 if said != truth else 0 if votes > count / 2 else 1
    text = f"RITA says {said}: it gives {truth} {before} before and {after} after."
    return choice, f"{text} {votes} of {count} crops still say {truth}."


CLIP_CHOICES = ("CLIP hardly notices", "CLIP is less sure, but right", "CLIP is fooled")
EXERCISES = (
    Exercise(
        "A small attack",
        "sample=motorcycle&budget=1",
        "The attack may change every pixel value by 1 of 255. What happens to CLIP’s motorbike?",
        CLIP_CHOICES,
        _fooled,
        "below the attacked picture",
        ".pic.attacked .says",
    ),
    Exercise(
        "Noise",
        "sample=motorcycle&attack=noise&budget=4",
        "Now random noise, four times as strong. And CLIP?",
        CLIP_CHOICES,
        _fooled,
        "below the attacked picture",
        ".pic.attacked .says",
    ),
    Exercise(
        "The crops",
        "sample=motorcycle&budget=4",
        "The attack has 4 of 255 and is made for the whole picture. How many of its 64 crops still say motorbike?",
        ("a third or fewer", "up to two thirds", "more than two thirds"),
        _crops,
        "heading 3",
        "#heading-views",
    ),
    Exercise(
        "The flat plan",
        "sample=motorcycle&entropy_weight=1",
        "With strong regularisation every crop is spread over all sentences. How far is the transport cost from the plain mean distance?",
        ("less than 0.01", "0.01 to 0.05", "more than 0.05"),
        _flat_plan,
        "fold “The formulas, with the numbers on screen” below: the transport cost of a class",
        "#formulas-fold > button",
    ),
    Exercise(
        "What is stored",
        "sample=coffee&budget=4",
        "A cup is attacked; its surest view enters the memory under that view’s own answer. What is stored?",
        ("nothing is sure enough", "a view under the right class", "a view under a wrong class"),
        _stored,
        "heading 5",
        "#heading-memory",
    ),
    Exercise(
        "The attacker who knows",
        "sample=motorcycle&attack=adaptive&adaptive.against=rita",
        "This attacker computes through RITA itself; it takes about half a minute. Does RITA hold?",
        ("yes, most crops too", "yes, but most crops do not", "no"),
        _known,
        "row RITA of “Who is right?”",
        "#verdicts",
    ),
)


def revealed(session: Session, exercise: Exercise, predicted: str | None) -> str:
    """HTML: the answer with the numbers of the run on screen, or what to do first."""
    run = session.run
    if run is None or not exercise.is_set_up(session):
        return f"<p class='empty'>{NOT_SET_UP}</p>"
    if predicted not in exercise.choices:
        return f"<p class='empty'>{NO_PREDICTION}</p>"
    right, sentence = exercise.answer(run)
    answer = exercise.choices[right]
    verdict = f"As you predicted: {answer}" if answer == predicted else f"You predicted “{predicted}”; it is “{answer}”"
    return (
        f"<p class='says'><b>{escape(verdict)}.</b> {escape(sentence)}</p>"
        f"<p class='quiet small'>Where to read it: {place_link(escape(exercise.where), exercise.at)}.</p>"
    )
