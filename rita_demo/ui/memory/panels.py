"""What the panels of the tab *Memory* show, each drawn from the session once the tab is opened."""

from collections.abc import Sequence
from html import escape

import gradio as gr
import numpy as np

from rita_demo import plots
from rita_demo.data.memory import IMPORTED, Moment
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import StreamRun
from rita_demo.plots.memory.cache import MIN_CHANGE
from rita_demo.records import Run, Trace
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording

OTHER_NAMES = (
    " has other class names than the picture on screen. Press “Decide my own picture with this memory” to see what it "
    "changes there.</p>"
)
EMPTY_TEXT = "Appears a few seconds after a picture is run."


def slider(session: Session) -> PanelValue:
    last = len(session.shown_history.moments) - 1
    return gr.update(maximum=max(last, 1), value=session.selected_moment, visible=last > 0)


def says(session: Session) -> str:
    """HTML: whose memory is on screen, and what it says, in two sentences with numbers."""
    entry, example, memory = session.selected_entry, session.memory.example, session.shown_history
    if entry is None:
        return "<p class='says'>The memory of this page, which starts empty: run a picture in the Story.</p>"
    known = [memory.truth[row] == memory.names[memory.label[row]] for row in entry.held if memory.truth[row]]
    classes = len(set(memory.label[entry.held]))
    what = f"The memory of {memory.origin}" if memory.origin else "Your memory"
    here = 0
    if memory.origin and not memory.origin.startswith(IMPORTED):
        here = sum(bool(one.picture_key) for one in moments(session))
    after = _after(entry.pictures - here) + f" and {here} decided here" * bool(here)
    held = f"it holds {wording.view_count(len(entry.held))} under {classes} of {len(memory.names)} class names"
    pure = f", {sum(known)} of {len(known)} under their true class" if known else ""
    gone = sum(event.replaced_born is not None for one in moments(session) for event in one.events)
    left = f"{wording.view_count(gone)} left for a surer one" if gone else "none has left for a surer one"
    mark = wording.STORED_MARK if example is not None else ""
    return f"<p class='says'>{mark}{escape(f'{what} {after}: {held}{pure}; {left}.')}</p>"


def _after(pictures: int) -> str:
    return f"after {pictures} picture{'s' * (pictures != 1)}"


def moments(session: Session) -> tuple[Moment, ...]:
    """The moments up to the selected one."""
    return session.shown_history.moments[: session.selected_moment + 1]


def moment_heading(session: Session) -> str:
    one = session.selected_entry
    if one is None:
        return "<h3>Nothing has happened yet</h3>"
    count = wording.view_count(len(one.held))
    return f"<h3>Moment {session.selected_moment}: {escape(one.title)}. It holds {count}.</h3>"


def has_other_names(session: Session) -> bool:
    """Whether the memory on screen is not one of the picture on screen: a stored example's, or of other class names."""
    run, memory = session.run, session.shown_history
    other = run is not None and bool(memory.moments) and memory.key != run.class_prompts.key
    return session.memory.example is not None or other


def decide_button(session: Session) -> PanelValue:
    """The button that decides the picture on screen with a memory of other class names."""
    return gr.update(visible=has_other_names(session))


def remove_button(session: Session) -> PanelValue:
    """The button that removes the selected item, which only the latest moment allows."""
    chosen = session.selected_item is not None and session.at_latest_moment
    return gr.update(interactive=chosen and session.memory.example is None)


def open_button(session: Session) -> PanelValue:
    """The button that opens the picture of the chosen stored view."""
    return gr.update(interactive=session.selected_item is not None)


def own_memory_button(session: Session) -> PanelValue:
    """A button of the memory in use: it rests while a stored one is shown."""
    return gr.update(interactive=session.memory.example is None)


def menu(session: Session, stored: Sequence[StreamRun]) -> PanelValue:
    """Every memory of the visitor, by its place, and those of ``stored`` streams, by name; the value is the one on screen."""
    example, choices = session.memory.example, list[tuple[str, str]]()
    for n, history in enumerate(session.memories.histories):
        now = history.current
        held = "empty" if now is None else f"{wording.view_count(len(now.held))} of {len(history.names)} class names"
        text = f"{history.origin or 'yours'}: {held}"
        text = text[0].upper() + text[1:]
        text += f", memory {n + 1}" * (text in (one for one, _ in choices))
        choices.append((text, str(n)))
    choices += evaluation_page.stream_choices(stored)
    value = str(session.memories.in_use) if example is None else example.recording.name
    return gr.update(choices=choices, value=value)


def comparison(session: Session) -> str:
    """Both answers, and the class whose cost the memory changes most."""
    if has_other_names(session):
        return (
            f"<p class='lead'>{'This memory' if session.memory.example is None else 'The stored example'}{OTHER_NAMES}"
        )
    found = _both_traces(session)
    if found is None:
        return f"<p class='empty'>{EMPTY_TEXT}</p>"
    run, full, empty = found
    if run.settings.protocol == "off":
        return "<p class='lead'>The memory is switched off in the settings.</p>"
    does = "does not change" if full.verdict.label == empty.verdict.label else "changes"
    change = np.asarray(full.cache_distance) - np.asarray(empty.cache_distance)
    k = int(np.abs(change).argmax())
    most, moved = escape(run.class_prompts.names[k]), wording.signed(float(change[k]))
    largest = f"The cost of {most} changes most, by {moved} cosine distance."
    if abs(float(change[k])) < MIN_CHANGE:
        single = run.settings.empty_class == "text_mean" and np.max(full.cache.count) == 1
        why = ": a class that holds one view costs exactly what an empty one does" if single else ""
        largest = f"No class's cost moves{why}."
    when = "now" if session.at_latest_moment else f"at moment {session.selected_moment}"
    with_, without = (
        f"<b>{escape(run.class_prompts.names[v.label])}</b> ({escape(wording.margin(v))})"
        for v in (full.verdict, empty.verdict)
    )
    return (
        f"<p class='lead'>The memory {does} RITA's answer on this picture. With what it holds {when}, apart from the "
        f"picture’s own views: {with_}. With an empty one: {without}. {largest}</p>"
    )


def _both_traces(session: Session) -> tuple[Run, Trace, Trace] | None:
    """The displayed picture decided from the cache of the selected moment, and from an empty one."""
    run, bare, full = session.run, session.memory.empty_cache_result, session.memory.cache_result
    if (
        has_other_names(session)
        or run is None
        or bare is None
        or full is None
        or bare[0] is not run
        or full[0] is not run
    ):
        return None
    return run, full[2], bare[1]


def distances(session: Session) -> PanelValue:
    """d_cOT of every class with and without the memory."""
    if has_other_names(session):
        return plots.message_figure("Shown once a picture is decided with this memory.")
    found = _both_traces(session)
    if found is None or found[0].settings.protocol == "off":
        return None
    run, full, empty = found
    return plots.cache_distances(run, empty, session.selection.k, full=full)


def empty_classes(session: Session) -> str:
    found = _both_traces(session)
    return "" if found is None else wording.empty_classes_html(found[0], found[1])
