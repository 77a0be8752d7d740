"""``serve`` and ``open`` from a terminal; the page itself is not started here (tests/e2e/test_page.py does)."""

import types
import zipfile
from pathlib import Path

import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.cli import main as cli
from rita_demo.cli import serve
from rita_demo.defences.registry import compared, default_methods
from rita_demo.pipeline import bundle_read, export
from tests.conftest import forget_plugins
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


@pytest.fixture
def serve_calls(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What ``app.serve`` was asked for."""
    calls: list[dict] = []
    app = types.SimpleNamespace(serve=lambda **options: calls.append(options) or 0)
    monkeypatch.setattr(serve, "load_app", lambda: app)
    return calls


def test_open_reads_the_run_and_serves_it(serve_calls: list[dict], tmp_path: Path) -> None:
    run, path = completed_run(ToyEngine()), tmp_path / "run.zip"
    path.write_bytes(export.write_bundle(run, "page"))
    assert cli.main(["open", str(path), "--port", "9000", "--backbone", "A:b"]) == 0
    (asked,) = serve_calls
    assert (asked["port"], asked["backbone"]) == (9000, "A:b")
    assert asked["run"] == bundle_read.read(path.read_bytes())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.zip"]  # nothing was unpacked


def test_a_bad_file_exits_with_1_and_one_line(serve_calls, tmp_path, capsys) -> None:
    no_zip, no_run = tmp_path / "no.zip", tmp_path / "other.zip"
    no_zip.write_bytes(b"hello")
    with zipfile.ZipFile(no_run, "w") as file:
        file.writestr("../evil", b"x")
    for path, sentence in (
        (tmp_path / "gone.zip", "'gone.zip' cannot be read"),
        (tmp_path, "cannot be read"),
        (no_zip, "not a zip file"),
        (no_run, "run.zip is missing"),
    ):
        assert cli.main(["open", str(path)]) == 1
        out, err = capsys.readouterr()
        assert sentence in err
        assert (out, err.count("\n")) == ("", 1)
    assert serve_calls == []


OWN = """
def lowest(inputs):
    return (inputs.views[0] @ inputs.template_features.T / inputs.temperature).softmax(-1)


def still(pixels, gradient, step_size):
    return pixels
"""


@pytest.mark.usefixtures("no_plugins_afterwards")
def test_own_methods_and_attacks_are_on_the_page_beside_the_others(serve_calls, tmp_path, capsys) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    file = f"{tmp_path}/mine.py"
    assert cli.main(["serve", "--methods", f"clip,{file}:lowest", "--attack", f"pgd,{file}:still"]) == 0
    assert compared()[-1] == "lowest"
    assert list(ATTACKS)[-1] == "still"
    assert len(serve_calls) == 1
    forget_plugins()
    path = tmp_path / "run.zip"
    path.write_bytes(export.write_bundle(completed_run(ToyEngine()), "page"))
    assert cli.main(["open", str(path), "--methods", f"{file}:lowest"]) == 0
    assert "lowest" in default_methods()
    for words, sentence in (("--methods nobody", "no method 'nobody'"), ("--attack nothing", "attack is one of")):
        assert cli.main(["serve", *words.split()]) == 2
        assert sentence in capsys.readouterr().err
    assert len(serve_calls) == 2
    assert cli.main(["serve", "--methods", f"{file}:gone"]) == 1
    assert "mine.py defines no gone" in capsys.readouterr().err
