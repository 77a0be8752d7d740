"""What the room *Memory* shows of the memory on screen at the selected moment: headline, accuracy, film, shelf, details."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

import gradio as gr
import numpy as np
from markupsafe import Markup

from rita_demo import figures
from rita_demo.data.datasets import DATASETS
from rita_demo.data.memory import MemoryTable, without_pictures
from rita_demo.data.pictures import open_picture
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import WITHOUT_CACHE, DataFolders, StreamRun
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, find_picture
from rita_demo.figures.figure import Figure
from rita_demo.process.templates import html
from rita_demo.records import CacheState, Trace
from rita_demo.records.errors import DemoError
from rita_demo.records.grouping import group_by
from rita_demo.records.keys import class_prompts_key
from rita_demo.records.measurement import StreamTrajectory
from rita_demo.ui.framework.panels import PanelValue
from rita_demo.ui.run_panels import with_caption
from rita_demo.ui.session.session import Session, StreamState
from rita_demo.ui.session.stream_history import stored_pixels
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import crop_uri, jpeg_uri

FRAMES = 40  # pictures of the film; of a longer stream those around the selected one
TILE, LARGE = 88, 260  # pixels of a crop on the shelf and in the details
MAX_EVENTS = 3  # views that entered, in a sentence
MISSING = "“Change” downloads them, or start the server with RITA_DATA naming their folder."


# --- the stream on screen
@dataclass(frozen=True)
class ShownStream:
    """The stream on screen up to picture ``t``, from 1."""

    state: StreamState
    folders: DataFolders
    recording: StreamRun
    trajectory: StreamTrajectory
    t: int

    def captioned(self, figure: Figure) -> Figure:
        """A figure with the stream and the selected picture below it when it is saved."""
        place = f"after picture {self.t} of {self.trajectory.expected_pictures}"
        return with_caption(figure, f"Stream: {self.recording.title}; {place}")


def shown_stream(session: Session, folders: DataFolders) -> ShownStream | None:
    """What a visitor sees; None where a memory of their own is on screen."""
    state = session.stream
    if state.recording is None or state.trajectory is None:
        return None
    return ShownStream(state, folders, state.recording, state.trajectory, session.selected_moment)


# --- menu, headline, figure
def menu(session: Session) -> PanelValue:
    """Every memory of the visitor, by its place, and every stream, by name; the value is the one on screen."""
    choices = list[tuple[str, str]]()
    for n, history in enumerate(session.memories.histories):
        held = "empty" if history.current is None else wording.view_count(len(history.current.held))
        text = f"From {history.origin}, {held}" if history.origin else f"My memory: {held}"
        text += f", memory {n + 1}" * (text in dict(choices))
        choices.append((text, str(n)))
    known, shown = session.stream.known, session.stream.recording
    if shown is not None and shown.name not in {stream.name for stream in known}:  # it has just begun
        known = (shown, *known)
    choices += [(f"{dataset_title(stream)}, stored", stream.name) for stream in known if stream.stored]
    choices += evaluation_page.stream_choices(stream for stream in known if not stream.stored)
    return gr.update(choices=choices, value=str(session.memories.in_use) if shown is None else shown.name)


def dataset_title(stream: StreamRun) -> str:
    """The dataset of a stream as a person calls it."""
    dataset = str(stream.columns["dataset"]).removesuffix(PRESENT_SUFFIX)
    return DATASETS[dataset].title if dataset in DATASETS else dataset


def headline(session: Session) -> str:
    """HTML: what a stream says about the memory, or what a memory of the visitor's own holds."""
    trajectory, t, entry = session.stream.trajectory, session.selected_moment, session.selected_entry
    if trajectory is None:
        if session.run is None:  # the page is being loaded
            return ""
        if entry is not None and len(entry.held):
            return f"{held_text(session)}."
        if entry is not None and not session.at_latest_moment:
            return f"At moment {t} this memory is empty."
        return "Your memory is empty: the next picture adds its surest crop."
    right = {method: int(curve.right[:t].sum()) for method, curve in trajectory.curves.items()}
    begin = f"After {t} picture{'s' * (t != 1)} RITA has {right['rita']} right"
    if WITHOUT_CACHE not in right:
        return f"{begin}."
    if (trajectory.answers["rita"][:t] == trajectory.answers[WITHOUT_CACHE][:t]).all():
        return f"{begin}, with its memory or without: no answer changed."
    return f"{begin} with its memory, {right[WITHOUT_CACHE]} without it."


