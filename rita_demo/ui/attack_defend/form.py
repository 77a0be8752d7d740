"""The form: picture, classes and attack; all other settings in accordions."""

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from rita_demo.data import samples, vocabularies
from rita_demo.defences.registry import DEFENCES, default_methods
from rita_demo.engine.protocol import Engine
from rita_demo.records import Picture
from rita_demo.records.errors import DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import PRESETS, RECOMMENDED, SETTINGS
from rita_demo.ui.framework.context import IMMEDIATE_EVENT
from rita_demo.ui.framework.panels import FormValues, PanelValue, Updates
from rita_demo.ui.session.run_request import NOT_GIVEN, OWN_CLASSES, names_of
from rita_demo.ui.widgets import setting_controls, wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu, place_link
from rita_demo.ui.widgets.html_buttons import HtmlButtons
from rita_demo.ui.widgets.sample_gallery import gallery_html

ALWAYS_VISIBLE = ("attack", "budget")  # settings outside the accordions
COMMAS = 'Separated by commas; "fox, red" in quotes is one name.'
MISSING = "“{}” is not in the list. Choose “My own list” under Class names, and add it."
GENERAL = "caltech101"  # the vocabulary of a picture that nothing is known of


class Form:
    """The controls and the events that concern them alone, with a ``sample`` chosen. ``fields`` maps a name (of a
    setting, or vocabulary, own_names, truth, target, methods) to its component; the rest are buttons and notes."""

    def __init__(self, sample: str | None) -> None:
        self.fields: dict[str, Any] = {}
        with gr.Row(elem_id="pick"):
            self.gallery = HtmlButtons(gallery_html(sample), elem_id="samples")
            # Any file type: what is no picture gets our own error message, which stays.
            self.upload = gr.UploadButton("+ Your picture", type="filepath", size="sm", elem_id="upload")
            # which choice of a picture the other values belong to: another one may be made while a run waits
            self.choice = gr.Number(0, visible="hidden", precision=0, elem_id="choice")
        self._build_classes_and_attack(samples.SAMPLES.get(sample or ""))
        with gr.Row(elem_id="buttons"):
            self.stop_button = gr.Button("Stop", elem_id="stop", visible=False)
            self.run_button = gr.Button("Attack", variant="primary", elem_id="go")
        self.upload_note, self.changed = gr.HTML(elem_id="chosen"), gr.HTML(elem_id="changed")
        self._build_settings()

    def _build_classes_and_attack(self, one: samples.Sample | None) -> None:
        chosen, truth = (GENERAL, NOT_GIVEN) if one is None else (one.vocabulary or OWN_CLASSES, one.label)
        self._names = vocabularies.vocabulary(chosen).names if one is None else one.names
        self._truth, kind = truth, str(SETTINGS["attack"].default)
        lists = [*((v.title, key) for key, v in vocabularies.VOCABULARIES.items()), ("My own list", OWN_CLASSES)]
        with gr.Row(elem_id="attack"):
            self._build_menu("vocabulary", "Class names", lists, chosen, filterable=False)
            kinds = setting_controls.attack_choices()
            self._build_menu("attack", "Kind of attack", kinds, kind, filterable=False, elem_id="setting-attack")
            shown = {"maximum": 16, "info": None, "label": f"{SETTINGS['budget'].label} (/255)"}
            self.fields["budget"] = setting_controls.build_control(SETTINGS["budget"], **shown)
        own = chosen == OWN_CLASSES
        with gr.Column(elem_id="own"):
            typed: dict[str, Any] = {"label": "My own list", "info": COMMAS, "lines": 1, "max_lines": 6}
            text = vocabularies.format_names(self._names) if own else ""
            self.fields["own_names"] = gr.Textbox(text, visible=own, elem_id="own-names", **typed)
            self.names_note = gr.HTML(elem_id="names-note")

    def _build_settings(self) -> None:
        """The drawer: what most people leave as it is."""
        names, truth = self._names, self._truth
        with build_fold("All settings", elem_id="settings"):
            with gr.Row(elem_id="classes"):
                self._build_menu("truth", "True class", [NOT_GIVEN, *names], truth, allow_custom_value=True)
                self._build_menu(
                    "target", "Make CLIP say", target_choices(names, truth), NOT_GIVEN, allow_custom_value=True
                )
                self.defend_button = gr.Button("Only defend", elem_id="only-defend")
            with build_fold("What the attacker knows"):
                knows = gr.HTML(wording.attacker_html(str(SETTINGS["attack"].default)), elem_id="attacker")
            self.differences = gr.HTML(setting_controls.differences(RECOMMENDED), elem_id="differs")
            titles = setting_controls.PRESET_TITLES
            preset = gr.Radio(titles, value="recommended", label="Preset", show_label=False, elem_id="preset")
            self._build_methods()
            self.fields |= setting_controls.build_accordions(skip=ALWAYS_VISIBLE)

        def about(kind: str) -> list[PanelValue]:
            return [wording.attacker_html(kind), setting_controls.strength_update(kind)]

        self.fields["attack"].change(about, self.fields["attack"], [knows, self.fields["budget"]], **IMMEDIATE_EVENT)
        self._bind_events(preset)

    def _build_menu(
        self, name: str, label: str, choices: Sequence[str | tuple[str, str]], value: str, **options: Any
    ) -> None:
        self.fields[name] = build_menu(choices, value=value, label=label, **{"elem_id": name} | options)

    def _build_methods(self) -> None:
        always = default_methods()
        *first, last = (DEFENCES[name].title for name in always)
        with build_fold("Methods to compare", elem_id="fold-methods"):
            choices = [(m.title, m.name) for m in DEFENCES.values() if m.name not in always]
            label = f"Besides {', '.join(first)} and {last}"
            info = "They see the same crops. TPT, C-TPT, R-TPT and RITA with another prompt update or memory take about as long as RITA."
            self.fields["methods"] = gr.CheckboxGroup(choices, value=[], label=label, info=info, elem_id="methods")

    def _bind_events(self, preset_choice: gr.Radio) -> None:
        """Update the lists with the vocabulary, the settings with the preset, and the note on what differs."""
        fields = self.fields
        classes = [fields[n] for n in ("vocabulary", "own_names", "truth", "target")]
        fields["own_names"].blur(lists_for, classes, classes[1:], **IMMEDIATE_EVENT)
        typed = [
            event(lists_for_typed, classes, classes[1:], **IMMEDIATE_EVENT)
            for event in (fields["truth"].input, fields["target"].input)
        ]
        self.truth_event = typed[0]  # its ``then``: the truth is a name of the list
        settings = {n: c for n, c in fields.items() if n in SETTINGS}

        # The browser fills in a preset: an answer of the server could come after a setting that was changed meanwhile.
        values = {name: setting_controls.preset_values(name) for name in PRESETS}
        filled = [name for name in settings if name in values["recommended"]]
        rows = json.dumps({name: [preset[n] for n in filled] for name, preset in values.items()})
        shown = [settings[name] for name in filled]
        self.preset_event = preset_choice.input(
            None, preset_choice, shown, js=f"(name) => ({rows})[name]", **IMMEDIATE_EVENT
        )

        def note(values: FormValues) -> str:
            return changed_note({name: values[c] for name, c in settings.items()})

        noted: tuple[Any, ...] = (note, set(settings.values()), self.differences)
        # One event for all: the browser looks through the events of the page for each of its components.
        gr.on([_edited(c) for c in settings.values()], *noted, **IMMEDIATE_EVENT)
        self.preset_event.then(*noted, **IMMEDIATE_EVENT)

    def bind_edits(self, compare: Callable[..., Updates], inputs: set[Component], outputs: Sequence[Component]) -> None:
        """Call ``compare`` when the form may differ from the run on screen."""
        # the arrow keys move the strength without a release
        triggers = [*map(_edited, self.fields.values()), self.fields["budget"].change]
        gr.on(triggers, compare, inputs, outputs, **IMMEDIATE_EVENT)
        self.preset_event.then(compare, inputs, outputs, **IMMEDIATE_EVENT)

    @property
    def shown(self) -> list[Component]:
        """What a run or a link fills in."""
        return [*self.fields.values(), self.upload_note, self.gallery, self.differences]

    @property
    def of_picture(self) -> list[Component]:
        """What another picture fills in."""
        names = ("vocabulary", "own_names", "truth", "target", "attack")
        return [*(self.fields[name] for name in names), self.upload_note, self.gallery, self.choice]

    def show_sample(self, one: samples.Sample) -> Updates:
        """Updates for a sample: its class names and its true class."""
        own = {} if one.vocabulary else {"value": vocabularies.format_names(one.names)}
        return self._class_updates(one.vocabulary or OWN_CLASSES, own, one.names, one.label, NOT_GIVEN)

    def show_upload(self, picture: Picture, before: samples.Sample | None, listed: Sequence[str]) -> Updates:
        """Updates for an upload: no true class, and other class names than a sample's own. ``listed``: the form's
        vocabulary and typed list."""
        vocabulary, names = lists_for_upload(before, *listed)
        return self._class_updates(vocabulary, {}, names, NOT_GIVEN, NOT_GIVEN) | {
            self.upload_note: uploaded_note(picture)
        }

    def show(self, values: Mapping[str, Any]) -> Updates:
        """Updates of the whole form for ``values`` by field name, which were checked before."""
        settings = [n for n in SETTINGS if not (n == "attack" and values[n] == "none")]  # not in the menu
        own, names = {"value": values["own_names"]}, names_of(values)
        return {
            **{self.fields[n]: values[n] for n in (*settings, "methods")},
            **self._class_updates(values["vocabulary"], own, names, values["truth"], values["target"]),
            self.differences: changed_note({n: values[n] for n in SETTINGS}),
        }

    def _class_updates(
        self, vocabulary: str, own: dict[str, str], names: tuple[str, ...], truth: str, target: str
    ) -> Updates:
        return {
            self.fields["vocabulary"]: vocabulary,
            self.fields["own_names"]: gr.update(visible=vocabulary == OWN_CLASSES, **own),
            self.fields["truth"]: gr.update(choices=[NOT_GIVEN, *names], value=truth),
            self.fields["target"]: gr.update(choices=target_choices(names, truth), value=target),
            self.upload_note: "",
        }


