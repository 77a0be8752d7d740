"""The words of class names.

A model that was trained with some names knows their words, and no others: pieces of words do not count, since the
tokenizer spells every word with pieces that occurred elsewhere; nor do other forms of a word. In the embedded model "a photo
of a cats." is as far from "a photo of a cat." as any other text (cosine -0.10); capitals, hyphens and underscores change
nothing (0.99 and more), and neither do articles and other small words ("a photo of a the cup.": 1.00).
"""

import re
import unicodedata
from collections.abc import Iterable

#: A word, with what follows an apostrophe; or a single sign, of which emoji count.
_PIECE = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]")

_SMALL = "a an and are as at by for from her his in into is its my near of on one or our over that the their this to under with your"
#: Small words of English: they say nothing of a class, and beside a known name they hardly move its feature.
SMALL_WORDS = frozenset(_SMALL.split())


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name as they are written: spaces, hyphens, underscores and other signs part them; an emoji is one."""
    return tuple(p for p in _PIECE.findall(name) if len(p) > 1 or p.isalnum() or unicodedata.category(p) == "So")


def word_list(names: Iterable[str]) -> list[str]:
    """The different words of names, in small letters and in order."""
    return sorted({word.casefold() for name in names for word in words_of(name)})
