"""What ``explain`` prints: a run as plain text, a few lines wide enough for a terminal."""

from rita_demo.defences.registry import DEFENCES
from rita_demo.records import ClassPrompts, Run, Verdict
from rita_demo.records.spreadsheet import align_columns

MAX_LABEL_LENGTH = 24


def run_table(run: Run, title: str) -> str:
    """A run in about fifteen lines: every method's answer and the threat model."""
    from rita_demo.pipeline.export import notes  # loads numpy

    side, names = run.clean.picture.pixels.shape[0], run.class_prompts.names
    lines = [f"{title}: {side} x {side} pixels, {len(names)} classes, {run.backbone.title} on {run.backbone.device}"]
    lines += [*([run.backbone.note] if run.backbone.note else []), *run.clean.picture.notes]
    if words := sorted({word for row in run.class_prompts.unknown for word in row}):
        text = ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
        lines.append(f"Words that the model was not trained with, about which it can only guess: {text}.")
    lines += [*notes(run), "", *align_columns(_rows(run)), "", *_footnotes(run)]
    lines += [f"{DEFENCES[method].title} has no answer. {fault}" for method, fault in run.faults.items()]
    seconds = ", ".join(f"{name} {value:.2f}" for name, value in run.seconds.items())
    return "\n".join([*lines, *run.threat_model.sentences, f"Took {sum(run.seconds.values()):.1f} s ({seconds})."])


def _rows(run: Run) -> list[list[str]]:
    from rita_demo.pipeline.outcome import outcome  # loads numpy

    attacked, outcomes = run.attack is not None, outcome(run)
    head = ["", "clean" if attacked else "answer", "prob.", "margin"]
    head += ["attacked", "prob.", "margin"] if attacked else []
    rows = [[*head, ""]]
    for method in run.answered:
        before, after = run.clean.verdicts[method], run.attacked.verdicts[method]
        row = [DEFENCES[method].full_title, *_verdict_cells(before, run.class_prompts)]
        if attacked:
            row += [*_verdict_cells(after, run.class_prompts), outcomes[method].word]
        else:
            row.append({True: "right", False: "wrong", None: ""}[outcomes[method].right])
        rows.append(row)
    rows += [[DEFENCES[method].full_title, "no answer", *[""] * (len(head) - 1)] for method in run.faults]
    return rows


def _verdict_cells(verdict: Verdict, prompts: ClassPrompts) -> list[str]:
    """Answer, probability and margin; no share where the list has a word that the model was not trained with."""
    name = prompts.names[verdict.label]
    short = name if len(name) <= MAX_LABEL_LENGTH else name[: MAX_LABEL_LENGTH - 3] + "..."
    share, margin = f"{100 * float(verdict.probability[verdict.label]):.1f} %", f"{verdict.margin:.4f}"
    if prompts.unknown_names:
        share = "unknown" if prompts.unknown[verdict.label] else "-"
        margin = margin if "distance" in verdict.margin_unit else "-"
    return [short, share, margin]


def _footnotes(run: Run) -> list[str]:
    lines, names, attack = [], run.class_prompts.names, run.attack
    if run.label_given:
        lines.append(f"Right means: {names[run.label]} (given).")
    elif attack is not None:
        lines.append(f"No true class was given; the attack moves away from {names[run.label]}, CLIP's own answer.")
    margin = "Margin: best minus second-best probability; for RITA, by how much its class is the cheapest, in cosine distance."
    lines.append(margin)
    if attack is not None and attack.target is not None:
        lines.append(f"Fooled means: right before the attack, and now {names[attack.target]}, the attack's target.")
    if attack is not None:
        lines.append(f"Pixels moved by at most {attack.linf:g}/255; L2 norm {attack.l2:.2f}.")
    return lines
