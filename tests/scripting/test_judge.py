"""``judge``: a verdict that follows from the rows, and what may go wrong with somebody's own defence."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

from rita_demo import judge, load_runs
from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.records.intervals import wilson
from rita_demo.scripting.judge import outcome
from tests.conftest import forget_plugins
from tests.oracles.judge import verdict

HEAD = "import torch\nfrom rita_demo.defences.contract import Defence, verdict_of\ndef mine(inputs):\n"
CLIP = "    return verdict_of((inputs.views[0] @ inputs.template_features.T / inputs.temperature).softmax(-1))\n"
CONSTANT = "    return verdict_of(torch.eye(len(inputs.template_features))[0])\n"
FAILS = "    if inputs.draw_views(1).mean() > 0.6:  # the crabs\n        raise ValueError('not this one')\n" + CLIP
TAIL = 'Mine = Defence(name="mine", title="Mine & <script>co", sentence="A test.", answer=mine, reads_pixels=True)\n'
SETTINGS = {"views": 4, "attack_views": 2, "tuning_steps": 0}


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    yield
    forget_plugins()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four classes of two noisy pictures."""
    root = tmp_path_factory.mktemp("data")
    for label, name in enumerate(("cat", "dog", "cup", "crab")):
        for number in range(2):
            path = root / "toys" / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            noise = np.random.default_rng([label, number]).normal(60 * label, 40, (48, 48, 3))
            path.write_bytes(png_bytes(np.clip(noise, 0, 255).astype(np.uint8)))
    return root


