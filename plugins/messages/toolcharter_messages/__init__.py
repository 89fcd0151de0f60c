"""Messages to people: the tool `message`, and the channels `smtp` and `local`, which also deliver notifications."""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_messages import message


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The one tool of this distribution."""
    return [message.SPEC]
