"""The paper's settings against the recommended ones on this picture, and one pinned state to compare with."""

from html import escape
from typing import Any

from rita_demo.pipeline import rerun
from rita_demo.plots.decision.costs import shown_classes
from rita_demo.plots.labels import sides_of
from rita_demo.records import Run, Trace, Verdict
from rita_demo.settings import PAPER, PRESETS, RECOMMENDED, SETTINGS, Settings
from rita_demo.ui.inside.what_if import differing
from rita_demo.ui.session.session import Pinned, Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table, table_row
from rita_demo.ui.widgets.setting_controls import label_html, value_html

PRESET_DIFFERENCES = RECOMMENDED.differs_from(PAPER)
RESCORABLE = tuple(n for n in PRESET_DIFFERENCES if SETTINGS[n].group in rerun.FEATURE_GROUPS)


def as_preset(settings: Settings, preset: Settings) -> Settings:
    """``settings`` with those of ``preset`` that need no new run."""
    return settings.replace(**{n: getattr(preset, n) for n in RESCORABLE})


def preset_table(engine: Any, run: Run) -> str:
    """HTML: every setting in which the presets differ, why, and what changing it alone does to this picture.

    For settings of views and prompts the delivered picture is encoded again.
    """
    rows = [_preset_row(engine, run, name) for name in PRESET_DIFFERENCES]
    for name, preset in PRESETS.items():
        changed = rerun.rescore(engine, run, as_preset(run.settings, preset))
        change = _answer_change(run, changed.attacked.trace)
        rows.append(table_row(f"All that follow at once, as in “{name}”", "", "", change))
    columns = ("setting", "recommended", "paper", "changed alone, on this picture")
    result = run.attacked.verdicts["rita"]
    answer = f"{escape(run.class_prompts.names[result.label])}, margin {result.margin:.4f}"
    return (
        f"{html_table(columns, rows, 'presets')}<p class='quiet small'>The run: {answer}. The "
        "answer is RITA’s on the picture that was delivered; margin and cost are in cosine distance, "
        "in brackets the change from the run.</p>"
    )


def _preset_row(engine: Any, run: Run, name: str) -> str:
    in_paper = getattr(run.settings, name) == getattr(PAPER, name)
    value = getattr(RECOMMENDED if in_paper else PAPER, name)
    title = f"{label_html(name)}<small>{escape(SETTINGS[name].help)}</small>"
    change = _single_change(engine, run, name, value)
    return table_row(title, value_html(name, RECOMMENDED), value_html(name, PAPER), change)


def _single_change(engine: Any, run: Run, name: str, value: Any) -> str:
    if SETTINGS[name].group == "attack":
        return (
            "<span class='quiet'>needs a new attack: it makes another picture, so it cannot be "
            "measured on this one</span>"
        )
    settings = run.settings.replace(**{name: value})
    if name in RESCORABLE:
        trace = rerun.rescore(engine, run, settings).attacked.trace
    else:
        trace = rerun.decide_with_new_views(engine, run, settings)
    return f"<small>{value_html(name, settings)}:</small> {_answer_change(run, trace)}"


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
    answers = "; ".join(
        f"{side} {escape(pinned.run.class_prompts.names[verdict.label])}, margin {verdict.margin:.4f}"
        for side, verdict in _rita_verdicts(pinned.run)
    )
    return f"<p class='quiet small'>□ <b>pinned</b>: {pinned.title}. RITA answered {answers} (cosine distance).</p>"


def pinned_table(session: Session) -> str:
    """HTML: the pinned state beside the displayed run."""
    now, pinned = session.displayed_run, session.inside.pinned
    if now is None or pinned is None:
        return (
            "<p class='empty'>Nothing is pinned. Pin what is shown, then change a setting or run "
            "another picture: both stand here side by side.</p>"
        )
    rows = [table_row("RITA", _verdicts_html(pinned.run), _verdicts_html(now))]
    old, new = (dict(zip(run.class_prompts.names, _costs(run), strict=True)) for run in (pinned.run, now))
    for k in shown_classes(now, session.selection.k, 6):
        name = now.class_prompts.names[k]
        title = f"{escape(name)}<small>total cost{', true' if k == now.label else ''}</small>"
        rows.append(table_row(title, _cost_html(old.get(name)), _cost_html(new[name], old.get(name))))
    return html_table(("", f"pinned: {pinned.title}", "shown now"), rows, "presets")


def _rita_verdicts(run: Run) -> list[tuple[str, Verdict]]:
    return [(side, getattr(run, side).verdicts["rita"]) for side in sides_of(run)]


def _verdicts_html(run: Run) -> str:
    return "".join(
        f"{side} <b>{escape(run.class_prompts.names[verdict.label])}</b><small>margin {verdict.margin:.4f}</small>"
        for side, verdict in _rita_verdicts(run)
    )


def _costs(run: Run) -> list[tuple[float, float]]:
    """For every class its total cost on the clean and on the attacked picture."""
    return list(zip(run.clean.trace.total, run.attacked.trace.total, strict=True))


def _cost_html(costs: tuple[float, float] | None, before: tuple[float, float] | None = None) -> str:
    if costs is None:
        return "<span class='quiet'>not among its classes</span>"
    changes = [""] * 2
    if before is not None:
        pairs = zip(costs, before, strict=True)
        changes = [f" <span class='quiet'>({wording.signed(float(new - old))})</span>" for new, old in pairs]
    return f"clean {costs[0]:.4f}{changes[0]}, delivered {costs[1]:.4f}{changes[1]}"