@pytest.fixture
def judged(data: Path, tiny_model_dir: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The judgement of a defence with this body, of the tiny model."""

    def run(body: str, **more: Any) -> dict[str, Any]:
        file = tmp_path / "mine.py"
        file.write_text(HEAD + body + TAIL)
        given = {"dataset": "toys", "split": "all", "data_root": data, "settings": SETTINGS, "limit": 4}
        given["out"] = tmp_path / "judged"
        return judge(f"{file}:Mine", **{"quick": True, "backbone": f"local-dir:{tiny_model_dir}", **given, **more})

    return run


def model_of(result: dict[str, Any]) -> dict[str, Any]:
    (model,) = result["models"].values()
    return model


@pytest.mark.slow
def test_clip_itself_gains_nothing_and_the_numbers_are_those_of_the_rows(judged, tmp_path) -> None:
    steps: list[str] = []
    result = judged(CLIP, report=steps.append)
    model = model_of(result)
    assert model["outcome"] == "no gain shows"
    assert model["shares"]["mine"] == model["shares"]["clip"]
    assert model["tests"]["clip"] == {"gained": 0, "lost": 0, "p": 1.0}
    quick = "Mine & <script>co, at a quick look, which is no judgement: no gain shows on local-dir"
    assert result["verdict"].startswith(quick)
    assert json.loads((tmp_path / "judged/judge.json").read_text()) == result
    assert (result["limit"], result["settings"]["views"]) == (4, 4)
    page = (tmp_path / "judged/judge.html").read_text()
    assert "RITA is judged without its memory." in page
    for text in (result["rule"], "Mine & <script>co", model["masking"], result["latex"]):
        assert escape(text) in page
    assert "http" not in page.partition("<body>")[2]
    assert page.count("<script") == 1
    rows = load_runs(*tmp_path.glob("judged/rows/*"))
    assert set(rows["method"]) == {"mine", "clip", "ensemble", "rita", "dbd"}
    for (method, attack), found in rows.groupby(["method", "attack"]):
        low, high = wilson(int(found["right"].sum()), len(found))
        expected = {"percent": 100 * found["right"].mean(), "low": 100 * low, "high": 100 * high, "n": 4}
        assert model["shares"][method][attack] == pytest.approx(expected)
    assert any("100 %" in one for one in steps)


@pytest.mark.slow
def test_pictures_without_an_answer_are_counted_and_left_out(judged) -> None:
    with pytest.warns(UserWarning, match=r"no answer to 1 of 4 pictures .*mine.py, line 5: ValueError"):
        model = model_of(judged(FAILS))
    assert {one["n"] for one in model["shares"]["mine"].values()} == {3}
    assert model["shares"]["rita"]["pgd"]["n"] == 4
    assert "and 1 without an answer are left out" in model["said"]


@pytest.mark.slow
def test_a_defence_without_a_gradient_is_attacked_by_queries(judged) -> None:
    with pytest.warns(UserWarning, match="no answer to 4 of 4 pictures of toys under adaptive"):
        model = model_of(judged(CONSTANT))
    assert {(one["percent"], one["n"]) for one in model["shares"]["mine"].values()} == {(25.0, 4)}
    assert model["outcome"] == "no gain shows"
    sentence = "attacked by queries as it gives no gradient; so few pictures cannot show a gain (p is at least 0.12"
    assert sentence in model["said"]
    assert model["masking"] == "Signs of masking: not checked."


@pytest.mark.slow
def test_the_terminal_ends_with_the_verdict(data: Path, tiny_model_dir: Path, tmp_path: Path, capsys) -> None:
    (tmp_path / "mine.py").write_text(HEAD + CLIP + TAIL)
    words = [f"{tmp_path}/mine.py:Mine", "--quick", "--dataset", "toys", "--split", "all", "--data-root", str(data)]
    words += ["--backbone", f"local-dir:{tiny_model_dir}", "--limit", "4", "--out", str(tmp_path / "judged")]
    words += [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    assert cli.main(["judge", *words]) == 0
    printed = capsys.readouterr()
    written = json.loads((tmp_path / "judged/judge.json").read_text())
    assert written["verdict"] in printed.out
    assert (written["limit"], written["seeds"], written["settings"]["views"]) == (4, [0], 4)
    assert cli.main(["judge", *words]) == 0
    assert f"{len(load_runs(*tmp_path.glob('judged/rows/*')))} rows were found" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_and_called_again_it_ends_with_the_same_files(judged, data, tiny_model_dir, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + CLIP + TAIL)
    given = {"dataset": "toys", "split": "all", "data_root": str(data), "settings": SETTINGS, "limit": 4}
    given |= {"quick": True, "backbone": f"local-dir:{tiny_model_dir}", "out": str(tmp_path / "killed")}
    code = f"from rita_demo import judge\njudge({f'{tmp_path}/mine.py:Mine'!r}, report=lambda s: print(s, flush=True), **{given!r})"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()) as process:
        assert process.stdout is not None
        for _ in range(5):  # in the middle of the first attacker
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "killed/judge.json").exists()
    time.sleep(0.1)
    again = judged(CLIP, out=tmp_path / "killed")
    assert again == judged(CLIP, out=tmp_path / "whole")
    texts = [(tmp_path / name / "judge.json").read_bytes() for name in ("killed", "whole")]
    assert texts[0] == texts[1]


@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_a_whole_judgement_looks_for_signs_of_masking(judged) -> None:
    result = judged(CLIP, quick=False, limit=2, settings=SETTINGS | {"adaptive.queries": 20})
    model = model_of(result)
    assert list(model["shares"]["mine"]) == ["none", "adaptive", "pgd", "reverse", "autoattack", "all"]
    assert "Not checked" not in model["masking"]
    assert result["latex"].count("--") == 6
    assert "quick" not in result["verdict"]


@pytest.mark.slow
def test_the_verdict_is_the_rule_word_for_word() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        chances = {name: rng.choice([0.3, high]) for name, high in (("mine", 0.95), ("clip", 0.9), ("ensemble", 0.9))}
        rows = [
            {"method": method, "attack": attack, "picture": f"{number}.png", "right": bool(rng.random() < chance)}
            for number in range(14)
            for method, chance in (chances | {"rita": 0.5}).items()
            for attack in ("none", "pgd", "adaptive")
            for _ in range(1 if attack == "none" else int(rng.integers(1, 3)))
            if rng.random() > 0.01
        ]
        for masked in (False, True):
            words, kept, _ = outcome(pd.DataFrame(rows), "mine", 0.05, masked)
            expected, pictures = verdict(rows, "mine", 0.05, masked)
            assert words.startswith(expected), seed
            assert kept.to_dict("index") == {
                name: {method: float(share) for method, share in row.items()} for name, row in pictures.items()
            }
