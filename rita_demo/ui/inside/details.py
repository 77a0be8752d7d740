"""What *Inside* says beside its figure: of the chosen crop, and of the chosen class or cell of its plan, with its sum."""

import numpy as np

from rita_demo.figures.decision.views import moved_shares
from rita_demo.figures.labels import truncated
from rita_demo.process.templates import html
from rita_demo.records import Run
from rita_demo.ui.inside.crop_columns import rival_of, shown_view
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri

PIXELS = 272  # edge of the picture and of the crop as sent; shown at half of it
LETTERS = 24  # of a class name


def crop_details(session: Session) -> str:
    """HTML: the chosen crop, what it says alone, what it costs with each class, and what it counts."""
    run, view = session.displayed_run, shown_view(session)
    if run is None or view is None or view >= len(run.attacked.encoded_views.features):
        return "<p class='empty'>The chosen crop appears here.</p>"
    side, crops, k = run.attacked, session.crops_of("attacked"), session.selection.k
    trace, rival = side.trace, rival_of(session, run)
    classes = list(dict.fromkeys([run.label, rival, *([] if k is None else [k])]))
    costs = np.asarray(trace.prompt_transport.cost, float)[classes, view]
    each = (costs * np.asarray(trace.prompt_weight, float)[classes]).sum(1).tolist()
    share = np.asarray(trace.confidence.probability[view], float)
    kinds, known = {run.label: "reference", rival: "rival"}, not run.class_prompts.unknown_names
    says = [
        (_name(run, c), share[c], wording.percent(share[c]) if known else "", kinds.get(c, "another"))
        for c in np.argsort(-share, kind="stable")[:3].tolist()
    ]
    answer = side.verdicts["rita"].label
    left, top, right, bottom = (100 * float(v) for v in side.encoded_views.views.boxes[view])
    entered = any(event.view == view for event in trace.cache_update.events)
    return html(
        "crop_details",
        title="The whole picture" if view == 0 else f"Crop {view}",
        out=view in session.inside.what_if.exclusions.views,
        picture=jpeg_uri(side.picture.pixels, side=PIXELS),
        crop=None if crops is None or view >= len(crops) else jpeg_uri(crops[view], quality=92),
        place={"left": left, "top": top, "width": right - left, "height": bottom - top},
        says=says,
        costs=[(_name(run, c), f"{cost:.3f}") for c, cost in zip(classes, each, strict=True)],
        weight=wording.percent(float(trace.view_weight[view]), 1),
        moves=wording.percent(float(moved_shares(side, answer)[view])),
        enters="enters it" if entered else "does not enter it",
        memory=run.settings.protocol != "off",
        term=wording.term_html,
    )


def class_details(session: Session) -> str:
    """HTML: the price of the chosen class as a sum, and the chosen cell of its plan; "" while no class is chosen."""
    run, at, view = session.displayed_run, session.selection, shown_view(session)
    if run is None or at.k is None:
        return ""
    trace, settings = run.attacked.trace, run.settings
    prompt, total = (float(part[at.k]) for part in (trace.prompt_transport.distance, trace.total))
    added, cell = float(trace.cache_distance[at.k]), None
    sentences = run.class_prompts.prompts[at.k]
    if at.atom is not None and at.atom < len(sentences) and view is not None:
        cell = {"sentence": sentences[at.atom], "said": cell_sentence(run, (at.k, view, at.atom)), "view": view}
    return html(
        "class_details",
        name=_name(run, at.k),
        prompt=f"{prompt:.4f}",
        weight=f"{settings.cache_weight:g}",
        memory=f"{added:.4f}" if trace.cache_transport is not None else "",
        total=f"{total:.4f}",
        cell=cell,
    )


def cell_sentence(run: Run, cell: tuple[int, int, int]) -> str:
    """What the plan moves in one cell (class, view, prompt), and what it costs."""
    (k, view, atom), solved = cell, run.attacked.trace.prompt_transport
    cost, share = float(solved.cost[cell]), float(solved.plan[cell] / solved.mass)
    even = float(solved.row_weight[k, view] * solved.column_weight[k, atom] / solved.mass)
    carried = "It is left out and carries nothing."
    if even > 0:
        carried = (
            f"It carries {wording.percent(share, 2)} of the mass, {share / even:.2f} times an even share: "
            f"{share * cost:.4f} of the {float(solved.distance[k]):.4f}."
        )
    if run.settings.cost == "loglik":
        return (
            f"The cost is {cost:.4f}: −τ log p of the class on this crop, the same for each of its sentences. {carried}"
        )
    return f"{cost:.4f} apart (cosine distance). {carried}"


def _name(run: Run, k: int) -> str:
    return truncated(run.class_prompts.names[k], LETTERS)
