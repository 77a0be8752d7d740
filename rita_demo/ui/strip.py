"""The sample strip: small pictures to choose from, as buttons."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

import gradio as gr

from rita_demo.data import measured, samples
from rita_demo.errors import DemoError
from rita_demo.records import SampleOutcome
from rita_demo.ui.images import jpeg_uri

THUMBNAIL = 96  # pixels
MARKS = {"rescued": "✓", "fails": "✗", "not fooled": "=", "wrong from the start": "–"}
KEY = "✓ RITA gets it back · ✗ RITA fails · – CLIP is wrong from the start"

_CLICK = """
element.addEventListener('click', (e) => {
  const chosen = e.target.closest('button[data-sample]');
  if (chosen) trigger('click', { sample: chosen.dataset.sample });
});
"""


class SampleStrip(gr.HTML):
    """Buttons with thumbnails; ``click`` reports which (read it with :func:`chosen_sample`)."""

    def __init__(self, selected: str | None = None, **html: Any) -> None:
        super().__init__(strip(selected), js_on_load=_CLICK, apply_default_css=False, **html)

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


@cache
def thumbnail(key: str) -> str | None:
    """A sample as a small data URI; None when its file is missing or broken."""
    try:
        return jpeg_uri(samples.sample(key).load().pixels, THUMBNAIL)
    except DemoError:
        return None


def strip(selected: str | None) -> str:
    """HTML of the strip with one sample pressed."""
    buttons = "".join(
        _button(key, one, key == selected) for key, one in samples.available().items()
    )
    key = f"<p class='quiet small'>{KEY}</p>" if _measured() else ""
    return f'<div class="strip" role="group" aria-label="Sample pictures">{buttons}</div>{key}'


def _button(key: str, one: samples.Sample, pressed: bool) -> str:
    uri = thumbnail(key)
    if uri is None:
        return ""
    mark, said = _outcome(key)
    title = escape(f"{one.title} ({one.credit}). {said}".strip())
    badge = f'<span class="mark" aria-hidden="true">{mark}</span>' if mark else ""
    return (
        f'<button type="button" data-sample="{escape(key)}" aria-pressed="{str(pressed).lower()}" '
        f'title="{title}"><img src="{uri}" alt="{escape(f"{one.title}. {said}".strip())}" '
        f'width="56" height="56">{badge}</button>'
    )


@cache
def _measured() -> dict[str, SampleOutcome]:
    """The stored outcomes; none when the file is missing or damaged."""
    try:
        return measured.outcomes()
    except DemoError:
        return {}


def _outcome(key: str) -> tuple[str, str]:
    """A sample's mark, and what was measured on it in a sentence."""
    one = _measured().get(key)
    if one is None:
        return "", ""
    attack = f"At {one.budget}/255"
    said = {
        "rescued": f"{attack} CLIP says {one.clip_attacked}, RITA {one.rita_attacked}.",
        "fails": f"{attack} RITA fails: it says {one.rita_attacked}.",
        "not fooled": f"{attack} CLIP is not fooled.",
        "wrong from the start": f"CLIP is wrong from the start: it says {one.clip_clean}.",
    }
    return MARKS[one.kind], said[one.kind]


def chosen_sample(event: Any) -> samples.Sample | None:
    """The sample named by an event that a stranger may have written; None if there is no such one."""
    raw = getattr(event, "_data", None)
    key = raw.get("sample") if isinstance(raw, dict) else None
    return samples.available().get(key) if isinstance(key, str) else None
