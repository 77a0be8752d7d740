"""Pieces about the run on screen that several rooms show: pills, the strip, verdicts, the slider of attack steps, the caption.

Nothing is encoded here: attack steps were computed once, in the background, and are stored.
"""

from functools import partial
from html import escape

import gradio as gr
from markupsafe import Markup

from rita_demo.attacks import ATTACKS, get_attack
from rita_demo.data.samples import SAMPLES
from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.figure import Figure
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.pipeline.export import used_settings
from rita_demo.pipeline.outcome import outcome
from rita_demo.process.environment import graphics_card_warning
from rita_demo.process.templates import html
from rita_demo.records import Run
from rita_demo.settings import SETTINGS
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.setting_controls import LenientSlider, changes_from_preset, value_text

PIXELS = 128  # edge of a small picture as sent; shown at 64
METHODS_IN_SIGHT = 3  # in the strip; one scrolls to the others


def run_pills(session: Session) -> str:
    """HTML: the picture with its name, and the attack with its strength, which lead to where they are chosen; "" before
    there is a run."""
    run = session.run
    if run is None:
        return ""
    sample, attack = SAMPLES.get(session.run_sample or ""), get_attack(run.settings.attack)
    strength = f", {run.settings.budget} of 255" if run.attack and attack.bounded else ""
    return html(
        "run_pills",
        name=sample.title if sample else "your picture",
        pixels=run.clean.picture.pixels,
        attack=f"{attack.column_title}{strength}",
        thumbnail=partial(jpeg_uri, side=48),
    )


def class_choices(session: Session) -> PanelValue:
    """The menu of classes, with the selected one."""
    if session.run is None:
        return gr.update()
    names = session.run.class_prompts.names
    return gr.update(choices=[(name, number) for number, name in enumerate(names)], value=session.selection.k)


def clean_picture(session: Session) -> str:
    """HTML: the picture before the attack; "" before there is a run."""
    if session.run is None:
        return ""
    image = jpeg_uri(session.run.clean.picture.pixels, side=PIXELS)
    return f"<img src='{image}' alt='The clean picture' width='64' height='64'>"


def summary_bar(session: Session) -> str:
    """HTML: the attacked picture at the step shown, and the answer of every method on the clean picture and on it."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>There is no run yet: run a picture in the Story.</p>"
    outcomes = outcome(run)
    return html(
        "summary_bar",
        run=run,
        outcomes=outcomes,
        wording=wording,
        what_if=session.inside.what_if.run,
        scrolls=len(outcomes) + len(run.faults) > METHODS_IN_SIGHT,
        thumbnail=partial(jpeg_uri, side=PIXELS),
    )


def verdict_table(run: Run) -> Markup:
    """Every method's answer on the clean and on the attacked picture; a user's own defence that has none with file,
    line and kind of its error, without the error's own text."""
    return html("verdicts", run=run, outcomes=outcome(run), defences=DEFENCES, wording=wording)


def explanation(run: Run) -> Markup:
    """The numbers behind the answer."""
    return Markup("<p class='small'>{}</p>").format(wording.explanation(run))


def threat(run: Run) -> Markup:
    """The threat model: the attack, its strength and what the attacker does not know; the rest in a fold."""
    model = run.threat_model
    *first, last = model.does_not_know or ("",)
    unknown = " or ".join(filter(None, (", ".join(first), last)))
    title = get_attack(model.attack).title
    return html("threat", model=model, title=title, unknown=unknown, attacked=run.attack is not None)


def times(run: Run) -> Markup:
    """Device and stage times on one line."""
    info, shown = run.backbone, wording.format_seconds
    parts = ", ".join(f"{name} {shown(value)}" for name, value in run.seconds.items())
    model = f"{info.title}, {info.parameters / 1e6:.0f} M parameters, input {info.side} px, on {info.device} in {info.precision}"
    spent = f"Time: {parts}; total {shown(sum(run.seconds.values()))}."
    text = " ".join(filter(None, (f"{model}.", graphics_card_warning(info.device), spent)))
    return Markup("<p class='quiet small'>{}</p>").format(text)


