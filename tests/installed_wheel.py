"""Build the wheel, install it outside the tree, and use it from an empty folder: ``python -m tests.installed_wheel``.

Its dependencies are those of the environment that runs this. No network is used.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from tests.live_server import free_port, running_process

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place, empty = folder / "installed", folder / "empty"
        empty.mkdir()
        pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
        offline = ("--no-deps", "--no-index")
        build = ("wheel", str(ROOT), "--no-build-isolation", "--wheel-dir", str(folder))
        subprocess.run([*pip, *build, *offline], check=True)
        (wheel,) = folder.glob("*.whl")
        subprocess.run([*pip, "install", str(wheel), "--target", str(place), *offline], check=True)
        installed = {path.name for path in place.iterdir() if path.suffix != ".dist-info"}
        assert installed == {"bin", "rita_demo"}, f"the wheel also has {installed - {'bin', 'rita_demo'}}"
        surroundings = os.environ | {"PYTHONPATH": str(place), "PYTHONSAFEPATH": "1", "HF_HUB_OFFLINE": "1"}

        def python(*words: str) -> str:
            options = {"cwd": empty, "env": surroundings, "capture_output": True, "text": True}
            return subprocess.run([sys.executable, *words], check=True, **options).stdout

        rita = str(place / "bin" / "rita")
        print(python(rita, "--version").strip())
        place_of = "import rita_demo, rita_demo.data.samples as s, rita_demo.process.assets as a; "
        place_of += "print(rita_demo.__file__, a.HOME, s.SAMPLES['coffee'].path, sep='\\n')"
        code, home, picture = python("-c", place_of).split("\n")[:3]
        for path in (code, home):  # and not the checkout, which make setup installs in place
            assert Path(path).is_relative_to(place), f"{path} is not of the installed package"
        python(rita, "explain", picture, "--vocabulary", "caltech101", "--label", "cup", "--json", "answer.json")
        answers = json.loads((empty / "answer.json").read_text(encoding="utf-8"))
        print("explain:", ", ".join(answers["attacked"]["methods"]))
        port = free_port()
        words = (rita, "serve", "--port", str(port))
        environment = surroundings | {"RITA_RUNS": str(folder / "runs"), "RITA_DATA": str(folder / "data")}
        with running_process(words, port, folder / "log.txt", empty, environment) as address:
            page = urllib.request.urlopen(address, timeout=60).read().decode()
            assert "RITA" in page, page[:300]
        print("serve: the page answers")


if __name__ == "__main__":
    main()
