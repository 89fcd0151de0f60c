"""The tools `browser`, `canvas` and `capture_screenshot` of toolcharter: web pages in the system's Chromium.

The browser reaches the network only through a proxy of this plugin, which asks the network guard. The guard looks each
name up once, judges every address in the answer, and dials the address that it has judged.
"""

from typing import Any

from toolcharter import ToolSpec, hookimpl
from toolcharter_browser.browser import SPEC as BROWSER
from toolcharter_browser.canvas import SPEC as CANVAS
from toolcharter_browser.capture_screenshot import SPEC as CAPTURE_SCREENSHOT


@hookimpl
def register_tools() -> list[ToolSpec[Any]]:
    """Offer the tools `browser`, `canvas` and `capture_screenshot`."""
    return [BROWSER, CANVAS, CAPTURE_SCREENSHOT]
