"""What if: another setting, a view, prompt or remembered view left out, another true class; decided again at once.

The run itself is never changed: a visitor's :class:`WhatIf` stands beside it and is shown in *Inside
RITA* only, with a banner that says what differs and one button that goes back.
"""

from __future__ import annotations

import math
from dataclasses import replace
from html import escape
from typing import Any

import gradio as gr

from rita_demo import retelling
from rita_demo.errors import SettingError
from rita_demo.records import LeftOut, Story
from rita_demo.settings import KNOBS, PRESETS, Settings
from rita_demo.ui import remembered, words
from rita_demo.ui.board import Board
from rita_demo.ui.controls import draw_knob, shown_value
from rita_demo.ui.sessions import Session, WhatIf

#: The settings that can be moved here, all answered from features alone.
MOVED = (
    "step_back", "entropy_weight", "transported_mass", "objective", "cache_weight", "empty_class", "order",
    "max_entropy", "slots",
)  # fmt: skip
NOT_YET = SettingError("There is no picture yet.", "Run one on the first tab.")


def seen(session: Session) -> Story | None:
    """The story that *Inside RITA* draws: the what-if where there is one, else the run."""
    return session.what_if.story or session.now


def settings_of(session: Session) -> Settings:
    """The settings of what is seen."""
    assert session.story is not None
    return session.what_if.settings or session.story.settings


def change(engine: Any, session: Session, **changes: Any) -> None:
    """Decide again with ``settings``, ``left_out`` or ``label`` changed; nothing is kept when that fails.

    Raises:
        SettingError: when there is no picture, or nothing would be left to decide from.
    """
    with session.lock:
        story = session.now
        if story is None:
            raise NOT_YET
        wanted = replace(session.what_if, **changes)
        settings = wanted.settings or story.settings
        label = None if wanted.label in (None, story.label) else wanted.label
        if settings == story.settings and wanted.left_out == LeftOut() and label is None:
            session.what_if = WhatIf()
            return
        now = session.what_if.story  # it may hold a prompt update that was made for this
        if (
            now is not None
            and _of_same_attack_step(now, story)
            and retelling.same_update(now.settings, settings)
        ):
            story = replace(now, label=story.label, label_given=story.label_given)
        told = retelling.rescore(engine, story, settings, wanted.left_out, label)
        session.what_if = WhatIf(settings, wanted.left_out, label, told)


def follow(engine: Any, session: Session) -> None:
    """Bring a what-if to the attack step and strength that are looked at."""
    with session.lock:
        told, now = session.what_if.story, session.now
        if told is not None and now is not None and not _of_same_attack_step(told, now):
            change(engine, session)


def _of_same_attack_step(told: Story, now: Story) -> bool:
    return told.step == now.step and told.attack is now.attack


def toggle_view(engine: Any, session: Session) -> None:
    """Leave the chosen view out, or put it back."""
    view, out = session.selection.view, session.what_if.left_out
    if session.story is None or view is None:
        raise SettingError("No view is chosen.", "Choose one of the crops first.")
    change(engine, session, left_out=replace(out, views=out.views ^ {view}))


def toggle_prompt(engine: Any, session: Session) -> None:
    """Leave the chosen prompt of the chosen class out, or put it back."""
    at, out = session.selection, session.what_if.left_out
    if session.story is None or at.k is None or at.atom is None:
        raise SettingError("No prompt is chosen.", "Choose a cell of the plan first.")
    change(engine, session, left_out=replace(out, prompts=out.prompts ^ {(at.k, at.atom)}))


def toggle_item(engine: Any, session: Session) -> None:
    """Take the chosen remembered view out of the memory, or put it back."""
    place, out = remembered.selected(session), session.what_if.left_out
    if place is None:
        raise SettingError(
            "No remembered view is chosen, or this picture was not decided from it.",
            "Choose one under “What was remembered of the chosen class”.",
        )
    change(engine, session, left_out=replace(out, items=out.items ^ {place}))


def banner(session: Session) -> str:
    """What differs from the run and from the preset, and what that does to RITA's answer."""
    run, now = session.now, session.what_if.story
    if run is None:
        return ""
    if now is None:
        return (
            "<div class='whatif'><p>This is the run as it was made. Move a setting, or leave a view, a "
            "prompt or a remembered view out: costs, plan and verdict follow at once, and no picture is "
            f"encoded again.</p>{from_preset(run.settings)}</div>"
        )
    return (
        f"<div class='whatif changed' role='status'><p><b>What if:</b> {'; '.join(differing(session))}. "
        f"</p><p>{effect(run, now)}</p>{from_preset(now.settings)}</div>"
    )


def from_preset(settings: Settings) -> str:
    """HTML: every setting of the defence that differs from the nearest preset, its value there and now."""
    name, changed = from_nearest(settings)
    if not changed:
        return f"<p class='quiet small'>Every setting of the defence is as in “{name}”.</p>"
    each = "; ".join(
        f"{escape(f'{KNOBS[n].label} {KNOBS[n].symbol}'.strip())}: "
        f"{escape(shown_value(KNOBS[n], getattr(PRESETS[name], n)))} → now "
        f"{escape(shown_value(KNOBS[n], getattr(settings, n)))}"
        for n in changed
    )
    return f"<p class='quiet small'>Other than in “{name}”: {each}.</p>"


def from_nearest(settings: Settings) -> tuple[str, list[str]]:
    """The nearest preset's name, and which settings of the defence differ from it."""
    found = {
        name: [n for n in settings.differs_from(preset) if KNOBS[n].group != "attack"]
        for name, preset in PRESETS.items()
    }
    name = min(found, key=lambda n: len(found[n]))
    return name, found[name]