def lists_for_upload(
    before: samples.Sample | None, vocabulary: str, own_names: JsonValue
) -> tuple[str, tuple[str, ...]]:
    """Vocabulary and class names for an upload: those of the form, or general ones if the sample ``before`` set them."""
    try:
        names = names_of({"vocabulary": vocabulary, "own_names": own_names})
    except DemoError:
        names = ()
    general = vocabularies.vocabulary(GENERAL)
    return (GENERAL, general.names) if before is not None and names == before.names else (vocabulary, names)


def target_choices(names: tuple[str, ...], truth: JsonValue) -> list[tuple[str, str]]:
    """(text, class name) of the menu "Make CLIP say", without the true class: without a target any other answer will
    do."""
    return [("anything else", NOT_GIVEN), *((name, name) for name in names if name != truth)]


def changed_note(values: Mapping[str, JsonValue]) -> str:
    """How the form differs from the recommended settings; or an error message for an invalid value."""
    try:
        return setting_controls.differences(setting_controls.settings_from(values))
    except DemoError as error:
        return f'<p class="bad small" role="alert">{escape(str(error))}</p>'


def started_list(own_names: JsonValue, answer: str) -> str:
    """The typed list as it is when it is opened: empty but for the ``answer`` on screen, unless something was typed."""
    text = str(own_names or "")
    untouched = not text.strip() or (text.endswith(", ") and text.count(",") == 1)
    return f"{vocabularies.format_names([answer])}, " if untouched and answer else text


