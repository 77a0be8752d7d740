"""The left column: which picture, which classes, which attack; everything else in folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import gradio as gr

from rita_demo.attacks import ATTACKS
from rita_demo.data import samples, vocabularies
from rita_demo.errors import DemoError
from rita_demo.methods import ALWAYS, METHODS
from rita_demo.settings import KNOBS, PAPER, RECOMMENDED
from rita_demo.ui import words
from rita_demo.ui.ask import NOBODY, OWN, names_of
from rita_demo.ui.controls import (
    ATTACK_CHOICES,
    differences,
    draw_folds,
    draw_knob,
    preset_values,
    settings_from,
)
from rita_demo.ui.desk import AT_ONCE
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.strip import SampleStrip

IN_SIGHT = ("attack", "budget")  # knobs that are not in a fold
OWN_EXAMPLE = "cup, crab, camera, piano"


@dataclass(frozen=True)
class Form:
    """The controls. ``fields`` maps a name (of a knob, or vocabulary, own_names, truth, target, methods) to
    its component; the rest are buttons and notes."""

    fields: dict[str, Any]
    strip: SampleStrip
    upload: gr.UploadButton
    chosen: gr.HTML
    go: gr.Button
    only: gr.Button
    stop: gr.Button
    preset: gr.Radio
    differs: gr.HTML

    def read(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        """What Gradio hands over, by name."""
        return {name: values[component] for name, component in self.fields.items()}


def draw_form(sample: str | None) -> Form:
    """Draw the column with a sample already chosen, and wire what concerns the form alone."""
    one = samples.SAMPLES.get(sample or "")
    strip, upload, chosen = _draw_picture(sample)
    fields = _draw_classes(one) | _draw_attack()
    with gr.Column(elem_id="buttons"):
        go = gr.Button("Attack and defend", variant="primary", elem_id="go")
        only = gr.Button("Only defend", elem_id="only-defend")
        stop = gr.Button("Stop", elem_id="stop", visible=False)
        gr.HTML(
            "<p class='quiet small'>“Only defend” takes a picture that was already attacked.</p>"
        )
    with gr.Column(elem_id="settings"):
        gr.HTML("<h3>All settings</h3>")
        preset = gr.Radio(
            [("recommended", "recommended"), ("as in the paper", "paper")],
            value="recommended", label="Preset", show_label=False, elem_id="preset",
        )  # fmt: skip
        differs = gr.HTML(differences(RECOMMENDED, RECOMMENDED, "recommended"), elem_id="differs")
        knobs = _draw_methods() | _draw_target() | draw_folds(skip=IN_SIGHT)
    form = Form(fields | knobs, strip, upload, chosen, go, only, stop, preset, differs)
    _wire(form)
    return form


def _draw_picture(sample: str | None) -> tuple[SampleStrip, gr.UploadButton, gr.HTML]:
    with gr.Column(elem_id="pick"):
        gr.HTML("<h3>A picture</h3>")
        strip = SampleStrip(sample, elem_id="samples")
        # Of any type: what is no picture gets a sentence that stays, not the browser's fleeting one.
        upload = gr.UploadButton("Upload your own", type="filepath", size="sm", elem_id="upload")
        chosen = gr.HTML(elem_id="chosen")
    return strip, upload, chosen


def _draw_classes(one: samples.Sample | None) -> dict[str, Any]:
    chosen = one.vocabulary or OWN if one else "caltech101"
    names = one.names if one else vocabularies.vocabulary(chosen).names
    choices = [(v.title, key) for key, v in vocabularies.VOCABULARIES.items()]
    with gr.Column(elem_id="classes"):
        gr.HTML("<h3>What could it be?</h3>")
        vocabulary = gr.Dropdown(
            [*choices, ("My own list", OWN)], value=chosen, label="Class names",
            filterable=False, elem_id="vocabulary",
        )  # fmt: skip
        own_names = gr.Textbox(
            ", ".join(names) if chosen == OWN else OWN_EXAMPLE, label="My own list",
            info="Separated by commas.", lines=2, max_lines=6, visible=chosen == OWN,
            elem_id="own-names",
        )  # fmt: skip
        truth = gr.Dropdown(
            [NOBODY, *names], value=one.label if one else NOBODY, allow_custom_value=True,
            label="True class, if you know it", elem_id="truth",
        )  # fmt: skip
    return {"vocabulary": vocabulary, "own_names": own_names, "truth": truth}


def _draw_attack() -> dict[str, Any]:
    with gr.Column(elem_id="attack"):
        gr.HTML("<h3>The attack</h3>")
        attack = gr.Dropdown(
            ATTACK_CHOICES,
            value=KNOBS["attack"].default, label="Kind", filterable=False,
            info=ATTACKS[str(KNOBS["attack"].default)].sentence, elem_id="knob-attack",
        )  # fmt: skip
        budget = draw_knob(KNOBS["budget"], maximum=16)
        knows = gr.HTML(words.attacker(str(KNOBS["attack"].default)), elem_id="attacker")
    attack.input(words.attacker, attack, knows, **AT_ONCE)
    return {"attack": attack, "budget": budget}


def _draw_methods() -> dict[str, Any]:
    more = [m for m in METHODS.values() if m.name not in ALWAYS]
    with gr.Accordion(
        "Methods to compare", open=False, elem_classes="fold", elem_id="fold-methods"
    ):
        methods = gr.CheckboxGroup(
            [(m.title, m.name) for m in more], value=[], elem_id="methods",
            label="Besides CLIP, Ensemble and RITA",
            info="They look at the same crops. TPT, C-TPT, R-TPT and RITA’s parts with another prompt update "
            "or memory take about as long again as RITA itself, each.",
        )  # fmt: skip
    return {"methods": methods}


def _draw_target() -> dict[str, Any]:
    with gr.Accordion("A target for the attack", open=False, elem_classes="fold"):
        target = gr.Dropdown(
            [NOBODY], value=NOBODY, allow_custom_value=True, label="Push towards",
            info="A class the attack should make CLIP say; without one it only pushes away.",
            elem_id="target",
        )  # fmt: skip
    return {"target": target}


def _wire(form: Form) -> None:
    """Lists follow the vocabulary, the settings follow the preset, and the note says what differs."""
    fields = form.fields
    lists = [fields[n] for n in ("own_names", "truth", "target")]
    for event in (fields["vocabulary"].input, fields["own_names"].blur):
        event(
            lists_for,
            [fields[n] for n in ("vocabulary", "own_names", "truth", "target")],
            lists,
            **AT_ONCE,
        )
    fields["attack"].input(about_attack, fields["attack"], fields["attack"], **AT_ONCE)
    knobs = {n: c for n, c in fields.items() if n in KNOBS}
    form.preset.input(
        lambda name: (
            {knobs[n]: v for n, v in preset_values(name).items()}
            | {form.differs: preset_note(name)}
        ),
        form.preset,
        [*knobs.values(), form.differs],
        **AT_ONCE,
    )

    def note(values: Mapping[Any, Any]) -> str:
        return changed_note({name: values[c] for name, c in knobs.items()})

    for component in knobs.values():
        event = component.release if isinstance(component, gr.Slider) else component.input
        event(note, set(knobs.values()), form.differs, **AT_ONCE)


def about_attack(name: Any) -> Any:
    """One sentence on the chosen attack, below the menu; nothing changes for what is none."""
    known = ATTACKS.get(name) if isinstance(name, str) else None
    return gr.update(info=known.sentence) if known else gr.skip()


def preset_note(name: str) -> str:
    """What the preset just chosen changes against the other one."""
    if name == "recommended":
        return differences(RECOMMENDED, RECOMMENDED, "recommended")
    return differences(PAPER, RECOMMENDED, "recommended")


def changed_note(values: Mapping[str, Any]) -> str:
    """How the form differs from the recommended settings; a value that is not allowed says so."""
    try:
        return differences(settings_from(values), RECOMMENDED, "recommended")
    except DemoError as error:
        return f'<p class="bad small" role="alert">{escape(str(error))}</p>'


def lists_for(vocabulary: Any, own_names: Any, truth: Any, target: Any) -> list[Any]:
    """Updates of the typed list, the true class and the target when the class names changed."""
    try:
        names = names_of({"vocabulary": vocabulary, "own_names": own_names})
    except DemoError:
        names = ()
    kept = truth if truth in names else NOBODY
    aimed = target if target in names else NOBODY
    return [
        gr.update(visible=vocabulary == OWN),
        gr.update(choices=[NOBODY, *names], value=kept),
        gr.update(choices=[NOBODY, *names], value=aimed),
    ]


def sample_updates(form: Form, one: samples.Sample) -> dict[Any, Any]:
    """The form as a sample wants it: its class names and its true class."""
    vocabulary = one.vocabulary or OWN
    choices = [NOBODY, *one.names]
    own = {} if one.vocabulary else {"value": ", ".join(one.names)}
    return {
        form.fields["vocabulary"]: gr.update(value=vocabulary),
        form.fields["own_names"]: gr.update(visible=vocabulary == OWN, **own),
        form.fields["truth"]: gr.update(choices=choices, value=one.label),
        form.fields["target"]: gr.update(choices=choices, value=NOBODY),
        form.chosen: "",
    }


def filled(form: Form, values: Mapping[str, Any]) -> dict[Any, Any]:
    """The whole form as ``values`` (checked before, by field name) want it."""
    knobs = [n for n in KNOBS if not (n == "attack" and values[n] == "none")]  # not in the menu
    choices = [NOBODY, *names_of(values)]
    own = values["vocabulary"] == OWN
    return {form.fields[n]: values[n] for n in (*knobs, "vocabulary", "methods")} | {
        form.fields["own_names"]: gr.update(value=values["own_names"] or OWN_EXAMPLE, visible=own),
        form.fields["truth"]: gr.update(choices=choices, value=values["truth"]),
        form.fields["target"]: gr.update(choices=choices, value=values["target"]),
        form.differs: changed_note({n: values[n] for n in KNOBS}),
        form.chosen: "",
    }


def uploaded_note(picture: Any) -> str:
    """A small preview of the decoded square and what decoding did."""
    notes = " ".join(picture.notes) or "Used as it is, pixel for pixel."
    return (
        f'<div class="chosen"><img src="{jpeg_uri(picture.pixels, 128)}" alt="Your picture" '
        f'width="64" height="64"><p><b>Your picture is ready.</b> {escape(notes)}</p></div>'
    )
