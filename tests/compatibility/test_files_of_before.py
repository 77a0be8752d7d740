"""What was written before is refused by a sentence and left as it is; commands and links mean what they meant.

Version 0.1.0 wrote ``before/`` at commit 295c8ab: a cell of ``evaluate --dataset textures --split val --limit 3 --methods
clip --attack none --budget 4 --set views=8``, a saved run with a memory of one picture (its page is left out), that memory
exported, the query of a shared link, and the commands of README and docs."""

import shlex
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from rita_demo.cli import main as cli
from rita_demo.data import memory_file
from rita_demo.data.record_file import FileError
from rita_demo.pipeline.bundle_read import read_file
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session.share_link import parse_link

BEFORE = Path(__file__).parent / "before"
EARLIER = "was made by an earlier version, which this one does not read."
RUN = "evaluate --dataset textures --split val --limit 1 --methods clip --attack none --budget 4 --out"


@pytest.mark.parametrize("command", [RUN, "tables", "compare --method clip", "figures --all --out figures"])
def test_a_run_folder_is_refused_and_stays_as_it_is(command, tmp_path, capsys, monkeypatch) -> None:
    with pytest.raises(FileError, match=f"This saved run {EARLIER} Run its picture again and save that."):
        read_file(BEFORE / "saved-run.zip")


def test_an_exported_memory_is_refused() -> None:
    data = memory_file.read_file(BEFORE / "memory.safetensors")
    with pytest.raises(FileError, match=f"This memory {EARLIER} Export it again on the page."):
        memory_file.unpack(data, None, "embedded", 512)


def test_a_link_asks_for_what_it_asked_for() -> None:
    link = parse_link(dict(parse_qsl((BEFORE / "link.txt").read_text().strip(), keep_blank_values=True)))
    assert link is not None
    assert (link.sample, link.form["own_names"]) == ("motorcycle", "motorbike,crab,piano")
    assert link.form["attack"] != "none"
    assert (link.form["budget"], link.form["views"], link.form["steps"]) == (7, 16, RECOMMENDED.steps)
    assert link.selection == {"k": 2, "view": 5, "atom": 1, "step": 3}


@pytest.mark.parametrize("line", (BEFORE / "commands.txt").read_text().splitlines())
def test_a_command_line_is_understood(line: str) -> None:
    assert callable(cli.build_parser().parse_args(shlex.split(line)).run)
