"""Every knob of the method, once.

A knob is one field of :class:`Settings`; its type, range, unit, symbol, label and
one plain sentence live in the field's metadata, so that the page draws its controls,
the command line parses ``--set name=value`` and the exported JSON names its settings
all from this file.  Two presets: ``RECOMMENDED`` (the field defaults) and ``PAPER``
(the closest literal reading of the paper).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from rita_demo.errors import SettingError
from rita_demo.knob import Knob, short

HAND_SENTENCE = "a photo of a {}."  # what ``hand_prompt="photo"`` says


def _knob(kind: str, default: Any, group: str, label: str, why: str, **more: Any) -> Any:
    meta = {"kind": kind, "group": group, "label": label, "why": why, "paper": default} | more
    return field(default=default, metadata=meta)


@dataclass(frozen=True)
class Settings:
    """All knobs. Instances are values: compare, hash, ``replace``; defaults are ``RECOMMENDED``."""

    # --- attack (method.md sections 0 and 3)
    attack: str = _knob(
        "choice", "pgd", "attack", "Attack", "How the picture is changed to fool CLIP.",
        choices=(
            "none", "noise", "fgsm", "pgd", "cw_linf", "cw_l2", "di", "autoattack", "eot", "defence",
        ),
    )  # fmt: skip
    budget: int = _knob(
        "int", 4, "attack", "Strength", "No pixel value moves by more than this.",
        paper=1, low=0, high=64, symbol="ε", unit="/255",
    )  # fmt: skip
    steps: int = _knob(
        "int", 7, "attack", "Steps", "How many gradient steps the attacker takes.", low=1, high=100
    )
    attack_seed: int = _knob(
        "int", 0, "attack", "Attack seed", "Fixes the attack's random start.", low=0, high=2**31 - 1
    )
    attack_views: int = _knob(
        "int", 16, "attack", "Views per step",
        "How many fresh crops the attacks through crops and through the defence look at in every step.",
        low=1, high=64,
    )  # fmt: skip
    autoattack: str = _knob(
        "choice", "standard", "attack", "Version of AutoAttack",
        "Standard attacks CLIP as it is; rand attacks CLIP on random crops.",
        choices=("standard", "rand"),
    )  # fmt: skip
    adversarial_roundtrip: str = _knob(
        "choice", "round", "attack", "Back to 8 bit",
        "A picture on disk has 256 levels; the attack must survive rounding to them.",
        paper="truncate", choices=("round", "truncate"),
    )  # fmt: skip
    square: str = _knob(
        "choice", "picture", "attack", "Attacked square",
        "Attack at the picture's own sharpness (up to 448 px) or at the model's input size.",
        paper="model", choices=("picture", "model"),
    )  # fmt: skip
    # of the attack's group: it is the sentence of the model that is attacked, of Ensemble and of MTA
    hand_prompt: str = _knob(
        "sentence", "photo", "attack", "CLIP's sentence",
        "How CLIP, the attacks on it, Ensemble and MTA put a class name: “a photo of a …”, or the sentence that "
        "CoOp wrote for the dataset, where it has one.",
        choices=("photo", "dataset"),
    )  # fmt: skip
    # --- views (row 2)
    views: int = _knob(
        "int", 64, "views", "Views", "How many crops of the picture are looked at.",
        low=1, high=256, symbol="N",
    )  # fmt: skip
    view_seed: int = _knob(
        "int", 0, "views", "View seed", "Fixes which crops are drawn.", low=0, high=2**31 - 1
    )
    view_scale: float = _knob(
        "float", 0.08, "views", "Smallest crop",
        "The smallest share of the picture's area that a crop may cover.", low=0.01, high=1.0,
    )  # fmt: skip
    views_augmix: bool = _knob(
        "bool", False, "views", "AugMix",
        "Also mix colour and shape changes into every crop (the paper does so on fine-grained sets).",
        paper=True,
    )  # fmt: skip
    # --- prompts (row 3)
    prompts: int = _knob(
        "int", 4, "prompts", "Prompts per class", "How many sentences describe each class.",
        low=1, high=32, symbol="M",
    )  # fmt: skip
    context_init: str = _knob(
        "choice", "templates", "prompts", "Prompt start",
        "Different hand-written sentences, or one sentence with small noise.",
        paper="noise", choices=("noise", "templates"),
    )  # fmt: skip
    context_seed: int = _knob(
        "int", 0, "prompts", "Prompt seed", "Fixes the noise on the prompts.", low=0, high=2**31 - 1
    )
    descriptions: str = _knob(
        "file", "built_in_mean", "prompts", "Class descriptions",
        "Written sentences about each class as further prompts, which the prompt update leaves alone: each by itself, "
        "or their mean as one prompt (where every class has some).",
        paper="none", choices=("none", "built_in", "built_in_mean"),
    )  # fmt: skip
    # --- confident views and memory (rows 8-11)
    max_entropy: float = _knob(
        "float", 0.4, "cache", "Confidence limit",
        "A view enters the memory only if its entropy is at most this, in the unit below.",
        paper=0.8, low=0.0, high=10.0, symbol="γ",
    )  # fmt: skip
    entropy_unit: str = _knob(
        "choice", "share_of_log_k", "cache", "Unit of the limit",
        "0.8 nats means something else for 47 classes than for 1000; a share of log K does not.",
        paper="nats", choices=("nats", "share_of_log_k"),
    )  # fmt: skip
    slots: int = _knob(
        "int", 3, "cache", "Places per class", "How many views the memory keeps for each class.",
        low=1, high=32, symbol="J",
    )  # fmt: skip
    cache_weight: float = _knob(
        "float", 0.1, "cache", "Weight of the memory",
        "How much the memory's transport cost counts beside the prompts' own.",
        low=0.0, high=10.0, symbol="α",
    )  # fmt: skip
    empty_class: str = _knob(
        "choice", "text_mean", "cache", "Class without memory",
        "What a class pays that has no cached view: nothing (rewards the unseen) or the cost to its mean prompt.",
        paper="zero", choices=("zero", "text_mean"),
    )  # fmt: skip
    completion: str = _knob(
        "choice", "smallest_rotation", "cache", "Alignment",
        "The problem fixes one direction only: fill the others by SVD rounding noise or rotate as little as possible.",
        paper="svd", choices=("svd", "smallest_rotation"),
    )  # fmt: skip
    order: str = _knob(
        "choice", "predict_first", "cache", "Order",
        "Whether a picture may vote for itself by entering the memory before the decision.",
        paper="update_first", choices=("update_first", "predict_first"),
    )  # fmt: skip
    cache_text: str = _knob(
        "choice", "initial", "cache", "Prompts for the memory",
        "Judge confident views with the prompts as they start, or after this picture's tuning.",
        choices=("initial", "tuned"),
    )  # fmt: skip
    views_per_image: int = _knob(
        "int", 1, "cache", "Views from one picture",
        "How many views of one picture may enter the memory; 0 means no limit.",
        paper=0, low=0, high=256,
    )  # fmt: skip
    protocol: str = _knob(
        "choice", "stream", "cache", "Memory lives",
        "Off, emptied before every picture, or kept from picture to picture.",
        choices=("off", "reset", "stream"),
    )  # fmt: skip
    # --- transport (rows 4-7, section 7)
    entropy_weight: float = _knob(
        "float", 0.01, "transport", "Blur of the plan",
        "Large: every view goes to every prompt alike. Small: each view goes where it fits.",
        paper=0.1, low=0.001, high=10.0, symbol="λ", log=True,
    )  # fmt: skip
    objective: str = _knob(
        "choice", "linear", "transport", "What a class pays",
        "The plain transport cost, or the cost with an entropy term.",
        choices=("linear", "entropic", "kl"),
    )  # fmt: skip
    transported_mass: float = _knob(
        "float", 0.5, "transport", "Share that must move",
        "Below 1, each class may leave out the views that fit it worst.",
        paper=1.0, low=0.05, high=1.0, symbol="ρ",
    )  # fmt: skip
    view_weight: str = _knob(
        "choice", "shown", "transport", "Weight of a view",
        "Every view alike, sure views more, views that agree with their neighbours more, views that show less of the "
        "picture more (they carry less of an attack that was made for the whole of it), or views that show more.",
        paper="uniform", choices=("uniform", "confidence", "agreement", "area", "shown"),
    )  # fmt: skip
    step_back: float = _knob(
        "float", 0.4, "transport", "Step back",
        "How far every view moves away from where the whole picture lies off its crops, which is where an attack on "
        "the whole picture has moved it.",
        paper=0.0, low=0.0, high=10.0, symbol="κ",
    )  # fmt: skip
    sinkhorn_tolerance: float = _knob(
        "float", 1e-6, "transport", "Sinkhorn tolerance",
        "Stop when the plan's marginals are this close to what they should be (total mass).",
        low=1e-9, high=1e-2, log=True,
    )  # fmt: skip
    sinkhorn_iterations: int = _knob(
        "int", 1000, "transport", "Sinkhorn limit", "Stop after this many iterations at the latest.",
        low=1, high=100_000,
    )  # fmt: skip
    # --- prompt update (row 13)
    tuning_steps: int = _knob(
        "int", 1, "tuning", "Tuning steps", "How often the prompts are adjusted to this picture.",
        low=0, high=20, symbol="s",
    )  # fmt: skip
    tuning_rate: float = _knob(
        "float", 0.005, "tuning", "Step length", "AdamW's learning rate on the contexts.",
        low=0.0, high=1.0,
    )  # fmt: skip
    tuning_loss: str = _knob(
        "choice", "marginal", "tuning", "What tuning lowers",
        "Entropy of the mean answer, mean entropy of the answers, entropy over transport costs, or nothing.",
        choices=("marginal", "pointwise", "transport", "none"),
    )  # fmt: skip
    subset_size: int = _knob(
        "int", 64, "tuning", "Views in the loss", "The surest views, this many, enter the loss.",
        low=1, high=256, symbol="S",
    )  # fmt: skip
    # --- the methods RITA is compared with (section 4)
    ensemble_average: str = _knob(
        "choice", "probability", "baselines", "What Ensemble averages",
        "The crops' answers as probabilities, their logits, or the crops' features.",
        choices=("probability", "logit", "feature"),
    )  # fmt: skip
    ensemble_weight: str = _knob(
        "choice", "uniform", "baselines", "Ensemble's weight of a crop",
        "Every crop alike, or by what it leaves out or shows of the picture, as RITA may weigh them.",
        choices=("uniform", "area", "shown"),
    )  # fmt: skip
    ensemble_step_back: float = _knob(
        "float", 0.0, "baselines", "Ensemble's step back",
        "The same step for Ensemble's crops: how much of RITA's gain an average has as well.",
        low=0.0, high=10.0,
    )  # fmt: skip
    ensemble_text: str = _knob(
        "choice", "template", "baselines", "Ensemble's sentences",
        "One hand-written sentence per class, or the mean of its descriptions.",
        choices=("template", "descriptions"),
    )  # fmt: skip
    ctpt_weight: float = _knob(
        "float", 50.0, "baselines", "C-TPT's weight",
        "How much C-TPT cares for prompts that stay apart; its authors use 20 on ImageNet and its variants.",
        low=0.0, high=1000.0, symbol="w",
    )  # fmt: skip

    def __post_init__(self) -> None:
        for knob in KNOBS.values():
            object.__setattr__(self, knob.name, knob.parse(getattr(self, knob.name)))

    def but(self, **changes: Any) -> Settings:
        """A copy with some knobs changed; unknown names and bad values raise :class:`SettingError`."""
        for name in changes:
            knob_of(name)
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """``{code name: value}``, JSON-ready."""
        return asdict(self)

    def differs_from(self, other: Settings) -> tuple[str, ...]:
        """Code names of the knobs whose values differ."""
        return tuple(n for n in KNOBS if getattr(self, n) != getattr(other, n))


KNOBS: dict[str, Knob] = {
    f.name: Knob(name=f.name, default=f.default, **f.metadata) for f in fields(Settings)
}
RECOMMENDED = Settings()
PAPER = Settings(**{k.name: k.paper for k in KNOBS.values()})
PRESETS: dict[str, Settings] = {"recommended": RECOMMENDED, "paper": PAPER}
GROUPS: dict[str, str] = {
    "attack": "The attack",
    "views": "The views",
    "prompts": "The prompts",
    "transport": "The transport",
    "cache": "The memory (cache)",
    "tuning": "The prompt update",
    "baselines": "The other methods",
}


def knob_of(name: str) -> Knob:
    """The knob of that code name, or a :class:`SettingError` that lists the valid ones."""
    if name not in KNOBS:
        raise SettingError(f"There is no setting {short(name)}.", f"Settings: {', '.join(KNOBS)}.")
    return KNOBS[name]


def parse_assignment(text: str) -> tuple[str, Any]:
    """``"name=value"`` from a command line to a checked pair."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"A setting is written name=value; got {short(text)}.")
    return name.strip(), knob_of(name.strip()).parse(value.strip())


def preset(name: str) -> Settings:
    """A preset by name, or a :class:`SettingError` that lists the valid ones."""
    if name not in PRESETS:
        raise SettingError(f"The preset is one of {', '.join(PRESETS)}; got {short(name)}.")
    return PRESETS[name]
