"""What is known of the embedded model before it is loaded."""

from dataclasses import replace

import pytest

from rita_demo import Engine
from rita_demo.engine import loading


def test_the_embedded_model_is_as_its_files_say() -> None:
    known, found = loading.embedded_info(), Engine("embedded").info
    assert known is not None
    assert known == replace(found, device="", precision="", logit_scale=known.logit_scale)


@pytest.mark.parametrize("file", ["open_clip_config.json", "open_clip_model.safetensors"])
def test_an_incomplete_folder_is_left_to_the_loader(file: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in loading.EMBEDDED_DIR.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(loading, "EMBEDDED_DIR", tmp_path)
    assert loading.embedded_info() is not None
    cut = (tmp_path / file).read_bytes()[:-1000] if file.endswith("safetensors") else b"{"
    (tmp_path / file).unlink()
    (tmp_path / file).write_bytes(cut)
    assert loading.embedded_info() is None
