"""How *Inside* is laid out: sections, each with a heading, a sentence and figures."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from rita_demo.plots.figure import Figure
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue, Parts
from rita_demo.ui.session.session import SIDES, Session
from rita_demo.ui.widgets.blocks import build_columns, build_fold, build_heading
from rita_demo.ui.widgets.plotly_view import PlotlyView

EMPTY_TEXT = "Drawn once a picture has been defended."
#: Parameter of a figure's function -> the topic that redraws it.
SELECTED = {"k": "class", "view": "view", "atom": "view"}


@dataclass(frozen=True)
class FigureRow:
    """One figure of the tab.

    Args:
        name: element id without its prefix "in-".
        aria: accessible name; a saved figure is called by it. The heading of a figure that is not alone in its section and
            of both pictures.
        height: pixels.
        draw: makes the figure. Its parameters are filled by name: ``run`` (the run or the what-if), ``side`` ("clean"
            or "attacked": such a figure stands twice, clean on the left), ``k``, ``view`` and ``atom`` (the selected
            class, view and prompt; one without a default must be selected), ``session``, ``engine``. Others keep
            their default.
        narrow_height: pixels on a narrow screen; ``height`` if None.
        first: drawn in the answer of an event, before the rest (of two sides: the attacked one).
    """

    name: str
    aria: str
    height: int
    draw: Callable[..., Figure | None]
    narrow_height: int | None = None
    first: bool = False

    @property
    def components(self) -> dict[str, str]:
        """The key of each component in :func:`build_section` -> its side, from left to right; "" of both pictures."""
        name = self.name.replace("-", "_")
        if "side" in inspect.signature(self.draw).parameters:
            return {f"{name}_{side}": side for side in SIDES[::-1]}
        return {name: ""}


@dataclass(frozen=True)
class Section:
    """A heading, a sentence (HTML) and figures; ``above`` and ``below`` build other components around them. With
    ``fold``, its name, it is closed at first; its figures are drawn while it is open."""

    title: str
    text: str = ""
    figures: tuple[FigureRow, ...] = ()
    above: Callable[[PanelRegistry], Parts] = lambda _: {}
    below: Callable[[PanelRegistry], Parts] = lambda _: {}
    fold: str = ""

    @property
    def components(self) -> list[str]:
        """The keys of its figures' components in :func:`build_section`."""
        return [name for row in self.figures for name in row.components]


def build_section(context: AppContext, section: Section) -> Parts:
    """The components of a section, by name; a figure's name is its element id without "in-", with underscores."""
    if not section.fold:
        build_heading(section.title, section.text)
        return _build_content(context, section)
    with build_fold(section.title, section.text, elem_id=f"in-{section.fold}") as fold:
        return _build_content(context, section) | {section.fold: fold}


def _build_content(context: AppContext, section: Section) -> Parts:
    parts = section.above(context.panels)
    for row in section.figures:
        columns = build_columns(*(1 for _ in row.components), min_width=300)
        for (name, side), column in zip(row.components.items(), columns):
            with column:
                parts[name] = _build_figure(context, section.fold, row, side)
    return parts | section.below(context.panels)


def _build_figure(context: AppContext, fold: str, row: FigureRow, side: str) -> PlotlyView:
    defaults = {name: parameter.default for name, parameter in inspect.signature(row.draw).parameters.items()}

    def draw(session: Session) -> PanelValue:
        if fold and fold not in session.inside.open_folds:
            return gr.update()
        known = vars(session.selection) | {"run": session.displayed_run, "side": side, "session": session}
        known["engine"] = context.engine_of(session)
        values = {name: known.get(name, default) for name, default in defaults.items()}
        missing = any(value is None and defaults[name] is not None for name, value in values.items())
        return None if missing else row.draw(**values)

    named = {"aria": f"{row.aria}, {side}" if side else row.aria, "elem_id": f"in-{row.name}-{side}".rstrip("-")}
    figure = PlotlyView(height=row.height, narrow_height=row.narrow_height, empty=EMPTY_TEXT, **named)
    topics = {SELECTED[name] for name in defaults if name in SELECTED}
    return context.panels.add(figure, draw, *topics, "inside", first=row.first and side != "clean")
