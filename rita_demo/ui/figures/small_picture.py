"""A small picture of a figure, drawn from the same data: marks, lines and bars, without axes and words."""

import numpy as np
from markupsafe import Markup

from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.theme import CLASS_STYLES, PALETTE

WIDTH, HEIGHT, EDGE = 134, 76, 5
#: Light colour -> the style sheet's variable, which has its dark partner.
VARIABLES = {light: f"var(--rita-{role})" for role, (light, _) in PALETTE.items()}
VARIABLES |= {style[0]: f"var(--rita-class-{n})" for n, style in enumerate(CLASS_STYLES)}


def small_picture(figure: Figure) -> Markup:
    """SVG of the traces on the axes of the figure's last trace, which all have numbers; "" without any."""
    last = figure.traces[-1] if figure.traces else {}
    axes = last.get("xaxis"), last.get("yaxis")
    traces = [
        one for one in figure.traces if (one.get("xaxis"), one.get("yaxis")) == axes and one.get("name") != "island"
    ]
    xs, ys = (np.concatenate([_numbers(one[name]) for one in traces] or [np.zeros(0)]) for name in ("x", "y"))
    if not (np.isfinite(xs).any() and np.isfinite(ys).any()):
        return Markup()
    if any(one["type"] == "bar" for one in traces):
        ys = np.append(ys, 0)
    low, high = np.array([np.nanmin(xs), np.nanmin(ys)]), np.array([np.nanmax(xs), np.nanmax(ys)])
    scale = np.array([WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE]) / np.maximum(high - low, 1e-9)

    def place(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        at = EDGE + (np.stack([x, y], 1) - low) * scale
        return np.stack([at[:, 0], HEIGHT - at[:, 1]], 1).round(1)

    parts = [part for one in traces for part in _parts(one, place(_numbers(one["x"]), _numbers(one["y"])), scale)]
    drawn = Markup("").join(parts)
    return Markup("<svg viewBox='0 0 {} {}' aria-hidden='true'>{}</svg>").format(WIDTH, HEIGHT, drawn)


def _numbers(values: object) -> np.ndarray:
    return np.array(values, np.float64)  # None is NaN


def _parts(trace: Spec, at: np.ndarray, scale: np.ndarray) -> list[Markup]:
    """The marks, lines or bars of one trace, at their places."""
    marker, mode, parts = trace.get("marker", {}), trace.get("mode", ""), list[Markup]()
    shades = marker.get("color", trace.get("line", {}).get("color"))
    colours = [
        VARIABLES.get(one, "currentColor") for one in (shades if isinstance(shades, list) else [shades] * len(at))
    ]
    if trace["type"] == "bar":
        wide = max(trace["width"] * float(scale[0]), 1)
        box = Markup("<rect x='{}' y='{}' width='{}' height='{}' fill='{}'/>")
        parts += [
            box.format(round(x - wide / 2, 1), y, round(wide, 1), round(HEIGHT - EDGE - y, 1), colour)
            for (x, y), colour in zip(at.tolist(), colours)
        ]
    if "lines" in mode:
        breaks = np.flatnonzero(np.isnan(at).any(1))
        for line in np.split(at, breaks):
            points = " ".join(f"{x},{y}" for x, y in line.tolist() if x == x and y == y)
            colour = VARIABLES.get(trace["line"]["color"], "currentColor")
            parts.append(Markup("<polyline points='{}' fill='none' stroke='{}'/>").format(points, colour))
    if "markers" in mode and marker.get("opacity") != 0:
        size = marker.get("size", 6)
        radius = [max(float(one) / 5, 0.8) for one in (size if isinstance(size, list) else [size] * len(at))]
        dot = Markup("<circle cx='{}' cy='{}' r='{}' fill='{}'/>")
        parts += [dot.format(x, y, r, c) for (x, y), r, c in zip(at.tolist(), radius, colours) if x == x and y == y]
    return parts
