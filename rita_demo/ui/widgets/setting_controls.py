"""Controls built from ``SETTINGS``, and settings read back from them.

Controls are kept by the name of their setting. What a client sends is untrusted: ``Setting.parse`` checks it.
"""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import gradio as gr
from gradio.components import Component
from gradio.events import Dependency

from rita_demo.attacks import ATTACKS
from rita_demo.process.templates import html
from rita_demo.records.errors import DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import PRESETS, RECOMMENDED, SETTINGS, Settings, preset
from rita_demo.settings.setting import Setting, number_text
from rita_demo.ui.widgets.blocks import build_menu

FREE_KINDS = ("sentence", "word")  # a menu into which other values can be typed
MENU_KINDS = ("choice", "file", *FREE_KINDS)
MAX_SLIDER_STEPS = 1000  # a setting with more is a number field

RESTS = "This attack has no such limit."

#: Choices in plain words; others show their code name with spaces.
CHOICE_TEXT = {
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
PRESET_TITLES = [("recommended", "recommended"), ("as in the paper", "paper")]


class LenientSlider(gr.Slider):
    """A slider whose number box may hold anything while a number is being typed. Gradio's own slider raises then, with
    a traceback in the log."""

    def preprocess(self, payload: JsonValue) -> Any:
        """A number outside the range, clipped to it as the box is; anything else unchanged, for ``Setting.parse`` to
        refuse."""
        if isinstance(payload, int | float) and not isinstance(payload, bool):
            return min(max(payload, self.minimum), self.maximum)
        return payload

    def get_block_name(self) -> str:
        return "slider"


def attack_choices() -> list[tuple[str, str]]:
    """Every attack as a list offers it: title and name."""
    return [(attack.menu_title, name) for name, attack in ATTACKS.items() if name != "none"]


def strength_update(attack: JsonValue, info: str = "", *, usable: bool = True) -> dict[str, Any]:
    """The control of the strength: it rests, and says so, beside an attack that it does not limit; else it has ``info``.
    ``usable``: whether the controls beside it can be used. An unknown attack has its own message."""
    limits = attack not in ATTACKS or (ATTACKS[attack].bounded and attack != "none")
    return gr.update(interactive=usable and limits, info=info if limits else RESTS)


def choice_text(choice: str) -> str:
    return CHOICE_TEXT.get(choice, choice.replace("_", " "))


def setting_title(setting: Setting) -> str:
    """Label with the paper's symbol and the unit: "Strength ε (/255)"."""
    unit = f" ({setting.unit})" if setting.unit else ""
    return " ".join(filter(None, (setting.label, setting.symbol))) + unit


def label_of(name: str) -> str:
    """A setting's label with the paper's symbol, without its unit."""
    return f"{SETTINGS[name].label} {SETTINGS[name].symbol}".strip()


def value_of(name: str, settings: Settings) -> str:
    """The value of a setting in ``settings``, in words."""
    return value_text(SETTINGS[name], getattr(settings, name))


def build_control(setting: Setting, **changes: Any) -> Component:
    """The component that fits the setting: checkbox, menu, slider, or a number field where a slider is too coarse."""
    low, high, whole = setting.low, setting.high, setting.kind == "int"
    kind: Callable[..., Component] = LenientSlider
    options: dict[str, Any] = {"minimum": low, "maximum": high, "step": 0.01 if high <= 1 else 0.05}
    if setting.kind == "bool":
        kind, options = gr.Checkbox, {}
    elif setting.kind in MENU_KINDS:
        free = {"allow_custom_value": True} if setting.kind in FREE_KINDS else {"filterable": False}
        kind, options = build_menu, {"choices": [(choice_text(c), c) for c in setting.choices]} | free
    elif setting.log or (whole and high - low > MAX_SLIDER_STEPS):
        kind, options = gr.Number, {"precision": 0 if whole else None, "step": None}
    elif whole:
        options["step"] = 1
    named = {"label": setting_title(setting), "info": setting.help, "elem_id": f"setting-{setting.name}"}
    return kind(**(named | {"value": setting.default} | options | changes))


def edited(control: Any) -> Callable[..., Dependency]:
    """The event of a finished edit."""
    if isinstance(control, gr.Slider):
        return control.release
    return control.blur if isinstance(control, gr.Textbox) else control.input


def settings_from(values: Mapping[str, JsonValue]) -> Settings:
    """The settings in a form; other names are ignored, missing ones keep their default. Raises SettingError: on the
    first value that is not allowed."""
    return Settings(**{n: SETTINGS[n].parse_untrusted(v) for n, v in values.items() if n in SETTINGS})


def preset_values(name: str) -> dict[str, JsonValue]:
    """The values of a preset by setting, without the attack, which the visitor chooses."""
    return {n: v for n, v in preset(name).every_value().items() if n != "attack"}


def value_text(setting: Setting, value: JsonValue) -> str:
    if setting.kind in FREE_KINDS and value not in setting.choices:
        return f"“{value}”"
    if setting.kind in MENU_KINDS:
        return choice_text(str(value))
    if setting.kind == "bool":
        return "on" if value else "off"
    space = "" if setting.unit.startswith("/") else " "
    number = number_text(value) if isinstance(value, int | float) else value
    return f"{number}{space}{setting.unit}".rstrip()


def changed_note(values: Mapping[str, JsonValue]) -> str:
    """HTML: which settings differ from the recommended ones, and why each matters; "" if none does. Of an invalid value an
    error message."""
    try:
        settings = settings_from(values)
    except DemoError as error:
        return f'<p class="bad small" role="alert">{escape(str(error))}</p>'
    names = [n for n in settings.differs_from(RECOMMENDED) if n != "attack"]
    rows = [(label_of(n), value_of(n, settings), value_of(n, RECOMMENDED), SETTINGS[n].help) for n in names]
    return html("differs", settings=rows) if rows else ""


def changes_from_preset(settings: Settings) -> tuple[str, list[str]]:
    """The nearest preset's name, and which settings of the defence differ from it."""
    found = {
        name: [n for n in settings.differs_from(preset) if SETTINGS[n].group != "attack"]
        for name, preset in PRESETS.items()
    }
    name = min(found, key=lambda n: len(found[n]))
    return name, found[name]
