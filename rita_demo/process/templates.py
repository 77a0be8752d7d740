"""What is read stands in ``rita_demo/templates``: markup, in which every value is escaped."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup


class _Joined(Extension):
    """Markup in many lines for its reader: beside a tag a line break is nothing, between words a space."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        if name is None:
            return source
        return re.sub(r"\s*\n\s*", " ", re.sub(r"(?<=[>}])\s*\n\s*|\s*\n\s*(?=[<{]|$)", "", source))


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    extensions=[_Joined],
    trim_blocks=True,
    lstrip_blocks=True,
)


def html(template: str, /, **values: Any) -> Markup:
    """A template of the page with these values, each escaped unless it is ``Markup``."""
    return Markup(TEMPLATES.get_template(f"{template}.html").render(values))
