"""The settings of the methods, in a drawer of *Inside*: the next run is made with them."""

from collections.abc import Collection, Mapping
from functools import partial

import gradio as gr

from rita_demo.process.templates import html
from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import GROUPS, RECOMMENDED, SETTINGS, get_setting, in_groups
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, immediate_event
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import build_fold
from rita_demo.ui.widgets.html_buttons import HtmlWidget, event_data
from rita_demo.ui.widgets.setting_controls import choice_text, setting_title

LEAD = (
    "The next run is made with these. <button type='button' class='place' data-press='#go'>Run it again</button> "
    "with the picture and the attack of the Story."
)


class SettingFields(HtmlWidget):
    """Fields of settings, by groups. ``submit`` reports the ``name`` of an edited one and its ``value``, a text."""

    script = """
watch("value", () => setTimeout(() => element.querySelector("form").reset())); // what was typed is no part of the value
element.addEventListener("submit", (event) => event.preventDefault());
element.addEventListener("change", ({ target: { name, type, checked, value } }) =>
  trigger("submit", { name, value: type === "checkbox" ? String(checked) : value }));"""


def fields_html(of_form: Collection[str], session: Session) -> str:
    """HTML: every setting that is none of the form's, with its value in the session."""
    values = RECOMMENDED.every_value() | session.attack_defend.settings
    groups = {
        title: [(SETTINGS[name], values[name]) for name in in_groups(group) if name not in of_form]
        for group, title in GROUPS.items()
    }
    # the browser draws a value again only where it differs, whatever was typed into it
    number = session.changed_at.get("drawer", 0)
    return html("settings", number=number, groups=groups, title_of=setting_title, choice_text=choice_text)


def with_edit(settings: Mapping[str, JsonValue], sent: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The settings after an edit, which is untrusted. Raises SettingError: no such setting, or a value that it cannot have."""
    setting = get_setting(str(sent.get("name"))[:100])
    return {**settings, setting.name: setting.parse_untrusted(sent.get("value"))}


def build_method_settings(context: AppContext, of_form: Collection[str]) -> None:
    """A fold with every setting that is none of the form's."""
    with build_fold("Settings of the methods", LEAD, elem_id="method-settings"):
        fields = SettingFields(elem_id="method-fields")
        context.panels.add(fields, partial(fields_html, of_form), "form", "drawer")

    def on_change(visitor: str, event: gr.EventData) -> Updates:
        """A setting was edited. One that is refused shows the value that it keeps."""
        session = context.sessions.get(visitor)
        try:
            session.attack_defend.settings = with_edit(session.attack_defend.settings, event_data(event))
        except SettingError as error:
            session.touch("drawer")
            return context.panels.draw_only(session, [fields]) | {context.error_banner: notice.error_html(error)}
        return {context.error_banner: ""}

    safe = notice.handle_errors(context.error_banner)
    outputs = [context.error_banner, fields]
    # "change" is also Gradio's own, at every value that it draws
    fields.submit(safe(on_change), context.visitor, outputs, **immediate_event(on_change))
