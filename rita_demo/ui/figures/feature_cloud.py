"""The features of many pictures: in the plane, their separability, and their KL to one-hot."""

from collections import Counter

import numpy as np
from markupsafe import Markup

from rita_demo import figures
from rita_demo.attacks import get_attack
from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, points_csv
from rita_demo.figures import analysis
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import percent
from rita_demo.figures.paper.feature_cloud import SIGNS, kind_titles
from rita_demo.process.templates import html
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.measurement import FeatureCloud, PlacedCloud
from rita_demo.ui.session.session import Session, selected_class
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.data_uri import jpeg_uri

NO_CLOUD = "The wall opens with the feature cloud of stored pictures."
PICTURE_SIDE = 224  # pixels of the chosen picture, twice as many as it is shown with


def draw_cloud(session: Session) -> Figure | None:
    """Clean and attacked pictures and their crops, or None while there is no cloud. With a chosen picture no class is grey: one
    sees among which others it went."""
    one, how = session.figures.placed_cloud, projection_shown(session)
    if one is None:
        return None
    at, thumbs, label = session.figures, one.cloud.thumbs, one.cloud.label.tolist()
    of_class = [
        jpeg_uri(thumbs[label.index(k)]) if thumbs is not None and k in label else ""
        for k in range(len(one.cloud.names))
    ]
    return figures.feature_cloud(
        one.points,
        one.coordinates[how],
        one.cloud.names,
        projection=one.captions[how],
        k=selected_class(session) if at.picture is None else None,
        picture=at.picture,
        point=at.point,
        ids=one.cloud.ids,
        pictures=of_class,
    )


def projection_shown(session: Session) -> str:
    """UMAP if it is chosen and ready, else PCA."""
    one, how = session.figures.placed_cloud, session.figures.projection
    return how if one is not None and how in one.coordinates else "PCA"


def cloud_headline(session: Session) -> str:
    """How many neighbours of a picture and of its crops have its class."""
    one = session.figures.placed_cloud
    if one is None:
        return NO_CLOUD
    if not one.separability:
        return f"{len(one.cloud.ids)} pictures are placed; how far their classes are apart is being measured."
    _, attacked, crops, _ = one.separability
    if not np.isfinite([attacked.purity, crops.purity]).all():
        return "1 picture of a class has no neighbours of its class: collect at least 2 of each."
    begin = {"attacked pictures": "Under attack", "clean pictures": "Without an attack"}
    first = begin.get(one.cloud.pictures_name, "As delivered")
    p, q = (round(100 * row.purity) for row in (attacked, crops))
    return f"{first} {p} of 100 neighbours share a picture’s class; among its crops {q} do."


def cloud_caption(session: Session) -> str:
    """Which pictures they are, and the threat model."""
    one = session.figures.placed_cloud
    if one is None:
        return ""
    settings, stored = one.cloud.settings, "Stored example: " * one.stored
    title = one.cloud.title.partition("; ")[0]
    attack = (
        get_attack(settings.attack) if settings is not None and one.cloud.pictures_name != "clean pictures" else None
    )
    knows = (
        f"; the attacker does not know {attack.does_not_know[0].removesuffix(' of the defence')}"
        if attack and attack.does_not_know
        else ""
    )
    if attack is not None:
        title = title.replace(attack.title, attack.column_title)
    how = f" {projection_shown(session)}." if session.figures.shown == "cloud" else ""
    return f"{stored}{title}{knows}.{how}"


def cloud_details(session: Session, folders: DataFolders) -> str:
    """HTML: what became of the chosen picture, and the shares of neighbours of the same class."""
    one = session.figures.placed_cloud
    return "" if one is None else _story(session, one, folders) + _neighbours(one)


def _story(session: Session, one: PlacedCloud, folders: DataFolders) -> Markup:
    """The chosen picture, where its attacked feature went and where its crops stayed."""
    cloud, n, point = one.cloud, session.figures.picture, session.figures.point
    if n is None:
        return Markup("<h3>Choose a point</h3><p>Its picture is shown here, and where its attack led.</p>")
    name = cloud.names[int(cloud.label[n])]
    kind = "attacked" if point is None else str(one.points.kind[point])
    what = (
        f"crop {int(one.points.index[point or 0]) + 1}" if kind == "view" else kind_titles(one.points).get(kind, kind)
    )
    place = np.unique(cloud.label).tolist().index(int(cloud.label[n]))
    return html(
        "cloud_story",
        name=name,
        kind=what,
        n=n,
        picture=_picture(cloud, n, folders),
        colour=figures.class_style(place)[0],
        said=_went(cloud, n, name),
        missing=f"Its picture is not here: “python -m rita_demo datasets” says where {_dataset_title(cloud.dataset)} belongs.",
    )


def _went(cloud: FeatureCloud, n: int, name: str) -> str:
    """Two sentences from the feature space, not from the plane."""
    picture, crops = (Counter(some.tolist()) for some in analysis.nearest_classes(cloud, n))
    (led, near), (stayed, count) = picture.most_common(1)[0], crops.most_common(1)[0]
    its = "attacked picture" if cloud.pictures_name == "attacked pictures" else "delivered picture"
    to, among = (cloud.names[k] for k in (led, stayed))
    first = f"{near} of the {picture.total()} clean pictures nearest to the {its} are {to}."
    own = f"{count} of its {crops.total()} crops lie nearest to {among}"
    return f"{first} {own}{'' if among == name else f', {crops[int(cloud.label[n])]} to {name}'}."


