"""Every setting that more than one method uses, once, and the two presets.

A setting is one field of :class:`Settings`. Its range, unit, symbol and label are in the field's metadata, its help
sentence is there or below the field: the page's controls, ``--set name=value``, the exported JSON and
``python -m rita_demo.settings`` come from this file.
A setting of a single defence or attack is in that one's file and is added by :func:`register`."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import pairwise
from typing import Any

from rita_demo.records.errors import SettingError, check_known, did_you_mean, refuse_gone
from rita_demo.records.json_value import JsonValue
from rita_demo.settings.setting import Setting, short_repr
from rita_demo.settings.table import Table

DEFAULT_PROMPT_TEMPLATE = "a photo of a {}."  # what ``hand_prompt="photo"`` says


def _setting(
    group: str, default: Any, label: str, help: str = "", bounds: tuple[float, float] | None = None, **more: Any
) -> Any:
    kind, (low, high) = "choice" if "choices" in more else type(default).__name__, bounds or (-math.inf, math.inf)
    meta = {"kind": kind, "group": group, "label": label, "help": help, "paper": default, "low": low, "high": high}
    return field(default=default, metadata=meta | more)


_GROUPS = ("attack", "views", "prompts", "cache", "transport", "tuning")
_attack, _views, _prompts, _cache, _transport, _tuning = (partial(_setting, group) for group in _GROUPS)


@dataclass(frozen=True, init=False)
class Settings:
    """The value of every setting. Compare, hash and ``replace`` instances; the defaults are ``RECOMMENDED``. ``own``:
    names and values of own settings of defences and attacks, sorted, only those not at their default. Raises
    SettingError: an unknown name, or a value outside its range."""

    # --- attack (method.md sections 0 and 3)
    # the registry of attacks sets the other choices
    attack: str = _attack("pgd", "Attack", choices=("pgd",))
    """How the picture is changed to fool CLIP."""
    budget: int = _attack(4, "Strength", paper=1, bounds=(0, 64), symbol="ε", unit="/255")
    """No pixel value moves by more than this."""
    steps: int = _attack(7, "Steps", bounds=(1, 100))
    """How many gradient steps the attacker takes."""
    attack_seed: int = _attack(0, "Attack seed", bounds=(0, 2**31 - 1))
    """Fixes the attack's random start."""
    attack_views: int = _attack(16, "Views per step", bounds=(1, 64))
    """How many new crops the attacks through crops and through the defence use in every step."""
    adversarial_roundtrip: str = _attack("round", "Back to 8 bit", paper="truncate", choices=("round", "truncate"))
    """A picture on disk has 256 levels; the attack must survive rounding to them."""
    square: str = _attack("picture", "Attacked square", paper="model", choices=("picture", "model"))
    """Attack at the picture's own sharpness (up to 448 px) or at the model's input size."""
    # in the attack's group because it belongs to the attacked model; Ensemble and MTA use it too
    hand_prompt: str = _attack("photo", "CLIP's sentence", choices=("photo", "dataset"), kind="sentence")
    """The sentence around a class name for CLIP, the attacks on it, Ensemble and MTA: “a photo of a …”, or the one that
    CoOp wrote for the dataset, where it has one."""
    # --- views (row 2)
    views: int = _views(64, "Views", bounds=(1, 256), symbol="N")
    """How many crops of the picture are encoded."""
    view_seed: int = _views(0, "View seed", bounds=(0, 2**31 - 1))
    """Fixes which crops are drawn."""
    view_scale: float = _views(0.08, "Smallest crop", bounds=(0.01, 1.0))
    """The smallest share of the picture's area that a crop may cover."""
    views_augmix: bool = _views(False, "AugMix", paper=True)
    """Also mix colour and shape changes into every crop (the paper does so on all sets)."""
    # --- prompts (row 3)
    prompts: int = _prompts(4, "Prompts per class", bounds=(1, 32), symbol="M")
    """How many sentences describe each class."""
    context_init: str = _prompts("templates", "Prompt start", paper="noise", choices=("noise", "templates"))
    """Different hand-written sentences, or one sentence with small noise."""
    context_seed: int = _prompts(0, "Prompt seed", bounds=(0, 2**31 - 1))
    """Fixes the noise on the prompts."""
    descriptions: str = _prompts(
        "built_in_mean",
        "Class descriptions",
        paper="built_in",
        choices=("none", "built_in", "built_in_mean"),
        kind="file",
    )
    """Written sentences about each class as further prompts, which the prompt update does not change: each by itself,
    or their mean as one prompt (only where every class has some)."""
    # --- confident views and memory (rows 8-11)
    max_entropy: float = _cache(0.4, "Confidence limit", paper=0.8, bounds=(0.0, 10.0), symbol="γ")
    """A view enters the memory only if its entropy is at most this: a share of log K, or nats (see the unit)."""
    entropy_unit: str = _cache("share_of_log_k", "Unit of the limit", paper="nats", choices=("nats", "share_of_log_k"))
    """0.8 nats mean something else for 47 classes than for 1000; a share of log K does not."""
    slots: int = _cache(3, "Places per class", bounds=(1, 32), symbol="J")
    """How many views the memory keeps for each class."""
    cache_weight: float = _cache(0.1, "Weight of the memory", bounds=(0.0, 10.0), symbol="α")
    """The weight of the transport cost to the memory; that of the cost to the prompts is 1."""
    empty_class: str = _cache("text_mean", "Class without memory", paper="zero", choices=("zero", "text_mean"))
    """The cost of a class without a cached view: zero (an advantage for such classes) or the cost to its mean prompt."""
    completion: str = _cache("smallest_rotation", "Alignment", paper="svd", choices=("svd", "smallest_rotation"))
    """The alignment fixes one direction only. The others are filled by rounding noise of an SVD, or rotated as little
    as possible."""
    order: str = _cache("predict_first", "Order", paper="update_first", choices=("update_first", "predict_first"))
    """Whether a picture enters the memory before or after its own decision."""
    cache_text: str = _cache("initial", "Prompts for the memory", choices=("initial", "tuned"))
    """Find the confident views with the initial prompts, or with those tuned on this picture."""
    views_per_image: int = _cache(1, "Views from one picture", paper=0, bounds=(0, 256))
    """How many views of one picture may enter the memory; 0 means no limit."""
    protocol: str = _cache("stream", "Cache scope", choices=("off", "reset", "stream"))
    """No memory, one that is emptied before every picture, or one that is kept from picture to picture."""
    # --- transport (rows 4-7, section 6)
    entropy_weight: float = _transport(
        0.01, "Entropic regularisation", paper=0.1, bounds=(0.001, 10.0), symbol="λ", log=True
    )
    """Large: every view is moved to all prompts equally. Small: every view is moved to the prompts it fits."""
    objective: str = _transport("linear", "Cost of a class", choices=("linear", "entropic", "kl"))
    """The plain transport cost, or the cost with an entropy term. Equation 6 of the paper has the term λ h(T) inside
    the cost; “plain cost” is our reading of it."""
    cost: str = _transport("cosine", "Cost of a view", choices=("cosine", "loglik"))
    """How badly a view fits a class: 1 minus its cosine with each sentence, or, not in the paper, minus the logarithm of
    the class's probability on that view, which knows the other classes."""
    transported_mass: float = _transport(0.35, "Transported mass", paper=1.0, bounds=(0.05, 1.0), symbol="ρ")
    """Below 1, each class may leave out the views that fit it worst."""
    view_weight: str = _transport(
        "area", "Weight of a view", paper="uniform", choices=("uniform", "confidence", "agreement", "area", "shown")
    )
    """All views equal; or more weight for confident views, for views that agree with their neighbours, for views that
    show less of the picture (an attack on the whole picture moves them less), or for views that show more."""
    step_back: float = _transport(0.0, "Step back", bounds=(0.0, 10.0), symbol="κ")
    """Experimental, not in the paper. How far every view is moved against the offset of the whole picture from its crops,
    which an attack causes: under PGD κ 0.2, 0.4, 0.8 lifts RITA on val from 68 to 75, 80, 86 %, and an attack that leaves
    CLIP right turns it around."""
    sinkhorn_tolerance: float = _transport(1e-6, "Sinkhorn tolerance", bounds=(1e-9, 1e-2), log=True)
    """Stop when the largest error of the plan's marginals is at most this (fraction of the total mass)."""
    sinkhorn_iterations: int = _transport(1000, "Sinkhorn limit", bounds=(1, 100_000))
    """Stop after at most this many iterations."""
    # --- prompt update (row 13)
    tuning_steps: int = _tuning(1, "Tuning steps", bounds=(0, 20), symbol="s")
    """How often the prompts are adjusted to this picture."""
    tuning_rate: float = _tuning(0.005, "Step length", bounds=(0.0, 1.0))
    """AdamW's learning rate on the contexts."""
    tuning_loss: str = _tuning("marginal", "Tuning loss", choices=("marginal", "pointwise", "transport", "none"))
    """What the update lowers: entropy of the mean answer, mean entropy of the answers, entropy over transport costs, or
    nothing."""
    subset_size: int = _tuning(64, "Views in the loss", bounds=(1, 256), symbol="S")
    """The loss uses this many of the most confident views."""
    # --- own settings of single defences and attacks
    own: tuple[tuple[str, Any], ...] = ()

    def __init__(self, **values: Any) -> None:
        values = dict(values.pop("own", ())) | values
        checked = {}
        for name, value in values.items():
            setting = get_setting(name)
            checked[setting.name] = setting.parse(value)
        for name in _CORE:
            object.__setattr__(self, name, checked.pop(name, SETTINGS[name].default))
        changed = sorted((name, value) for name, value in checked.items() if value != SETTINGS[name].default)
        object.__setattr__(self, "own", tuple(changed))

    def __getattr__(self, name: str) -> Any:
        """The value of an own setting: ``getattr(settings, "ensemble.average")``, or by its stored name."""
        name = _STORED_NAMES.get(name, name)
        if name in SETTINGS:
            return dict(self.own).get(name, SETTINGS[name].default)
        raise AttributeError(name)

    def replace(self, **changes: Any) -> Settings:
        """A copy with some settings changed; unknown names and bad values raise :class:`SettingError`."""
        return Settings(**{name: getattr(self, name) for name in (*_CORE, "own")} | changes)

    def as_dict(self) -> dict[str, JsonValue]:
        """``{name: value}``, JSON-ready. A name with a dot is present only when its value is not the default."""
        flat, dotted = ([n for n in SETTINGS if ("." in n) is with_dot] for with_dot in (False, True))
        present = flat + [n for n in sorted(dotted) if getattr(self, n) != SETTINGS[n].default]
        return {name: getattr(self, name) for name in present}

    def every_value(self) -> dict[str, JsonValue]:
        """``{name: value}`` of every setting."""
        return {name: getattr(self, name) for name in SETTINGS}

    def differs_from(self, other: Settings) -> tuple[str, ...]:
        return tuple(n for n in SETTINGS if getattr(self, n) != getattr(other, n))

    @property
    def prompt_update_groups(self) -> tuple[str, ...]:
        """The groups of settings that the prompt update depends on."""
        return ("prompts", "tuning", *(["transport"] if self.tuning_loss == "transport" else []))


