"""What makes the project citable and usable elsewhere: CITATION.cff, CHANGELOG.md, the model card's front matter."""

from pathlib import Path

import yaml

import rita_demo

ROOT = Path(__file__).resolve().parents[1]


def test_the_citation_has_what_its_format_requires_and_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == rita_demo.__version__
    assert cited["type"] == "software"
    assert cited["message"]
    (paper,) = cited["references"]
    for one in (cited, paper):
        assert one["title"]
        assert all(set(author) == {"name"} for author in one["authors"])
    assert "RITA" in paper["title"]


def test_the_newest_version_of_the_changelog_is_this_one() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    newest = next(line for line in text.splitlines() if line.startswith("## "))
    assert newest.split()[1] == rita_demo.__version__


def test_the_model_card_has_metadata() -> None:
    _, front, body = (ROOT / "assets" / "model" / "README.md").read_text("utf-8").split("---\n", 2)
    said = yaml.safe_load(front)
    assert said["library_name"] == "open_clip"
    assert said["license"] == "other"
    assert said["license_name"]
    assert said["pipeline_tag"] == "zero-shot-image-classification"
    assert {"caltech101", "dtd"} <= set(said["datasets"])
    assert body.lstrip().startswith("# ")


def test_a_plain_clone_has_the_model_and_no_pointer() -> None:
    assert "filter=lfs" not in (ROOT / ".gitattributes").read_text("utf-8")
    for file in (ROOT / "assets" / "model").glob("*.safetensors"):
        assert not file.read_bytes().startswith(b"version https://git-lfs")
