"""The preset ``paper`` per dataset and tower, unless a setting is given explicitly."""

import shutil
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.cli.evaluate import request_of
from rita_demo.cli.explain import run_request_of
from rita_demo.data.pictures import png_bytes
from rita_demo.evaluation.planned_cells import dataset_defaults, settings_for
from rita_demo.evaluation.report.cells import load_runs
from rita_demo.evaluation.request import Request
from rita_demo.settings import PAPER
from tests.data.test_datasets import CONTRACT
from tests.evaluation.conftest import headers
from tests.evaluation.frames import overview
from tests.textures import texture

LONG = "一只生活在海边岩石上的长着红色硬壳和一对巨大钳子的螃蟹它的颜色是鲜艳的"
IMAGENET = ("imagenet", "imagenet_a", "imagenet_v2", "imagenet_r", "imagenet_sketch")


def parse_request(*more: str) -> Request:
    words = ["evaluate", "--dataset", "dtd,imagenet_a", "--methods", "ctpt", "--attack", "none"]
    words += ["--budget", "1", "--out", "unused", *more]
    return request_of(cli.build_parser().parse_args(words))


def values(request: Request, dataset: str) -> set[tuple[bool, float]]:
    return {(p.subset_size, p.ctpt_weight) for p in settings_for(request, dataset).points}


#: Appendix B of the paper: |S| and the class descriptors, by dataset and tower; all others have 64 and all of them.
APPENDIX_B = {
    ("eurosat", "ViT-B/16"): (32, "none"),
    ("eurosat", "ViT-B/32"): (32, "built_in"),
    **{("imagenet_a", tower): (32, "built_in") for tower in ("ViT-B/16", "ViT-B/32", "RN50")},
    **{("imagenet_r", tower): (32, "built_in") for tower in ("ViT-B/16", "ViT-B/32", "RN50")},
    **{("imagenet_sketch", tower): (32, "none") for tower in ("ViT-B/16", "ViT-B/32", "RN50")},
}
TOWERS = {
    "ViT-B/16": ("ViT-B/16", "ViT-B-16-quickgelu:openai"),
    "ViT-B/32": ("ViT-B/32", "ViT-B-32-quickgelu:openai", "ViT-B-32-quickgelu:openai+tecoa.pt"),
    "RN50": ("RN50", "RN50-quickgelu:openai", "embedded", "EVA02-B-16:merged2b_s8b_b131k"),
}


@pytest.mark.parametrize(("tower", "backbone"), [(tower, name) for tower, names in TOWERS.items() for name in names])
@pytest.mark.parametrize("name", [*CONTRACT, "a/folder of mine", "imagenet_r:present", "eurosat:present"])
def test_the_preset_paper_is_appendix_b_to_the_letter(name: str, tower: str, backbone: str) -> None:
    base = name.partition(":")[0]
    size, descriptions = APPENDIX_B.get((base, tower), (64, "built_in"))
    request = parse_request("--preset", "paper", "--backbone", backbone)
    for point in settings_for(request, name).points:
        assert (point.subset_size, point.descriptions, point.views_augmix) == (size, descriptions, True)
        assert point.ctpt_weight == (20.0 if base in IMAGENET else 50.0), "its authors' value, not in the paper"
        given = {"attack": "none", "budget": 1, "protocol": point.protocol}
        assert point == PAPER.replace(**given, **dataset_defaults(request, name)), "nothing else differs"
    for point in settings_for(parse_request("--backbone", backbone), name).points:
        assert (point.subset_size, point.ctpt_weight, point.views_augmix) == (64, 50.0, False)


def test_explicit_settings_override_the_preset() -> None:
    explicit = parse_request("--preset", "paper", "--set", "subset_size=64", "--sweep", "ctpt_weight=5,50")
    assert values(explicit, "imagenet_a") == {(64, 5.0), (64, 50.0)}
    half = parse_request("--preset", "paper", "--set", "ctpt_weight=50")  # the preset's value, but explicit
    assert values(half, "imagenet_r") == {(32, 50.0)}
    assert dataset_defaults(half, "imagenet_r") == {"subset_size": 32}
    assert dataset_defaults(parse_request(), "imagenet") == {}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--vocabulary imagenet", (64, 20.0)),
        ("--vocabulary imagenet --set subset_size=16", (16, 20.0)),
        ("--vocabulary dtd", (64, 50.0)),
        ("--classes a,b", (PAPER.subset_size, PAPER.ctpt_weight)),
    ],
)
def test_explain_has_the_values_of_the_chosen_vocabulary(words: str, expected: tuple[int, float]) -> None:
    line = f"explain x.png --preset paper {words}"
    settings = run_request_of(cli.build_parser().parse_args(line.split())).settings
    assert (settings.subset_size, settings.ctpt_weight) == expected