def build_step_slider(panels: PanelRegistry, name: str, topic: str) -> gr.Slider:
    """The slider of steps and a sentence below it; ``name`` is its element id, ``topic`` what the tab's panels depend
    on when the step changes."""
    step = LenientSlider(0, 7, value=7, step=1, label="Attack step shown, 0 is clean", elem_id=name, visible=False)

    def at_step(session: Session) -> PanelValue:
        last = 0 if session.run is None else last_step(session.run)
        value = last if session.selection.step is None else session.selection.step
        return gr.update(maximum=max(last, 1), value=value, visible=last > 0)

    panels.add(step, at_step, topic)
    panels.add(gr.HTML(elem_id=f"{name}-note"), step_caption, topic, "attack_steps")
    return step


def step_caption(session: Session) -> str:
    """HTML below the slider: the step that is shown, where another one is asked for which; and how many are still computed."""
    now, asked = session.run_at_step, session.selection.step
    if now is None or now.attack is None:
        return "<p class='note'>not attacked</p>" if now else ""
    last = last_step(now)
    shown = last if now.step is None else now.step
    said = f"step {shown} of {last}"
    if asked is not None and asked != shown:
        said = f"no step {asked} yet: step {shown}" if session.pending_steps else f"step {shown}, nearest to {asked}"
    elif session.pending_steps:
        said += " …"
    return f"<p class='note ends'><span>clean</span><span role='status'>{said}</span></p>"


def stored_steps_note(session: Session) -> str:
    """HTML: which steps are stored, how many are still computed, and which one is shown instead of a missing one."""
    now, pending = session.run_at_step, session.pending_steps
    if now is None or now.attack is None:
        return ""
    last, asked = last_step(now), session.selection.step
    stored = sorted({0, last} | {frame.step for frame in session.attack_steps})
    shown, said = last if now.step is None else now.step, ""
    if asked is not None and asked != shown:
        said = f"Step {asked} is not stored{' yet' if pending else ''}: everything shows step {shown}, the nearest. "
    if len(stored) <= last:
        said += f"Stored: steps {', '.join(map(str, stored[:-1]))} and {last} of {last}."
    if pending:
        done = len(session.attack_steps)
        said += (
            f" <progress max='{pending}' value='{done}' aria-label='Steps computed'></progress> "
            f"{done} of {pending} steps are computed."
        )
    return f"<p class='quiet small' role='status'>{said.strip()}</p>" if said else ""


def build_caption(panels: PanelRegistry) -> None:
    """The hidden caption of a saved figure, which ``plotly_view.js`` reads; a figure of many pictures has its own."""
    line = gr.HTML(elem_id="figure-caption")
    panels.add(line, lambda session: f"<p>{escape(caption(session))}</p>", "step", "inside")


def with_caption(figure: Figure, text: str) -> Figure:
    """A figure that is not about the displayed run, with its own caption as plain text."""
    figure.meta["caption"] = f"RITA demo. {text}."
    return figure


def caption(session: Session) -> str:
    """One line of plain text; "" before there is a run."""
    run = session.displayed_run
    if run is None:
        return ""
    names, model = run.class_prompts.names, run.threat_model
    label = "true class" if run.label_given else "CLIP's own answer"
    classes, attack = f"{label} “{names[run.label]}” among {len(names)} classes", "not attacked here"
    if run.attack is not None:
        strength = f", at most {model.budget}/255" if model.budget else ""
        steps = f"{model.steps} steps{wording.step_suffix(run)}"
        attack = (
            f"attack: {ATTACKS[model.attack].title}{strength}, {steps}, on {model.side} × {model.side} px "
            f"({model.square}), seed {model.seed}; knows {', '.join(model.knows)}"
        )
    used, (preset, changed) = used_settings(run), changes_from_preset(run.settings)
    said = [f"{SETTINGS[n].label} {value_text(SETTINGS[n], getattr(used, n))}" for n in changed]
    out = session.inside.what_if.exclusions
    if left := len(out.views) + len(out.prompts) + len(out.cache_items):
        said.append(f"{left} of views, prompts or stored views left out")
    settings = f"settings: {preset}" + (f", but {', '.join(said)}" if said else "")
    return f"RITA demo. {run.backbone.title}; {classes}; {attack}; {settings}."
