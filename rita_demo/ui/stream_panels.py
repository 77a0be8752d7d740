"""What the tab *Stream* shows of a stream, each drawn from the session; sentences before there is one."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import gradio as gr

from rita_demo import measuring, plots
from rita_demo.measuring import Places
from rita_demo.plots.theme import METHODS
from rita_demo.surveys import Standing
from rita_demo.ui import notice, words
from rita_demo.ui.caption import captioned
from rita_demo.ui.sessions import Session
from rita_demo.ui.stream_state import Streaming

NEAR = 8  # pictures shown as thumbnails
EMPTY = (
    "<p class='empty'>Accuracy and memory will stand here, picture by picture. Press “Start the "
    "stream”, or open a stored run.</p>"
)
PART_WORDS = {"all": "all pictures", "clean": "clean ones", "attacked": "attacked ones"}
APART = (
    "This attacker looks at what RITA remembers. CLIP and the other methods without that memory met the same "
    "attacker in front of an empty one: their attacked pictures are not RITA’s."
)
CLICK = """
element.addEventListener('click', (e) => {
  const chosen = e.target.closest('button[data-t]');
  if (chosen) trigger('click', { t: Number(chosen.dataset.t) });
});
"""


class Pictures(gr.HTML):
    """Buttons with thumbnails; ``click`` reports the number of the picture (``t``, from 1)."""

    def __init__(self, **html: Any) -> None:
        super().__init__("", js_on_load=CLICK, apply_default_css=False, **html)

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


def status(session: Session) -> str:
    """How far the stream is, how fast, and how long it may still take."""
    view = session.stream
    if view.course is None or view.recording is None:
        return ""
    done, wanted = len(view.course.pictures), view.course.wanted
    per_second, left = measuring.pace(view.course)
    speed = f"{per_second:.2f} pictures per second of computing"
    if done >= wanted:
        return notice.done(f"All {wanted} pictures are decided, {speed}.")
    if not view.running:
        return notice.done(f"{done} of {wanted} pictures are decided, {speed}.")
    now = f"Picture {done} of {wanted}, {speed}, about {words.seconds(left)} left"
    return notice.progress(now, done / wanted, 0)


def slider(session: Session) -> Any:
    """The time slider."""
    view = session.stream
    last = 0 if view.course is None else len(view.course.pictures)
    return gr.update(minimum=1, maximum=max(last, 2), value=max(view.t, 1), visible=last > 1)


def buttons(session: Session) -> dict[str, Any]:
    """Which buttons make sense now, by name."""
    view = session.stream
    idle = view.unfinished and not view.running
    return {
        "start": gr.update(interactive=not view.running),
        "pause": gr.update(visible=view.running),
        "resume": gr.update(visible=idle),
        "step": gr.update(visible=idle),
        "cancel": gr.update(visible=view.unfinished),
        "inside": gr.update(visible=view.t > 0, value=f"Open picture {view.t} in Inside RITA"),
        "export": gr.update(visible=view.t > 0),
    }


def heading(session: Session) -> str:
    """Which stream, what happens in it, and after which picture it is looked at."""
    view = session.stream
    if view.recording is None or view.course is None:
        return "<h3>No stream yet</h3>"
    facts = [*view.recording.header.get("threat_model", {}).get("sentences", ())]
    if view.recording.apart:
        facts.append(APART)
    items = "".join(f"<li>{escape(str(s))}</li>" for s in facts)
    return (
        f"<h3>{escape(view.recording.title)}</h3><p class='lead'>After picture {view.t} of "
        f"{view.course.wanted}.</p><details class='differs'><summary>What the attacker may do and "
        f"knows</summary><ul class='plain'>{items}</ul></details>"
    )


def standings(session: Session) -> str:
    """Who was right how often up to the picture looked at, with Wilson's 95 % interval and n."""
    view = session.stream
    if view.course is None or not view.t:
        return EMPTY
    found = measuring.standings(view.course, view.t)
    parts = [p for p in PART_WORDS if p == "all" or all(s.n for s in found if s.part != "all")]
    heads = "".join(f"<th scope='col'>{PART_WORDS[p]}</th>" for p in parts)
    rows = ""
    for method in METHODS:
        mine = {s.part: s for s in found if s.method == method}
        if mine:
            title = words.term(METHODS[method]["title"])
            cells = "".join(_standing(mine[p]) for p in parts)
            rows += f"<tr class='{method}'><th scope='row'>{title}</th>{cells}</tr>"
    return (
        f"<table class='verdicts'><thead><tr><th scope='col'><span class='sr'>method</span></th>{heads}"
        f"</tr></thead><tbody>{rows}</tbody></table><p class='quiet small'>Right answers in percent; in "
        "brackets Wilson’s 95 % interval: with few pictures it is wide.</p>"
    )


def _standing(one: Standing) -> str:
    if not one.n:
        return "<td>–</td>"
    return (
        f"<td class='answer'><b class='number'>{words.percent(one.share)}</b> "
        f"<small>({100 * one.low:.0f} to {100 * one.high:.0f} %), {one.right} of n = {one.n}</small></td>"
    )


