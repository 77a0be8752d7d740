"""What the page shows from stored files when they are missing or damaged."""

from pathlib import Path
from types import ModuleType

import pytest

from rita_demo.pipeline import arena_file, example, story
from rita_demo.records.errors import DataError


@pytest.mark.parametrize("data", [None, b"", b"{}", b"[1]", b"PK\x03\x04" + bytes(40)])
@pytest.mark.parametrize("module", [arena_file, example, story])
def test_a_missing_or_broken_file_is_an_error_message(
    module: ModuleType, data: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STORED", tmp_path / "stored")
    if data is not None:
        module.STORED.write_bytes(data)
    with pytest.raises(DataError, match="Restore assets/"):
        getattr(module.stored, "__wrapped__", module.stored)()  # where it is kept, past what was read before
