"""What the wheel has beside the package, inside it (rita_demo/process/assets.py): ``assets``, ``app.py``, the lecture."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BesideThePackage(BuildHookInterface):
    """An editable install uses them where they lie, at the top of the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            for name in ("assets", "app.py", "docs/teaching.md"):
                build_data["force_include"][name] = f"rita_demo/{name}"
