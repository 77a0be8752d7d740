"""One picture from first to last."""

from dataclasses import dataclass, field
from typing import Any

from rita_demo.records.attack import AttackTrace, ThreatModel
from rita_demo.records.cache import CacheState
from rita_demo.records.decision import ClassPrompts, DefenceFault, Trace, Verdict
from rita_demo.records.picture import EncodedViews, Picture


@dataclass(frozen=True)
class BackboneInfo:
    """A model: ``name`` as on the command line, ``side`` input pixels, ``width`` D, size and device."""

    name: str
    title: str
    parameters: int
    side: int
    width: int
    device: str
    precision: str
    logit_scale: float
    note: str = ""


@dataclass(frozen=True)
class ImageResult:
    """The result on the clean or on the attacked picture: its views and every defence's answer.

    ``verdicts`` maps the name of a defence to its :class:`Verdict`; clip, ensemble and rita are always there.
    ``faults`` maps the name of a user's own defence that has no answer to the reason.
    """

    picture: Picture
    encoded_views: EncodedViews
    trace: Trace
    verdicts: dict[str, Verdict]
    faults: dict[str, DefenceFault] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """A picture attacked and defended: what the page shows and ``explain`` exports.

    ``attack`` is None (and ``attacked`` is ``clean``) when the picture was only defended. ``label`` is the class that
    counts as right; ``label_given``: it was given by the user, else it is CLIP's own answer on the clean picture.
    Both results are decided from ``cache_before``; ``cache_after`` includes the delivered picture. ``step``: None, or
    the attack step whose picture is in ``attacked``. ``methods``: names of the defences that were asked for.
    """

    class_prompts: ClassPrompts
    settings: Any  # rita_demo.settings.Settings
    backbone: BackboneInfo
    clean: ImageResult
    attacked: ImageResult
    attack: AttackTrace | None
    label: int
    label_given: bool
    threat_model: ThreatModel
    cache_before: CacheState
    cache_after: CacheState
    seconds: dict[str, float] = field(default_factory=dict)
    step: int | None = None
    methods: tuple[str, ...] = ("clip", "ensemble", "rita")

    @property
    def given_label(self) -> int | None:
        """The true class, None if the user gave none."""
        return self.label if self.label_given else None

    @property
    def answered(self) -> tuple[str, ...]:
        """Names of the defences with an answer on both pictures, in order."""
        return tuple(name for name in self.clean.verdicts if name in self.attacked.verdicts)

    @property
    def faults(self) -> dict[str, DefenceFault]:
        """Defences without an answer on one of the pictures, and why."""
        return self.clean.faults | self.attacked.faults


@dataclass(frozen=True)
class AttackStepResult:
    """The result on the square after attack step ``step`` (0 = before the first)."""

    step: int
    image_result: ImageResult


@dataclass(frozen=True)
class ViewSeedResult:
    """Every defence's answer on the delivered picture with another view seed."""

    seed: int
    verdicts: dict[str, Verdict]
