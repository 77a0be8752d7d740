"""The tab *Learn*: the idea, the tour's start, exercises, a plan to drag, the formulas with the numbers on screen, every term."""

import itertools
import math
from collections.abc import Callable, Sequence
from html import escape
from urllib.parse import parse_qsl

import gradio as gr
import numpy as np
from gradio.components import Component

from rita_demo.records import ImageResult, Run
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, queued_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.learn.exercises import EXERCISES, Exercise, revealed
from rita_demo.ui.panels.transport_toy import MADE_UP, TransportToy
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.share_link import ShareLink
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, build_heading
from rita_demo.ui.widgets.plotly_view import parse_int

IDEA = (
    "An attack changes every pixel a little: too little to see, but computed so that the model gives a wrong answer.",
    "It is made for the whole picture. Many crops of the picture still give the right answer, and RITA decides by them.",
    "It matters wherever a model reads pictures that strangers send. An attacker who knows the defence can break it too; "
    "this page measures how often.",
)
OPEN_TOUR = "() => { document.querySelector('#tour button').click(); }"
ApplyLink = Callable[[str, dict[str, str], ShareLink], Updates]


class LearnTab:
    """The tab. Build it inside its ``gr.Tab``."""

    def __init__(self, context: AppContext) -> None:
        self.context, self.presses = context, itertools.count()
        with gr.Column(elem_id="learn"):
            build_heading("The idea")
            gr.HTML(f"<ol class='idea'>{''.join(f'<li>{sentence}</li>' for sentence in IDEA)}</ol>")
            tour = gr.Button("Start the tour", variant="primary", elem_id="start-tour")
            tour.click(None, None, None, js=OPEN_TOUR, api_visibility="private")
            build_heading(
                "Predict, then look",
                "Predict, let “Set it up” make the run (it replaces the picture on screen), then reveal.",
            )
            self._build_exercises()
            build_heading("A plan moves crops onto sentences")
            TransportToy(MADE_UP, elem_id="toy-learn")
            with build_fold("The formulas, with the numbers on screen", elem_id="formulas-fold"):
                context.panels.add(gr.HTML(elem_id="formulas"), formulas, "class", "view", "step", "inside")
            with build_fold("Every term in a sentence"):
                terms = "".join(f"<dt>{escape(t)}</dt><dd>{escape(said)}</dd>" for t, said in wording.terms().items())
                gr.HTML(f"<dl class='terms'>{terms}</dl>")

    def _build_exercises(self) -> None:
        first, titles = EXERCISES[0], [(f"{n}. {one.title}", n) for n, one in enumerate(EXERCISES, 1)]
        self.chosen = gr.Radio(titles, value=1, label="Exercise", show_label=False, elem_id="exercise")
        self.question = gr.HTML(_question_html(first), elem_id="exercise-question")
        self.prediction = gr.Radio(list(first.choices), label="Your prediction", elem_id="exercise-prediction")
        self.set_up_button = gr.Button("Set it up", size="sm", elem_id="exercise-set-up")
        self.reveal_button = gr.Button("Reveal", size="sm", elem_id="exercise-reveal")
        self.answer = gr.HTML(elem_id="exercise-answer")
        self.ready = self.context.panels.add(gr.HTML(elem_id="exercise-ready"), ready)

    def bind_events(self, own_tab: gr.Tab, apply_link: ApplyLink, filled: Sequence[Component]) -> None:
        """Connect the events; ``apply_link`` fills in the components ``filled`` and starts the run of a link."""
        context, visitor = self.context, self.context.visitor
        context.bind_tab(own_tab)
        self.apply_link = apply_link
        shown = [context.error_banner, self.question, self.prediction, self.answer, self.ready]
        guard = notice.handle_errors(context.error_banner)
        self.chosen.input(guard(self.choose), [visitor, self.chosen], shown, **IMMEDIATE_EVENT)
        outputs = context.outputs(*filled, self.answer)
        # in a queue: outside it Gradio does not notice that a gr.State changed, and the run would not start
        self.set_up_button.click(guard(self.set_up), [visitor, self.chosen], outputs, **queued_event("set up", 8))
        inputs, revealing = [visitor, self.chosen, self.prediction], [context.error_banner, self.answer]
        self.reveal_button.click(guard(self.reveal), inputs, revealing, **IMMEDIATE_EVENT)

    def choose(self, visitor: str, number: JsonValue) -> Updates:
        """Another exercise: its question, its choices, and no answer yet."""
        session, one = self.context.sessions.get(visitor), _exercise(number)
        session.exercise = EXERCISES.index(one) + 1
        choices = gr.update(choices=list(one.choices), value=None)
        return {
            self.question: _question_html(one),
            self.prediction: choices,
            self.answer: "",
            self.ready: ready(session),
        }

    def set_up(self, visitor: str, number: JsonValue) -> Updates:
        """Fill in the form and start the run; "again" makes a link that was opened before a new one."""
        one = _exercise(number)
        query = dict(parse_qsl(one.query)) | {"again": str(next(self.presses))}
        return self.apply_link(visitor, query, one.link) | {self.answer: ""}

    def reveal(self, visitor: str, number: JsonValue, predicted: str | None) -> Updates:
        session = self.context.sessions.get(visitor)
        return {self.answer: revealed(session, _exercise(number), predicted)}


def _exercise(number: JsonValue) -> Exercise:
    found = parse_int(number, 1, len(EXERCISES) + 1)
    return EXERCISES[(found or 1) - 1]


