"""Downloads from a local server that speaks the hub's protocol, by the hub's own client: slow, cut, stopped and damaged."""

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.torch import save

from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.records.errors import BackboneError
from rita_demo.vlm import hub_download
from rita_demo.vlm.catalogue import hub_files, model_status
from rita_demo.vlm.hub_download import HubProgress, Stopped, fetch, progress_of, stop
from rita_demo.vlm.registry import load
from tests.live_server import wait_until
from tests.vlm.hub import only_hub, random_model, shrink
from tools.stand_in_hub import Faults, StandInHub

MODEL = "ViT-B-32-quickgelu:openai"
REPOSITORY, NAMES = hub_files("timm/vit_base_patch32_clip_224.openai/")
CONTENT = bytes(range(256)) * 4096  # 1 MB


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    with only_hub(f"{REPOSITORY}/{NAMES[0]}", CONTENT, tmp_path, monkeypatch) as server:
        yield server


@pytest.fixture
def seen() -> Iterator[list[HubProgress]]:
    """Every progress that a terminal would show."""
    found: list[HubProgress] = []
    before = hub_download.LISTENERS[:]
    hub_download.LISTENERS[:] = [found.append]
    yield found
    hub_download.LISTENERS[:] = before


def left_behind(tmp_path: Path) -> list[str]:
    """The files in the cache that are weights or a part of them."""
    return [path.name for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.stat().st_size > 1000]


def test_a_slow_download_says_megabytes_share_and_time_left(hub, seen) -> None:
    hub.faults = Faults(bytes_per_second=600_000)
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    assert [at.done for at in seen] == sorted(at.done for at in seen)
    assert seen[-1].done == seen[-1].total == len(CONTENT)
    late = next(at for at in seen if at.seconds > 1)
    assert late.sentence.startswith(f"Downloading {MODEL}: 1 of 1 MB (")
    assert late.sentence.endswith(("0:00:01 left", "0:00:00 left"))
    assert progress_of(MODEL) is None, "it is over"
    assert HubProgress("x", 30_000_000, 120_000_000, 10).sentence == (
        "Downloading x: 30 of 120 MB (25%), 3.0 MB per second, 0:00:30 left"
    )
    assert HubProgress("x", 3_000_000, 0, 10).sentence == "Downloading x: 3 MB"


def test_a_connection_that_breaks_is_resumed_where_it_broke(hub, seen) -> None:
    hub.faults = Faults(cut=400_000)
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    starts = [int(text.removeprefix("bytes=").rstrip("-") or 0) for text in hub.ranges]
    assert len(starts) == 3
    assert starts[0] == 0 < starts[1] < starts[2]
    assert seen[-1].done == len(CONTENT)


def test_a_download_can_be_stopped_from_another_thread_and_started_again(hub, tmp_path) -> None:
    hub.faults = Faults(bytes_per_second=300_000)
    failed: list[Exception] = []

    def work() -> None:
        try:
            fetch(REPOSITORY, NAMES, MODEL)
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not ((at := progress_of(MODEL)) and at.done):
        thread.join(0.02)
        assert thread.is_alive()
    stop(MODEL)
    thread.join(10)
    assert isinstance(failed[0], Stopped)
    assert left_behind(tmp_path) == []
    hub.faults = Faults()
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT


