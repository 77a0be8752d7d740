"""The sample gallery: small pictures to choose from, as buttons."""

from functools import cache
from html import escape
from typing import Any

from rita_demo.data import samples, shipped_results
from rita_demo.records import SampleOutcome
from rita_demo.records.errors import DemoError
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.plotly_view import event_data

THUMBNAIL_SIZE = 96  # pixels
OUTCOME_MARKS = {"rescued": "✓", "fails": "✗", "not fooled": "=", "wrong from the start": "–"}
MARKS_LEGEND = "RITA: ✓ recovers · ✗ fails · – CLIP wrong"


@cache
def thumbnail(key: str) -> str | None:
    """A sample as a small data URI; None when its file is missing or broken."""
    try:
        return jpeg_uri(samples.sample(key).load().pixels, THUMBNAIL_SIZE)
    except DemoError:
        return None


def gallery_html(selected: str | None) -> str:
    buttons = "".join(_button(key, one, key == selected) for key, one in samples.available().items())
    key = f"<p class='quiet small'>{MARKS_LEGEND}</p>" if _sample_outcomes() else ""
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
def _sample_outcomes() -> dict[str, SampleOutcome]:
    """The stored outcomes; {} when the file is missing or damaged."""
    try:
        return shipped_results.sample_outcomes()
    except DemoError:
        return {}


def _outcome(key: str) -> tuple[str, str]:
    """The mark of a sample, and its measured outcome in a sentence."""
    one = _sample_outcomes().get(key)
    if one is None:
        return "", ""
    attack = f"At {one.budget}/255"
    said = {
        "rescued": f"{attack} CLIP says {one.clip_attacked}, RITA {one.rita_attacked}.",
        "fails": f"{attack} RITA fails: it says {one.rita_attacked}.",
        "not fooled": f"{attack} CLIP is not fooled.",
        "wrong from the start": f"CLIP is wrong from the start: it says {one.clip_clean}.",
    }
    return OUTCOME_MARKS[one.kind], said[one.kind]


def clicked_sample(event: Any) -> samples.Sample | None:
    key = event_data(event).get("sample")
    return samples.available().get(key) if isinstance(key, str) else None
