"""The paper's settings against the recommended ones on this picture, and one pinned state to compare with."""

from html import escape

import gradio as gr

from rita_demo.data.descriptions import with_used_descriptions
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline import rerun
from rita_demo.plots.decision.costs import shown_classes
from rita_demo.plots.labels import sides_of
from rita_demo.records import Run, Trace
from rita_demo.settings import PAPER, PRESETS, RECOMMENDED, SETTINGS, Settings
from rita_demo.ui.framework.panels import PanelRegistry, Parts
from rita_demo.ui.inside.what_if import differing
from rita_demo.ui.session.session import Pinned, Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_fold, html_table, table_row
from rita_demo.ui.widgets.setting_controls import label_html, value_html

PRESET_DIFFERENCES = RECOMMENDED.differs_from(PAPER)
RESCORABLE = tuple(n for n in PRESET_DIFFERENCES if SETTINGS[n].group in rerun.FEATURE_GROUPS)
PRESETS_EMPTY = (
    "<p class='empty'>The paper leaves some settings open, and prints others that rarely work here. Each one that "
    "differs is listed with its reason, and with what changing it alone does to this picture.</p>"
)
NEEDS_ATTACK = "<span class='quiet'>needs a new attack, which makes another picture</span>"


def build_comparisons(panels: PanelRegistry) -> Parts:
    """The paper's settings against the recommended ones, and the pinned state; returns the components by name."""
    with build_fold("Which settings differ from the paper’s?"):
        with gr.Row(elem_classes="whatif-row"):
            effects = gr.Button("What does each change here?", size="sm", elem_id="preset-effects")
            paper = gr.Button("Show with the paper’s", size="sm", elem_id="preset-paper")
            recommended = gr.Button("Show with the recommended", size="sm", elem_id="preset-ours")
        table = panels.add(gr.HTML(elem_id="preset-table"), lambda _: PRESETS_EMPTY)
    with build_fold("How does it compare with another state?"):
        with gr.Row(elem_classes="whatif-row"):
            pin_button = gr.Button("Pin what is shown", size="sm", elem_id="pin")
            unpin = gr.Button("Unpin", size="sm", elem_id="unpin")
        panels.add(gr.HTML(elem_id="pinned"), pinned_table, "class", "inside")
    shown = {"effects": effects, "paper": paper, "recommended": recommended, "table": table}
    return shown | {"pin": pin_button, "unpin": unpin}


def as_preset(settings: Settings, preset: Settings) -> Settings:
    """``settings`` with those of ``preset`` that need no new run."""
    return settings.replace(**{n: getattr(preset, n) for n in RESCORABLE})


def preset_table(engine: Engine, run: Run) -> str:
    """HTML: every setting in which the presets differ, why, and what changing it alone does to this picture.

    For settings of views and prompts the delivered picture is encoded again.
    """
    rows = []
    for name in PRESET_DIFFERENCES:
        title = f"{label_html(name)}<small>{escape(SETTINGS[name].help)}</small>"
        change = _single_change(engine, run, name)
        rows.append(table_row(title, value_html(name, RECOMMENDED), value_html(name, PAPER), change))
    for name, preset in PRESETS.items():
        changed = rerun.rescore(engine, run, as_preset(run.settings, preset))
        change = _answer_change(run, changed.attacked.trace)
        rows.append(table_row(f"All that follow at once, as in “{name}”", "", "", change))
    columns = ("setting", "recommended", "paper", "changed alone, on this picture")
    result = run.attacked.verdicts["rita"]
    answer = f"{escape(run.class_prompts.names[result.label])}, margin {result.margin:.4f}"
    return (
        f"{html_table(columns, rows, 'presets')}<p class='quiet small'>The run: {answer}. RITA’s answers on the delivered "
        "picture; margin and cost in cosine distance, in brackets the change from the run.</p>"
    )


