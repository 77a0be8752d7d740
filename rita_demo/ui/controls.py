"""Controls drawn from ``settings.KNOBS``, and settings read back from them.

Widgets are kept in a dict keyed by the knob's name; nothing is wired by position.  What arrives is
checked by ``Knob.parse``: a browser, or a stranger with the API, may send anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import gradio as gr
from gradio.components import Component

from rita_demo.attacks import ATTACKS
from rita_demo.knob import Knob
from rita_demo.settings import GROUPS, KNOBS, PRESETS, Settings

LONGEST_SLIDER = 1000  # stops; a knob with more is a number field

#: What a choice is called; anything else shows its code name with spaces.
CHOICE_WORDS = {
    "share_of_log_k": "share of log K",
    "text_mean": "cost to its mean prompt",
    "zero": "nothing",
    "svd": "SVD",
    "update_first": "remember, then decide",
    "predict_first": "decide, then remember",
    "picture": "picture (up to 448 px)",
    "model": "model input",
    "stream": "kept from picture to picture",
    "reset": "emptied before every picture",
    "marginal": "entropy of the mean answer",
    "pointwise": "mean entropy of the answers",
    "transport": "entropy over transport costs",
    "linear": "plain cost",
    "entropic": "cost with entropy",
    "kl": "cost with KL to the product plan",
    "area": "crops that show less count more",
    "shown": "crops that show more count more",
    "photo": "a photo of a …",
    "dataset": "the dataset’s own",
    "built_in": "each sentence a prompt",
    "built_in_mean": "their mean as one prompt",
}


class FreeSlider(gr.Slider):
    """A slider whose number box may hold anything for a moment.

    Gradio's own raises, with a traceback in the log, while a number is still being typed.
    """

    def preprocess(self, payload: Any) -> Any:
        """A number beyond an end as that end, which the box is about to show too; anything else as it came.

        ``Knob.parse`` says what is wrong with the rest.
        """
        if isinstance(payload, int | float) and not isinstance(payload, bool):
            return min(max(payload, self.minimum), self.maximum)
        return payload

    def get_block_name(self) -> str:
        """Gradio's own ``slider`` component draws this one."""
        return "slider"


#: Every attack as a list offers it: (title, name).
ATTACK_CHOICES = [(ATTACKS[n].title, n) for n in KNOBS["attack"].choices if n != "none"]


def words(choice: str) -> str:
    """A choice's value in plain words."""
    return CHOICE_WORDS.get(choice, choice.replace("_", " "))


def title(knob: Knob) -> str:
    """Label with the paper's symbol and the unit: "Strength ε (/255)"."""
    unit = f" ({knob.unit})" if knob.unit else ""
    return " ".join(filter(None, (knob.label, knob.symbol))) + unit


def draw_knob(knob: Knob, **changes: Any) -> Component:
    """The component that fits the knob: checkbox, choice, slider, or a number where a slider is too coarse."""
    common: dict[str, Any] = {
        "label": title(knob), "info": knob.why, "value": knob.default, "elem_id": f"knob-{knob.name}",
    }  # fmt: skip
    if knob.kind == "bool":
        return gr.Checkbox(**(common | changes))
    if knob.kind in ("choice", "file", "sentence"):
        choices = [(words(c), c) for c in knob.choices]
        free = {"allow_custom_value": True} if knob.kind == "sentence" else {"filterable": False}
        return gr.Dropdown(**(common | {"choices": choices} | free | changes))
    low, high = knob.low, knob.high
    whole = knob.kind == "int"
    if knob.log or (whole and high - low > LONGEST_SLIDER):
        return gr.Number(**(common | {"precision": 0 if whole else None, "step": None} | changes))
    step = 1 if whole else 0.01 if high <= 1 else 0.05
    return FreeSlider(**(common | {"minimum": low, "maximum": high, "step": step} | changes))


def draw_group(group: str, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every knob of a group, by name, except those drawn elsewhere."""
    return {
        knob.name: draw_knob(knob)
        for knob in KNOBS.values()
        if knob.group == group and knob.name not in skip
    }


def draw_folds(skip: tuple[str, ...]) -> dict[str, Any]:
    """One closed fold per group; returns the components by knob name."""
    drawn: dict[str, Any] = {}
    for group, name in GROUPS.items():
        with gr.Accordion(name, open=False, elem_classes="fold", elem_id=f"fold-{group}"):
            drawn |= draw_group(group, skip)
    return drawn


def settings_from(values: Mapping[str, Any]) -> Settings:
    """The settings in a form; names that are not knobs are ignored, missing ones keep their default.

    Raises:
        SettingError: on the first value that is not allowed.
    """
    return Settings(**{n: KNOBS[n].offered(v) for n, v in values.items() if n in KNOBS})


def preset_values(name: str) -> dict[str, Any]:
    """Knob name -> value of a preset; the attack itself is the visitor's choice and stays."""
    values = PRESETS[name].as_dict()
    return {n: v for n, v in values.items() if n != "attack"}


def shown_value(knob: Knob, value: Any) -> str:
    """A value as a person reads it."""
    if knob.kind == "sentence" and value not in knob.choices:
        return f"“{value}”"
    if knob.kind in ("choice", "file", "sentence"):
        return words(str(value))
    if knob.kind == "bool":
        return "on" if value else "off"
    return f"{value:g}{knob.unit if knob.unit.startswith('/') else ' ' + knob.unit if knob.unit else ''}"


def differences(settings: Settings, base: Settings, base_name: str) -> str:
    """HTML: which settings differ from a preset, and why each matters."""
    names = [n for n in settings.differs_from(base) if n not in ("attack",)]
    if not names:
        return f'<p class="quiet">Every setting is as in “{escape(base_name)}”.</p>'
    rows = "".join(
        f"<li><b>{escape(f'{KNOBS[n].label} {KNOBS[n].symbol}'.strip())}</b>: "
        f"{escape(shown_value(KNOBS[n], getattr(settings, n)))} <span class='quiet'>instead of "
        f"{escape(shown_value(KNOBS[n], getattr(base, n)))}. {escape(KNOBS[n].why)}</span></li>"
        for n in names
    )
    count = "1 setting differs" if len(names) == 1 else f"{len(names)} settings differ"
    return (
        f'<details class="differs"><summary>{count} from “{escape(base_name)}”</summary>'
        f"<ul>{rows}</ul></details>"
    )
