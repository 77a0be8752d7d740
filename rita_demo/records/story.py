"""What the Story asks the engine about a run: random noise of the same size, and does the change survive what pictures go
through?"""

from dataclasses import dataclass


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
