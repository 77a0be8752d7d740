"""The sample gallery: small pictures to choose from, as buttons."""

from functools import cache
from html import escape

import gradio as gr

from rita_demo.data import samples, shipped_results
from rita_demo.records import SampleOutcome
from rita_demo.records.errors import DemoError
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.html_buttons import event_data

THUMBNAIL_SIZE = 96  # pixels
MARKS_LEGEND = "Under the usual attack (PGD): ✓ CLIP is fooled, RITA is right, ✗ both are wrong, = CLIP is not fooled, –\u2060\u00a0CLIP is wrong anyway"
#: Outcome -> its mark, and what happens, with the fields of a :class:`SampleOutcome`.
OUTCOMES = {
    "rescued": ("✓", "At {0.budget}/255 CLIP says {0.clip_attacked}, RITA {0.rita_attacked}."),
    "fails": ("✗", "At {0.budget}/255 CLIP says {0.clip_attacked}, RITA {0.rita_attacked}: both are wrong."),
    "not fooled": ("=", "At {0.budget}/255 CLIP is not fooled."),
    "wrong from the start": ("–", "CLIP is wrong from the start: it says {0.clip_clean}."),
}


@cache
def thumbnail(key: str) -> str | None:
    """A sample as a small data URI; None when its file is missing or broken."""
    try:
        return jpeg_uri(samples.sample(key).load().pixels, THUMBNAIL_SIZE)
    except DemoError:
        return None


def gallery_html(selected: str | None) -> str:
    buttons = "".join(_button(key, one, key == selected) for key, one in samples.available().items())
    legend = f"<p class='quiet small'>{MARKS_LEGEND}</p>" if _sample_outcomes() else ""
    return f'<div class="strip" role="group" aria-label="Sample pictures">{buttons}</div>{legend}'


def _button(key: str, one: samples.Sample, pressed: bool) -> str:
    uri, measured, badge, said = thumbnail(key), _sample_outcomes().get(key), "", ""
    if uri is None:
        return ""
    if measured is not None:
        mark, sentence = OUTCOMES[measured.kind]
        badge, said = f'<span class="mark" aria-hidden="true">{mark}</span>', f" {sentence.format(measured)}"
    title, alt = escape(f"{one.title} ({one.credit}).{said}"), escape(f"{one.title}.{said}")
    return (
        f'<button type="button" data-sample="{escape(key)}" aria-pressed="{str(pressed).lower()}" '
        f'title="{title}"><img src="{uri}" alt="{alt}" width="56" height="56">{badge}</button>'
    )


@cache
def _sample_outcomes() -> dict[str, SampleOutcome]:
    """The stored outcomes; {} when the file is missing or damaged."""
    try:
        return shipped_results.sample_outcomes()
    except DemoError:
        return {}


def clicked_sample(event: gr.EventData) -> samples.Sample | None:
    key = event_data(event).get("sample")
    return samples.available().get(key) if isinstance(key, str) else None
