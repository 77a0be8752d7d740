"""The figures of the wall: one is large, with its headline, caption and details; the others are tiles."""

from collections.abc import Callable
from dataclasses import dataclass

from markupsafe import Markup

from rita_demo.evaluation.page import DataFolders
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import sides_of
from rita_demo.process.templates import html
from rita_demo.ui.figures import feature_cloud, measurements, run_figures
from rita_demo.ui.figures.small_picture import small_picture
from rita_demo.ui.run_panels import with_caption
from rita_demo.ui.session.session import FIGURES, Session
from rita_demo.ui.widgets.data_uri import jpeg_uri


@dataclass(frozen=True)
class WallFigure:
    """``title``: on its tile. The rest are functions of the session: the figure, None while there is none; its headline and the
    details beside it as HTML; what it is of, as text below it and below a saved one ("": the run on screen)."""

    title: str
    draw: Callable[[Session], Figure | None]
    headline: Callable[[Session], str]
    details: Callable[[Session, DataFolders], str]
    caption: Callable[[Session], str]


WALL: dict[str, WallFigure] = {
    "cloud": WallFigure(
        "Feature cloud",
        feature_cloud.draw_cloud,
        feature_cloud.cloud_headline,
        feature_cloud.cloud_details,
        feature_cloud.cloud_caption,
    ),
    "kl": WallFigure(
        "KL to one-hot",
        feature_cloud.draw_kl_to_one_hot,
        feature_cloud.kl_headline,
        feature_cloud.kl_details,
        feature_cloud.cloud_caption,
    ),
    "theorem": WallFigure(
        "Does Theorem 1 hold?",
        run_figures.draw_bounds,
        run_figures.theorem_headline,
        run_figures.theorem_details,
        run_figures.run_caption,
    ),
    "settings": WallFigure(
        "Which settings matter?",
        measurements.draw_settings,
        measurements.settings_headline,
        measurements.settings_details,
        measurements.settings_caption,
    ),
    "paper": WallFigure(
        "The paper, and here",
        measurements.draw_paper,
        measurements.paper_headline,
        measurements.paper_details,
        measurements.paper_caption,
    ),
    "overview": WallFigure(
        "The method in one figure",
        run_figures.draw_overview,
        run_figures.overview_headline,
        run_figures.overview_details,
        run_figures.run_caption,
    ),
}


def shown(session: Session) -> WallFigure:
    """The large figure."""
    return WALL[session.figures.shown]


def draw(session: Session) -> Figure | None:
    """The large figure with its title and, where it is not of the run on screen, its caption."""
    one = shown(session)
    figure = one.draw(session)
    if figure is None:
        return None
    figure.meta["title"] = one.title
    text = one.caption(session)
    return figure if one.caption is run_figures.run_caption else with_caption(figure, text.rstrip("."))


def headline(session: Session) -> str:
    """Its finding in a sentence."""
    return shown(session).headline(session)


def details(session: Session, folders: DataFolders) -> str:
    """HTML beside it. The element says which figure is large: pills that are of another are out of sight (style sheet)."""
    return Markup("<div data-wall='{}'>{}</div>").format(
        session.figures.shown, shown(session).details(session, folders)
    )


def caption(session: Session) -> Markup:
    """HTML below it: what it is of."""
    return html("wall_caption", text=shown(session).caption(session), cloud=session.figures.shown == "cloud")


def tiles(session: Session) -> Markup:
    """HTML: the other figures as buttons, those with a small picture first."""
    names = [name for name in FIGURES if name != session.figures.shown]
    pictures = {name: _small_picture(session, name) for name in names}
    names.sort(key=lambda name: not pictures[name])
    return html("wall_tiles", tiles=[(FIGURES.index(name), WALL[name].title, pictures[name]) for name in names])


def _small_picture(session: Session, name: str) -> Markup:
    """From what is stored or known already; nothing is computed for a tile. Of the method it is the picture on screen."""
    if name == "overview":
        run = session.run
        uri = jpeg_uri(getattr(run, sides_of(run)[-1]).picture.pixels, 96) if run is not None else ""
        return Markup("<img src='{}' alt=''>").format(uri) if uri else Markup()
    figure = WALL[name].draw(session)
    return Markup() if figure is None else small_picture(figure)
