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
from rita_demo.records.measurement import PlacedCloud
from rita_demo.ui.session.session import Session, selected_class
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.data_uri import jpeg_uri

PICTURE_SIDE = 224  # pixels of the chosen picture, twice as many as it is shown with


# --- the cloud
class Cloud:
    """Clean and attacked pictures and their crops in the plane."""

    title, missing, is_of_run = "Feature cloud", "The wall opens with the feature cloud of stored pictures.", False

    def subject(self, session: Session) -> PlacedCloud | None:
        return session.figures.placed_cloud

    def draw(self, session: Session, placed: PlacedCloud) -> Figure:
        """Clean and attacked pictures and their crops. With a chosen picture no class is grey: one sees among which others it
        went."""
        at, cloud, how = session.figures, placed.cloud, projection_shown(session)
        label = cloud.label.tolist()
        pictures = [""] * len(cloud.names)
        if cloud.thumbs is not None:
            pictures = [jpeg_uri(cloud.thumbs[label.index(k)]) if k in label else "" for k in range(len(cloud.names))]
        return figures.feature_cloud(
            placed.points,
            placed.coordinates[how],
            cloud.names,
            projection=placed.captions[how],
            k=selected_class(session) if at.picture is None else None,
            picture=at.picture,
            point=at.point,
            ids=cloud.ids,
            pictures=pictures,
        )

    def headline(self, session: Session, placed: PlacedCloud) -> str:
        """How many neighbours of a picture and of its crops have its class."""
        if not placed.separability:
            return f"{len(placed.cloud.ids)} pictures are placed; how far their classes are apart is being measured."
        _, attacked, crops, _ = placed.separability
        if not np.isfinite([attacked.purity, crops.purity]).all():
            return "1 picture of a class has no neighbours of its class: collect at least 2 of each."
        begin = {"attacked pictures": "Under attack", "clean pictures": "Without an attack"}
        first = begin.get(placed.cloud.pictures_name, "As delivered")
        p, q = (round(100 * row.purity) for row in (attacked, crops))
        return f"{first} {p} of 100 neighbours share a picture’s class; among its crops {q} do."

    def caption(self, session: Session, placed: PlacedCloud) -> str:
        """Which pictures they are, and the threat model."""
        settings, title, knows = placed.cloud.settings, placed.cloud.title.partition("; ")[0], ""
        if settings is not None and placed.cloud.pictures_name != "clean pictures":
            attack = get_attack(settings.attack)
            title = title.replace(attack.title, attack.column_title)
            if attack.does_not_know:
                knows = f"; the attacker does not know {attack.does_not_know[0].removesuffix(' of the defence')}"
        how = f" {projection_shown(session)}." if session.figures.shown == "cloud" else ""
        return f"{'Stored example: ' * placed.stored}{title}{knows}.{how}"

    def details(self, session: Session, placed: PlacedCloud, folders: DataFolders) -> str:
        """HTML: what became of the chosen picture, and the shares of neighbours of the same class, where they can be counted."""
        rows, said = placed.separability[:3], _story(session, placed, folders)
        if not rows or not np.isfinite([row.purity for row in rows]).all():
            return said
        titles = ("clean", kind_titles(placed.points)["attacked"], "its crops")
        shares, chance = [round(100 * row.purity) for row in rows], round(100 * rows[1].chance)
        alt = ", ".join(f"{title} {share} of 100" for title, share in zip(titles, shares)) + f", by chance {chance}"
        bars = list(zip(("clean", "attacked", "defence"), titles, shares, strict=True))
        return said + html("neighbours", rows=bars, chance=chance, said=alt, n=len(placed.cloud.ids))


def projection_shown(session: Session) -> str:
    """UMAP if it is chosen and ready, else PCA."""
    placed, how = session.figures.placed_cloud, session.figures.projection
    return how if placed is not None and how in placed.coordinates else "PCA"


def _story(session: Session, placed: PlacedCloud, folders: DataFolders) -> Markup:
    """The chosen picture; and from the feature space, not from the plane, where its attacked feature went and its crops stayed."""
    cloud, n, point = placed.cloud, session.figures.picture, session.figures.point
    if n is None:
        return Markup("<h3>Choose a point</h3><p>Its picture is shown here, and where its attack led.</p>")
    label = int(cloud.label[n])
    name, titles = cloud.names[label], kind_titles(placed.points)
    kind = "attacked" if point is None else str(placed.points.kind[point])
    what = f"crop {int(placed.points.index[point or 0]) + 1}" if kind == "view" else titles.get(kind, kind)
    picture, crops = (Counter(classes.tolist()) for classes in analysis.nearest_classes(cloud, n))
    (led, near), (stayed, count) = picture.most_common(1)[0], crops.most_common(1)[0]
    its = "attacked picture" if cloud.pictures_name == "attacked pictures" else "delivered picture"
    went = f"{near} of the {picture.total()} clean pictures nearest to the {its} are {cloud.names[led]}. "
    went += f"{count} of its {crops.total()} crops lie nearest to {cloud.names[stayed]}"
    went += "." if stayed == label else f", {crops[label]} to {name}."
    try:
        uri = jpeg_uri(evaluation_page.cloud_picture(folders, cloud, n, PICTURE_SIDE).pixels)
    except (DemoError, AttributeError):  # a cloud without settings has no place to look
        uri = "" if cloud.thumbs is None else jpeg_uri(cloud.thumbs[n])
    place = np.unique(cloud.label).tolist().index(label)
    dataset = DATASETS[cloud.dataset].title if cloud.dataset in DATASETS else cloud.dataset
    missing = f"Its picture is not here: “python -m rita_demo datasets” says where {dataset} belongs."
    colour = figures.class_style(place)[0]
    return html("cloud_story", name=name, kind=what, n=n, picture=uri, colour=colour, said=went, missing=missing)


