"""The media tools of toolcharter: `image` draws, `tts` speaks.

The profile chooses the providers, their order, keys and costs; the model does not. A provider's answer is untrusted: it
is written to the workspace only if it is a file of the requested kind, and not too large.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_media import image, tts


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """The tools: one for pictures, one for speech."""
    return [image.SPEC, tts.SPEC]
