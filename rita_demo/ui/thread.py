"""The strip on top of every tab but the first: the pictures in small and every method's answer.

Nobody loses the thread; a what-if shows here too.
"""

from __future__ import annotations

from html import escape

from rita_demo.methods import METHODS
from rita_demo.records import Side, Story
from rita_demo.ui import words
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.sessions import Session
from rita_demo.ui.sprite import magnified_perturbation
from rita_demo.ui.what_if import seen

PIXELS = 96  # edge of a small picture as sent; shown at 64


def strip(session: Session) -> str:
    """HTML: the clean picture, what was added, the attacked one, and who says what of which."""
    story = seen(session)
    if story is None:
        return "<p class='empty'>Nothing to look into yet: run a picture on the first tab.</p>"
    parts = [_side(story, "clean")]
    if story.attack is not None:
        parts += [_added(story), _side(story, "attacked")]
    return f"<div class='thread'>{''.join(parts)}</div>"


def _side(story: Story, side: str) -> str:
    one: Side = getattr(story, side)
    said, step = "", words.at_step(story) if side == "attacked" else ""
    for name, verdict in one.verdicts.items():
        right = verdict.label == story.label
        mark = "✓" if right else "✗"
        said += (
            f"<span class='{'right' if right else 'wrong'}'>{METHODS[name].title}: <b>"
            f"{escape(story.bank.names[verdict.label])}</b> "
            f"{words.percent(verdict.probability[verdict.label])} <span aria-hidden='true'>{mark}</span></span>"
        )
    return (
        f"<div class='{side}'><img src='{jpeg_uri(one.picture.pixels, PIXELS)}' alt='The {side} picture' "
        f"width='64' height='64'><p><span class='kind'>{side}{step}</span>{said}</p></div>"
    )


def _added(story: Story) -> str:
    """The middle of the perturbation, magnified; scaled down it would average to grey."""
    before, after = story.clean.picture.pixels, story.attacked.picture.pixels
    edge = max((min(before.shape[:2]) - PIXELS) // 2, 0)
    part = slice(edge, edge + PIXELS)
    pixels = magnified_perturbation(before[part, part], after[part, part])
    return (
        f"<div class='added'><img src='{jpeg_uri(pixels)}' alt='What the attack added, 20 times "
        "magnified, a part of it' width='64' height='64'></div>"
    )
