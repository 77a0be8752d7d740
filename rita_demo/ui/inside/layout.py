"""How *Inside RITA* is laid out: sections, each with a heading, a sentence and figures."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import gradio as gr

from rita_demo.plots.figure import Figure
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.session.session import SIDES, Session
from rita_demo.ui.widgets.blocks import build_columns, build_fold, build_heading
from rita_demo.ui.widgets.plotly_view import PlotlyView

Parts = dict[str, Any]  # components by name
#: Parameter of a figure's function -> the topic that redraws it.
SELECTED = {"k": "class", "view": "view", "atom": "view"}


@dataclass(frozen=True)
class FigureRow:
    """One figure of the tab.

    Args:
        name: element id without its prefix "in-".
        aria: accessible name; a saved figure is called by it.
        height: pixels.
        draw: makes the figure. Its parameters are filled by name: ``run`` (the run or the what-if), ``side`` ("clean"
            or "attacked": such a figure stands twice, clean on the left), ``k``, ``view`` and ``atom`` (the selected
            class, view and prompt; one without a default must be selected), ``session``, ``engine``. Others keep
            their default.
        title: heading above it, HTML.
        where: "left" or "right" of a pair; "" for the full width.
        on_click: the method of :class:`rita_demo.ui.inside.tab.InsideTab` that handles a click.
        narrow_height: pixels on a narrow screen; ``height`` if None.
        immediate: updated in the first of the two stages (of two sides: the attacked one).
    """

    name: str
    aria: str
    height: int
    draw: Callable[..., Figure | None]
    title: str = ""
    where: str = ""
    on_click: str = ""
    narrow_height: int | None = None
    immediate: bool = False

    @property
    def sides(self) -> tuple[str, ...]:
        """From left to right; ("",) for a figure of both pictures."""
        return SIDES[::-1] if "side" in inspect.signature(self.draw).parameters else ("",)

    @property
    def component_names(self) -> list[str]:
        """The keys of its components in :func:`build_section`."""
        return [f"{self.name}_{side}".rstrip("_").replace("-", "_") for side in self.sides]


@dataclass(frozen=True)
class Section:
    """A heading, a sentence (HTML) and figures. ``above`` and ``below`` build other components around them,
    ``column`` those above the first figure of one side. With ``fold``, its name, it is closed at first; its figures are
    drawn while it is open."""

    title: str
    text: str = ""
    figures: tuple[FigureRow, ...] = ()
    above: Callable[[AppContext], Parts] = lambda _: {}
    column: Callable[[AppContext, str], Parts] = lambda *_: {}
    below: Callable[[AppContext], Parts] = lambda _: {}
    fold: str = ""


def build_section(context: AppContext, section: Section) -> Parts:
    """The components of a section, by name; a figure's name is its element id without "in-", with underscores."""
    if not section.fold:
        build_heading(section.title, section.text)
        return _build_content(context, section)
    with build_fold(section.title, section.text, elem_id=f"in-{section.fold}") as fold:
        return _build_content(context, section) | {section.fold: fold}


def _build_content(context: AppContext, section: Section) -> Parts:
    parts, column = section.above(context), section.column
    for where, group in groupby(section.figures, lambda row: "pair" if row.where else row.name):
        rows = list(group)
        if rows[0].sides != ("",):
            columns = [[(row, side) for row in rows] for side in rows[0].sides]
        elif where == "pair":
            columns = [[(row, "") for row in rows if row.where == place] for place in ("left", "right")]
        else:
            parts |= _build_figure(context, section, rows[0])
            continue
        for cells, place in zip(columns, build_columns(1, 1, min_width=300), strict=True):
            with place:
                parts |= column(context, cells[0][1])
                for row, side in cells:
                    parts |= _build_figure(context, section, row, side)
        column = Section.column
    return parts | section.below(context)


def _build_figure(context: AppContext, section: Section, row: FigureRow, side: str = "") -> Parts:
    if row.title:
        gr.HTML(f"<h3>{row.title}</h3>")
    name, aria = (f"{row.name}-{side}", f"{row.aria}, {side}") if side else (row.name, row.aria)
    figure = PlotlyView(
        aria=aria,
        height=row.height,
        narrow_height=row.narrow_height,
        empty="Drawn once a picture has been defended.",
        elem_id=f"in-{name}",
    )
    defaults = {name: parameter.default for name, parameter in inspect.signature(row.draw).parameters.items()}

    def draw(session: Session) -> Any:
        if section.fold and section.fold not in session.inside.open_folds:
            return gr.update()
        at = session.selection
        known: dict[str, Any] = {
            "run": session.displayed_run,
            "side": side,
            "k": at.k,
            "view": at.view,
            "atom": at.atom,
        }
        known |= {"session": session, "engine": context.engine_of(session)}
        values = {name: known.get(name, default) for name, default in defaults.items()}
        missing = any(value is None and defaults[name] is not None for name, value in values.items())
        return None if missing else row.draw(**values)

    topics = {SELECTED[name] for name in defaults if name in SELECTED}
    immediate = row.immediate and side != "clean"
    context.panels.add(figure, draw, *topics, "inside", immediate=immediate)
    return {name.replace("-", "_"): figure}
