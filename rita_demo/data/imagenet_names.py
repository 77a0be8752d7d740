"""ImageNet's class names, and the WordNet numbers that its folders are called by."""

import importlib.util
import runpy
from functools import cache
from pathlib import Path

# open_clip's list has two pairs of equal names; here every name means one class
_DUPLICATES = {744: "projectile", 836: "sunglass"}


@cache
def imagenet_names() -> tuple[str, ...]:
    """open_clip's 1000 names, read from one file of it: importing open_clip takes seconds."""
    names = runpy.run_path(str(_package("open_clip") / "zero_shot_metadata.py"))["IMAGENET_CLASSNAMES"]
    return tuple(_DUPLICATES.get(index, name) for index, name in enumerate(names))


@cache
def wordnet_names() -> dict[str, str]:
    """WordNet number (``n01440764``) -> class name: those of :func:`imagenet_names`, and ImageNet-21k's first word for the
    others. Empty where the installed timm, which open_clip needs, has no such lists."""
    lists = _package("timm") / "data/_info"
    try:
        lines = (lists / "imagenet_synset_to_lemma.txt").read_text("utf-8").splitlines()
        first = (lists / "imagenet_synsets.txt").read_text("utf-8").split()  # the order of the 1000 names
    except OSError:
        return {}
    words = {number: words.split(",")[0] for number, _, words in (line.partition("\t") for line in lines)}
    return words | dict(zip(first, imagenet_names(), strict=True))


def _package(name: str) -> Path:
    package = importlib.util.find_spec(name)
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parent