def lists_for(vocabulary: JsonValue, own_names: JsonValue, truth: JsonValue, target: JsonValue) -> list[dict[str, Any]]:
    """Updates of the typed list, the true class and the target when the class names changed. A list that is begun keeps the
    true class."""
    names = _listed(vocabulary, own_names)
    begun = not names and str(own_names or "").startswith(f"{truth}, ")
    truth = truth if truth in names or begun else NOT_GIVEN
    target = target if target in names and target != truth else NOT_GIVEN
    return [
        gr.update(visible=vocabulary == OWN_CLASSES),
        gr.update(choices=[NOT_GIVEN, *names], value=truth),
        gr.update(choices=target_choices(names, truth), value=target),
    ]


def lists_for_typed(
    vocabulary: JsonValue, own_names: JsonValue, truth: JsonValue, target: JsonValue
) -> list[dict[str, Any]]:
    """The lists of classes after one was typed or chosen: its beginning is enough."""
    names = _listed(vocabulary, own_names)
    found = [completed(typed, names) for typed in (truth, target)]
    updates = lists_for(vocabulary, own_names, *found)
    for update, name in zip(updates[1:], found):
        missing = str(name or "").strip() and name not in (NOT_GIVEN, *names)
        update["info"] = MISSING.format(name) if missing else ""
    return updates


def completed(typed: JsonValue, names: tuple[str, ...]) -> JsonValue:
    """What is typed, or the first name that begins so if it is no name itself."""
    text = str(typed or "").strip().lower()
    begins = [name for name in names if text and name.lower().startswith(text)]
    return begins[0] if begins and typed not in names else typed


def _listed(vocabulary: JsonValue, own_names: JsonValue) -> tuple[str, ...]:
    """The class names of the form; none if they cannot be read."""
    try:
        return names_of({"vocabulary": vocabulary, "own_names": own_names})
    except DemoError:
        return ()


def names_note(engine: Engine, vocabulary: JsonValue, own_names: JsonValue) -> str:
    """HTML below a typed list: the words that the model was not trained with, and names that are the same to it."""
    names = _listed(vocabulary, own_names) if vocabulary == OWN_CLASSES else ()
    said = (wording.unknown_words(engine.unknown_words(names)), engine.names_warning(names)) if names else ()
    return "".join(f"<p class='small' role='status'>{escape(sentence)}</p>" for sentence in said if sentence)


def uploaded_note(picture: Picture) -> str:
    """HTML: what can be answered, and what decoding changed."""
    notes = " ".join(picture.notes) or "Used as it is, pixel for pixel."
    names = place_link("class names", "#vocabulary input")
    say = f"Your picture. The model answers with one of its {names}: choose or write a list with the right one."
    return f"<p class='quiet small'>{say} {escape(notes)}</p>"


def _edited(component: Any) -> Callable[..., Dependency]:
    """The event of a finished edit."""
    if isinstance(component, gr.Slider):
        return component.release
    return component.blur if isinstance(component, gr.Textbox) else component.input
