"""What the Story asks the engine about a run: random noise of the same size, and does the change survive what pictures go
through?"""

from dataclasses import asdict, dataclass
from typing import Any

from rita_demo.records.json_value import JsonValue


@dataclass(frozen=True)
class CheckedAnswer:
    """One defence's answer."""

    label: int
    probability: float  # of its answer, in [0, 1]
    reference: float  # of the class that counts as right

    def __post_init__(self) -> None:
        shares = [isinstance(p, float | int) and 0 <= p <= 1.0001 for p in (self.probability, self.reference)]
        if not all(shares) or type(self.label) is not int or self.label < 0:
            raise ValueError("an answer is a class from 0 on and two probabilities")


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

    def to_json(self) -> dict[str, JsonValue]:
        """JSON-ready; :meth:`from_json` reads it."""
        return asdict(self)

    @staticmethod
    def from_json(given: Any) -> "StoryChecks":
        """Raises ValueError: not what :meth:`to_json` writes."""
        try:
            return StoryChecks(
                noise_size=int(given["noise_size"]),
                noise=_answers(given["noise"]),
                changes=tuple(
                    PictureChange(
                        str(one["name"]), str(one["title"]), _present(one["clean"]), _answers(one["attacked"])
                    )
                    for one in given["changes"]
                ),
            )
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ValueError("these are no checks of a run") from error


def _answers(given: Any) -> CheckedAnswers | None:
    return None if given is None else _present(given)


def _present(given: Any) -> CheckedAnswers:
    return CheckedAnswers(**{name: CheckedAnswer(**one) for name, one in given.items()})