def test_a_hub_that_offers_xet_is_asked_for_plain_content(hub, seen, monkeypatch) -> None:
    """Also where the client was imported before: the stand-in offers Xet with every file and does not have it."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", False)
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    assert seen[-1].done == len(CONTENT)


def test_a_download_whose_process_is_killed_starts_anew_and_hf_deletes_its_part(hub, tmp_path) -> None:
    """As docs/command-line.md says. Where the client has learned to go on, the page has to say so."""
    hub.faults = Faults(bytes_per_second=100_000)
    code = f"from rita_demo.vlm.hub_download import fetch; fetch({REPOSITORY!r}, {NAMES!r}, {MODEL!r})"
    cache = tmp_path / "cache"
    places = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path), "HF_HUB_CACHE": str(cache)}
    environment = os.environ | places | {"HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_UPDATE_CHECK": "1"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment) as process:
        assert wait_until(lambda: hub.ranges and list(cache.rglob("*.incomplete")), seconds=60)
        process.kill()
    hub.faults = Faults()
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    assert hub.ranges == ["", ""]
    assert len(list(cache.rglob("*.incomplete"))) == 1
    words = [Path(sys.executable).with_name("hf"), "cache", "prune", "--yes"]
    subprocess.run(words, env=environment, check=True, capture_output=True)
    assert list(cache.rglob("*.incomplete")) == []
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    assert len(hub.ranges) == 2, "the weights are still in the cache"


def test_weights_with_another_checksum_are_deleted_and_fetched_anew(hub, tmp_path) -> None:
    hub.faults = Faults(damaged=True)
    with pytest.raises(BackboneError, match=r"checksum is another one\. They were deleted"):
        fetch(REPOSITORY, NAMES, MODEL)
    assert left_behind(tmp_path) == []
    hub.faults = Faults()
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT
    hub.faults = Faults(damaged=True)
    assert fetch(REPOSITORY, NAMES, MODEL).read_bytes() == CONTENT, "from the cache"


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (
            Faults(web_page=True),
            "what answers in the hub's place is not a model hub, but perhaps the web page of a proxy",
        ),
        (Faults(web_page_in_content=True), "is not the file .* it has another size. It may be the web page of a proxy"),
        (Faults(status=503), "The hub answers 503"),
        (Faults(status=401), "The hub answers 401"),
        (Faults(status=404), "no weights|answers 404"),
    ],
)
def test_an_answer_that_is_not_the_file_is_a_sentence(hub, tmp_path, faults: Faults, said: str) -> None:
    hub.faults = faults
    with pytest.raises(BackboneError, match=said):
        fetch(REPOSITORY, NAMES, MODEL)
    assert left_behind(tmp_path) == []


def test_the_second_file_is_taken_where_the_hub_lacks_the_first(hub) -> None:
    hub.files = {f"{REPOSITORY}/{NAMES[1]}": path for path in hub.files.values()}
    hub.checksums = {f"{REPOSITORY}/{NAMES[1]}": checksum for checksum in hub.checksums.values()}
    assert fetch(REPOSITORY, NAMES, MODEL).name == NAMES[1]


def test_a_hub_that_is_not_there_is_a_sentence(hub) -> None:
    hub.server_close()
    with pytest.raises(
        BackboneError, match="not on this machine and could not be downloaded: the hub cannot be reached"
    ):
        fetch(REPOSITORY, NAMES, MODEL)


@pytest.mark.parametrize("before", [True, False])
def test_a_full_disk_is_a_sentence(hub, monkeypatch, recwarn, before: bool) -> None:
    """Seen before the first byte, or while it is written."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if before:
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    else:
        monkeypatch.setattr("huggingface_hub.file_download._chmod_and_move", full)
    with pytest.raises(BackboneError, match="do not fit on the disk of the model cache") as caught:
        fetch(REPOSITORY, NAMES, MODEL)
    assert ("1 MB are needed and 0 MB are free" in str(caught.value)) == before
    assert not [one for one in recwarn if "disk space" in str(one.message)], "it is said once"


def test_the_command_line_downloads_a_model_with_progress_and_finds_it_again(
    hub, tmp_path, monkeypatch, capsys
) -> None:
    model = random_model(shrink(monkeypatch, "ViT-B-32-quickgelu"), seed=0)
    served = next(iter(hub.files.values()))
    served.write_bytes(save(model.state_dict()))
    hub.checksums = StandInHub(hub.files).checksums
    picture = tmp_path / "picture.png"
    picture.write_bytes(png_bytes(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)))
    words = ["explain", str(picture), "--classes", "cat,dog", "--attack", "none", "--backbone", MODEL]
    assert cli.main([*words, "--set", "views=4"]) == 0
    assert f"Downloading {MODEL}: " in capsys.readouterr().err
    assert {row.name: row.ready for row in model_status()}[MODEL]
    hub.faults = Faults(status=503)
    assert load(MODEL, "cpu", "float32").info.name == MODEL
    hub.faults = Faults(web_page=True)
    assert cli.main(["explain", *words[1:-1], "RN50-quickgelu:openai"]) == 1
    assert "web page of a proxy" in capsys.readouterr().err
