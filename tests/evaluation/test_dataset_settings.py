"""The preset ``paper`` per dataset: AugMix and C-TPT's weight, unless they are set explicitly."""

from argparse import Namespace
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.cli.evaluate import request_of
from rita_demo.cli.explain import settings_of
from rita_demo.evaluation.dataset_settings import dataset_defaults, settings_for
from rita_demo.evaluation.request import Request
from rita_demo.settings import PAPER
from tests.data.test_datasets import CONTRACT
from tests.evaluation.conftest import headers

IMAGENET = ("imagenet", "imagenet_a", "imagenet_v2", "imagenet_r", "imagenet_sketch")


def parse_request(*more: str) -> Request:
    words = ["evaluate", "--dataset", "dtd,imagenet_a", "--methods", "ctpt", "--attack", "none"]
    words += ["--budget", "1", "--out", "unused", *more]
    return request_of(cli.build_parser().parse_args(words))


def values(request: Request, dataset: str) -> set[tuple[bool, float]]:
    return {(p.subset_size, p.ctpt_weight) for p in settings_for(request, dataset).points}


@pytest.mark.parametrize("name", [*CONTRACT, "a/folder of mine", "imagenet_r:present"])
def test_imagenet_and_its_variants_have_their_own_values(name: str) -> None:
    base = name.partition(":")[0]
    fewer = base in ("eurosat", "imagenet_a", "imagenet_r", "imagenet_sketch")
    wanted = (32 if fewer else 64, 20.0 if base in IMAGENET else 50.0)
    assert values(parse_request("--preset", "paper"), name) == {wanted}
    assert {p.descriptions for p in settings_for(parse_request("--preset", "paper"), name).points} == {
        "none" if fewer else "built_in"
    }
    assert values(parse_request(), name) == {(64, 50.0)}  # recommended


def test_explicit_settings_override_the_preset() -> None:
    explicit = parse_request("--preset", "paper", "--set", "subset_size=64", "--sweep", "ctpt_weight=5,50")
    assert values(explicit, "imagenet_a") == {(64, 5.0), (64, 50.0)}
    half = parse_request("--preset", "paper", "--set", "ctpt_weight=50")  # the preset's value, but explicit
    assert values(half, "imagenet_r") == {(32, 50.0)}
    assert dataset_defaults(half, "imagenet_r") == {"subset_size": 32, "descriptions": "none"}
    assert dataset_defaults(parse_request(), "imagenet") == {}


def test_explain_has_the_values_of_the_chosen_vocabulary() -> None:
    def settings(*more: str) -> tuple[bool, float]:
        words = ["explain", "x.png", "--preset", "paper", *more]
        args: Namespace = cli.build_parser().parse_args(words)
        found = settings_of(args)
        return found.subset_size, found.ctpt_weight

    assert settings("--vocabulary", "imagenet") == (64, 20.0)
    assert settings("--vocabulary", "imagenet", "--set", "subset_size=16") == (16, 20.0)
    assert settings("--vocabulary", "dtd") == (64, 50.0)
    assert settings("--classes", "a,b") == (PAPER.subset_size, PAPER.ctpt_weight)


def test_dataset_values_are_in_the_header_and_the_output(command_line, data_root: Path, tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    folder, pictures = tmp_path / "imagenet-adversarial", []
    for label, name in enumerate(("cat", "dog")):
        place = folder / f"imagenet-a/n{label}"
        place.mkdir(parents=True)
        source = data_root / "caltech-101/101_ObjectCategories" / name / "0.png"
        (place / "0.png").write_bytes(source.read_bytes())
        pictures.append(f"n{label} {name}\n")
    (folder / "classnames.txt").write_text("".join(pictures))
    out = tmp_path / "runs"
    more = ["--data-root", str(tmp_path), "--dataset", "imagenet_a", "--split", "test"]
    more += ["--methods", "ctpt", "--attack", "none", "--preset", "paper"]
    assert cli.main(command_line(out, *more)) == 0
    said = capsys.readouterr().out
    assert "imagenet_a, as in the paper: ctpt_weight=20.0, descriptions=none, subset_size=32" in said
    (header,) = headers(out)
    assert (header["knobs"]["subset_size"], header["knobs"]["ctpt_weight"]) == (32, 20.0)
    assert cli.main(command_line(out, *more, "--set", "ctpt_weight=50")) == 0
    found = [header["knobs"] for header in headers(out)]
    assert {settings["ctpt_weight"] for settings in found} == {20.0, 50.0}
    assert {settings["subset_size"] for settings in found} == {32}
