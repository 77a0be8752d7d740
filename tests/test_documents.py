"""The documents: their length, their lines, their links, and every command and code block in them."""

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from rita_demo.cli.main import build_parser
from tests.live_server import ROOT

PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY")),
    *(ROOT / "docs").glob("*.md"),
]
OTHERS = [ROOT / "tools" / "README.md", ROOT / "assets" / "model" / "README.md"]
TEXTS = {path: path.read_text("utf-8") for path in PAGES + OTHERS}
NAMES = {str(path.relative_to(ROOT)): path for path in TEXTS}
#: Shell: what is called, with its words, instead of calling it.
CALLED = "".join(
    f"{name}() {{ printf '%s\\t' {name} \"$@\"; echo; }}\n" for name in ("python", "make", "pip", "docker", "rita")
)


def blocks(path: Path, *languages: str) -> list[str]:
    return re.findall(rf"^```(?:{'|'.join(languages)})\n(.*?)^```", TEXTS[path], re.M | re.S)


def anchors(path: Path) -> set[str]:
    """The headings as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", TEXTS[path], flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_documents_have_140_kb_at_most_and_their_lines_160_characters() -> None:
    """A table row and a line with a link may be longer."""
    assert sum(len(TEXTS[path].encode()) for path in PAGES) <= 140 << 10
    lines = [(path.name, line) for path in PAGES for line in TEXTS[path].splitlines()]
    assert [one for one in lines if len(one[1]) > 160 and not one[1].startswith("|") and "](" not in one[1]] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    path, wrong = NAMES[name], []
    for file, anchor in re.findall(r"\]\((?!http)([^)#]*)(?:#([^)]*))?\)", TEXTS[path]):
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(f"{file}#{anchor}")
    assert wrong == []


def calls(path: Path) -> list[list[str]]:
    """The commands of a document's shell blocks, with their variables and loops, as bash would call them."""
    found = []
    for block in blocks(path, "sh", "bash"):
        text = CALLED + re.sub(r" > \S+", "", block)
        done = subprocess.run(["bash", "-c", text], capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stderr) == (0, ""), block
        found += [line.split("\t")[:-1] for line in done.stdout.splitlines()]
    return found


@pytest.mark.parametrize("name", [name for name in NAMES if blocks(NAMES[name], "sh", "bash")])
def test_every_command_can_be_given_and_every_measurement_names_its_split(name, monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    for file, what in (("mine", "Mine"), ("median", "DEFENCE")):  # a user's own
        code = f"def {what}(inputs):\n    return (inputs.views @ inputs.template_features.T).mean(0).softmax(-1)\n"
        (tmp_path / f"{file}.py").write_text(code)
    makefile = (ROOT / "Makefile").read_text()
    for program, *words in calls(NAMES[name]):
        if program == "make":
            assert all(re.search(rf"^{target}:", makefile, re.M) for target in words), words
        elif program == "pip" and "-r" in words:
            assert all((ROOT / word).is_file() for word in words if word.endswith(".txt")), words
        elif program == "python" and words[:2] == ["-m", "rita_demo"]:
            asked = build_parser().parse_args(words[2:])
            assert asked.run, words
            assert words[2] != "evaluate" or "--split" in words, words
        elif program == "python":
            module = find_spec(words[1])
            assert module is not None, words
            code = "".join(file.read_text("utf-8") for file in Path(str(module.origin)).parent.glob("*.py"))
            options = [word for word in words[2:] if word.startswith("--")]
            assert [option for option in options if f'"{option}"' not in code and option != "--backbone"] == [], words


def test_the_lines_of_the_results_print_every_measured_cell(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks(ROOT / "docs" / "results.md", "python")
    exec(code, {})
    printed = capsys.readouterr().out
    assert "adaptive" in printed
    assert "sstpt" in printed