def held_text(session: Session) -> str:
    """What the memory holds, in words."""
    memory, entry = session.shown_history, session.selected_entry
    rows = np.zeros(0, int) if entry is None else entry.held
    classes = len(set(memory.label[rows].tolist()))
    right = [memory.truth[row] == memory.names[memory.label[row]] for row in rows if memory.truth[row]]
    holds = f"It holds {wording.view_count(len(rows))} of {classes} class{'es' * (classes != 1)}"
    if not right:
        return holds
    return f"{holds}, {sum(right)}{f' of {len(right)} known ones' * (len(right) < len(rows))} under the right name"


def film(shown: ShownStream) -> str:
    """HTML: the pictures as small as they fit, each under its place in the accuracy, with RITA's answer right or wrong."""
    of, n = shown.trajectory, len(shown.trajectory.pictures)
    long = of.expected_pictures > FRAMES
    before = (shown.t - 1) // FRAMES * FRAMES if long else 0
    pictures = []
    for i in range(before, min(before + FRAMES, n)):
        k, answer = int(of.label[i]), int(of.answers["rita"][i])
        about = f"Picture {i + 1}: {of.names[k]}, {'attacked' if of.attacked[i] else 'clean'}; RITA answers {of.names[answer]}"
        image = shown.state.thumbnail(shown.folders, of.pictures[i])
        pictures.append((i + 1, image, figures.class_style(k)[0], k == answer, about))
    after = max(of.expected_pictures - before - len(pictures), 0) if long else 0
    places = FRAMES if long else of.expected_pictures
    return html("film", pictures=pictures, t=shown.t, places=places, before=before, after=after)


def conditions(shown: ShownStream) -> Markup:
    """HTML: whether the numbers are stored ones, and what the attacker knew."""
    attacked, columns = int(shown.trajectory.attacked[: shown.t].sum()), shown.recording.columns
    what = f"{attacked} of {shown.t} attacked"
    if attacked:
        attack, strength = str(columns["attack"]).partition(":")[0].upper(), f" {columns['budget']}/255"
        knows = "RITA" if shown.recording.attack_uses_cache else "only CLIP"
        what += f": {attack}{strength if columns['budget'] else ''}, knows {knows}"
    return Markup(wording.STORED_MARK if shown.recording.stored else "") + f"{what}."


def slider(session: Session) -> PanelValue:
    first, last = int(session.stream.history is not None), len(session.shown_history.moments) - 1
    label = "After picture" if first else "Moment"
    now, most = session.selected_moment, max(last, first + 1)
    return gr.update(minimum=first, maximum=most, value=now, label=label, visible=last > first)


# --- shelf
def shelf(session: Session, folders: DataFolders) -> str:
    """HTML: a tile for every view that is held at the selected moment, by the class it is stored under."""
    entry, memory, t = session.selected_entry, session.shown_history, session.selected_moment
    held = {k: list(same) for k, same in group_by(memory.held(t), lambda at: at[0]).items()} if entry else {}
    if entry is None or not held:
        note = "<p class='note'>Each stored crop is a tile here, under the class it answers with.</p>"
        return "" if session.run is None else note
    order = sorted(held, key=lambda k: (-len(held[k]), memory.names[k]))
    chosen = None if session.selected_item is None else session.selection.item
    stop = chosen or held[order[0]][0][:2]
    here, last, classes, missing = session.selected_class_in(memory.names), entry.pictures - 1, [], False
    came = {(event.label, event.slot) for event in entry.events}
    for k in order:
        tiles = []
        for _, slot, row in held[k]:
            image = tile(session, folders, row)
            missing |= not image
            new = (k, slot) in came and int(memory.born[row]) == last
            about = f"Stored as {memory.names[k]}, true class {memory.truth[row] or 'unknown'}: "
            about += f"entropy {memory.entropy[row]:.3f} nats, from picture {memory.born[row] + 1}" + ", new" * new
            tiles.append((k, slot, image, _mark(memory, row), (k, slot) == chosen, (k, slot) == stop, new, about))
        classes.append((memory.names[k], k == here, figures.class_style(k)[0], tiles))
    shown = shown_stream(session, folders)
    says, note = "", Markup(f"At most {entry.slots} per class, the surest.")
    if shown is not None:
        says, note = held_text(session), conditions(shown)
    missing &= session.stream.history is not None
    return html("shelf", says=says, note=note, classes=classes, missing=MISSING if missing else "")