def _sentences_below_fields(owner: type) -> dict[str, str]:
    """Field -> the string that stands below it in the source of a class."""
    (definition,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(definition, ast.ClassDef)
    return {
        ast.unparse(statement.target): " ".join(ast.literal_eval(below.value).split())
        for statement, below in pairwise(definition.body)
        if isinstance(statement, ast.AnnAssign) and isinstance(below, ast.Expr)
    }


_CORE: tuple[str, ...] = tuple(f.name for f in fields(Settings) if f.metadata)
_STORED_NAMES: dict[str, str] = {}  # "ensemble.average" -> "ensemble_average"
_CHOICES: dict[str, tuple[str, ...]] = {}  # of settings whose choices are found elsewhere
_OWN: set[str] = set()  # full names of the own settings of defences and attacks
#: Every setting by name: the fields of Settings, then the own settings that defences and attacks register.
_HELP = _sentences_below_fields(Settings)
SETTINGS = Table(
    {
        f.name: replace(Setting(name=f.name, default=f.default, **f.metadata), help=f.metadata["help"] or _HELP[f.name])
        for f in fields(Settings)
        if f.metadata
    }
)


def get_setting(name: str) -> Setting:
    """The setting of that name (flat or dotted), or a :class:`SettingError` that lists the valid ones."""
    name = _STORED_NAMES.get(name, name)
    if name not in SETTINGS:
        refuse_gone(name)
        hint = did_you_mean(name, SETTINGS, f"Settings: {', '.join(SETTINGS)}.")
        raise SettingError(f"There is no setting {short_repr(name)}.", hint)
    return SETTINGS[name]


def in_groups(*groups: str) -> tuple[str, ...]:
    """The names of the settings of some groups, in their order."""
    return tuple(name for name, setting in SETTINGS.items() if setting.group in groups)


def shared_in_groups(*groups: str) -> tuple[str, ...]:
    """As :func:`in_groups`, without the own settings of single defences and attacks."""
    return tuple(name for name in in_groups(*groups) if name not in _OWN)


RECOMMENDED = Settings()
PAPER = Settings(**{setting.name: setting.paper for setting in SETTINGS.values()})
PRESETS = {"recommended": RECOMMENDED, "paper": PAPER}
GROUPS: dict[str, str] = {
    "attack": "The attack",
    "views": "The views",
    "prompts": "The prompts",
    "transport": "The transport",
    "cache": "The memory (cache)",
    "tuning": "The prompt update",
    "baselines": "The other methods",
}


def register(owner: str, setting: Setting) -> str:
    """Add an own setting of a defence or attack and return its full name, ``owner.name`` (or ``setting.stored_name``).
    Raises SettingError: the name is taken, or the group does not exist."""
    dotted = f"{owner}.{setting.name}"
    name = setting.stored_name or dotted
    if name in SETTINGS.known or dotted in _STORED_NAMES:
        raise SettingError(f"There already is a setting {name}.", "Choose another name.")
    if setting.group not in GROUPS:
        raise SettingError(f"The group of the setting {name} is one of {', '.join(GROUPS)}.")
    choices = _CHOICES.get(name, setting.choices)
    SETTINGS[name] = replace(setting, name=name, paper=setting.default, choices=choices)
    _OWN.add(name)
    if name != dotted:
        _STORED_NAMES[dotted] = name
    return name


def unregister(name: str) -> None:
    """Forget an own setting under both of its names."""
    del SETTINGS[name]
    _OWN.discard(name)
    for dotted in [dotted for dotted, stored in _STORED_NAMES.items() if stored == name]:
        del _STORED_NAMES[dotted]


def register_choices(name: str, choices: tuple[str, ...]) -> None:
    """Set the choices of a setting whose choices are found elsewhere: the names of the attacks, and of the defences. Those of
    an attack that is not imported yet wait for it."""
    _CHOICES[name] = choices
    if name in SETTINGS.known:
        SETTINGS[name] = replace(SETTINGS.known[name], choices=choices)


def is_complete(names: Collection[str]) -> bool:
    """Whether a stored run has every setting of this version but the seeds; those of a single defence or attack may lack."""
    return set(names) >= set(_CORE) - {"view_seed", "attack_seed"}


def parse_assignment(text: str) -> tuple[str, JsonValue]:
    """``"name=value"`` from a command line to a checked pair."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"A setting is written name=value; got {short_repr(text)}.")
    setting = get_setting(name.strip())
    return setting.name, setting.parse(value.strip())


def preset(name: str) -> Settings:
    """A preset by name, or a :class:`SettingError` that lists the valid ones."""
    refuse_gone(f"preset {name}")
    check_known("preset", name, PRESETS)
    return PRESETS[name]
