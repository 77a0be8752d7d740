"""One setting as it is shown, parsed and checked; the settings themselves are in ``settings.py``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rita_demo.errors import SettingError

LONGEST_SENTENCE = 200  # characters of a prompt with its {}: the model reads about 70 tokens


@dataclass(frozen=True)
class Knob:
    """How one setting is shown, parsed and checked.

    ``kind`` is ``"int"``, ``"float"``, ``"bool"``, ``"choice"``, ``"file"`` (one of ``choices`` or,
    from a terminal, the path of a file) or ``"sentence"`` (one of ``choices``, or a sentence with ``{}``
    where a class name goes); ``low`` and ``high`` of a number are inclusive; ``log`` asks for a
    logarithmic slider.
    """

    name: str
    group: str
    kind: str
    default: Any
    paper: Any
    label: str
    why: str
    symbol: str = ""
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    log: bool = False

    def parse(self, value: Any) -> Any:
        """Turn what came from a slider or a terminal into a valid value.

        Raises:
            SettingError: naming the setting, what is allowed and what came.
        """
        if self.kind == "file":
            if isinstance(value, str) and value.strip() and "\0" not in value:
                return value
            raise SettingError(
                f"{self.name} is {' or '.join(self.choices)} or the path of a file; got {short(value)}."
            )
        if self.kind == "sentence":
            return self._sentence(value)
        if self.kind == "choice":
            if isinstance(value, str) and value in self.choices:
                return value
            raise SettingError(
                f"{self.name} is one of {', '.join(self.choices)}; got {short(value)}."
            )
        if self.kind == "bool":
            known = {"true": True, "1": True, "on": True, "false": False, "0": False, "off": False}
            if isinstance(value, bool):
                return value
            if str(value).lower() in known:
                return known[str(value).lower()]
            raise SettingError(f"{self.name} is true or false; got {short(value)}.")
        return self._number(value)

    def offered(self, value: Any) -> Any:
        """The same for what a stranger may send: one of the choices, never a path on this machine.

        Raises:
            SettingError: as :meth:`parse`.
        """
        if self.kind == "file" and value not in self.choices:
            raise SettingError(
                f"{self.name} is one of {', '.join(self.choices)}; got {short(value)}."
            )
        return self.parse(value)

    def _sentence(self, value: Any) -> str:
        if isinstance(value, str):
            written = value.count("{}") == 1 and value.isprintable()
            if value in self.choices or (written and len(value) <= LONGEST_SENTENCE):
                return value
        raise SettingError(
            f"{self.name} is {' or '.join(self.choices)}, or a sentence of at most {LONGEST_SENTENCE} "
            f"characters with one {{}} for the class name; got {short(value)}."
        )

    def _number(self, value: Any) -> int | float:
        allowed = f"{'a whole number' if self.kind == 'int' else 'a number'} from {_plain(self.low)} to {_plain(self.high)}"
        complaint = SettingError(f"{self.name} is {allowed}; got {short(value)}.")
        if isinstance(value, bool):
            raise complaint
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise complaint from None
        if not math.isfinite(number) or not (self.low <= number <= self.high):
            raise complaint
        if self.kind == "int":
            if number != int(number):
                raise complaint
            return int(number)
        return number


def _plain(limit: float) -> str:
    """A limit as a person writes it: whole numbers in full, never 2.14748e+09."""
    return f"{limit:.0f}" if float(limit).is_integer() else f"{limit:g}"


def short(value: Any) -> str:
    """What came, as a complaint quotes it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
