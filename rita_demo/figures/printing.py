"""A figure as SVG and PDF in the width of a journal's column or page, with its fonts inside.

Chromium draws both: it is what draws the page, so that print and screen show the same. Text that is 12 pixels high on the
page is 8 points in print; all text is between 7 and 9.
"""

import base64
import json
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from rita_demo.figures.figure import FIT_SCRIPT, PLOTLY_JS, Figure
from rita_demo.figures.theme import FONT
from rita_demo.process.assets import ASSETS
from rita_demo.process.environment import BROWSER_FLAGS as FLAGS
from rita_demo.process.environment import find_chromium
from rita_demo.records.errors import DataError

PIXELS_PER_MM = 12 / (8 * 25.4 / 72)  # 12 pixels are 8 points
SMALLEST, LARGEST = 10.5, 13.5  # pixels: 7 and 9 points
FONTS = ("font", "tickfont", "textfont", "insidetextfont")  # keys of a figure's JSON
PRINT_FONT = "RITA print"
FONT_FILES = (ASSETS / "fonts" / "print.woff2", ASSETS / "fonts" / "print-signs.woff2")
SCRIPT = Path(__file__).with_name("print.js").read_text(encoding="utf-8")
TIMEOUT_SECONDS = 120
WAIT_MS = 20_000  # of the page's own time, until the figure is drawn
INSTALL_HINT = (
    "Install it (Debian and Ubuntu: apt install chromium; elsewhere Chromium or Google Chrome), or name its file in "
    "RITA_BROWSER."
)


def require_chromium() -> str:
    """Path of the Chromium that prints. Raises DataError: none is installed."""
    path = find_chromium()
    if path is None:
        raise DataError("Figures are printed by Chromium, and none was found.", INSTALL_HINT)
    return path


def print_figure(figure: Figure, width_mm: int, height: int) -> tuple[str, bytes]:
    """The figure in one width, as SVG and as PDF.

    Args:
        width_mm: in millimetres. height: of the figure on the page in pixels; a figure may need more.

    Raises:
        DataError: no Chromium is installed, or it fails.
    """
    path = require_chromium()
    width = round(width_mm * PIXELS_PER_MM)
    pixels = (width, max(height, figure.meta.get("height", 0)))
    with tempfile.TemporaryDirectory() as folder:
        page, pdf = Path(folder) / "figure.html", Path(folder) / "figure.pdf"
        command = [path, "--headless", *FLAGS, f"--user-data-dir={folder}/profile", f"--virtual-time-budget={WAIT_MS}"]
        command += ["--dump-dom", f"--print-to-pdf={pdf}", "--no-pdf-header-footer", page.as_uri()]
        try:
            page.write_text(page_html(figure, width_mm, *pixels), encoding="utf-8")
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise DataError(f"Chromium ({path}) did not print the figure: {reason}.", "") from error
        match = re.search(rb'data-svg="([A-Za-z0-9+/=]+)"', done.stdout)
        if match is None or not pdf.is_file():
            why = done.stderr.decode(errors="replace").strip()[-200:]
            raise DataError(f"Chromium ({path}) did not print the figure.", why)
        tag, end, rest = base64.b64decode(match[1]).decode("utf-8").partition(">")
        return f"{tag}{end}<style>{font_faces()}</style>{rest}", pdf.read_bytes()


def page_html(figure: Figure, width_mm: int, width: int, height: int) -> str:
    """A page of exactly the figure's size that draws it when it is opened."""
    drawing = json.loads(figure.to_json().replace(FONT, f"'{PRINT_FONT}', sans-serif"))
    _limit_font_sizes(drawing)
    asked = {"figure": drawing, "width": width, "height": height, "perMm": width / width_mm, "font": PRINT_FONT}
    data = json.dumps(asked).replace("<", "\\u003c")
    return f"""<!doctype html><meta charset="utf-8">
<style>{font_faces()}
body {{ margin: 0; font-family: "{PRINT_FONT}" }} svg {{ display: block }}</style>
<body><script src="{PLOTLY_JS.as_uri()}"></script>
<script>{FIT_SCRIPT}{SCRIPT}print({data});</script>"""


@cache
def font_faces() -> str:
    """The fonts as CSS that needs no other file: Inter, and from DejaVu Sans the signs that Inter has not. No letters are
    made bold by drawing them thicker: a PDF would hold them as Type 3, which journals refuse."""
    encoded = [base64.b64encode(path.read_bytes()).decode() for path in FONT_FILES]
    signs = "U+2500-257F,U+2591,U+25A4-25A9,U+25B8,U+22C8,U+2716,U+271A,U+27E8,U+27E9,U+2B1F-2B22"
    ranges = ("", f"unicode-range:{signs};")
    return "text { font-synthesis: none }" + "".join(
        f'@font-face{{font-family:"{PRINT_FONT}";{only}src:url(data:font/woff2;base64,{data}) format("woff2")}}'
        for data, only in zip(encoded, ranges, strict=True)
    )


def _limit_font_sizes(node: Any) -> None:
    """Bring every font of a figure's JSON between 7 and 9 printed points."""
    if isinstance(node, list):
        for one in node:
            _limit_font_sizes(one)
    elif isinstance(node, dict):
        for name, value in node.items():
            if name in FONTS and isinstance(value, dict) and isinstance(value.get("size"), int | float):
                value["size"] = min(max(value["size"], SMALLEST), LARGEST)
            _limit_font_sizes(value)
