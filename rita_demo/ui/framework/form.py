"""The form of twelve fields: picture, class names, own names, true class, attack, strength, target, steps, seed, the attack's own
settings, methods and preset. The settings of the methods are in *Inside*."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import gradio as gr
from gradio.components import Component

from rita_demo.attacks import ATTACKS
from rita_demo.data import samples, vocabularies
from rita_demo.defences.registry import DEFENCES, default_methods
from rita_demo.engine.protocol import Engine
from rita_demo.records import Picture
from rita_demo.records.errors import DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS
from rita_demo.ui.framework.context import IMMEDIATE_EVENT
from rita_demo.ui.framework.panels import FormValues, PanelValue, Updates
from rita_demo.ui.session.run_request import NOT_GIVEN, OWN_CLASSES, SECOND_BEST, names_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import setting_controls, wording
from rita_demo.ui.widgets.blocks import build_fold, build_menu, place_link
from rita_demo.ui.widgets.html_buttons import HtmlButtons
from rita_demo.ui.widgets.sample_gallery import gallery_html

COMMAS = 'Separated by commas; "fox, red" in quotes is one name.'
MISSING = "“{}” is not in the list. Choose “My own list” under Class names, and add it."
GENERAL = "caltech101"  # the vocabulary of a picture that nothing is known of
UNCHANGED = "Used as it is, pixel for pixel."
#: How the sentences begin that say what became of the size.
SIZE_NOTES = ("Used as it is", "Of ", "The square was ")
#: A page without a run in its address and in its place of the history; Back goes to the run before.
RESET = "() => { history.pushState(null, '', location.pathname); location.reload(); }"


class Form:
    """The controls and the events that concern them alone, with a ``sample`` chosen. ``fields`` maps a name (of a
    setting of the attack, or vocabulary, own_names, truth, target, methods) to its component; the rest are buttons and
    notes."""

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
        """What most people leave as it is."""
        names, truth, kind = self._names, self._truth, str(SETTINGS["attack"].default)
        own = list(dict.fromkeys(name for attack in ATTACKS for name in own_settings(attack)))
        with build_fold("Settings", elem_id="settings"):
            with gr.Row(elem_id="classes"):
                self._build_menu("truth", "True class", [NOT_GIVEN, *names], truth, allow_custom_value=True)
                targets = target_choices(names, truth)
                self._build_menu("target", "Make CLIP say", targets, NOT_GIVEN, allow_custom_value=True)
                self.defend_button = gr.Button("Only defend", elem_id="only-defend")
                gr.Button("Start anew", elem_id="reset").click(js=RESET, api_visibility="private")
            with gr.Row(elem_id="of-attack"):
                for name in ("attack_seed", *own):
                    shown = {"visible": name == "attack_seed" or name in own_settings(kind), "min_width": 220}
                    self.fields[name] = setting_controls.build_control(SETTINGS[name], **shown)
            with build_fold("What the attacker knows"):
                knows = gr.HTML(wording.attacker_html(kind), elem_id="attacker")
            always = default_methods()
            *first, last = map(wording.title_of, always)
            with build_fold("Methods to compare", elem_id="fold-methods"):
                choices = [(wording.title_of(name), name) for name in DEFENCES if name not in always]
                label = f"Besides {', '.join(first)} and {last}"
                info = "They see the same crops. TPT, C-TPT, R-TPT and RITA with another prompt update or memory take about as long as RITA."
                methods = gr.CheckboxGroup(choices, value=[], label=label, info=info, elem_id="methods")
                self.fields["methods"] = methods
            self.differences = gr.HTML(elem_id="differs")
            titles = setting_controls.PRESET_TITLES
            self.preset = gr.Radio(titles, value="recommended", label="Preset", show_label=False, elem_id="preset")
            gr.HTML(f"<p class='quiet small'>{place_link('Settings of the methods', '#method-settings', 'Inside')}</p>")

        def about(kind: str) -> list[PanelValue]:
            of_own = [gr.update(visible=name in own_settings(kind)) for name in own]
            return [wording.attacker_html(kind), setting_controls.strength_update(kind), *of_own]

        fields = self.fields
        outputs = [knows, fields["budget"], *(fields[name] for name in own)]
        fields["attack"].change(about, fields["attack"], outputs, **IMMEDIATE_EVENT)
        classes = [fields[n] for n in ("vocabulary", "own_names", "truth", "target")]
        fields["own_names"].blur(lists_for, classes, classes[1:], **IMMEDIATE_EVENT)
        fields["target"].input(lists_for_typed, classes, classes[1:], **IMMEDIATE_EVENT)
        # its ``then``: the truth is a name of the list
        self.truth_event = fields["truth"].input(lists_for_typed, classes, classes[1:], **IMMEDIATE_EVENT)

    def _build_menu(
        self, name: str, label: str, choices: Sequence[str | tuple[str, str]], value: str, **options: Any
    ) -> None:
        self.fields[name] = build_menu(choices, value=value, label=label, **{"elem_id": name} | options)

    @property
    def shown(self) -> list[Component]:
        """What a run or a link fills in."""
        return [*self.fields.values(), self.upload_note, self.gallery, self.differences]

    def read(self, session: Session, values: FormValues) -> dict[str, JsonValue]:
        """What the form asks for: its fields in ``values``, and the session's settings of the methods."""
        return session.attack_defend.settings | {name: values[field] for name, field in self.fields.items()}

    def fill(self, session: Session, values: Mapping[str, Any], more: Updates) -> None:
        """Fill in ``values`` by field name, which were checked before, when the form is drawn, and ``more``."""
        session.attack_defend.filled = self.show(values) | more
        self.fill_methods(session, values)

    def fill_methods(self, session: Session, values: Mapping[str, Any]) -> None:
        """The settings outside the form."""
        session.attack_defend.settings = {n: v for n, v in values.items() if n in SETTINGS and n not in self.fields}

    @property
    def of_picture(self) -> list[Component]:
        """What another picture fills in."""
        names = ("vocabulary", "own_names", "truth", "target", "attack")
        return [*(self.fields[name] for name in names), self.upload_note, self.gallery, self.choice]

    def show_sample(self, one: samples.Sample) -> Updates:
        """Updates for a sample: its class names and its true class."""
        own = {} if one.vocabulary else {"value": vocabularies.format_names(one.names)}
        return self._class_updates(one.vocabulary or OWN_CLASSES, own, one.names, one.label, NOT_GIVEN)

    def show_upload(
        self, picture: Picture, before: samples.Sample | None, listed: Sequence[str], told: set[str]
    ) -> Updates:
        """Updates for an upload: no true class, and other class names than a sample's own. ``listed``: the form's
        vocabulary and typed list; ``told``: as in :func:`uploaded_note`."""
        vocabulary, names = lists_for_upload(before, *listed)
        return self._class_updates(vocabulary, {}, names, NOT_GIVEN, NOT_GIVEN) | {
            self.upload_note: uploaded_note(picture, told)
        }

    def show(self, values: Mapping[str, Any]) -> Updates:
        """Updates of the whole form for ``values`` by field name, which were checked before."""
        # "none" is not in the menu
        shown = [n for n in SETTINGS if n in self.fields and (n, values[n]) != ("attack", "none")]
        own, names = {"value": values["own_names"]}, names_of(values)
        return {
            **{self.fields[n]: values[n] for n in (*shown, "methods")},
            **self._class_updates(values["vocabulary"], own, names, values["truth"], values["target"]),
            self.differences: setting_controls.changed_note(values),
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


def own_settings(kind: str) -> tuple[str, ...]:
    """The settings that matter for this attack alone, with the number of steps where it takes that."""
    attack = ATTACKS.get(kind)
    if attack is None:
        return ()
    steps = ("steps",) if attack.iterative and attack.steps_setting == "steps" else ()
    return (*steps, *attack.setting_names)


def lists_for_upload(
    before: samples.Sample | None, vocabulary: str, own_names: JsonValue
) -> tuple[str, tuple[str, ...]]:
    """Vocabulary and class names for an upload: those of the form, or general ones if the sample ``before`` set them."""
    names, general = _listed(vocabulary, own_names), vocabularies.vocabulary(GENERAL)
    return (GENERAL, general.names) if before is not None and names == before.names else (vocabulary, names)


def target_choices(names: tuple[str, ...], truth: JsonValue) -> list[tuple[str, str]]:
    """(text, class name) of the menu "Make CLIP say", without the true class: without a target any other answer will
    do."""
    return [("anything else", NOT_GIVEN), *((name, name) for name in (SECOND_BEST, *names) if name != truth)]


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
    target = target if target in (SECOND_BEST, *names) and target != truth else NOT_GIVEN
    return [
        gr.update(visible=vocabulary == OWN_CLASSES),
        gr.update(choices=[NOT_GIVEN, *names], value=truth),
        gr.update(choices=target_choices(names, truth), value=target),
    ]


def lists_for_typed(
    vocabulary: JsonValue, own_names: JsonValue, truth: JsonValue, target: JsonValue
) -> list[dict[str, Any]]:
    """The lists of classes after one was typed or chosen: its beginning is enough."""
    names, chosen = _listed(vocabulary, own_names), []
    for typed in (truth, target):
        text = str(typed or "").strip().lower()
        begins = [name for name in names if text and name.lower().startswith(text)]
        chosen.append(begins[0] if begins and typed not in names else typed)
    updates = lists_for(vocabulary, own_names, *chosen)
    for update, name in zip(updates[1:], chosen):
        missing = str(name or "").strip() and name not in (NOT_GIVEN, SECOND_BEST, *names)
        update["info"] = MISSING.format(name) if missing else ""
    return updates


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


def uploaded_note(picture: Picture, told: set[str]) -> str:
    """HTML: what can be answered, and what decoding changed. ``told``: which of ``SIZE_NOTES`` the visitor has read: each is said once."""
    found = [(next(filter(note.startswith, SIZE_NOTES), ""), note) for note in picture.notes or (UNCHANGED,)]
    notes = " ".join(note for kind, note in found if kind not in told)
    told.update(kind for kind, _ in found if kind)
    names = place_link("class names", "#vocabulary input")
    say = f"Your picture. The model answers with one of its {names}: choose the list with the right one, or <i>My own list</i>."
    return f"<p class='quiet small'>{say} {escape(notes)}</p>"
