"""Half a letter in an answer, told as JSON can tell it.

What somebody sends may hold one half of an emoji alone (a text that was cut in the middle of one does), and an answer may
repeat it. UTF-8 has no such thing, so that Gradio's writer gives up and the visitor's connection breaks; the ``\\ud83d`` of JSON
has.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import orjson
from gradio import routes


class _AnyLetters:
    """``orjson``, which also writes half letters."""

    def __getattr__(self, name: str) -> Any:
        return getattr(orjson, name)

    @staticmethod
    def dumps(
        value: Any, /, default: Callable[[Any], Any] | None = None, option: int | None = None
    ) -> bytes:
        try:
            return orjson.dumps(value, default, option)
        except TypeError as error:
            if "surrogates" not in str(error):
                raise
            return json.dumps(value, default=default).encode("ascii")


def any_letters() -> None:
    """From now on Gradio answers with them as well."""
    setattr(routes, "orjson", _AnyLetters())  # noqa: B010, an assignment mypy forbids
