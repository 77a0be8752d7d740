"""Accuracy against the budget of the attack, from measured cells."""

from collections.abc import Mapping, Sequence

from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.figure import Figure, Spec
from rita_demo.plots.labels import method_colour, method_legend
from rita_demo.plots.shapes import accuracy_bars, percent_ticks
from rita_demo.plots.theme import annotation, axis, finalise, message_figure
from rita_demo.records import MeasuredCell

DATASET_TITLES = {"caltech101": "Caltech101, 100 classes", "dtd": "DTD, 47 classes", "dtd:present": "DTD, 13 classes"}
SQUARE_TITLES = {"picture": "attack on the picture", "model": "attack on the model's square"}


def accuracy_by_budget(measured: Mapping[str, Sequence[MeasuredCell]]) -> Figure:
    """Panels with one column per dataset and one row per attacked square; a line per method.

    Full lines are PGD with the fewest steps, thin ones with more. Bars are Wilson's 95 % intervals. Budget 0 is the
    clean accuracy. Marks carry ``customdata = (hover text,)``. ``measured``: square -> its cells; only those without
    attack and of PGD are drawn."""
    squares = [name for name in SQUARE_TITLES if measured.get(name)]
    cells = [cell for name in squares for cell in measured[name]]
    datasets = [name for name in DATASET_TITLES if any(cell.dataset == name for cell in cells)]
    if not datasets:
        return message_figure("No measurements over budgets in this copy.")
    figure, notes = Figure(), []
    layout: Spec = {}
    narrow: Spec = {"margin.t": 70}
    panels = [(square, dataset) for square in squares for dataset in datasets]
    for number, (square, dataset) in enumerate(panels):
        row, column = divmod(number, len(datasets))
        suffix = str(number + 1) if number else ""
        here = [cell for cell in measured[square] if cell.dataset == dataset]
        _add_lines(figure, here, suffix)
        left, top = column / len(datasets), 1 - row / len(squares)
        across = {"domain": [left, left + 0.92 / len(datasets)], "anchor": "y" + suffix, "tickvals": [0, 1, 2, 4, 8]}
        up = {"domain": [top - 0.78 / len(squares), top - 0.08], "anchor": "x" + suffix} | percent_ticks(0, 50, 100)
        words = "budget in 1/255 (largest change of a pixel)"
        layout["xaxis" + suffix] = axis(range=[-0.4, 8.9], title=words, **across)
        layout["yaxis" + suffix] = axis(range=[-3, 103], **up)
        title = f"<b>{DATASET_TITLES[dataset]}</b>, {SQUARE_TITLES[square]}, n = {max(c.n for c in here)}"
        notes.append(annotation(title, left, top - 0.08, yshift=2))
        top, bottom = 1 - (number + 0.2) / len(panels), 1 - (number + 0.9) / len(panels)  # one below the other
        narrow |= {f"xaxis{suffix}.domain": [0, 1], f"yaxis{suffix}.domain": [bottom, top]}
        narrow |= {f"annotations.{number}.x": 0, f"annotations.{number}.y": top}
        narrow[f"annotations.{number}.text"] = title.replace("attack on the ", "")
        if number + 1 < len(panels):
            narrow[f"xaxis{suffix}.title.text"] = ""
    key = "accuracy: " + method_legend(cell.method for cell in cells)
    if len(steps := _pgd_steps(cells)) > 1:
        key += f"   (full: PGD-{steps[0]}, thin: PGD-{steps[-1]})"
    described = [
        f"{DATASET_TITLES.get(cell.dataset, cell.dataset)}, {SQUARE_TITLES[square]}: {_hover_text(cell)}"
        for square in squares
        for cell in measured[square]
        if cell.method in DEFENCES and cell.attack in ("none", "pgd")
    ]
    return finalise(
        figure,
        kind="strength_curves",
        alt="; ".join(described) + ".",
        annotations=[*notes, annotation(key, 0, 1, yshift=8)],
        margin={"l": 48, "r": 12, "t": 34, "b": 40},
        narrow=narrow,
        wrap=[len(notes)],
        **layout,
    )


def _add_lines(figure: Figure, cells: Sequence[MeasuredCell], suffix: str) -> None:
    """The methods' lines of one panel: clean accuracy and that under PGD, by budget."""
    for method, defence in DEFENCES.items():
        mine, colour = [cell for cell in cells if cell.method == method], method_colour(method)
        for number, steps in enumerate(_pgd_steps(cells)):
            shown = (c for c in mine if c.attack == "none" or (c.attack, c.steps) == ("pgd", steps))
            line = sorted(shown, key=_budget)
            if len(line) < 2:
                continue
            thick = {"width": 2, "dash": defence.dash} if number == 0 else {"width": 1, "dash": "dot"}
            figure.add_marks(
                "%{customdata[0]}",
                x=[_budget(cell) for cell in line],
                y=[cell.accuracy for cell in line],
                error_y=accuracy_bars(line, colour) | {"visible": number == 0},
                xaxis="x" + suffix,
                yaxis="y" + suffix,
                mode="lines+markers",
                name=f"{defence.title}, PGD-{steps}",
                line={"color": colour} | thick,
                marker={"symbol": defence.symbol, "size": 5 if number else 8},
                customdata=[[_hover_text(cell)] for cell in line],
                cliponaxis=False,
            )


def _pgd_steps(cells: Sequence[MeasuredCell]) -> list[int]:
    return sorted({cell.steps for cell in cells if cell.attack == "pgd"})


def _budget(cell: MeasuredCell) -> int:
    return cell.budget if cell.attack == "pgd" else 0


def _hover_text(cell: MeasuredCell) -> str:
    attack = f"PGD-{cell.steps} at {cell.budget}/255" if cell.attack == "pgd" else "no attack"
    return (
        f"{DEFENCES[cell.method].title}, {attack}: {cell.accuracy:.0f} % right "
        f"({cell.low:.0f} to {cell.high:.0f}), n = {cell.n}"
    )
