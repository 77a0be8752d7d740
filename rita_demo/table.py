"""What the command line prints: records as plain text, a few lines wide enough for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rita_demo.data.paper import BACKBONES
from rita_demo.methods import METHODS
from rita_demo.records import Story, Verdict

if TYPE_CHECKING:
    from rita_demo.data.datasets import Presence
    from rita_demo.vlm.registry import Available

LONGEST_LABEL = 24


def render(story: Story, title: str) -> str:
    """The story in about fifteen lines: who is attacked, every method's answer, the threat model."""
    side = story.clean.picture.pixels.shape[0]
    lines = [
        f"{title}: {side} x {side} pixels, {len(story.bank.names)} classes, "
        f"{story.backbone.title} on {story.backbone.device}",
        *([story.backbone.note] if story.backbone.note else []),
        *story.clean.picture.notes,
        *_unknown_words(story),
        "",
        *columns(_rows(story)),
        "",
        *_footnotes(story),
        *story.threat.sentences,
        f"Took {sum(story.seconds.values()):.1f} s ("
        + ", ".join(f"{name} {value:.2f}" for name, value in story.seconds.items())
        + ").",
    ]
    return "\n".join(lines)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of equal length as aligned text; numbers (cells that start with a digit) to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths)
        ).rstrip()
        for row in rows
    ]


def _rows(story: Story) -> list[list[str]]:
    from rita_demo.story import outcome

    attacked = story.attack is not None
    target = story.attack.target if story.attack is not None else None
    head = ["", "clean" if attacked else "answer", "prob.", "margin"]
    head += ["attacked", "prob.", "margin"] if attacked else []
    rows = [[*head, ""]]
    for method, before in story.clean.verdicts.items():
        after = story.attacked.verdicts[method]
        row = [METHODS[method].full, *_cells(before, story.bank.names)]
        if attacked:
            row += [*_cells(after, story.bank.names), outcome(before, after, story.label, target)]
        else:
            right = "right" if before.label == story.label else "wrong"
            row.append(right if story.label_given else "")
        rows.append(row)
    return rows


def _cells(verdict: Verdict, names: Sequence[str]) -> list[str]:
    name = names[verdict.label]
    short = name if len(name) <= LONGEST_LABEL else name[: LONGEST_LABEL - 3] + "..."
    share = 100 * float(verdict.probability[verdict.label])
    return [short, f"{share:.1f} %", f"{verdict.margin:.4f}"]


def _footnotes(story: Story) -> list[str]:
    lines = []
    if story.label_given:
        lines.append(f"Right means: {story.bank.names[story.label]} (given).")
    elif story.attack is not None:
        lines.append(
            f"Right means: {story.bank.names[story.label]} (CLIP's own answer on the clean picture)."
        )
    lines.append(
        "Margin: best minus second-best probability; for RITA, by how much its class is the cheapest, "
        "in cosine distance."
    )
    if story.attack is not None and story.attack.target is not None:
        aim = story.bank.names[story.attack.target]
        lines.append(f"Fooled means: right before the attack, and now {aim}, the attack's target.")
    if story.attack is not None:
        moved = f"{story.attack.linf:g}/255"
        lines.append(f"Pixels moved by at most {moved}; L2 norm {story.attack.l2:.2f}.")
    return lines


def _unknown_words(story: Story) -> list[str]:
    words = sorted({word for row in story.bank.unknown for word in row})
    if not words:
        return []
    shown = ", ".join(words[:10]) + (f" and {len(words) - 10} more" if len(words) > 10 else "")
    return [f"Words the model never met in training: {shown}."]


def models(rows: Sequence[Available], device: str) -> str:
    """``models``: name, whether it can be used now, parameters, one sentence."""
    lines = columns(
        [
            [
                "*" if row.ready else "",
                row.name,
                row.state,
                f"{row.parameters / 1e6:.0f} M parameters",
            ]
            for row in rows
        ]
    )
    notes = [f"\n     {row.note}" for row in rows]
    return "\n".join(
        [
            f"Device: {device}. Models (* can be used now):",
            *(line + note for line, note in zip(lines, notes)),
            "Any other open_clip model: --backbone ARCHITECTURE:TAG, or ARCHITECTURE:path/to/checkpoint, where the "
            "name decides the",
            "activation: weights that come from OpenAI's want ViT-B-32-quickgelu, not ViT-B-32.",
            "TeCoA, PMG-AFT, FARE: --backbone ViT-B-32-quickgelu:openai+path/to/vision_tower.pt; keys that may be "
            "missing or left",
            "over in it are named behind: +except=KEY,KEY.",
            "The paper's names (--backbone understands them too; of a fine-tuned vision tower, put the path of your "
            "file in the place of its name):",
            *columns([["", *both] for both in BACKBONES.items()]),
        ]
    )


def datasets(rows: Sequence[Presence], root: Path | None) -> str:
    """``datasets``: each one's own sentence for a class name, what is here and what is missing."""
    where = f"below {root}" if root else "(no data folder: say where with --data-root)"
    table = columns(
        [["*" if row.usable else "", row.name, row.template, row.sentence] for row in rows]
    )
    told = "The sentence of each is what --set hand_prompt=dataset asks CLIP with."
    return "\n".join([f"Datasets {where} (* can be used now):", *table, told])