def ready(session: Session) -> str:
    """HTML: whether the chosen exercise's run is on screen."""
    there = _exercise(session.exercise).is_set_up(session)
    return "<p class='quiet small'>The run of this exercise is ready.</p>" if there else ""


def _question_html(exercise: Exercise) -> str:
    return f"<p class='says'>{escape(exercise.question)}</p>"


def formulas(session: Session) -> str:
    """HTML: cost, plan, confidence and decision of the delivered picture, in symbols and in numbers."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>The formulas appear here with numbers once there is a picture.</p>"
    at, side = session.selection, run.attacked
    k = at.k if at.k is not None else side.verdicts["rita"].label
    n = at.view if at.view is not None else int(np.argmin(side.trace.confidence.entropy))
    rows = "".join(
        f"<dt>{title}</dt><dd><p class='formula'>{symbols}</p><p class='formula numbers'>{numbers}</p></dd>"
        for title, symbols, numbers in (*_view(run, side, n), *_class(run, side, k, n), _decision(run, side))
    )
    which = "the attacked picture" if run.attack is not None else "the picture"
    name = escape(run.class_prompts.names[k])
    return (
        f"<p class='quiet small'>Of {which}{wording.step_suffix(run)}: class <b>{name}</b>, view {n}. "
        f"Choose others on the other tabs.</p><dl class='formulas'>{rows}</dl>"
    )


def _view(run: Run, side: ImageResult, n: int) -> list[tuple[str, str, str]]:
    confidence, offset, weight = side.trace.confidence, side.trace.crop_offset, run.settings.step_back
    entropy, limit = float(confidence.entropy[n]), float(confidence.limit)
    probability = np.asarray(confidence.probability, float)[n]
    best = int(probability.argmax())
    compared, kept = ("≤", "confident") if entropy <= limit else ("&gt;", "not confident")
    step = (
        "The step back: away from the features of the whole picture",
        "d = ∑<sub>n</sub> a<sub>n</sub> x<sub>n</sub> − x<sub>0</sub>, then x<sub>n</sub> + κ |d|² d, scaled to length 1",
        f"|d| = {offset:.3f}, so that every view moves by {weight:g} · {offset:.3f}³ = {side.trace.step_back_distance:.3f}",
    )
    entropies = (
        "Entropy of a view",
        "H<sub>n</sub> = −∑<sub>k</sub> p<sub>n</sub>(k) log p<sub>n</sub>(k), kept when H<sub>n</sub> ≤ γ",
        f"p<sub>{n}</sub>({escape(run.class_prompts.names[best])}) = {probability[best]:.3f}, H<sub>{n}</sub> = {entropy:.3f} "
        f"nats {compared} γ = {limit:.3f} nats: {kept}",
    )
    return [step, entropies] if weight else [entropies]


def _class(run: Run, side: ImageResult, k: int, n: int) -> list[tuple[str, str, str]]:
    moved, weight = side.trace.prompt_transport, run.settings.entropy_weight
    cost, mass = float(moved.cost[k, n, 0]), float(moved.mass)
    plan, costs = (np.asarray(array, float)[k] for array in (moved.plan, moved.cost))
    paid = float((plan * costs).sum())
    flat = np.asarray(side.trace.view_weight, float)[:, None] * np.asarray(side.trace.prompt_weight, float)[k]
    symbols, numbers = "1 − cos(x<sub>n</sub>, z<sub>km</sub>)", f"1 − {1 - cost:.4f}"
    if run.settings.cost == "loglik":
        tau = run.class_prompts.temperature
        symbols, numbers = "−τ log p<sub>n</sub>(k)", f"−{tau:.4g} · log {math.exp(-cost / tau):.4g}"
    return [
        (
            "What moving a view onto a sentence costs",
            f"C<sub>k</sub>[n,m] = {symbols}",
            f"C[{n},1] = {numbers} = {cost:.4f}",
        ),
        (
            "The transport cost of a class",
            "d<sub>OT</sub>(k) = ∑<sub>n,m</sub> T<sub>k</sub>[n,m] C<sub>k</sub>[n,m] / ρ, "
            "T<sub>k</sub> = argmin ⟨T, C<sub>k</sub>⟩ − λ h(T)",
            f"{paid:.4f} / {mass:g} = {paid / mass:.4f}, with λ = {weight:g}; the plain mean of the distances is "
            f"{float((flat * costs).sum()):.4f}",
        ),
    ]


def _decision(run: Run, side: ImageResult) -> tuple[str, str, str]:
    total = np.asarray(side.trace.total, float)
    prompt, names = np.asarray(side.trace.prompt_transport.distance, float), run.class_prompts.names
    first, second = (int(k) for k in np.argsort(total, kind="stable")[:2])
    costs = "; ".join(
        f"{escape(names[k])}: {prompt[k]:.4f} {'+' if total[k] >= prompt[k] else '−'} "
        f"{abs(total[k] - prompt[k]):.4f} = {total[k]:.4f}"
        for k in (first, second)
    )
    lead, weight = total[second] - total[first], run.settings.cache_weight
    return (
        "The decision",
        "argmin<sub>k</sub> d<sub>OT</sub>(k) + α d<sub>cOT</sub>(k)",
        f"{costs}, with α = {weight:g}: <b>{escape(names[first])}</b>, ahead by {lead:.4f}",
    )
