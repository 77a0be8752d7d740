"""What docs/python.md says of the files, so that tests can compare it with them."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "python.md"
DOCUMENT = PAGE.read_text("utf-8").partition("## Units\n")[2]


def documented(heading: str) -> list[str]:
    """The names in the first column of the table below a heading, in order."""
    parts = re.split(r"^## ", DOCUMENT, flags=re.MULTILINE)
    (text,) = (part for part in parts if part.startswith(heading + "\n"))
    return re.findall(r"`([^`]+)`", "".join(re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)))


def example(number: int) -> str:
    """The numbered Python example, from 0."""
    return re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)[number]
