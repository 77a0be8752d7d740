"""The panel beside the table: what is chosen in it, and what filling it costs."""

from collections.abc import Sequence

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.arena import TRANSFER, columns, due_jobs, expected_seconds, standing
from rita_demo.process.templates import html
from rita_demo.records import MeasuredCell, Verdict
from rita_demo.records.masking_signs import JudgedCell, masking_sentence, masking_signs
from rita_demo.ui.arena.table import Shares, mark_of, model_of, shown_columns, shown_rows, table_of, tower_of
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.wording import title_of

#: Column -> what its attacker knows; of others the attack says it.
KNOWS = {
    "none": "There is no attacker.",
    "pgd": "CLIP, the class names and the strength; nothing of the defence.",
    "autoattack": "CLIP, the class names and the strength; nothing of the defence.",
}


def answer_html(session: Session) -> str:
    """HTML: the chosen cell's answer with its lead; of a row or column how many stand."""
    view, run, tower = session.arena_view, session.run, tower_of(session)
    cell = None if tower is None else tower.cells.get((view.method, view.column))
    shown, said = {"answer": "", "mark": "", "kind": "", "lead": "", "picture": None}, list[str]()
    attacker = "attacker who knows it" if view.column == "adaptive" else columns().get(view.column, "")
    if view.method and view.column:
        title = f"{title_of(view.method)}, {attacker}"
        mark = mark_of(session, view.method, view.column)
        if run is not None and tower is not None and isinstance(cell, Verdict):
            lead = f"{cell.margin:.3f}" if "distance" in cell.margin_unit else f"{100 * cell.margin:.0f} points"
            shown |= {"answer": run.class_prompts.names[cell.label], "mark": mark.sign, "kind": mark.kind}
            shown |= {"lead": f"{lead} ahead", "picture": run.clean.picture.pixels}
            if mark.kind == "weak":
                text = "Right only because this attacker is too weak: one who does not know the defence fools it. Not counted."
                said.append(text)
            elif mark.sign == "–":
                said.append("Wrong without an attack as well: no success of the attack.")
        elif run is not None:
            said.append(f"{mark.says[0].upper()}{mark.says[1:]}.".replace("..", "."))
    elif view.method:
        title = title_of(view.method)
    else:
        title = "The attacker who knows each row" if view.column == "adaptive" else attacker
        title = f"{title[0].upper()}{title[1:]}"
        right, of = (0, 0) if tower is None else standing(tower, shown_rows(session, {}), view.column)
        if of:
            known = run is None or run.label_given
            kept = "that are right without an attack are right here" if known else "keep CLIP’s answer"
            said.append(f"{right} of {of} rows {kept}.")
    return html("arena_details", title=title, said=said, thumbnail=jpeg_uri, **shown)


def about_html(session: Session, cells: Sequence[MeasuredCell], shares: Shares) -> str:
    """HTML: the chosen defence in a sentence, what its attacker knows, what the missing cells cost."""
    view, model, texts = session.arena_view, model_of(session), list[tuple[str, str]]()
    if view.method:
        texts.append((f"What is {title_of(view.method)}?", DEFENCES[view.method].sentence))
    if view.column:
        texts.append(("The attacker knows", knows(view.method, view.column)))
    if view.column == "autoattack" and (text := why_autoattack(model, shares)):
        texts.append(("Why more than under PGD?", text))
    if signs := signs_of_masking(view.method, model, cells):
        texts.append(("Is its gradient hidden?", signs))
    return html("arena_about", texts=texts, cost=cost(session))


def knows(method: str, column: str) -> str:
    """What the attacker of a cell, or of a whole column, knows."""
    if column == "transfer":
        first, second = map(title_of, TRANSFER)
        if not method:
            return f"Another defence: {first}; in its own row {second}."
        return f"CLIP and another defence, {second if method == TRANSFER[0] else first}; nothing of this one."
    if column == "adaptive":
        adaptive = DEFENCES[method].adaptive if method else None
        gradient = f"; gradient: {adaptive.kind}" if adaptive else ""
        return f"CLIP and the defence, not its random crops{gradient}."
    return KNOWS.get(column) or get_attack(column).knowledge_sentence


def why_autoattack(model: str, shares: Shares) -> str:
    """Why an attack that is stronger against CLIP leaves more to crops; "" where that was not measured."""
    crops, pgd = (shares.get((model, "ensemble", attack)) for attack in ("autoattack", "pgd"))
    clip = shares.get((model, "clip", "autoattack"))
    if crops is None or pgd is None or clip is None or crops.percent <= pgd.percent:
        return ""
    reason = "It is made for CLIP alone and ends once CLIP is wrong; what is strongest against CLIP does not carry over best."
    if clip.percent > 5:
        share = f"{clip.percent:.0f} of 100"
        reason = f"It leaves a picture as it is where it cannot fool CLIP, {share}; PGD changes every one."
    kept = f"{crops.percent:.0f} % of {crops.n} pictures, under PGD {pgd.percent:.0f} % of {pgd.n}"
    return f"{reason} The average of crops keeps {kept}."


def signs_of_masking(method: str, model: str, cells: Sequence[MeasuredCell]) -> str:
    """The signs that were found in the measurements; "" for none."""
    own = [cell for cell in cells if (cell.backbone, cell.method) == (model, method)]
    known, static = ([JudgedCell(cell) for cell in own if (cell.attack == "adaptive") is at] for at in (True, False))
    found = [signs for cell in known if True in (signs := masking_signs(cell, known, static))]
    return masking_sentence(found[0]) if found else ""


def asked(session: Session) -> tuple[list[str], list[str]]:
    """The rows and columns of what is chosen."""
    view = session.arena_view
    methods = [view.method] if view.method else shown_rows(session, {})
    return methods, [view.column] if view.column else list(shown_columns(session))


def cost_of(session: Session, models: Sequence[str], methods: Sequence[str], attackers: Sequence[str]) -> str:
    """What the missing ones of these cells cost, such as "3 cells, about 40 s"; "" where none is missing."""
    if session.run is None:
        return ""
    due = due_jobs(models, methods, attackers, table_of(session))
    count, seconds = sum(map(len, due.values())), expected_seconds(due, session.run)
    if not count:
        return ""
    rounded = 5 * round(seconds / 5) if seconds > 10 else max(1, round(seconds))
    long = f"{rounded} s" if seconds < 90 else f"{seconds / 60:.0f} min"
    return f"{count} cell{'s' * (count != 1)}, about {long}"


def cost(session: Session) -> str:
    """What the missing cells of the choice cost."""
    return cost_of(session, [model_of(session)], *asked(session))
