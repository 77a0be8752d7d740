"""The features of many pictures: projected to a plane, their separability, and their KL to one-hot."""

import gradio as gr
import numpy as np
from markupsafe import escape

from rita_demo import analysis, plots
from rita_demo.evaluation.page import ChosenPictures, points_csv
from rita_demo.plots.figure import Figure
from rita_demo.plots.paper.kl_to_one_hot import kl_summary
from rita_demo.process.templates import html
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import PlacedCloud, Separability
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.panels.figure_caption import with_caption
from rita_demo.ui.session.figures_state import selected_class
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.data_uri import jpeg_uri

EMPTY_TEXT = "No pictures yet. Press “Collect pictures”: they are attacked, decided and stored one after another."
MAX_LASSO_ROWS = 40
KIND_TEXT = {"attacked": "as delivered", "view": "views", "cached": "in the memory"}  # kind of point -> column


def says(session: Session) -> str:
    """HTML: which pictures are on screen, and how far their classes are apart."""
    one = session.figures.placed_cloud
    if one is None:
        return ""
    mark = wording.STORED_MARK if one.stored else ""
    found = separability_text(one.separability) if one.separability else "Measuring how far the classes are apart …"
    return f"<p class='says'>{mark}{escape(one.cloud.title)}. {escape(found)}</p>"


def projection_shown(session: Session) -> str:
    """UMAP if it is chosen and ready, else PCA."""
    one, how = session.figures.placed_cloud, session.figures.projection
    return how if one is not None and how in one.coordinates else "PCA"


def draw_cloud(session: Session) -> Figure | None:
    """The attacked pictures and their views, or None while there is no cloud."""
    one, how = session.figures.placed_cloud, projection_shown(session)
    if one is None:
        return None
    selected = {"k": selected_class(session), "picture": session.figures.picture}
    names, caption = one.cloud.names, one.captions[how]
    shown = pictures_of(one) if session.figures.pictures else ()
    figure = plots.feature_cloud(
        one.points, one.coordinates[how], names, projection=caption, ids=one.cloud.ids, pictures=shown, **selected
    )
    return with_caption(figure, one.cloud.title)


def pictures_of(one: PlacedCloud) -> tuple[str, ...]:
    """Addresses of the cloud's small pictures; () if it has none."""
    return () if one.cloud.thumbs is None else tuple(map(jpeg_uri, one.cloud.thumbs))


def picture_switch(session: Session) -> PanelValue:
    """The switch from points to pictures, which rests where the pictures are not at hand."""
    one = session.figures.placed_cloud
    return gr.update(interactive=one is not None and one.cloud.thumbs is not None)


def draw_kl_to_one_hot(session: Session) -> Figure | None:
    """Densities and classes, or None while there is no cloud."""
    one = session.figures.placed_cloud
    if one is None:
        return None
    figure = plots.kl_to_one_hot(one.kl_to_one_hot, analysis.density, selected_class(session))
    return with_caption(figure, one.cloud.title)


def class_chips(session: Session) -> str:
    """HTML: the classes with their colour and shape, as buttons; that of the selected class is pressed."""
    one = session.figures.placed_cloud
    if one is None:
        return ""
    classes = np.unique(one.cloud.label).tolist()
    return html("chips", classes=classes, names=one.cloud.names, here=selected_class(session), style=plots.class_style)


def separability_table(session: Session) -> str:
    """HTML: how well the classes are separated, in one sentence and in numbers."""
    one = session.figures.placed_cloud
    if one is None or not one.separability:
        return ""
    near = one.separability[0].neighbours
    nearest = f"{near} nearest points" if near > 1 else "nearest point"
    columns = ["in the original space", "points", "silhouette (−1 to 1)"]
    columns += [f"of the {nearest} of other pictures, the same class", "by chance"]
    rows = []
    for row in one.separability:
        shares = (f"{_number(100 * share, 0)} %" for share in (row.purity, row.chance))
        rows.append((row.points_name, row.count, _number(row.silhouette, 3), *shares))
    return (
        f"{table(columns, rows, 'separation')}"
        "<p class='quiet small'>Cosine distance between features as the model gives them, not the plane above. Crops of one "
        "picture lie close together whatever it shows: the silhouette of the views counts them, the neighbours do not, and "
        f"the last line has one point per picture like (a). {_neighbour_note(one.cloud.label)}</p>"
    )


def _neighbour_note(label: np.ndarray) -> str:
    """Whether 100 % can be reached with this number of neighbours."""
    single = int((np.unique(label, return_counts=True)[1] == 1).sum())
    if single:
        return f"{single} of the classes have one picture only: neighbours are counted for the others."
    return "Every class has at least as many other pictures as there are neighbours: 100 % can be reached."


def separability_text(rows: tuple[Separability, ...]) -> str:
    """One sentence on the attacked pictures against the mean of their views, one point per picture each."""
    attacked, mean = rows[1], rows[3]
    if not np.isfinite([attacked.purity, mean.purity]).all():
        return "Cannot be measured: one picture per class. Collect at least two of each."
    change = 100 * (mean.purity - attacked.purity)
    if abs(change) < 0.5:
        finding = "The views bring the classes neither closer together nor further apart here"
    elif change > 0:
        finding = "In the views the classes come apart again"
    else:
        finding = "In the views the classes do not come apart again here"
    return (
        f"{finding}: {100 * attacked.purity:.0f} % of a picture’s neighbours have its class as it was delivered, "
        f"{100 * mean.purity:.0f} % with the mean of its views (n = {attacked.count} pictures)."
    )


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "–"


