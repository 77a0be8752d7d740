"""What a JSON file holds or a browser sends: nothing is known of such a value until it is checked."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
else:
    JsonValue = Any  # Gradio reads the annotations of handlers, and cannot read this one
