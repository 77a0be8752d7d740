"""What a JSON file holds or a browser sends: nothing is known of such a value until it is checked."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    JsonValue = dict[str, "JsonValue"] | list["JsonValue"] | str | int | float | bool | None
    #: What can be written as JSON: also tuples, and lists and dicts of one type.
    Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None
else:
    JsonValue = Json = Any  # Gradio reads the annotations of handlers, and cannot read this one
