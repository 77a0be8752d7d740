"""Components of our own that Gradio's ``html`` component draws: buttons with one click event, and downloads."""

import base64
import json
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.records.json_value import JsonValue

CLICK_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_DOWNLOAD_SCRIPT = """
watch('value', () => {
  if (!props.value) return;
  const { name, address } = JSON.parse(props.value);
  const link = document.createElement('a');
  link.href = address; link.download = name; link.click();
});
"""


class HtmlWidget(gr.HTML):
    """``gr.HTML`` with a ``template``, a ``script`` and a style sheet ``css``, without Gradio's styles. What a browser
    sends back is not read. ``selects``: its events that report a :class:`rita_demo.ui.session.mark.Mark`."""

    template, script, css = "${value}", "", ""
    selects: tuple[str, ...] = ()

    def __init__(self, value: Any = "", **html: Any) -> None:
        own = {"html_template": self.template, "js_on_load": self.script, "css_template": self.css}
        super().__init__(value, **own | {"apply_default_css": False} | html)
        # Gradio reads properties back as attributes. A missing one whose name is quoted in the script would count as an
        # event, and the whole page would be copied per visit.
        for name, prop in self.props.items():
            setattr(self, name, prop)

    def preprocess(self, payload: JsonValue) -> None:
        return None

    def get_block_name(self) -> str:
        return "html"


class JsonWidget(HtmlWidget):
    """A widget whose script gets its value, a dict or None, as one JSON string."""

    def postprocess(self, value: JsonValue) -> str | None:
        return value if value is None or isinstance(value, str) else json.dumps(value)


class HtmlButtons(HtmlWidget):
    """HTML with buttons. ``click`` reports the ``data-`` attributes of the pressed button, numbers as numbers. Where
    one button has ``tabindex="0"`` and the others ``"-1"``, the arrow keys move between them."""

    script = CLICK_SCRIPT


class MarkButtons(HtmlButtons):
    """Buttons whose ``data-`` attributes are a mark."""

    selects = ("click",)


class DownloadButtons(HtmlButtons):
    """One button for each ``kind -> text``; ``click`` reports the kind (read it with :func:`clicked_format`). The
    value, made by :func:`download_value`, is saved as a file by the browser."""

    script = CLICK_SCRIPT + _DOWNLOAD_SCRIPT

    def __init__(self, kinds: dict[str, str], **html: Any) -> None:
        self.kinds = kinds
        buttons = "".join(
            f"<button type='button' class='plain-button' data-kind='{kind}'>{escape(text)}</button>"
            for kind, text in kinds.items()
        )
        super().__init__(html_template=buttons, **html)


def event_data(event: gr.EventData) -> dict[str, JsonValue]:
    """What a client sent with an event, untrusted; {} if that is no JSON object."""
    raw = getattr(event, "_data", event)
    return raw if isinstance(raw, dict) else {}


def is_of(event: gr.EventData, component: Any) -> bool:
    """Whether it was this component that was used. Gradio may hold a copy of it for each page."""
    return getattr(event.target, "_id", None) == component._id


def clicked_format(event: gr.EventData, kinds: Iterable[str]) -> str:
    """One of ``kinds`` that an untrusted event names; the first if it names none."""
    kind, known = event_data(event).get("kind"), tuple(kinds)
    return kind if isinstance(kind, str) and kind in known else known[0]


def download_value(name: str, data: bytes, number: int) -> str:
    """The value of :class:`DownloadButtons` that saves ``data``. ``number`` differs each time: the browser would not
    notice the same value again."""
    code = base64.b64encode(data).decode()
    return json.dumps({"name": name, "address": f"data:application/octet-stream;n={number};base64,{code}"})
