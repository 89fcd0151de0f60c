"""The tools `browser` and `capture_screenshot` of toolcharter: web pages in the system's Chromium.

The browser reaches the network by one way, a proxy of ours, behind which stands the network guard: it looks each name up
once, judges every answer, and dials the address that was judged.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_browser.browser import SPEC as BROWSER
from toolcharter_browser.capture_screenshot import SPEC as CAPTURE_SCREENSHOT


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Both tools of this distribution."""
    return [BROWSER, CAPTURE_SCREENSHOT]
