"""The figures of many pictures: where their features lie, and how close to one-hot the memory is."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np

from rita_demo import analysis, plots
from rita_demo.plots.figure import Figure
from rita_demo.plots.one_hot import spoken
from rita_demo.surveys import Cloud, Separation
from rita_demo.ui.caption import captioned
from rita_demo.ui.figures_state import Gathered, looked_at
from rita_demo.ui.images import jpeg_uri
from rita_demo.ui.sessions import Session

EMPTY = (
    "Nothing is gathered yet. Press “Gather”: pictures are drawn, attacked, looked at and remembered "
    "one after another."
)
CENTRED = "pictures and sentences are each centred on their own mean"


def gathered(cloud: Cloud, measure: analysis.Measure) -> Gathered:
    """A cloud as it is drawn first, placed by PCA. ``measure``: ``engine.one_hot_kl``."""
    marks = analysis.marks(cloud)
    places, share = analysis.pca(analysis.comparable(marks))
    said = f"PCA: these two directions show {100 * share:.0f} % of the variance; {CENTRED}."
    return Gathered(
        cloud=cloud,
        marks=marks,
        places={"PCA": places},
        said={"PCA": said},
        one_hot=analysis.one_hot(cloud, measure),
    )


def with_numbers(one: Gathered) -> Gathered:
    """The same with how far the classes are apart, which takes longer than drawing them."""
    return replace(one, separations=analysis.separations(one.cloud))


def with_umap(one: Gathered, places: np.ndarray, neighbours: int) -> Gathered:
    """The same with UMAP's places."""
    said = (
        f"UMAP, {neighbours} neighbours, cosine distance, seed 0: approximate placement; distances between "
        f"groups mean little; {CENTRED}."
    )
    return replace(one, places={**one.places, "UMAP": places}, said={**one.said, "UMAP": said})


def how_shown(session: Session) -> str:
    """UMAP where it was asked for and is ready, else PCA."""
    one, how = session.figures.gathered, session.figures.how
    return how if one is not None and how in one.places else "PCA"


def draw_cloud(session: Session) -> Figure | None:
    """The two panels, or None while there is nothing."""
    figures, one = session.figures, session.figures.gathered
    if one is None:
        return None
    how = how_shown(session)
    figure = plots.cloud(
        one.marks, one.places[how], one.cloud.bank.names, how=one.said[how], k=looked_at(session),
        picture=figures.picture, ids=one.cloud.ids,
    )  # fmt: skip
    return captioned(figure, one.cloud.title)


def draw_one_hot(session: Session) -> Figure | None:
    """Densities and classes, or None while there is nothing."""
    one = session.figures.gathered
    if one is None:
        return None
    return captioned(
        plots.one_hot(one.one_hot, analysis.density, looked_at(session)), one.cloud.title
    )


def chips(session: Session) -> str:
    """HTML: the classes with their colour and shape, as buttons; the highlighted one is pressed."""
    one = session.figures.gathered
    if one is None:
        return ""
    here, buttons = looked_at(session), ""
    for place, k in enumerate(np.unique(one.cloud.label).tolist()):
        number, _, _, shape = plots.class_look(place)
        buttons += (
            f'<button type="button" data-k="{k}" aria-pressed="{str(k == here).lower()}">'
            f'<span aria-hidden="true" style="color:var(--rita-class-{number})">{shape}</span> '
            f"{escape(one.cloud.bank.names[k])}</button>"
        )
    return (
        f'<p class="quiet small">{escape(one.cloud.title)}. True classes; press one to grey the '
        f'others, again to show all:</p><div class="chips" role="group" aria-label="Classes">{buttons}</div>'
    )


def separation_table(session: Session) -> str:
    """HTML: does structure re-emerge? In numbers, and in one sentence."""
    one = session.figures.gathered
    if one is None:
        return ""
    if not one.separations:
        return "<p class='quiet small'>Measuring how far the classes are apart …</p>"
    body = "".join(
        f"<tr><th scope='row'>{escape(s.what)}</th><td>{s.count}</td><td>{_number(s.silhouette, 3)}</td>"
        f"<td>{_number(100 * s.purity, 0)} %</td><td>{_number(100 * s.chance, 0)} %</td></tr>"
        for s in one.separations
    )
    near = one.separations[0].neighbours
    nearest = f"{near} nearest points" if near > 1 else "nearest point"
    return (
        f"<p class='says'>{escape(verdict(one.separations))}</p>"
        "<table class='verdicts separation'><thead><tr><th scope='col'>in the original space</th>"
        "<th scope='col'>points</th><th scope='col'>silhouette (−1 to 1)</th>"
        f"<th scope='col'>of the {nearest} of other pictures, the same class</th>"
        f"<th scope='col'>by chance</th></tr></thead><tbody>{body}</tbody></table>"
        "<p class='quiet small'>Cosine distance between features as the model gives them, not the "
        "plane above. Crops of one picture lie close together whatever it shows: the silhouette of the views "
        "counts them, the neighbours do not, and the last line has one point per picture like (a). "
        f"{_reach(one.cloud.label)}</p>"
    )


