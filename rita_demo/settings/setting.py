"""One setting: how it is shown, parsed and checked. The settings themselves are in ``__init__.py``."""

import math
from dataclasses import dataclass
from typing import Any

from rita_demo.records.errors import SettingError, did_you_mean, refuse_gone
from rita_demo.records.json_value import JsonValue

MAX_WORD_LENGTH = 40  # characters of a text that is written on a picture
_BOOLEANS = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
LEVELS = "255"  # "/255" is the unit of a strength: steps between the 256 levels of a pixel value
LARGEST_SHARE = 0.1  # a strength below is a share of the range of a pixel value: 0.0157 is 4/255
MAX_SENTENCE_LENGTH = 200  # characters of a prompt with its {}: the model reads about 70 tokens


@dataclass(frozen=True)
class Setting:
    """How one setting is shown, parsed and checked.

    ``kind`` is ``"int"``, ``"float"``, ``"bool"``, ``"choice"``, ``"file"`` (one of ``choices`` or,
    from a terminal, the path of a file) or ``"sentence"`` (one of ``choices``, or a sentence with ``{}``
    where a class name goes) or ``"word"`` (one of ``choices``, or a short text). ``low`` and ``high`` of a number are inclusive. ``log`` asks for a
    logarithmic slider. A number of the ``unit`` "/255" may be a text that ends in it: ``4/255`` is 4.
    ``paper`` is the preset "paper"'s value, without one the default. ``stored_name`` replaces ``defence.name`` in stored files
    of an own setting."""

    name: str
    kind: str
    default: Any
    label: str
    help: str
    group: str = "baselines"
    paper: Any = None
    symbol: str = ""
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    log: bool = False
    stored_name: str = ""

    def __post_init__(self) -> None:
        if self.paper is None:
            object.__setattr__(self, "paper", self.default)

    def parse(self, value: JsonValue) -> Any:
        """A valid value from a slider or a terminal. Raises SettingError: the setting, what is allowed and what came."""
        if self.kind in ("int", "float"):
            return self._parse_number(value)
        if self.kind == "bool" and str(value).lower() in _BOOLEANS:
            return _BOOLEANS[str(value).lower()]
        listed, text = " or ".join(self.choices), value if isinstance(value, str) else ""
        if self.kind == "bool":
            allowed, valid = "true or false", False
        elif self.kind == "file":
            allowed, valid = f"{listed} or the path of a file", bool(text.strip()) and "\0" not in text
        elif self.kind == "sentence":
            form = f"a sentence of at most {MAX_SENTENCE_LENGTH} characters with one {{}} for the class name"
            allowed = f"{listed}, or {form}"
            valid = text.count("{}") == 1 and text.isprintable() and len(text) <= MAX_SENTENCE_LENGTH
        elif self.kind == "word":
            allowed = f"{listed}, or a text of at most {MAX_WORD_LENGTH} characters"
            valid = len(text.strip()) > 0 and len(text) <= MAX_WORD_LENGTH and text.isprintable()
        else:
            allowed, valid = f"one of {', '.join(self.choices)}", False
        if valid or text in self.choices:
            return text
        refuse_gone(text)
        raise SettingError(f"{self.name} is {allowed}; got {short_repr(value)}.", did_you_mean(value, self.choices))

    def parse_untrusted(self, value: JsonValue) -> Any:
        """The value of untrusted input, as :meth:`parse` has it: one of the choices, never a path on this machine."""
        if self.kind == "file" and value not in self.choices:
            raise SettingError(f"{self.name} is one of {', '.join(self.choices)}; got {short_repr(value)}.")
        return self.parse(value)

    def _parse_number(self, value: Any) -> int | float:
        whole, bare = self.kind == "int", value
        if self._of_levels and isinstance(value, str):
            before, _, unit = value.rpartition("/")
            bare = before if unit.strip() == LEVELS else value
        try:
            number = math.nan if isinstance(value, bool) else float(bare)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number) and self.low <= number <= self.high and not (whole and number != int(number)):
            return int(number) if whole else number
        limits = f"from {format_limit(self.low)} to {format_limit(self.high)}"
        form = "a whole number" if whole else "a number"
        raise SettingError(
            f"{self.name} is {form} {limits}; got {short_repr(value)}.", self._about_fraction(number, bare == value)
        )

    @property
    def _of_levels(self) -> bool:
        return self.unit == f"/{LEVELS}"

    def _about_fraction(self, number: float, without_unit: bool) -> str:
        """What a fraction of a level is taken for: most often a strength for pixels in [0, 1]."""
        if not self._of_levels or self.kind != "int" or not 0 < number < self.high or number == int(number):
            return ""
        if without_unit and number < LARGEST_SHARE:
            return f"It is in 1/255: did you mean {max(round(255 * number), 1)}?"
        return f"A picture has whole levels, so {number:g} would be {math.floor(number + 0.5)}."


def format_limit(limit: float) -> str:
    """A limit as a person writes it: whole numbers in full, never 2.14748e+09."""
    return f"{limit:.0f}" if float(limit).is_integer() else f"{limit:g}"


def short_repr(value: JsonValue) -> str:
    """The value as an error message quotes it, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def number_text(value: float) -> str:
    """A number in a sentence: "0.01", "−3", "10⁻⁶", "2.5 · 10⁻⁷"."""
    mantissa, _, exponent = (str(value) if isinstance(value, int) else f"{value:g}").partition("e")
    mantissa = mantissa.replace("-", "−")
    if not exponent:
        return mantissa
    power = "10" + str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return power if mantissa == "1" else f"{mantissa} · {power}"
