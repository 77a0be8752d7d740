"""The attack as a film: at a few of its steps, the same full record that the clean and the attacked side are.

Every step is decided from the memory that decided the story, with the same draw of views, and none
is committed to it: step 0 *is* the clean side and the last step *is* the attacked one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.records import FilmFrame, Side, Story
from rita_demo.story import defend

MOST = 6  # steps that are kept


def last_step(story: Story) -> int:
    """Number S of the attack's last step, the delivered picture; 0 without an attack."""
    return 0 if story.attack is None else len(story.attack.frames) - 1


def kept_steps(last: int, most: int = MOST) -> tuple[int, ...]:
    """At most ``most`` (at least 2) of the steps 0..last, both ends among them, in order.

    Early steps stand closer together, since an attack moves fastest at its start: the i-th of n
    gaps ends at ``last (i / n)^1.5``; 7 steps give 0, 1, 2, 3, 5, 7.
    """
    gaps = min(most - 1, last)
    between = (max(i, round(last * (i / gaps) ** 1.5)) for i in range(1, gaps))
    return tuple(sorted({0, *between, last}))


def film(engine: Engine, story: Story, most: int = MOST) -> Iterator[FilmFrame]:
    """The kept steps in order; each costs about as much as the defence of the delivered picture.

    Args:
        most: how many steps at most; see :func:`kept_steps`.
    """
    if story.attack is None:
        return
    for step in kept_steps(last_step(story), most):
        yield FilmFrame(step, _ends(story).get(step) or _look(engine, story, step))


def at_step(story: Story, frames: Iterable[FilmFrame], step: int | None) -> Story:
    """The story with the attacked side as it was at the kept step nearest to ``step``.

    Args:
        frames: the film as far as there is one; both ends need none.
        step: any number is brought to the nearest kept step, of two equally near ones the later;
            None means the delivered picture.

    Returns:
        ``story`` itself at the last step, else a copy whose ``step`` says which one it shows.
    """
    if story.attack is None or step is None:
        return story
    sides = {frame.step: frame.side for frame in frames} | _ends(story)
    nearest = min(sides, key=lambda kept: (abs(kept - step), -kept))
    if nearest == last_step(story):
        return story
    return replace(story, attacked=sides[nearest], step=nearest)


def _ends(story: Story) -> dict[int, Side]:
    return {0: story.clean, last_step(story): story.attacked}


def _look(engine: Engine, story: Story, step: int) -> Side:
    assert story.attack is not None
    picture = picture_of(story.attack.frames[step])
    side, _ = defend(
        engine, picture, story.bank, story.cache_before, story.settings, methods=story.methods
    )
    return side
