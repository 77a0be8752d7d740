"""One setting: how it is shown, parsed and checked. The settings themselves are in ``definitions.py``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rita_demo.records.errors import SettingError

MAX_SENTENCE_LENGTH = 200  # characters of a prompt with its {}: the model reads about 70 tokens


@dataclass(frozen=True)
class Setting:
    """How one setting is shown, parsed and checked.

    ``kind`` is ``"int"``, ``"float"``, ``"bool"``, ``"choice"``, ``"file"`` (one of ``choices`` or,
    from a terminal, the path of a file) or ``"sentence"`` (one of ``choices``, or a sentence with ``{}``
    where a class name goes). ``low`` and ``high`` of a number are inclusive. ``log`` asks for a
    logarithmic slider. ``paper`` is the preset "paper"'s value, without one the default. ``flat_name`` replaces
    ``defence.name`` in stored files of an own setting.
    """

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
    flat_name: str = ""

    def __post_init__(self) -> None:
        if self.paper is None:
            object.__setattr__(self, "paper", self.default)

    def parse(self, value: Any) -> Any:
        """Turn what came from a slider or a terminal into a valid value. Raises SettingError: naming the setting, what
        is allowed and what came."""
        if self.kind == "file":
            if isinstance(value, str) and value.strip() and "\0" not in value:
                return value
            raise SettingError(
                f"{self.name} is {' or '.join(self.choices)} or the path of a file; got {short_repr(value)}."
            )
        if self.kind == "sentence":
            return self._parse_sentence(value)
        if self.kind == "choice":
            if isinstance(value, str) and value in self.choices:
                return value
            raise SettingError(f"{self.name} is one of {', '.join(self.choices)}; got {short_repr(value)}.")
        if self.kind == "bool":
            known = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
            if isinstance(value, bool):
                return value
            if str(value).lower() in known:
                return known[str(value).lower()]
            raise SettingError(f"{self.name} is true or false; got {short_repr(value)}.")
        return self._parse_number(value)

    def parse_untrusted(self, value: Any) -> Any:
        """The same for untrusted input: one of the choices, never a path on this machine. Raises SettingError: as
        :meth:`parse`."""
        if self.kind == "file" and value not in self.choices:
            raise SettingError(f"{self.name} is one of {', '.join(self.choices)}; got {short_repr(value)}.")
        return self.parse(value)

    def _parse_sentence(self, value: Any) -> str:
        if isinstance(value, str):
            written = value.count("{}") == 1 and value.isprintable()
            if value in self.choices or (written and len(value) <= MAX_SENTENCE_LENGTH):
                return value
        raise SettingError(
            f"{self.name} is {' or '.join(self.choices)}, or a sentence of at most {MAX_SENTENCE_LENGTH} "
            f"characters with one {{}} for the class name; got {short_repr(value)}."
        )

    def _parse_number(self, value: Any) -> int | float:
        allowed = f"{'a whole number' if self.kind == 'int' else 'a number'} from {format_limit(self.low)} to {format_limit(self.high)}"
        error = SettingError(f"{self.name} is {allowed}; got {short_repr(value)}.")
        if isinstance(value, bool):
            raise error
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise error from None
        if not math.isfinite(number) or not (self.low <= number <= self.high):
            raise error
        if self.kind == "int":
            if number != int(number):
                raise error
            return int(number)
        return number


def format_limit(limit: float) -> str:
    """A limit as a person writes it: whole numbers in full, never 2.14748e+09."""
    return f"{limit:.0f}" if float(limit).is_integer() else f"{limit:g}"


def short_repr(value: Any) -> str:
    """The value as an error message quotes it, at most 60 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