def _mark(memory: MemoryTable, row: int) -> str:
    truth = memory.truth[row]
    return "?" if not truth else "✓" if truth == memory.names[memory.label[row]] else "✗"


def tile(session: Session, folders: DataFolders, row: int) -> str:
    """A stored crop as data URI, "" if it is not here."""
    memory, stream = session.shown_history, session.stream.recording
    if stream is None:
        crop = memory.crop(row)
        return "" if crop is None else jpeg_uri(crop)
    try:
        return _stream_tile(folders.root, stream.place, memory.file[row], memory.box[row])
    except DemoError:
        return ""


@lru_cache(maxsize=2048)
def _stream_tile(root: Path | None, place: str, name: str, box: tuple[float, ...]) -> str:
    return crop_uri(open_picture(find_picture(place, name, root)).pixels, box, TILE)


# --- details
def stored_view(session: Session, folders: DataFolders) -> str:
    """HTML: the life of the chosen stored view."""
    memory, place, row = session.shown_history, session.selection.item, session.selected_item
    if not memory.moments or not len(memory.label):
        return ""
    if place is None or row is None:
        return "<p class='note'>Choose a stored crop to see where it came from.</p>"
    pixels, box, truth = stored_pixels(session, folders, row), memory.box[row], memory.truth[row]
    thumbnail = memory.crop(row)
    crop = whole = frame = ""
    if pixels is not None and box:
        crop, whole = crop_uri(pixels, box, LARGE), jpeg_uri(pixels, LARGE)
        left, top, right, bottom = (100 * edge for edge in box)
        frame = f"left:{left:.1f}%;top:{top:.1f}%;width:{right - left:.1f}%;height:{bottom - top:.1f}%"
    elif thumbnail is not None:
        crop = jpeg_uri(thumbnail, quality=92)
    name, mark = memory.names[place[0]], _mark(memory, row)
    arrived = {True: ", attacked", False: ", clean", None: ""}[memory.attacked[row]]
    facts = [
        ("true class", f"{truth} {mark}" if truth else "not known", {"✓": "right", "✗": "wrong"}.get(mark, "")),
        ("file", _short(memory.file[row] or memory.picture[row]), ""),
        ("arrived", f"picture {memory.born[row] + 1}{arrived}", ""),
        (wording.term_html("entropy"), f"{memory.entropy[row]:.3f}", ""),
    ]
    came = memory.moments[: session.selected_moment + 1]  # how it entered; unknown of an imported one
    events = [event for moment in came if moment.pictures - 1 == memory.born[row] for event in moment.events]
    event = next((one for one in events if (one.label, one.view) == (memory.label[row], memory.view[row])), None)
    if event is not None:
        born = event.replaced_born
        replaced = "nothing" if born is None else f"one of picture {born + 1}"
        for t in range(len(memory.moments)):  # any moment that held it knows its file
            gone = memory.find(t, event.label, born, event.replaced_entropy)
            if gone is not None and memory.file[gone]:
                replaced += f", {_short(memory.file[gone])}"
                break
        facts.append(("it replaced", replaced, ""))
    stored_as = wording.term_html("pseudo-label", "Stored as")
    return html("stored_view", stored_as=stored_as, name=name, crop=crop, whole=whole, frame=frame, facts=facts)


def _short(file: str) -> str:
    """A file with its folder and without its kind."""
    path = PurePosixPath(file)
    return path.stem if path.parent.name in ("", ".") else f"{path.parent.name}/{path.stem}"


def happened(session: Session) -> str:
    """HTML: what happened with the selected picture, or at the selected moment of a memory of the visitor's own."""
    entry, memory, t = session.selected_entry, session.shown_history, session.selected_moment
    of = session.stream.trajectory
    if entry is None:
        return ""
    answers = list[tuple[str, str, bool]]()
    if of is None:
        heading, what = f"Moment {t} of {len(memory.moments) - 1}", f"{entry.title}."
    else:
        heading, k = f"Picture {t} of {of.expected_pictures}", int(of.label[t - 1])
        what = f"{of.names[k]}, {'attacked' if of.attacked[t - 1] else 'clean'}."
        given = {method: int(answer[t - 1]) for method, answer in of.answers.items()}
        if given.get(WITHOUT_CACHE) == given["rita"]:
            given.pop(WITHOUT_CACHE)
        for name, title in (("rita", "RITA"), (WITHOUT_CACHE, "without memory"), ("clip", "CLIP")):
            if (label := given.get(name, -1)) >= 0:
                answers.append((title, of.names[label], label == k))
    entered = list[str]()
    for event in entry.events[:MAX_EVENTS]:
        instead = "" if event.replaced_born is None else f", in place of one of picture {event.replaced_born + 1}"
        entered.append(f"Crop {event.view} entered as {memory.names[event.label]}{instead}")
    more = len(entry.events) - MAX_EVENTS
    text = "; ".join(entered) + (f"; and {more} more." if more > 0 else ".")
    if not entered:
        text = "No crop entered." if entry.picture_key or entry.title.startswith("picture ") else ""
    return html("happened", heading=heading, what=what, answers=answers, entered=text)