def _picture(cloud: FeatureCloud, n: int, folders: DataFolders) -> str:
    """The address of a picture: from the data folder, else the small one that the cloud has, else ""."""
    try:
        return jpeg_uri(evaluation_page.cloud_picture(folders, cloud, n, PICTURE_SIDE).pixels)
    except (DemoError, AttributeError):  # a cloud without settings has no place to look
        return "" if cloud.thumbs is None else jpeg_uri(cloud.thumbs[n])


def _dataset_title(dataset: str) -> str:
    return DATASETS[dataset].title if dataset in DATASETS else dataset


def _neighbours(one: PlacedCloud) -> Markup:
    """The shares of neighbours that have the same class, as bars; nothing where they cannot be counted."""
    rows = one.separability[:3]
    if not rows or not np.isfinite([row.purity for row in rows]).all():
        return Markup()
    titles = ("clean", kind_titles(one.points)["attacked"], "its crops")
    kinds, shares = ("clean", "attacked", "defence"), [round(100 * row.purity) for row in rows]
    chance = round(100 * rows[1].chance)
    said = ", ".join(f"{title} {share} of 100" for title, share in zip(titles, shares)) + f", by chance {chance}"
    bars = list(zip(kinds, titles, shares, strict=True))
    return html("neighbours", rows=bars, chance=chance, said=said, n=len(one.cloud.ids))


def class_chips(session: Session) -> str:
    """HTML: the classes with their colour and shape, as buttons; that of the selected class is pressed."""
    one = session.figures.placed_cloud
    if one is None or session.figures.shown not in ("cloud", "kl"):
        return ""
    classes = np.unique(one.cloud.label).tolist()
    story = session.figures.shown == "cloud" and session.figures.picture is not None  # then no class is grey
    here = None if story else selected_class(session)
    signs = [(SIGNS[kind], title) for kind, title in kind_titles(one.points).items()]
    signs = signs if session.figures.shown == "cloud" else []
    return html("chips", classes=classes, names=one.cloud.names, here=here, style=figures.class_style, signs=signs)


def separability_table(session: Session) -> str:
    """HTML: how well the classes are separated, in one sentence and in numbers."""
    one = session.figures.placed_cloud
    if one is None or not one.separability:
        return ""
    near = one.separability[0].neighbours
    nearest = f"{near} nearest points" if near > 1 else "nearest point"
    columns = ["in the original space", "points", "silhouette (−1 to 1)"]
    columns += [f"of the {nearest} of other pictures, the same class", "by chance"]
    titles = ("clean pictures", one.cloud.pictures_name, "their crops", "the mean of each picture’s crops")
    rows = []
    for title, row in zip(titles, one.separability, strict=True):
        shares = (f"{_number(100 * share, 0)} %" for share in (row.purity, row.chance))
        rows.append((title, row.count, _number(row.silhouette, 3), *shares))
    return (
        f"{table(columns, rows, 'separation')}"
        "<p class='note'>Cosine distance between features as the model gives them, not in the plane, where distances between "
        "islands mean nothing. Crops of one picture lie close together whatever it shows: the silhouette counts them, the "
        f"neighbours do not. {_neighbour_note(one.cloud.label)}</p>"
    )


def _neighbour_note(label: np.ndarray) -> str:
    """Whether 100 % can be reached with this number of neighbours."""
    single = int((np.unique(label, return_counts=True)[1] == 1).sum())
    if single:
        return f"{single} of the classes have one picture only: neighbours are counted for the others."
    return "Every class has at least as many other pictures as there are neighbours: 100 % can be reached."


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "–"


def draw_kl_to_one_hot(session: Session) -> Figure | None:
    """Densities or points, and classes; None while there is no cloud."""
    one = session.figures.placed_cloud
    return None if one is None else figures.kl_to_one_hot(one.kl_to_one_hot, analysis.density, selected_class(session))


def kl_headline(session: Session) -> str:
    """In how many classes the stored views are closer to a one-hot answer."""
    one = session.figures.placed_cloud
    if one is None:
        return NO_CLOUD
    kl = one.kl_to_one_hot
    if not kl.classes:
        return "0 classes have both a picture and a crop in the memory."
    closer = round(kl.improved * kl.classes)
    return f"Stored crops are closer to a one-hot answer than pictures in {closer} of {kl.classes} classes."


def kl_details(session: Session, folders: DataFolders) -> str:
    """HTML: both ways of counting, and what the first one owes to how crops are chosen."""
    one = session.figures.placed_cloud
    if one is None or not one.kl_to_one_hot.classes:
        return ""
    kl = one.kl_to_one_hot
    true = f" Counted by the true class of their pictures: in {percent(kl.improved_true)} of {kl.classes_true}."
    return Markup(
        "<p>The crops in the memory are closer in {} of {} classes.{}</p><p class='note'>A crop is stored under the class that "
        "it answers with: the first number is partly due to how crops are chosen.</p>"
    ).format(percent(kl.improved), kl.classes, true if kl.classes_true else "")


def is_chosen(session: Session) -> bool:
    """Whether the lasso holds points of pictures, not of prompts alone."""
    return bool(_lassoed(session)[1])


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


def lasso_says(session: Session) -> str:
    """HTML: how many points are inside the lasso, and of how many pictures."""
    one, pictures = _lassoed(session)
    points = len(session.figures.lasso_points)
    if one is None or not points:
        return ""
    return f"<p>{points} points of {len(pictures)} pictures are inside the lasso.</p>"
