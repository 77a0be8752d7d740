"""The code blocks of docs/extending.md."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


def code_blocks(heading: str) -> list[str]:
    """The fenced code blocks below ``## heading``, in order; at least one."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert section, f"docs/extending.md has no section {heading!r}"
    blocks = re.findall(r"^```\w*\n(.*?)^```", section[1], re.M | re.S)
    assert blocks, f"the section {heading!r} has no code block"
    return blocks
