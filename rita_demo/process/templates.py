"""What is read stands in ``rita_demo/templates``: markup (``.html``, every value is escaped) and plain sentences."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup


class _Joined(Extension):
    """Markup in many lines for its reader: beside a tag a line break is nothing, between words a space."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        if name is None or not name.endswith(".html"):
            return source
        return re.sub(r"\s*\n\s*", " ", re.sub(r"(?<=[>}])\s*\n\s*|\s*\n\s*(?=[<{]|$)", "", source))


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parents[1] / "templates"),
    autoescape=lambda name: name is None or name.endswith(".html"),
    undefined=StrictUndefined,
    extensions=[_Joined],
    trim_blocks=True,
    lstrip_blocks=True,
)


def html(template: str, /, **values: Any) -> Markup:
    """A template of the page with these values, each escaped unless it is ``Markup``."""
    return Markup(TEMPLATES.get_template(f"{template}.html").render(values))


def sentence(template: str, /, **values: Any) -> str:
    """Sentences as plain text, without the template's line breaks; who puts them into HTML escapes them."""
    return " ".join(TEMPLATES.get_template(f"{template}.sentence").render(values).split())
