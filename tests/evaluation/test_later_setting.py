"""Run folders from before a setting existed: found, opened and resumed with the same hashes."""

from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.page.streams import DataFolders, request_for
from rita_demo.evaluation.report.results import ablation_points, result_rows
from rita_demo.evaluation.store.stream_runs import stream_runs
from rita_demo.settings import RECOMMENDED
from tests.evaluation.conftest import cells

#: With these, views, attacked squares, tuned prompts and a memory are stored, and an attack through the defence.
ASKED = ("--attack", "none,pgd,adaptive", "--limit", "2", "--set", "adaptive.steps=1", "--set", "attack_views=2")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, run_evaluate) -> Path:
    return run_evaluate(tmp_path_factory.mktemp("before") / "runs", *ASKED)


@pytest.mark.parametrize("group", ["attack", "views", "prompts", "cache", "transport", "tuning", "baselines"])
def test_a_run_folder_goes_on_as_it_began(stored, command_line, nothing_encoded, add_setting, group, capsys) -> None:
    before, name = cells(stored), add_setting(group, before=0.0)
    nothing_encoded()
    assert cli.main(command_line(stored, *ASKED, "--set", f"{name}=0")) == 0
    assert "0 of them new" in capsys.readouterr().out
    assert cells(stored) == before


def test_tables_points_and_streams_read_a_folder_from_before(stored: Path, add_setting) -> None:
    rows, streams = result_rows(stored), stream_runs(stored.parent)
    name = add_setting("views", before=0.0)
    assert [(row.settings, row.accuracy) for row in result_rows(stored)] == [(r.settings, r.accuracy) for r in rows]
    assert {f"{name}=0.0" in row.non_default for row in result_rows(stored) if row.method == "rita"} == {True}
    assert {p.settings[name] for p in ablation_points(stored) if p.cell.method == "rita"} == {0.0}
    again = stream_runs(stored.parent)
    assert [one.cells for one in again] == [one.cells for one in streams]
    assert {getattr(one.header.requested, name) for one in again} == {0.0}


def test_the_page_finds_its_streams_from_before(data_root: Path, tmp_path: Path, add_setting) -> None:
    def out(**changes: float) -> Path:
        asked = {"dataset": "caltech101", "traffic": "mixed", "order": "random", "seed": 0, "pictures": 5}
        return request_for(DataFolders(data_root, tmp_path), RECOMMENDED.replace(**changes), "embedded", **asked).out

    before, name = out(), add_setting("transport")
    assert out() == before
    assert out(**{name: 0.2}) != before