def differing(session: Session) -> list[str]:
    """HTML: each difference from the run in a few words."""
    run, what = session.story, session.what_if
    assert run is not None
    found = []
    settings = what.settings or run.settings
    for name in settings.differs_from(run.settings):
        knob = KNOBS[name]
        new, old = (shown_value(knob, getattr(s, name)) for s in (settings, run.settings))
        found.append(
            f"{escape(f'{knob.label} {knob.symbol}'.strip())} {escape(new)} instead of {escape(old)}"
        )
    if what.left_out.views:
        found.append(f"without view {', '.join(str(n) for n in sorted(what.left_out.views))}")
    for k, m in sorted(what.left_out.prompts):
        found.append(f"without the prompt “{escape(run.bank.prompts[k][m])}”")
    for k, slot in sorted(what.left_out.items):
        found.append(f"without slot {slot} of the memory of {escape(run.bank.names[k])}")
    if what.label is not None:
        found.append(f"the true class is {escape(run.bank.names[what.label])}")
    return found


def effect(before: Story, after: Story) -> str:
    """HTML: RITA's answer and margin before and after, on both sides."""
    sides = ["clean", "attacked"] if before.attack is not None else ["clean"]
    parts = []
    for side in sides:
        old, new = (getattr(s, side).verdicts["rita"] for s in (before, after))
        one, two = (escape(before.bank.names[v.label]) for v in (old, new))
        answer = f"still <b>{two}</b>" if one == two else f"{one} → <b>{two}</b>"
        parts.append(f"{side}: {answer}, margin {old.margin:.4f} → {new.margin:.4f}")
    return f"RITA, {'; '.join(parts)} ({words.term('margin')} in cosine distance)."


def draw_what_if(board: Board) -> dict[str, Any]:
    """The banner, the way back, and the controls; each follows the session."""
    said = gr.HTML(elem_id="whatif-banner")
    board.add(said, banner, "inside", soon=True)
    with gr.Row(elem_id="whatif-buttons"):
        back = gr.Button("Back to the run", size="sm", elem_id="whatif-back")
        view = gr.Button("Leave out the chosen view", size="sm", elem_id="whatif-view")
        prompt = gr.Button("Leave out the chosen prompt", size="sm", elem_id="whatif-prompt")
        item = gr.Button("Leave out the remembered view", size="sm", elem_id="whatif-item")
    board.add(back, lambda s: gr.update(interactive=s.what_if.story is not None), "inside")
    board.add(view, _view_button, "view", "inside")
    board.add(prompt, _prompt_button, "view", "class", "inside")
    board.add(item, _item_button, "memory", "class", "inside")
    fold = gr.Accordion("Move a setting", open=False, elem_classes="fold", elem_id="whatif-fold")
    with fold, gr.Row(elem_id="whatif-knobs"):
        knobs = {n: _draw(n) for n in MOVED}
        truth = gr.Dropdown(
            [], label="True class", allow_custom_value=True, elem_id="whatif-truth",
            info="What counts as right; it changes no cost.", min_width=220,
        )  # fmt: skip
    for name, knob in knobs.items():
        board.add(knob, _knob_value(name), "inside")
    board.add(truth, _truth, "inside")
    return {
        "back": back,
        "view": view,
        "prompt": prompt,
        "item": item,
        "knobs": knobs,
        "truth": truth,
    }


def _draw(name: str) -> Any:
    """The knob's own control; a logarithmic one as a slider over powers of ten."""
    knob = KNOBS[name]
    common: dict[str, Any] = {"elem_id": f"whatif-{name}", "min_width": 220}
    if not knob.log:
        return draw_knob(knob, **common)
    low, high = (math.log10(float(v or 1)) for v in (knob.low, knob.high))
    return gr.Slider(
        low, high, value=math.log10(knob.default), step=0.05, info=f"{knob.why} −2 is 0.01.",
        label=f"{knob.label} {knob.symbol}, as a power of ten", **common,
    )  # fmt: skip


def from_control(name: str, value: Any) -> Any:
    """The setting a control's value stands for.

    Raises:
        SettingError: when it is not allowed.
    """
    knob = KNOBS[name]
    if (
        knob.log
        and isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 300
    ):
        value = float(f"{10**value:.4g}")
    return knob.parse(value)


def _knob_value(name: str) -> Any:
    def draw(session: Session) -> Any:
        if session.story is None:
            return gr.update()
        value = getattr(settings_of(session), name)
        return gr.update(value=math.log10(value) if KNOBS[name].log else value)

    return draw


def _truth(session: Session) -> Any:
    story = seen(session)
    if story is None:
        return gr.update()
    return gr.update(choices=list(story.bank.names), value=story.bank.names[story.label])


def _view_button(session: Session) -> Any:
    n = session.selection.view
    if n is None:
        return gr.update(value="Leave out the chosen view", interactive=False)
    out = n in session.what_if.left_out.views
    return gr.update(value=f"Put view {n} back" if out else f"Leave out view {n}", interactive=True)


def _prompt_button(session: Session) -> Any:
    at = session.selection
    if at.k is None or at.atom is None:
        return gr.update(value="Leave out the chosen prompt", interactive=False)
    out = (at.k, at.atom) in session.what_if.left_out.prompts
    name = f"prompt {at.atom + 1}"
    return gr.update(value=f"Put {name} back" if out else f"Leave out {name}", interactive=True)


def _item_button(session: Session) -> Any:
    place = remembered.selected(session)
    if place is None:
        return gr.update(value="Leave out the remembered view", interactive=False)
    out = place in session.what_if.left_out.items
    name = f"remembered view {place[1]}"
    return gr.update(value=f"Put {name} back" if out else f"Leave out {name}", interactive=True)
