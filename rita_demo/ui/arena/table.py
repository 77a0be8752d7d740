"""The one table of *Arena*: a row for each defence, its marks on the picture on screen, and its shares of many pictures."""

from dataclasses import dataclass

from rita_demo.defences.registry import compared
from rita_demo.figures.analysis.numbers import PooledShare
from rita_demo.pipeline.arena import TOWERS, ArenaTable, TowerTable, columns, masked, wrong_before
from rita_demo.process.templates import html
from rita_demo.records import Verdict
from rita_demo.settings.models import EMBEDDED, EMBEDDED_ROBUST
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.wording import EARLIER_NOTE, title_of

#: (model, defence, attack) -> its share of many pictures.
Shares = dict[tuple[str, str, str], PooledShare]
MANY = ("pgd", "adaptive")  # the attacks that the two columns of many pictures are of


def model_of(session: Session) -> str:
    """The model that the table shows: that of the switch, or the run's where it has no switch."""
    own = EMBEDDED if session.run is None else session.run.backbone.name
    chosen = session.arena_view.model
    return chosen if chosen in TOWERS and own in TOWERS else own


def table_of(session: Session) -> ArenaTable | None:
    """The table of the picture on screen."""
    table = session.arena
    return table if table is not None and table.fits(session.run) else None


def tower_of(session: Session) -> TowerTable | None:
    """Its cells in the model that is shown."""
    table = table_of(session)
    return None if table is None else table.towers.get(model_of(session))


def shown_rows(session: Session, shares: Shares) -> list[str]:
    """The defences that were not left out, best first: by what an attacker who knows CLIP leaves, in the robust tower by one
    who knows the defence; those that are not measured last."""
    model, wanted = model_of(session), session.arena_view.methods
    attacks = MANY[::-1] if model == EMBEDDED_ROBUST else MANY
    rows = [name for name in compared() if wanted is None or name in wanted]

    def place(name: str) -> list[float]:
        known = (shares.get((model, name, attack)) for attack in attacks)
        return [1.0 if share is None else -share.percent for share in known]

    return sorted(rows, key=place)


def shown_columns(session: Session) -> dict[str, str]:
    """The attackers that were not left out."""
    wanted = session.arena_view.columns
    return {name: title for name, title in columns().items() if wanted is None or name in wanted}


@dataclass(frozen=True)
class Mark:
    """How a cell looks: its sign, css class, and the same in words."""

    sign: str
    kind: str
    says: str


def mark_of(session: Session, name: str, column: str) -> Mark:
    """A cell of the model that is shown. Green and vermillion need a true class."""
    run, tower = session.run, tower_of(session)
    if (model_of(session), name, column) in session.arena_view.running:
        return Mark("", "running", "is being measured")
    cell = None if tower is None else tower.cells.get((name, column))
    if run is None:
        return Mark("", "", "")
    if tower is None or cell is None:
        return Mark("", "empty", "not measured yet")
    if not isinstance(cell, Verdict):
        return Mark("–", "dim", f"no answer. {cell}")
    answer, right = run.class_prompts.names[cell.label], tower.right[name, column]
    if not run.label_given:
        return Mark("=" if right else "≠", "dim", f"{answer}, {'unchanged' if right else 'changed'}")
    if column == "adaptive" and masked(tower, name):
        return Mark("(✓)", "weak", f"{answer}, right, but its attacker is too weak")
    if column != "none" and not right and wrong_before(tower, name):
        return Mark("–", "dim", f"{answer}, wrong as without an attack")
    return Mark("✓", "good", f"{answer}, right") if right else Mark("✗", "bad", f"{answer}, wrong")


def headline(session: Session, shares: Shares) -> str:
    """What the best defence keeps of many pictures, and what is left once the attacker knows it."""
    model = model_of(session)
    clip, known = (
        {name: shares[model, name, attack].percent for name in compared() if (model, name, attack) in shares}
        for attack in MANY
    )
    defences = [share for name, share in known.items() if name != "clip"]
    if not clip or not defences:
        return f"0 of {len(compared())} defences are measured with this model over many pictures."
    if model == EMBEDDED_ROBUST:
        low, high = min(defences), max(defences)
        return f"Trained on attacks, every defence keeps {low:.0f} to {high:.0f} of 100 against attackers who know it."
    best = max(clip, key=lambda name: clip[name])
    return (
        f"{title_of(best)} keeps {clip[best]:.0f} of 100 under PGD; once the attacker knows the defence, none keeps over "
        f"{max(defences):.0f}."
    )


def table_html(session: Session, shares: Shares) -> str:
    """The table of the model that is shown."""
    view, table, model = session.arena_view, table_of(session), model_of(session)
    heads, names = shown_columns(session), shown_rows(session, shares)
    rows = [
        (
            *(name, title_of(name), {column: mark_of(session, name, column) for column in heads}),
            [shares.get((model, name, attack)) for attack in MANY],
        )
        for name in names
    ]
    # where the tabulator enters
    stop = (
        view.method if view.method in names else next(iter(names), ""),
        view.column if view.column in heads else next(iter(heads), ""),
    )
    many = [share for *_, known in rows for share in known if share]
    counts = sorted({share.n for share in many})
    pictures = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "No"
    given = session.run is None or session.run.label_given
    return html(
        "arena_table",
        stored=table is not None and table.stored,
        question="is the answer right?" if given else "is CLIP’s answer kept?",
        many=f"{pictures} test pictures",
        heads=heads,
        chosen=(view.method, view.column),
        stop=stop,
        by_known=model == EMBEDDED_ROBUST,
        rows=rows,
        missing=any(mark.kind == "empty" for _, _, marks, _ in rows for mark in marks.values()),
        earlier=EARLIER_NOTE.strip() if any(share.earlier for share in many) else "",
    )
