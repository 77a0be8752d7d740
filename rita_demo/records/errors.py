"""The errors that are shown to users: one sentence on what happened, one on what to do.

Any other exception that escapes is a bug. The page and the command line print ``str(error)`` only, so a message never
contains a path of the machine that its reader did not give.
"""

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "", ending: str = "") -> str:
    """A hint for an unknown name: "Did you mean ...?" with the closest of the ``known`` ones, else ``otherwise``. One that
    differs in capitals alone is meant alone. ``ending`` is written behind each."""
    folded, wanted = {word.casefold(): word for word in known}, str(name)[:100].strip().casefold()
    close = [wanted] if wanted in folded else difflib.get_close_matches(wanted, folded, 3)
    return f"Did you mean {' or '.join(folded[word] + ending for word in close)}?" if close else otherwise


def join_names(names: Sequence[str], most: int) -> str:
    """The first ``most`` names with commas, and the number of the others. A name that cannot be printed is escaped."""
    listed = ", ".join(name if name.isprintable() else ascii(name) for name in names[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")


class DemoError(Exception):
    """An error that a user can fix.

    Args:
        message: what was expected and what was received, one sentence.
        hint: what to do next, one sentence; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class PictureError(DemoError):
    """The file is not a usable picture."""


class VocabularyError(DemoError):
    """The class names cannot be used."""


class SettingError(DemoError):
    """A setting is unknown or outside its range."""


class BackboneError(DemoError):
    """The model cannot be loaded or does not fit."""


class DataError(DemoError):
    """A dataset or one of its files is missing or malformed."""


#: A former method -> the ``protocol`` under which RITA is the same.
GONE_METHODS = {"rita_prompts": "off", "rita_reset": "reset"}
#: Another former name -> what to ask for instead.
GONE = {
    "preset step_back": "The preset step_back is the settings step_back=0.4 and ensemble_step_back=0.4: set those.",
    "--features": "The option --features is gone; numpy and umap draw your own features: "
    "umap.UMAP(metric='cosine').fit_transform(features).",
    "defence": "The attack defence is adaptive:rita, which is stronger: ask for that.",
    "out of compare": "compare copies no pictures (--out): write their names (--csv) and measure them with evaluate "
    "--pictures.",
    "out of smallest_budget": "The smallest strength keeps no attacks (--out, out=): write its table (--csv, to_csv).",
}


def refuse_gone(name: object) -> None:
    """Raises SettingError where ``name`` is a former method, a setting of one, or another name of :data:`GONE`: it says what
    to ask for instead."""
    text = str(name)[:100].strip()
    method = text.partition(".")[0]
    if sentence := GONE.get(text.partition("=")[0], GONE.get(method)):
        raise SettingError(sentence)
    if protocol := GONE_METHODS.get(method):
        same = f"rita with --protocols {protocol} (the setting protocol={protocol})"
        raise SettingError(f"The method {method} is {same}: ask for that.")


def refuse_earlier(what: str, instead: str, kind: type[DemoError] = DataError) -> NoReturn:
    """Raises an error of this kind: a file was made by an earlier version. ``instead``: what to do, as a sentence."""
    raise kind(f"{what} was made by an earlier version, which this one does not read.", instead)


def check_known(what: str, name: object, known: Collection[str], kind: type[DemoError] = SettingError) -> None:
    """Raises an error of this kind where ``name`` is none of the ``known`` names: all of them, and the one that is meant."""
    if not isinstance(name, str) or name not in known:
        message = f"The {what} is one of {', '.join(known)}; got {str(name)[:60]!r}."
        raise kind(message, did_you_mean(name, known))