def remove_button(session: Session) -> PanelValue:
    """The button that removes the chosen view, which only the latest moment of a memory of one's own allows."""
    chosen = session.selected_item is not None
    own = session.stream.history is None
    return gr.update(visible=own and chosen, interactive=chosen and session.at_latest_moment)


# --- what it changes for the picture on screen
def has_other_names(session: Session) -> bool:
    """Whether the memory on screen has other class names than the picture on screen."""
    run, memory = session.run, session.shown_history
    return run is not None and bool(memory.moments) and memory.key != run.class_prompts.key


def compare_with_empty(engine: Engine, session: Session) -> tuple[Trace, Trace] | None:
    """The picture on screen decided from the memory on screen at the selected moment, without the picture's own views, and
    from an empty one; None where it cannot be."""
    run, entry, memory, state = session.run, session.selected_entry, session.shown_history, session.memory
    if run is None or engine.info.name != run.backbone.name or entry is None or has_other_names(session):
        return None
    side = run.attacked

    def decide(cache: CacheState | None) -> Trace:
        return engine.decide(side.encoded_views, run.class_prompts, cache, run.settings, tuning=side.trace.tuning)[0]

    if state.empty_cache_result is None or state.empty_cache_result[0] is not run:
        state.empty_cache_result = (run, decide(None))
    if state.cache_result is None or state.cache_result[0] is not run or state.cache_result[1] is not entry:
        own = (memory.feature[entry.held] @ np.asarray(side.encoded_views.features).T > 1 - 1e-6).any(1)
        cache = memory.cache_before(run.clean.picture.key, session.selected_moment)
        if cache is not None and own.any():  # a stream has its pictures by name, not by key
            cache = without_pictures(cache, sorted(set(memory.born[entry.held[own]].tolist())))
        state.cache_result = (run, entry, decide(cache))
    return state.cache_result[2], state.empty_cache_result[1]


def effect(session: Session, engine: Engine, stored: Sequence[StreamRun]) -> str:
    """HTML: one sentence on what this memory changes for the picture on screen."""
    run, offer = session.run, None
    if run is None or session.selected_entry is None:
        return ""
    compared = compare_with_empty(engine, session)
    if has_other_names(session):
        keys = {class_prompts_key(one.columns["backbone"], one.names): one for one in stored}
        offer = keys.get(run.class_prompts.key)
        lead, text = "Your picture has other class names.", ""
    elif compared is None:
        return ""
    elif run.settings.protocol == "off":
        lead, text = "On your picture: nothing.", "The memory is switched off in the settings."
    else:
        lead, text = _changes(run.class_prompts.names, *compared)
    image = jpeg_uri(run.attacked.picture.pixels, 2 * 56)
    name, title = ("", "") if offer is None else (offer.name, dataset_title(offer))
    return html("effect", image=image, lead=lead, text=text, offer=name, offered=title)


def _changes(names: Sequence[str], full: Trace, empty: Trace) -> tuple[str, str]:
    """What the memory changes, and the sentence behind it."""
    now, then, counts = full.verdict, empty.verdict, np.asarray(full.cache.count)
    with_, without = names[now.label], names[then.label]
    if now.label != then.label:
        return "On your picture: another answer.", f"RITA answers {with_} instead of {without}."
    if abs(now.margin - then.margin) >= wording.MIN_CHANGE:
        moved = f"ahead by {now.margin:.4f} instead of {then.margin:.4f}"
        return "On your picture: its lead.", f"RITA still answers {with_}, {moved}."
    text = f"RITA answers {with_}, ahead by {now.margin:.3f}."
    held, single = int((counts > 0).sum()), int((counts == 1).sum())
    if not held:
        return "On your picture: nothing.", f"{text} A class without views counts with its mean sentence."
    if 2 * single > held:
        text += f" {single} of {held} classes hold one view, which is turned onto their own sentences."
    return "On your picture: nothing.", text
