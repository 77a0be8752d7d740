"""Where the files beside the code are: at the top of the repository, or inside the installed package."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rita_demo.records.errors import DataError

_PACKAGE = Path(__file__).resolve().parents[1]
#: The folder that holds ``app.py``, ``assets`` and ``docs/teaching.md``.
HOME = _PACKAGE if (_PACKAGE / "assets").is_dir() else _PACKAGE.parent
ASSETS = HOME / "assets"


@contextmanager
def reading_asset(title: str, place: str) -> Iterator[None]:
    """Whatever goes wrong while the file at ``place`` in :data:`ASSETS` is read is one sentence. Raises DataError."""
    try:
        yield
    except Exception as error:  # what numpy, zipfile and json raise
        raise DataError(f"{title} cannot be read.", f"Restore assets/{place}.") from error
