"""Gradio's theme for this page: quiet, neutral, the system's own sans-serif, nothing from a network."""

from pathlib import Path
from urllib.parse import quote

import gradio as gr

from rita_demo.figures.theme import PALETTE
from rita_demo.process.assets import ASSETS

STYLE, FACE = ASSETS / "style.css", ASSETS / "fonts" / "inter.woff2"
gr.set_static_paths([FACE])
OPENING, DROP, ORDER, PAGE_SCRIPT, MENUS, TOUCH = (
    Path(__file__).with_name(name)
    for name in ("opening.html", "drop.js", "order.js", "page.js", "menus.js", "touch.js")
)

#: Role in the palette -> Gradio's variables; each is set for light and for dark.
ROLES = {
    "surface": """body_background_fill background_fill_primary block_background_fill block_label_background_fill
        panel_background_fill input_background_fill checkbox_label_background_fill button_secondary_background_fill
        button_primary_text_color""",
    "text": """body_text_color slider_color button_primary_background_fill checkbox_background_color_selected
        checkbox_border_color_selected""",
    "quiet": "button_primary_background_fill_hover body_text_color_subdued",
    "grid": "button_secondary_background_fill_hover",
    "faint": "border_color_primary input_border_color button_secondary_border_color",
}
SANS = ["Inter", "system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]


def font_face(address: str = f"gradio_api/file={quote(str(FACE))}") -> str:
    """CSS: the page's face; by default it is served beside the page."""
    source = f'url("{address}") format("woff2")'
    return f'@font-face {{ font-family: "Inter"; font-weight: 100 900; font-display: swap; src: {source}; }}\n'


def theme() -> gr.themes.Base:
    """Neutral: colour is left to what carries meaning."""
    both = {
        "block_border_width": "0px",
        "block_shadow": "none",
        "input_border_width": "1px",
        "button_border_width": "1px",
    }
    for role, variables in ROLES.items():
        for variable in variables.split():
            both[variable], both[variable + "_dark"] = PALETTE[role]
    hues = dict.fromkeys(("primary_hue", "secondary_hue", "neutral_hue"), "neutral")
    sizes = {"radius_size": "sm", "text_size": "md", "spacing_size": "sm"}
    return gr.themes.Base(font=SANS, font_mono=MONO, **hues, **sizes).set(**both)
