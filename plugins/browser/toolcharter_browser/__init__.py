"""The tools `browser`, `canvas` and `capture_screenshot` of toolcharter: web pages in the system's Chromium.

The browser reaches the network by one way, a proxy of ours, behind which stands the network guard: it looks each name up
once, judges every answer, and dials the address that was judged.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_browser.browser import SPEC as BROWSER
from toolcharter_browser.canvas import SPEC as CANVAS
from toolcharter_browser.capture_screenshot import SPEC as CAPTURE_SCREENSHOT


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """All tools of this distribution."""
    return [BROWSER, CANVAS, CAPTURE_SCREENSHOT]