def accuracy(session: Session) -> Any:
    """The figure of accuracy over time."""
    view = session.stream
    if view.course is None or not view.t:
        return None
    return _captioned(session, plots.running_accuracy(view.course, view.t))


def _captioned(session: Session, figure: Any) -> Any:
    view = session.stream
    assert view.recording is not None
    assert view.course is not None
    return captioned(
        figure, f"Stream: {view.recording.title}; after picture {view.t} of {view.course.wanted}"
    )


def growth(session: Session) -> Any:
    """The figure of fill and purity over time."""
    view = session.stream
    if view.course is None or not view.t:
        return None
    return _captioned(session, plots.memory_growth(view.course, view.t))


def entering(session: Session) -> Any:
    """The figure of what entered."""
    view = session.stream
    if view.course is None or not view.t:
        return None
    return _captioned(session, plots.entering(view.course, view.t))


def classes(session: Session) -> Any:
    """The figure of the memory per class at the picture looked at."""
    view = session.stream
    if view.course is None or not view.t:
        return None
    now = measuring.held_after(view.course, view.t)
    end = measuring.held_after(view.course, len(view.course.pictures))
    figure = plots.class_memory(view.course, now, end, looked_at(session))
    return _captioned(session, figure)


def looked_at(session: Session) -> int | None:
    """The class of the one selection as the stream numbers it; None where the stream does not have it."""
    story, k, course = session.story, session.selection.k, session.stream.course
    if story is None or k is None or course is None or story.bank.names[k] not in course.names:
        return None
    return course.names.index(story.bank.names[k])


def memory_words(session: Session) -> str:
    """The memory at that picture in one sentence, and every class that holds something."""
    view = session.stream
    if view.course is None or not view.t:
        return ""
    course, t = view.course, view.t
    held, purity = int(course.fill[t - 1]), float(course.purity[t - 1])
    places = course.slots * len(course.names)
    pure = (
        ""
        if math.isnan(purity)
        else f"; {words.percent(purity)} of them come from a picture of that class"
    )
    now, entered = measuring.held_after(course, t), course.entered
    items: dict[int, list[str]] = {}
    for k, _, number in now.items:
        born = int(entered.picture[number])
        mark = "✓" if entered.true[number] else "✗"
        said = f"{mark} picture {born + 1} ({escape(course.names[int(course.label[born])])}), "
        items.setdefault(k, []).append(said + f"{float(entered.entropy[number]):.2f} nats")
    rows = "".join(
        f"<tr><th scope='row'>{escape(course.names[k])}</th><td>{len(found)} of {course.slots}</td>"
        f"<td>{float(now.strength[k]):.3f}</td><td>{'; '.join(found)}</td></tr>"
        for k, found in items.items()
    )
    return (
        f"<p class='lead'>After picture {t} the {words.term('memory (cache)')} holds {held} of {places} "
        f"views, each under the class it answered with{pure}.</p><details class='differs'><summary>Every "
        f"class that holds something</summary><div class='wide' tabindex='0' role='region' aria-label='Every class that holds something'><table class='verdicts log'><thead><tr>"
        f"<th scope='col'>class</th><th scope='col'>views</th><th scope='col'>"
        f"{words.term('agreement', 'agreement r')}</th><th scope='col'>from (✓ its true class is this "
        f"one), {words.term('entropy')}</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def near(places: Places) -> Any:
    """A draw function: the last pictures up to the one looked at, as buttons."""

    def draw(session: Session) -> str:
        view = session.stream
        if view.course is None or not view.t:
            return ""
        first = max(1, view.t - NEAR + 1)
        found = "".join(_picture(view, places, t) for t in range(first, view.t + 1))
        return (
            f"<div class='arrivals' role='group' aria-label='Pictures of the stream'>{found}</div>"
        )

    return draw


def _picture(view: Streaming, places: Places, t: int) -> str:
    course = view.course
    assert course is not None
    name, truth = course.pictures[t - 1], course.names[int(course.label[t - 1])]
    said = []
    for method, look in METHODS.items():
        answer = int(course.answers.get(method, [-1] * t)[t - 1])
        if answer >= 0:
            mark = "✓" if course.curves[method].right[t - 1] else "✗"
            said.append(f"{mark} {look['title']}: {escape(course.names[answer])}")
    src = view.thumb(places, name)
    image = (
        f'<img src="{src}" alt="" width="64" height="64">'
        if src
        else "<span class='blank'>?</span>"
    )
    kind = "attacked" if course.attacked[t - 1] else "clean"
    pressed = str(t == view.t).lower()
    return (
        f'<button type="button" data-t="{t}" aria-pressed="{pressed}">{image}<span><b>{t}. '
        f"{escape(truth)}</b><em class='{kind}'>{kind}</em>"
        f"{''.join(f'<small>{s}</small>' for s in said)}</span></button>"
    )
