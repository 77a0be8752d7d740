"""Gradio's theme for this page: quiet, neutral, the system's own sans-serif, nothing from a network."""

from pathlib import Path

import gradio as gr

from rita_demo.plots.theme import PALETTE
from rita_demo.process.assets import ASSETS

STYLE = ASSETS / "style.css"
KEYBOARD = Path(__file__).with_name("keyboard.js")

#: Gradio's variable -> role in the palette; each is set for light and for dark.
ROLES = {
    "body_background_fill": "surface",
    "background_fill_primary": "surface",
    "block_background_fill": "surface",
    "block_label_background_fill": "surface",
    "panel_background_fill": "surface",
    "input_background_fill": "surface",
    "checkbox_label_background_fill": "surface",
    "button_secondary_background_fill": "surface",
    "button_primary_text_color": "surface",
    "body_text_color": "text",
    "slider_color": "text",
    "button_primary_background_fill": "text",
    "button_primary_background_fill_hover": "quiet",
    "button_secondary_background_fill_hover": "grid",
    "checkbox_background_color_selected": "text",
    "checkbox_border_color_selected": "text",
    "body_text_color_subdued": "quiet",
    "border_color_primary": "faint",
    "input_border_color": "faint",
    "button_secondary_border_color": "faint",
}


def theme() -> gr.themes.Base:
    """Ink on paper: colour is left to what carries meaning."""
    both = {}
    for variable, role in ROLES.items():
        both[variable], both[variable + "_dark"] = PALETTE[role]
    return gr.themes.Base(
        primary_hue="neutral",
        secondary_hue="neutral",
        neutral_hue="neutral",
        font=["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif"],
        font_mono=["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"],
        radius_size="sm",
        text_size="md",
        spacing_size="sm",
    ).set(block_border_width="0px", block_shadow="none", input_border_width="1px", button_border_width="1px", **both)
