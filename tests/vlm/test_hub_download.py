"""Downloads from a local server that speaks the hub's protocol, by the hub's own client: cut and damaged."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.catalogue import hub_files
from rita_demo.vlm.hub_download import STOPPED, fetch
from tests.vlm.hub import Faults, StandInHub, only_hub

MODEL = "ViT-B-32-quickgelu:openai"
REPOSITORY, NAMES = hub_files("timm/vit_base_patch32_clip_224.openai/")
CONTENT = bytes(range(256)) * 4096  # 1 MB


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    STOPPED.clear()  # of the tests of the page
    with only_hub(f"{REPOSITORY}/{NAMES[0]}", CONTENT, tmp_path, monkeypatch) as server:
        yield server


def left_behind(tmp_path: Path) -> list[str]:
    """The files in the cache that are weights or a part of them."""
    return [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size > 1000]


@pytest.mark.slow
def test_a_connection_that_breaks_is_resumed_where_it_broke(hub) -> None:
    hub.faults = Faults(cut=400_000)
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    starts = [int(text.removeprefix("bytes=").rstrip("-") or 0) for text in hub.ranges]
    assert len(starts) == 3
    assert starts[0] == 0 < starts[1] < starts[2]


def test_a_hub_that_offers_xet_is_asked_for_plain_content(hub, monkeypatch) -> None:
    """Also where the client was imported before: the stand-in offers Xet with every file and does not have it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def ready(*_: object) -> None:
    """Nothing to prepare."""


Break = Callable[[StandInHub, pytest.MonkeyPatch], object]
WRONG: dict[str, tuple[Faults, Break, str]] = {
    "damaged": (Faults(damaged=True), ready, r"their checksum is not the one .* They were deleted\."),
    "web page": (Faults(web_page=True), ready, "not a model hub, but perhaps the web page of a proxy"),
    "busy": (Faults(status=503), ready, "the hub answers 503"),
    "no file": (Faults(), lambda hub, patch: setattr(hub, "files", {f"{REPOSITORY}/x": Path()}), "the hub has none in"),
    "gone": (Faults(), lambda hub, patch: hub.server_close(), "the hub cannot be reached"),
    "full disk": (
        Faults(),
        lambda hub, patch: patch.setattr("huggingface_hub.file_download._chmod_and_move", full),
        "full",
    ),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_goes_wrong_is_a_sentence_and_the_next_try_begins_anew(hub, tmp_path, monkeypatch, kind: str) -> None:
    hub.faults, prepare, said = WRONG[kind]
    files = dict(hub.files)
    with monkeypatch.context() as patch:
        prepare(hub, patch)
        with pytest.raises(BackboneError, match=f"The weights of {MODEL} could not be downloaded: .*{said}") as caught:
            fetch(REPOSITORY, NAMES, MODEL)
        assert "use the embedded model" in caught.value.hint
    if kind != "full disk":  # its part stays until `hf cache prune`
        assert left_behind(tmp_path) == []
    hub.files, hub.faults = files, Faults()
    if kind != "gone":
        assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
        hub.faults = Faults(damaged=True)
        assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT, "from the cache"


def test_the_second_file_is_taken_where_the_hub_lacks_the_first(hub) -> None:
    hub.files = {f"{REPOSITORY}/{NAMES[1]}": path for path in hub.files.values()}
    hub.checksums = {f"{REPOSITORY}/{NAMES[1]}": checksum for checksum in hub.checksums.values()}
    assert fetch(REPOSITORY, NAMES, MODEL).name == NAMES[1]