def test_class_folders_that_are_cut_to_one_prompt_or_called_by_numbers_are_named(
    command_line, tmp_path, capsys
) -> None:
    def said(out: str, *folders: str):
        for name in folders:
            (tmp_path / out / "mine" / name).mkdir(parents=True)
            (tmp_path / out / "mine" / name / "0.png").write_bytes(png_bytes(texture("dotted", 1, 64)))
        if out == "named":
            (tmp_path / "named/mine/classnames.txt").write_text("1 rose\n2 cup\n")
        more = ["--data-root", str(tmp_path / out), "--dataset", "mine", "--split", "all", "--methods", "clip"]
        assert cli.main(command_line(tmp_path / out / "runs", *more, "--attack", "none", "--protocols", "off")) == 0
        return capsys.readouterr()

    cut = said("cut", "dotted", LONG + "红", LONG + "蓝").err
    assert cut.count("mine: The names “") == 1
    assert "are cut at 77 tokens, and their prompts are the same" in cut
    assert "are cut at" not in said("apart", "dotted", "red", LONG + "蓝").err
    assert said("numbers", "1", "2").err.count("mine: 2 class folders have a number and no name: 1, 2.") == 1
    named = said("named", "1", "2")
    assert named.out.count("mine: The class names are those of mine/classnames.txt.") == 1
    assert "no name" not in named.err
    assert [header.names for header in headers(tmp_path / "named/runs")] == [("rose", "cup")]
    assert set(load_runs(tmp_path / "named/runs")["label"]) == {"rose", "cup"}


def test_dataset_values_are_in_the_header_and_the_output(command_line, data_root: Path, tmp_path: Path, capsys) -> None:
    folder, out = tmp_path / "imagenet-adversarial", tmp_path / "runs"
    for label, name in enumerate(("cat", "dog")):
        (folder / f"imagenet-a/n{label}").mkdir(parents=True)
        source = data_root / "caltech-101/101_ObjectCategories" / name / "0.png"
        shutil.copy(source, folder / f"imagenet-a/n{label}/0.png")
    (folder / "classnames.txt").write_text("n0 cat\nn1 dog\n")
    more = ["--data-root", str(tmp_path), "--dataset", "imagenet_a", "--split", "test"]
    more += ["--methods", "ctpt", "--attack", "none", "--preset", "paper"]
    for changes, weights in (((), {20.0}), (("--set", "ctpt_weight=50"), {20.0, 50.0})):
        assert cli.main(command_line(out, *more, *changes)) == 0
        asked = [header.facts["requested"] for header in headers(out)]
        assert ({one["ctpt_weight"] for one in asked}, {one["subset_size"] for one in asked}) == (weights, {32})
    sentence = "imagenet_a, as in the paper: ctpt_weight=20.0, subset_size=32 (--set wins)."
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(("dataset", "described"), [("caltech101", False), ("dtd", True)])
def test_headers_and_tables_have_the_descriptions_that_were_used(run_evaluate, tmp_path, dataset, described) -> None:
    """The tiny Caltech101 has classes ("cat") without any; DTD's all have some."""
    more = ("--dataset", dataset, "--methods", "rita", "--attack", "none", "--protocols", "off", "--limit", "1")
    out = run_evaluate(tmp_path / "runs", *more, "--allow-partial")
    run_evaluate(out, *more, "--allow-partial", "--set", "descriptions=built_in")
    used = {header.facts["requested"]["descriptions"] for header in headers(out)}
    assert used == ({"built_in_mean", "built_in"} if described else {"none"})
    printed = overview(out)
    assert ("descriptions=built_in" in printed) == described
    assert ("There are no class descriptions for these classes." in printed) != described
