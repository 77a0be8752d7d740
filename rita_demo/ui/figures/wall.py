"""The figures of the wall: one is large, with its headline, caption and details; the others are tiles."""

from typing import Any, Protocol

import numpy as np
from markupsafe import Markup

from rita_demo.evaluation.page import DataFolders
from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import sides_of
from rita_demo.figures.theme import CLASS_STYLES, PALETTE
from rita_demo.process.templates import html
from rita_demo.ui.figures.feature_cloud import Cloud, Kl
from rita_demo.ui.figures.measurements import PaperFigure, SettingsFigure
from rita_demo.ui.figures.run_figures import Overview, Theorem
from rita_demo.ui.run_panels import with_caption
from rita_demo.ui.session.session import FIGURES, Session
from rita_demo.ui.widgets.data_uri import jpeg_uri

WIDTH, HEIGHT, EDGE = 134, 76, 5  # pixels of a small picture
#: Light colour -> the style sheet's variable, which has its dark partner.
VARIABLES = {light: f"var(--rita-{role})" for role, (light, _) in PALETTE.items()}
VARIABLES |= {style[0]: f"var(--rita-class-{n})" for n, style in enumerate(CLASS_STYLES)}


class WallFigure(Protocol):
    """``title``: on its tile. ``subject``: what it is of; None while there is nothing, then the headline is ``missing``. The figure;
    its headline and the details beside it as HTML; what it is of, as text below it and, unless it ``is_of_run``, the run on screen,
    below a saved one."""

    title: str
    missing: str
    is_of_run: bool

    def subject(self, session: Session) -> Any: ...
    def draw(self, session: Session, subject: Any, /) -> Figure | None: ...
    def headline(self, session: Session, subject: Any, /) -> str: ...
    def details(self, session: Session, subject: Any, folders: DataFolders, /) -> str: ...
    def caption(self, session: Session, subject: Any, /) -> str: ...


_FIGURES: tuple[WallFigure, ...] = (Cloud(), Kl(), Theorem(), SettingsFigure(), PaperFigure(), Overview())
WALL = dict(zip(FIGURES, _FIGURES, strict=True))


def draw(session: Session) -> Figure | None:
    """The large figure with its title and, where it is not of the run on screen, its caption."""
    large = WALL[session.figures.shown]
    subject = large.subject(session)
    figure = None if subject is None else large.draw(session, subject)
    if figure is None:
        return None
    figure.meta["title"] = large.title
    if large.is_of_run:
        return figure
    return with_caption(figure, large.caption(session, subject).rstrip("."))


def headline(session: Session) -> str:
    """Its finding in a sentence."""
    large = WALL[session.figures.shown]
    subject = large.subject(session)
    return large.missing if subject is None else large.headline(session, subject)


def details(session: Session, folders: DataFolders) -> str:
    """HTML beside it. The element says which figure is large: pills that are of another are out of sight (style sheet)."""
    large = WALL[session.figures.shown]
    subject = large.subject(session)
    text = "" if subject is None else large.details(session, subject, folders)
    return Markup("<div data-wall='{}'>{}</div>").format(session.figures.shown, text)


def caption(session: Session) -> Markup:
    """HTML below it: what it is of."""
    large = WALL[session.figures.shown]
    subject = large.subject(session)
    text = "" if subject is None else large.caption(session, subject)
    return html("wall_caption", text=text, cloud=session.figures.shown == "cloud")


def tiles(session: Session) -> Markup:
    """HTML: the other figures as buttons, those with a small picture first. It is made of what is stored or known already; of the
    method it is the picture on screen."""
    names = [name for name in FIGURES if name != session.figures.shown]
    pictures, run = dict[str, Markup](), session.run
    for name in names:
        subject = WALL[name].subject(session)
        if name == "overview":
            uri = jpeg_uri(getattr(run, sides_of(run)[-1]).picture.pixels, 96) if run is not None else ""
            pictures[name] = Markup("<img src='{}' alt=''>").format(uri) if uri else Markup()
        else:
            figure = None if subject is None else WALL[name].draw(session, subject)
            pictures[name] = Markup() if figure is None else small_picture(figure)
    names.sort(key=lambda name: not pictures[name])
    return html("wall_tiles", tiles=[(FIGURES.index(name), WALL[name].title, pictures[name]) for name in names])


def small_picture(figure: Figure) -> Markup:
    """SVG of the traces on the axes of the figure's last trace, which all have numbers, without axes and words; "" without any."""
    last = figure.traces[-1] if figure.traces else {}
    axes = last.get("xaxis"), last.get("yaxis")
    traces = [t for t in figure.traces if (t.get("xaxis"), t.get("yaxis")) == axes and t.get("name") != "island"]
    points = [
        np.stack([np.array(trace[name], np.float64) for name in ("x", "y")], 1) for trace in traces
    ]  # None is NaN
    every = np.concatenate(points or [np.zeros((0, 2))])
    if not np.isfinite(every).any(0).all():
        return Markup()
    low, high = np.nanmin(every, 0), np.nanmax(every, 0)
    if any(trace["type"] == "bar" for trace in traces):
        low, high = np.minimum(low, [np.inf, 0]), np.maximum(high, [-np.inf, 0])
    scale = np.array([WIDTH - 2 * EDGE, HEIGHT - 2 * EDGE]) / np.maximum(high - low, 1e-9)
    parts = []
    for trace, at in zip(traces, points):
        x, y = (EDGE + (at - low) * scale).T
        parts += _parts(trace, np.stack([x, HEIGHT - y], 1).round(1), scale)
    drawn = Markup("").join(parts)
    return Markup("<svg viewBox='0 0 {} {}' aria-hidden='true'>{}</svg>").format(WIDTH, HEIGHT, drawn)


def _parts(trace: Spec, at: np.ndarray, scale: np.ndarray) -> list[Markup]:
    """The marks, lines or bars of one trace, at their places."""
    marker, mode, parts = trace.get("marker", {}), trace.get("mode", ""), list[Markup]()
    shades = marker.get("color", trace.get("line", {}).get("color"))
    shades = shades if isinstance(shades, list) else [shades] * len(at)
    colours = [VARIABLES.get(shade, "currentColor") for shade in shades]
    if trace["type"] == "bar":
        wide = max(trace["width"] * float(scale[0]), 1)
        box = Markup("<rect x='{}' y='{}' width='{}' height='{}' fill='{}'/>")
        parts += [
            box.format(round(x - wide / 2, 1), y, round(wide, 1), round(HEIGHT - EDGE - y, 1), colour)
            for (x, y), colour in zip(at.tolist(), colours)
        ]
    if "lines" in mode:
        for line in np.split(at, np.flatnonzero(np.isnan(at).any(1))):
            places = " ".join(f"{x},{y}" for x, y in line.tolist() if x == x and y == y)
            colour = VARIABLES.get(trace["line"]["color"], "currentColor")
            parts.append(Markup("<polyline points='{}' fill='none' stroke='{}'/>").format(places, colour))
    if "markers" in mode and marker.get("opacity") != 0:
        size = marker.get("size", 6)
        radius = [max(float(width) / 5, 0.8) for width in (size if isinstance(size, list) else [size] * len(at))]
        dot = Markup("<circle cx='{}' cy='{}' r='{}' fill='{}'/>")
        parts += [dot.format(x, y, r, c) for (x, y), r, c in zip(at.tolist(), radius, colours) if x == x and y == y]
    return parts
