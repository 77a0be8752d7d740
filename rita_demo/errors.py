"""The only errors a visitor sees: one sentence on what happened, one on what to do.

Anything else that escapes is a bug of ours. The page and the command line print
``str(error)`` and nothing more, so a message never names a path of the machine
it did not get from the person reading it.
"""


class DemoError(Exception):
    """Something a person can put right.

    Args:
        message: what was expected and what came, one sentence.
        hint: what to do next, one sentence; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class PictureError(DemoError):
    """The file is not a picture we can use."""


class VocabularyError(DemoError):
    """The class names cannot be used."""


class SettingError(DemoError):
    """A setting is unknown or outside its range."""


class BackboneError(DemoError):
    """The model cannot be loaded or does not fit."""


class DataError(DemoError):
    """A dataset or one of its files is missing or malformed."""
