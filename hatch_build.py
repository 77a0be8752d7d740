"""What the wheel has beside the package: ``assets`` and ``app.py``, inside it (rita_demo/process/assets.py)."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BesideThePackage(BuildHookInterface):
    """An editable install uses them where they lie, at the top of the repository."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"] |= {"assets": "rita_demo/assets", "app.py": "rita_demo/app.py"}