def _single_change(engine: Engine, run: Run, name: str) -> str:
    if SETTINGS[name].group == "attack":
        return NEEDS_ATTACK
    in_paper = getattr(run.settings, name) == getattr(PAPER, name)
    settings = run.settings.replace(**{name: getattr(RECOMMENDED if in_paper else PAPER, name)})
    if name in RESCORABLE:
        trace = rerun.rescore(engine, run, settings).attacked.trace
    else:
        trace = rerun.decide_with_new_views(engine, run, settings)
    used = with_used_descriptions(settings, run.class_prompts.names)
    return f"<small>{value_html(name, used)}:</small> {_answer_change(run, trace)}"


def _answer_change(before: Run, after: Trace) -> str:
    old, new, names = before.attacked.trace, after.verdict, before.class_prompts.names
    verb = "still " if old.verdict.label == new.label else "now "
    k = before.label
    cost, moved = float(after.total[k]), float(after.total[k] - old.total[k])
    return (
        f"{verb}<b>{escape(names[new.label])}</b><small>margin {new.margin:.4f} "
        f"({wording.signed(new.margin - old.verdict.margin)})<br>{escape(names[k])} costs {cost:.4f} "
        f"({wording.signed(moved)})</small>"
    )


def pin(session: Session) -> None:
    """Keep the displayed run to compare with, in place of the one that was pinned before."""
    run = session.displayed_run
    if run is None:
        return
    truth, attack = escape(run.class_prompts.names[run.label]), "not attacked"
    if run.attack is not None:
        attack = f"attacked at {run.settings.budget}/255{wording.step_suffix(run)}"
    session.inside.pinned = Pinned("; ".join([f"{truth}, {attack}", *differing(session)]), run)


def pinned_sentence(session: Session) -> str:
    """HTML above the figure of costs: what the empty squares are, and RITA's pinned answers."""
    pinned = session.inside.pinned
    if pinned is None:
        return ""
    answers = "; ".join(_answers(pinned.run, "{side} {name}, margin {margin:.4f}"))
    return f"<p class='quiet small'>□ <b>pinned</b>: {pinned.title}. RITA answered {answers} (cosine distance).</p>"


def pinned_table(session: Session) -> str:
    """HTML: the pinned state beside the displayed run."""
    now, pinned = session.displayed_run, session.inside.pinned
    if now is None or pinned is None:
        return (
            "<p class='empty'>Nothing is pinned. Pin what is shown, then change a setting or run another picture: both "
            "stand here side by side.</p>"
        )
    answer = "{side} <b>{name}</b><small>margin {margin:.4f}</small>"
    rows = [table_row("RITA", *("".join(_answers(run, answer)) for run in (pinned.run, now)))]
    names, old = now.class_prompts.names, _costs(pinned.run)
    for k in shown_classes(now, session.selection.k, 6):
        title = f"{escape(names[k])}<small>total cost{', true' if k == now.label else ''}</small>"
        before, after = old.get(names[k]), _costs(now)[names[k]]
        cells = ("<span class='quiet'>not among its classes</span>" if before is None else _cost_html(before, before),)
        rows.append(table_row(title, *cells, _cost_html(after, before or after)))
    return html_table(("", f"pinned: {pinned.title}", "shown now"), rows, "presets")


def _answers(run: Run, text: str) -> list[str]:
    """HTML: RITA's answer on each side, as ``text`` with its side, class name and margin."""
    found = []
    for side in sides_of(run):
        verdict = getattr(run, side).verdicts["rita"]
        name = escape(run.class_prompts.names[verdict.label])
        found.append(text.format(side=side, name=name, margin=verdict.margin))
    return found


def _costs(run: Run) -> dict[str, tuple[float, float]]:
    """Name of every class -> its total cost on the clean and on the attacked picture."""
    both = zip(run.clean.trace.total, run.attacked.trace.total)
    return dict(zip(run.class_prompts.names, both))


def _cost_html(costs: tuple[float, float], before: tuple[float, float]) -> str:
    return ", ".join(
        f"{side} {new:.4f}"
        + (f" <span class='quiet'>({wording.signed(float(new - old))})</span>" if new != old else "")
        for side, new, old in zip(("clean", "delivered"), costs, before)
    )