def _reach(label: np.ndarray) -> str:
    """How many neighbours are asked, and what that cannot show."""
    single = int((np.unique(label, return_counts=True)[1] == 1).sum())
    if single:
        return f"{single} of the classes have one picture only, whose neighbours cannot have its class."
    return "No more neighbours are asked than every class has other pictures: 100 % can be reached."


def verdict(rows: tuple[Separation, ...]) -> str:
    """One sentence on (a) against (b), with one point per picture on both sides."""
    attacked, mean = rows[1], rows[3]
    if not np.isfinite([attacked.purity, mean.purity]).all():
        return "Too few pictures to say whether the classes come apart again."
    change = 100 * (mean.purity - attacked.purity)
    if abs(change) < 0.5:
        word = "The views bring the classes neither closer together nor further apart here"
    elif change > 0:
        word = "In the views the classes come apart again"
    else:
        word = "In the views the classes do not come apart again here"
    return (
        f"{word}: {100 * attacked.purity:.0f} % of a picture’s neighbours have its class as it was delivered, "
        f"{100 * mean.purity:.0f} % with the mean of its views (n = {attacked.count} pictures)."
    )


def _number(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".replace("-", "−") if np.isfinite(value) else "–"


def one_hot_words(session: Session) -> str:
    """HTML: medians, the share of classes that improved, and why to be careful."""
    one = session.figures.gathered
    if one is None:
        return ""
    return (
        f"<p class='says'>{escape(spoken(one.one_hot))}</p><p class='quiet small'>Left a density over the "
        "classes (Gaussian kernel, Scott’s width), each curve drawn to its own height: compare where they "
        "lie, not how high they are; below it a mark per class. Right each class by itself. KL(one-hot ‖ mean answer "
        "of a class) = −log of the mean answer’s true entry, our formula for the paper’s words. A view is filed "
        "under the class it answers with, so a low value there is partly the way views are chosen; by true "
        "class a view that was filed wrongly counts against the memory.</p>"
    )


def about_mark(session: Session, i: int) -> str:
    """HTML: the thumbnail and what a mark is."""
    one = session.figures.gathered
    if one is None or not 0 <= i < len(one.marks.kind):
        return ""
    kind, picture = str(one.marks.kind[i]), int(one.marks.picture[i])
    name = escape(one.cloud.bank.names[int(one.marks.label[i])])
    if picture < 0:
        return f"<div class='touched'><div><h3>{name}</h3><p>Mean prompt of this class.</p></div></div>"
    image = ""
    if one.cloud.thumbs is not None:
        image = f'<img src="{jpeg_uri(one.cloud.thumbs[picture])}" alt="" width="84" height="84">'
    true = escape(one.cloud.bank.names[int(one.cloud.label[picture])])
    what = {
        "clean": "the clean picture",
        "attacked": "the picture as it was delivered",
        "view": f"view {int(one.marks.number[i]) + 1} of it",
        "cached": f"a view of it in the memory, filed under {name}",
    }[kind]
    held = int(((one.marks.kind == "cached") & (one.marks.picture == picture)).sum())
    kept = f"{held} of its views {'is' if held == 1 else 'are'} in the memory." if held else (
        "None of its views is in the memory."
    )  # fmt: skip
    return (
        f"<div class='touched'>{image}<div><h3>{true}</h3><p>{escape(one.cloud.ids[picture])}: {what}. "
        f"{kept}</p></div></div>"
    )


def lasso_words(session: Session) -> str:
    """HTML: how many of what were gathered with the lasso, by class."""
    one, chosen = session.figures.gathered, np.array(session.figures.lassoed, int)
    if one is None:
        return ""
    if not len(chosen):
        return (
            "<p class='quiet small'>Gather points with the lasso (in the figure’s tool bar) to "
            "count them by class.</p>"
        )
    parts = []
    for kind in ("attacked", "view", "cached", "prompt"):
        labels = one.marks.label[chosen][one.marks.kind[chosen] == kind]
        if len(labels):
            ks, counts = np.unique(labels, return_counts=True)
            order = np.argsort(-counts, kind="stable")
            each = ", ".join(f"{escape(one.cloud.bank.names[ks[i]])} {counts[i]}" for i in order)
            parts.append(f"<li><b>{len(labels)} {WORDS[kind]}</b>: {each}</li>")
    return f"<h3>Gathered: {len(chosen)} points</h3><ul class='plain'>{''.join(parts)}</ul>"


WORDS = {
    "attacked": "pictures as delivered",
    "view": "views",
    "cached": "views in the memory",
    "prompt": "mean prompts",
}
