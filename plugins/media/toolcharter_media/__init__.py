"""The media tools of toolcharter: `image` draws, `tts` speaks.

Which providers are asked, in which order, with which keys and at which cost is the profile's choice, never a model's. What they
answer is a stranger's: it is written to the workspace only if it is the kind of file that was asked for, and not too much of it.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_media import image, tts


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tools: one for pictures, one for speech."""
    return [image.SPEC, tts.SPEC]
