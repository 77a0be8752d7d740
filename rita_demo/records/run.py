"""One picture from first to last: the picture, its views, the attack, the answers."""

from dataclasses import dataclass, field
from typing import Any

from rita_demo.records.decision import Array, CacheState, ClassPrompts, DefenceFault, Trace, Verdict


@dataclass(frozen=True)
class Picture:
    """A decoded square."""

    pixels: Array  # (H, W, 3) uint8 RGB, H = W
    key: str  # names its content
    notes: tuple[str, ...] = ()  # sentences on what decoding did (rotated by EXIF, transparency on white, ...)
    source_size: tuple[int, int] = (0, 0)  # (width, height) of the file before cropping


@dataclass(frozen=True)
class ViewSet:
    """Where the views were taken; view 0 is the whole square."""

    boxes: Array  # (N, 4) float32: left, top, right, bottom as fractions of the square's side, in [0, 1]
    flipped: Array  # (N,) bool
    seed: int
    pixels: Array | None = None  # (N, 3, side, side) float32 in [0, 1] at the model's input size, None after encoding


@dataclass(frozen=True)
class EncodedViews:
    """The views of one picture and their features."""

    views: ViewSet
    features: Array  # (N, D) float32, unit length
    key: str  # names them
    seconds: dict[str, float] = field(default_factory=dict)  # stage -> wall time


@dataclass(frozen=True)
class Passes:
    """Pictures that went through a vision tower."""

    forward: int
    backward: int


#: (steps done, steps), the loss of the first picture where the loop knows it, and its square (H, W, 3) uint8 where it can be
#: looked at on the way.
AttackProgress = tuple[int, int] | tuple[int, int, float] | tuple[int, int, float, Array]


@dataclass(frozen=True)
class AttackTrace:
    """What one attack did to one square. ``linf`` and ``l2`` are those after rounding."""

    name: str
    pixels: Array  # (H, W, 3) uint8 after rounding
    frames: Array  # (S+1, H, W, 3) uint8: before the first step and after each (AutoAttack: only first and last, S = 1)
    loss: Array  # (S+1,) the attacker's objective in ``loss_unit``, which the attack raises
    probability: Array  # (S+1, K) CLIP's single-view answer at every step
    label: int
    target: int | None
    budget: int  # in 1/255, 0 for an attack without one
    linf: float  # in 1/255
    l2: float  # with pixels in [0, 1]
    fooled: bool  # CLIP's answer on the clean square was the label and no longer is (targeted: it is now the target)
    already_wrong: bool  # CLIP's answer on the clean square was not the label
    seconds: float = 0.0
    loss_unit: str = "nats"
    gradient: float | None = None  # L2 norm of the objective's first gradient for pixels in [0, 1]; None without one


@dataclass(frozen=True)
class ThreatModel:
    """Printed beside every robust number. ``sentences`` is the same in plain words."""

    attack: str
    budget: int  # in 1/255
    steps: int
    seed: int
    square: str  # "picture" or "model"
    side: int  # pixels of the attacked square
    goal: str  # "away from the true class 'cup'", "away from CLIP's own answer 'cup'", "towards 'crab'"
    knows: tuple[str, ...]
    does_not_know: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class BackboneInfo:
    """A model."""

    name: str  # as on the command line
    title: str
    parameters: int
    side: int  # input pixels
    width: int  # D
    device: str
    precision: str
    logit_scale: float
    note: str = ""


@dataclass(frozen=True)
class ImageResult:
    """The result on the clean or on the attacked picture: its views and every defence's answer."""

    picture: Picture
    encoded_views: EncodedViews
    trace: Trace
    verdicts: dict[str, Verdict]  # by the defence's name; clip, ensemble and rita are always there
    faults: dict[str, DefenceFault] = field(default_factory=dict)  # users' own defences that have no answer


@dataclass(frozen=True)
class Run:
    """A picture attacked and defended: what the page shows and ``explain`` exports."""

    class_prompts: ClassPrompts
    settings: Any  # rita_demo.settings.Settings
    backbone: BackboneInfo
    clean: ImageResult
    attacked: ImageResult  # ``clean`` when the picture was only defended
    attack: AttackTrace | None  # None when the picture was only defended
    label: int  # the class that counts as right
    label_given: bool  # by the user, else it is CLIP's own answer on the clean picture
    threat_model: ThreatModel
    cache_before: CacheState  # that both results are decided from
    cache_after: CacheState  # with the delivered picture
    seconds: dict[str, float] = field(default_factory=dict)
    step: int | None = None  # the attack step whose picture is in ``attacked``, None: the last
    methods: tuple[str, ...] = ("clip", "ensemble", "rita")  # names of the defences that were asked for
    delivered: ImageResult | None = None  # where ``step`` is set: the result after the last step

    @property
    def given_label(self) -> int | None:
        """The true class, None if the user gave none."""
        return self.label if self.label_given else None

    @property
    def key(self) -> str:
        """Names the two pictures, and the true class that was given: what is drawn of another one is drawn anew."""
        return f"{self.clean.picture.key} {self.attacked.picture.key} {'' if self.given_label is None else self.label}"

    @property
    def answered(self) -> tuple[str, ...]:
        """Names of the defences with an answer on both pictures, in order."""
        return tuple(name for name in self.clean.verdicts if name in self.attacked.verdicts)

    @property
    def wrong_answer(self) -> int | None:
        """An answer after the last step that differs from the reference class: RITA's, else CLIP's, else the first other
        defence's; None where there is none. RITA comes first because an attacker who knows it need not change CLIP's
        answer in the same way."""
        names = dict.fromkeys(("rita", "clip", *self.answered))
        labels = ((self.delivered or self.attacked).verdicts[name].label for name in names)
        return next((int(k) for k in labels if k != self.label), None)

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
class CheckedAnswer:
    """One defence's answer."""

    label: int
    probability: float  # of its answer, in [0, 1]
    reference: float  # of the class that counts as right


@dataclass(frozen=True)
class CheckedAnswers:
    """The answers to one picture."""

    clip: CheckedAnswer
    ensemble: CheckedAnswer
    rita: CheckedAnswer


@dataclass(frozen=True)
class PictureChange:
    """The answers after the same change of the clean and of the attacked picture."""

    name: str  # jpeg_90, jpeg_75, half or screenshot
    title: str
    clean: CheckedAnswers
    attacked: CheckedAnswers | None  # None: there is no attack


@dataclass(frozen=True)
class StoryChecks:
    """What is asked of the pictures of one run."""

    noise_size: int  # in 1/255: what each pixel value is moved by, up or down at random
    noise: CheckedAnswers | None  # to the clean picture with this noise; None: no attack, or one without a small size
    changes: tuple[PictureChange, ...]