def kl_text(session: Session) -> str:
    """HTML: medians, the share of classes that improved, and how to read the figure."""
    one = session.figures.placed_cloud
    if one is None:
        return ""
    return (
        f"<p class='says'>{escape(kl_summary(one.kl_to_one_hot))}</p><p class='quiet small'>Left a density over the classes "
        "(Gaussian kernel, Scott’s width), each curve drawn to its own height: compare where they lie, not how high they "
        "are. Right each class by itself. KL(one-hot ‖ mean answer of a class) = −log of the mean answer’s true entry, our "
        "formula for the paper’s words. A view is stored under the class it answers with, so a low value there is partly due "
        "to how views are chosen; by true class, a view under a wrong class counts against the memory.</p>"
    )


def point_html(session: Session, i: int) -> str:
    """HTML: the thumbnail of point ``i`` and what it stands for."""
    one = session.figures.placed_cloud
    if one is None:
        return ""
    points, names, kind, picture = (one.points, one.cloud.names, str(one.points.kind[i]), int(one.points.picture[i]))
    name = escape(names[int(points.label[i])])
    if picture < 0:
        return f"<div class='touched'><div><h3>{name}</h3><p>Mean prompt of this class.</p></div></div>"
    true = escape(names[int(one.cloud.label[picture])])
    what = {
        "clean": "the clean picture",
        "attacked": "the picture as it was delivered",
        "view": f"view {int(points.index[i]) + 1} of it",
        "cached": f"a view of it in the memory, stored under {name}",
    }[kind]
    held = int(((points.kind == "cached") & (points.picture == picture)).sum())
    stored = f"{held or 'None'} of its views {'is' if held < 2 else 'are'} in the memory."
    image = ""
    if one.cloud.thumbs is not None:
        image = f'<img src="{jpeg_uri(one.cloud.thumbs[picture])}" alt="" width="84" height="84">'
    return f"<div class='touched'>{image}<div><h3>{true}</h3><p>{escape(one.cloud.ids[picture])}: {what}. {stored}</p></div></div>"


def is_chosen(session: Session) -> bool:
    """Whether the lasso holds points of pictures, not of prompts alone."""
    return bool(_lassoed(session)[1])


def chosen_pictures(session: Session) -> ChosenPictures:
    """The pictures whose points are inside the lasso, asked among the cloud's class names. Raises DataError: there are
    none."""
    one, pictures = _lassoed(session)
    if one is None or not pictures:
        raise DataError("No points are selected.", "Select some with the lasso in the figure’s tool bar.")
    return ChosenPictures(tuple(one.cloud.ids[n] for n in pictures), one.cloud.names, one.cloud.dataset)


def points_table(session: Session) -> bytes:
    """The points inside the lasso as CSV. Raises DataError: there are none."""
    one, pictures = _lassoed(session)
    if one is None or not pictures:
        raise DataError("No points are selected.", "Select some with the lasso in the figure’s tool bar.")
    return points_csv(one.cloud, one.points, session.figures.lasso_points)


def _lassoed(session: Session) -> tuple[PlacedCloud | None, list[int]]:
    """The cloud, and its pictures inside the lasso."""
    one, chosen = session.figures.placed_cloud, np.array(session.figures.lasso_points, int)
    owners = one.points.picture[chosen] if one is not None else chosen
    return one, np.unique(owners[owners >= 0]).tolist()


def lasso_table(session: Session) -> str:
    """HTML: the pictures whose points are selected with the lasso, most points first; each opens by its button."""
    one, chosen = session.figures.placed_cloud, np.array(session.figures.lasso_points, int)
    if one is None:
        return ""
    if not len(chosen):
        return (
            "<p class='quiet small'>Select points with the lasso in the figure’s tool bar to list their pictures.</p>"
        )
    owners, kinds = one.points.picture[chosen], one.points.kind[chosen]
    pictures, counts = np.unique(owners[owners >= 0], return_counts=True)
    order, rows = pictures[np.argsort(-counts, kind="stable")].tolist(), []
    for n in order[:MAX_LASSO_ROWS]:
        name, true = one.cloud.ids[n], one.cloud.names[int(one.cloud.label[n])]
        image = "" if one.cloud.thumbs is None else jpeg_uri(one.cloud.thumbs[n])
        counted = (int(((owners == n) & (kinds == kind)).sum()) or "–" for kind in KIND_TEXT)
        rows.append((html("open_picture", n=n, name=name, image=image), name, true, *counted))
    more = f"<p class='quiet small'>and {len(order) - MAX_LASSO_ROWS} more</p>" if len(order) > MAX_LASSO_ROWS else ""
    columns = ("", "picture", "true class", *KIND_TEXT.values())
    return (
        f"<h3>Selected: {len(chosen)} points of {len(order)} pictures</h3>"
        f"<p class='quiet small'>Press a picture: it is attacked again as here, and opens in all rooms.</p>"
        f"{table(columns, rows, 'lassoed', 'Selected pictures')}{more}"
    )
