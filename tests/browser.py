"""The browser the tests drive: the system's Chromium, else one that is installed for the occasion.

``python -m tests.browser`` prints its path, installing it first where it is missing: through the
distribution's package manager where we may (as root), else through playwright's own download.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from rita_demo.process.environment import find_chromium


def find_browser() -> str | None:
    """Path of a Chromium: ``RITA_BROWSER``, then the system's, then playwright's; None if there is none."""
    found = find_chromium()
    if found or os.environ.get("RITA_BROWSER"):
        return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        path = driver.chromium.executable_path
    return path if Path(path).exists() else None


def install_browser() -> None:
    """Install Chromium by the first way that works; a way that fails says so and the next is tried."""
    commands = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
        for words in ("update -qq", "install -y -qq chromium"):
            subprocess.run(["apt-get", *words.split()], check=False, **quiet)  # type: ignore[call-overload]
        if find_browser():
            return
        print("The distribution's package gave no Chromium; trying playwright's own.")
        commands.insert(0, [*commands[0][:-2], "install-deps", "chromium"])  # what it is linked against
    for command in commands:
        subprocess.run(command, check=False)


def main() -> int:
    if find_browser() is None:
        install_browser()
    path = find_browser()
    if path is None:
        print("No browser to test with: install chromium, or set RITA_BROWSER to one.", file=sys.stderr)
        return 1
    print(f"browser: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
