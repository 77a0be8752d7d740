"""The sample gallery: small pictures to choose from, as buttons."""

from functools import cache

import gradio as gr
from markupsafe import Markup

from rita_demo.data import samples, shipped_results
from rita_demo.process.templates import html
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


def gallery_html(selected: str | None) -> Markup:
    """A button for each picture that is here; with its outcome, where that is known."""
    known, shown = _sample_outcomes(), []
    for key, one in samples.available().items():
        mark, sentence = OUTCOMES[known[key].kind] if key in known else ("", "")
        if image := thumbnail(key):
            shown.append((key, one, image, mark, f" {sentence.format(known[key])}" if mark else ""))
    return html("gallery", samples=shown, selected=selected, legend=MARKS_LEGEND if known else "")


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
