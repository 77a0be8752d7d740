"""The folds below *Inside*: how sure the crops are, the prompt update, the memory of the chosen class, and the attack."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import gradio as gr
import numpy as np
from gradio.components import Component

from rita_demo import figures
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.figures import analysis
from rita_demo.figures.analysis.numbers import pooled
from rita_demo.figures.labels import sides_of
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records import Run
from rita_demo.records.errors import DataError
from rita_demo.settings.models import EMBEDDED
from rita_demo.ui import run_panels
from rita_demo.ui.background import attack_steps as background
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue, Parts
from rita_demo.ui.inside import cache_used
from rita_demo.ui.run_panels import stored_steps_note
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.data_uri import jpeg_uri, magnified_perturbation
from rita_demo.ui.widgets.html_buttons import MarkButtons
from rita_demo.ui.widgets.plotly_view import PlotlyView

EMPTY_TEXT = "Drawn once a picture has been defended."


@dataclass(frozen=True)
class FigureRow:
    """A figure of a fold: its element id without "in-", its accessible name, by which it is saved, its height in pixels, what draws it
    of the session and the run (or the what-if) on screen, and the topics that redraw it."""

    name: str
    aria: str
    height: int
    draw: Callable[[Session, Run], PanelValue]
    topics: tuple[str, ...]


class Fold:
    """A fold whose content is drawn while it is open. ``shown``: what is drawn when it opens."""

    def __init__(self, panels: PanelRegistry, name: str) -> None:
        self.panels, self.name = panels, name
        self.shown: list[Component] = []
        self.accordion: Any = None

    @contextmanager
    def built(self, title: str, lead: str = "") -> Iterator["Fold"]:
        """Build its content inside ``with``."""
        with build_fold(title, lead, elem_id=self.name) as self.accordion:
            yield self

    def add(
        self, component: Any, draw: Callable[[Session, Run], PanelValue], *topics: str, empty: PanelValue = None
    ) -> Any:
        """A panel of the run or the what-if on screen; ``empty`` before there is one."""

        def drawn(session: Session) -> PanelValue:
            run = session.displayed_run
            if session.run is not None and self.name not in session.inside.open_folds:
                return gr.update()
            return empty if run is None else draw(session, run)

        self.shown.append(component)
        return self.panels.add(component, drawn, *topics)

    def add_figures(self, rows: Iterable[FigureRow]) -> None:
        """One figure below the other."""
        for row in rows:
            figure = PlotlyView(height=row.height, aria=row.aria, empty=EMPTY_TEXT, elem_id=f"in-{row.name}")
            self.add(figure, row.draw, *row.topics)


def _entropies(session: Session, run: Run) -> PanelValue:
    side = "clean" if run.attack is None or run.step == 0 else "attacked"
    return figures.view_entropies(run, side, session.selection.view)


def _entropy_change(session: Session, run: Run) -> PanelValue:
    tau = run.class_prompts.temperature
    changes = {side: analysis.entropies(getattr(run, side), tau) for side in sides_of(run)}
    return figures.entropy_change(run, changes, view=session.selection.view)


def _cost_change(session: Session, run: Run) -> PanelValue:
    return figures.cost_change(run, k=session.selection.k)


#: The figures of the first two folds.
SURE = (FigureRow("entropies", "Entropy of every crop", 230, _entropies, ("view", "inside")),)
UPDATE = (
    FigureRow("entropy-change", "Entropy before and after the prompt update", 260, _entropy_change, ("view", "inside")),
    FigureRow("before-after", "Costs before and after the prompt update", 300, _cost_change, ("class", "inside")),
)


def build_folds(panels: PanelRegistry) -> tuple[list[Fold], Parts]:
    """The four folds, and by name the components with events."""
    with Fold(panels, "entropy-fold").built("How sure is each crop?") as sure:
        sure.add_figures(SURE)
    lead = "RITA adjusts its sentences to each picture for a few steps, clean and attacked apart."
    with Fold(panels, "tuning-fold").built("The prompt update", lead) as update:
        update.add_figures(UPDATE)
    lead = "As it was before this picture. Choose a stored view to see it in Memory, or to leave it out (in “Change”)."
    with Fold(panels, "memory-fold").built("The memory of this class", lead) as memory:
        empty = cache_used.class_cards(Session())
        items = MarkButtons(elem_id="in-items")
        memory.add(items, lambda s, _: cache_used.class_cards(s), "class", "memory", "inside", empty=empty)
    along, parts = _build_attack(panels)
    return [sure, update, memory, along], parts


def _build_attack(panels: PanelRegistry) -> tuple[Fold, Parts]:
    with Fold(panels, "along-fold").built("The attack and all answers") as fold:
        with gr.Row(elem_id="answers"):
            with gr.Column(scale=2, min_width=320, elem_id="who"):
                empty = '<p class="empty">The answers of all methods appear here once a picture is chosen.</p>'
                answers = gr.HTML(elem_id="verdicts")
                fold.add(answers, lambda s, _: run_panels.verdict_table(_as_made(s)), "step", empty=empty)
                fold.add(gr.HTML(elem_id="in-added"), lambda _, run: added_html(run), "inside", empty="")
            with gr.Column(scale=1, min_width=320, elem_id="along"):
                fold.add(gr.HTML(elem_id="why"), lambda s, _: run_panels.explanation(_as_made(s)), "step", empty="")
                fold.add(gr.HTML(elem_id="threat"), lambda s, _: run_panels.threat(_as_made(s)), empty="")
                fold.add(gr.HTML(elem_id="times"), lambda s, _: run_panels.times(_as_made(s)), empty="")
                gr.HTML("<h3>What if the attacker knows the defence?</h3>")
                with gr.Row(elem_id="push"):
                    choices = [(one.title, one.name) for one in DEFENCES.values() if not one.ablation]
                    options: dict[str, Any] = {"filterable": False, "elem_id": "known-defence"}
                    known = build_menu(choices, value="rita", label="The attacker knows", **options)
                    push = gr.Button("Attack that defence", elem_id="know")
                gr.HTML(
                    "<p class='lead'>30 steps against the defence, each on new crops, 30 more if it holds: half a minute."
                    f"{knowing_attacker_text()}</p>"
                )
        steps = PlotlyView(aria="Loss and every verdict, by attack step", height=320, empty=EMPTY_TEXT, elem_id="steps")
        fold.add(steps, _steps, "step", "attack_steps")
        fold.add(gr.HTML(elem_id="steps-note"), lambda s, _: stored_steps_note(s), "step", "attack_steps", empty="")
        follow = gr.Button("Compute the steps between", elem_id="follow", visible=False)
        panels.add(follow, _background_button, "attack_steps")
    return fold, {"known_defence": known, "knowing_button": push, "steps_figure": steps, "background_button": follow}


def _as_made(session: Session) -> Run:
    """The run at the step shown, without a what-if."""
    assert session.run_at_step is not None
    return session.run_at_step


def _steps(session: Session, run: Run) -> PanelValue:
    if run.attack is None:
        return None
    now = _as_made(session)
    return figures.attack_steps(now, session.attack_steps, last_step(now) if now.step is None else now.step)


def added_html(run: Run) -> str:
    """HTML: what the defences that change pixels added to each picture; "" where none of them was asked."""
    parts = ""
    for side in sides_of(run):
        for name, verdict in getattr(run, side).verdicts.items():
            if verdict.added is not None:
                levels, title = 255 * np.moveaxis(verdict.added, 0, 2), DEFENCES[name].title
                pixels = magnified_perturbation(np.zeros_like(levels), levels)
                parts += (
                    f"<figure><img src='{jpeg_uri(pixels)}' alt='What {title} added to the {side} picture'>"
                    f"<figcaption>{title}, {side}: at most {abs(levels).max():.1f}/255</figcaption></figure>"
                )
    heading = "<h3>What the defence added, 20 times magnified; grey means unchanged</h3>"
    return f"{heading}<div class='cells'>{parts}</div>" if parts else ""


def _background_button(session: Session) -> PanelValue:
    """The button for background work that is too slow to start by itself."""
    run = session.run
    if run is None or session.pending_steps:
        return gr.update(visible=False)
    seconds = 0.0 if session.attack_steps else background.attack_steps_seconds(run)
    name = f"Compute the steps between (about {wording.format_seconds(seconds)})"
    return gr.update(visible=seconds > background.AUTO_STEPS_SECONDS, value=name)


def knowing_attacker_text() -> str:
    """What RITA keeps of many pictures against the attacker who knows it; "" where that was not measured."""
    rita = None
    with suppress(DataError):
        rita = pooled(shipped_results.read(shipped_results.ATTACKERS)).get((EMBEDDED, "rita", "adaptive"))
    if rita is None:
        return ""
    form = "an earlier form of this attacker" if rita.earlier else "this attacker"
    return f" Of {rita.n} test pictures RITA keeps {rita.percent:.0f} % right against {form}."
