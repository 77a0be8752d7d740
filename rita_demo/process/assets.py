"""Where the files beside the code are: at the top of the repository, or inside the installed package."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
#: The folder that holds ``app.py`` and ``assets``.
HOME = _PACKAGE if (_PACKAGE / "assets").is_dir() else _PACKAGE.parent
ASSETS = HOME / "assets"