def class_chips(session: Session) -> str:
    """HTML: the classes with their colour and shape, as buttons; that of the selected class is pressed."""
    placed, shown = session.figures.placed_cloud, session.figures.shown
    if placed is None or shown not in ("cloud", "kl"):
        return ""
    classes = np.unique(placed.cloud.label).tolist()
    story = shown == "cloud" and session.figures.picture is not None  # then no class is grey
    here = None if story else selected_class(session)
    titles = kind_titles(placed.points) if shown == "cloud" else {}
    signs = [(SIGNS[kind], title) for kind, title in titles.items()]
    return html("chips", classes=classes, names=placed.cloud.names, here=here, style=figures.class_style, signs=signs)


def separability_table(session: Session) -> str:
    """HTML: how well the classes are separated, in one sentence and in numbers."""
    placed = session.figures.placed_cloud
    if placed is None or not placed.separability:
        return ""
    near = placed.separability[0].neighbours
    nearest = f"{near} nearest points" if near > 1 else "nearest point"
    columns = ["in the original space", "points", "silhouette (−1 to 1)"]
    columns += [f"of the {nearest} of other pictures, the same class", "by chance"]
    titles = ("clean pictures", placed.cloud.pictures_name, "their crops", "the mean of each picture’s crops")
    rows = []
    for title, row in zip(titles, placed.separability, strict=True):
        shares = (f"{_number(100 * share, 0)} %" for share in (row.purity, row.chance))
        rows.append((title, row.count, _number(row.silhouette, 3), *shares))
    single = int((np.unique(placed.cloud.label, return_counts=True)[1] == 1).sum())
    note = "Every class has at least as many other pictures as there are neighbours: 100 % can be reached."
    if single:
        note = f"{single} of the classes have one picture only: neighbours are counted for the others."
    return (
        f"{table(columns, rows, 'separation')}"
        "<p class='note'>Cosine distance between features as the model gives them, not in the plane, where distances between "
        "islands mean nothing. Crops of one picture lie close together whatever it shows: the silhouette counts them, the "
        f"neighbours do not. {note}</p>"
    )


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "–"


class Kl(Cloud):
    """KL to one-hot of its pictures and of the crops in the memory."""

    title = "KL to one-hot"

    def draw(self, session: Session, placed: PlacedCloud) -> Figure:
        """Densities or points, and classes."""
        return figures.kl_to_one_hot(placed.kl_to_one_hot, selected_class(session))

    def headline(self, session: Session, placed: PlacedCloud) -> str:
        """In how many classes the stored views are closer to a one-hot answer."""
        kl = placed.kl_to_one_hot
        if not kl.classes:
            return "0 classes have both a picture and a crop in the memory."
        closer = round(kl.improved * kl.classes)
        return f"Stored crops are closer to a one-hot answer than pictures in {closer} of {kl.classes} classes."

    def details(self, session: Session, placed: PlacedCloud, folders: DataFolders) -> str:
        """HTML: both ways of counting, and what the first one owes to how crops are chosen."""
        kl = placed.kl_to_one_hot
        if not kl.classes:
            return ""
        true = f" Counted by the true class of their pictures: in {percent(kl.improved_true)} of {kl.classes_true}."
        return Markup(
            "<p>The crops in the memory are closer in {} of {} classes.{}</p><p class='note'>A crop is stored under the class that "
            "it answers with: the first number is partly due to how crops are chosen.</p>"
        ).format(percent(kl.improved), kl.classes, true if kl.classes_true else "")


# --- the lasso
def lassoed_pictures(session: Session) -> list[int]:
    """The pictures with points inside the lasso; a prompt is of none."""
    placed, chosen = session.figures.placed_cloud, np.array(session.figures.lasso_points, int)
    owners = chosen if placed is None else placed.points.picture[chosen]
    return np.unique(owners[owners >= 0]).tolist()


def points_table(session: Session) -> bytes:
    """The points inside the lasso as CSV. Raises DataError: there are none."""
    placed = session.figures.placed_cloud
    if placed is None or not lassoed_pictures(session):
        raise DataError("No points are selected.", "Select some with the lasso in the figure’s tool bar.")
    return points_csv(placed.cloud, placed.points, session.figures.lasso_points)


def lasso_says(session: Session) -> str:
    """HTML: how many points are inside the lasso, and of how many pictures."""
    points = len(session.figures.lasso_points)
    return (
        f"<p>{points} points of {len(lassoed_pictures(session))} pictures are inside the lasso.</p>" if points else ""
    )
