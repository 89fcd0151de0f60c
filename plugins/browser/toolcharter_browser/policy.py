"""The policies of the browser's tools, and the reasons for which they fail."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from toolcharter import NetworkPolicy, ProgramPlace

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Pixels = Annotated[int, Field(ge=100, le=4000)]
Action = Literal["open", "click", "type", "read", "screenshot", "close"]
READING_ACTIONS: tuple[Action, ...] = ("open", "read", "screenshot", "close")
"""Actions that send a page's host only requests for pages."""


class PagePolicy(NetworkPolicy):
    """The common settings of all tools with a browser, in addition to the network policy."""

    timeout_s: Seconds = 30.0
    """How long one action may take, in seconds; the call's own limit applies as well."""
    width: Pixels = 1280
    """The width of the page, in pixels."""
    height: Pixels = 800
    """The height of the page, in pixels."""
    folder: str = "screenshots"
    """The folder of the workspace for screenshots of calls without a path."""
    max_image_bytes: Count = 5_000_000
    """The largest PNG that is written, in bytes."""
    max_transfer_bytes: Count = 200_000_000
    """How much one browser may receive and send in all, in bytes; after that, it cannot use the network."""

    def never_works(self, place: ProgramPlace) -> Iterator[str]:
        """Warn of a runner with a sandbox: in it, Chromium can neither make its own sandbox nor reach the proxy."""
        if place.network != "open":
            yield f"no browser starts: Chromium cannot run in {place.runner!r}; it needs `runner: host`."


class ScreenshotPolicy(PagePolicy):
    """How far one profile lets `capture_screenshot` go."""


class PooledPolicy(PagePolicy):
    """The common settings of tools that keep a browser for each session."""

    max_browsers: Count = 2
    """How many browsers may run at the same time, one for each session."""
    idle_timeout_s: Seconds = 600.0
    """A browser that has been idle for this many seconds is closed when another session needs its place."""


class BrowserPolicy(PooledPolicy):
    """How far one profile lets `browser` go; by default it only reads."""

    allowed_actions: tuple[Action, ...] = READING_ACTIONS
    """The actions that may be used; `click` and `type` can order, post and send."""
    max_chars: Count = 40_000
    """How much of a page `read` returns, in characters."""


class ScreenshotReason(StrEnum):
    """Why `capture_screenshot` or `browser` fails. The first reason is a denial, the others are errors."""

    DOWNLOAD_REFUSED = "download_refused"

    PAGE_NOT_LOADED = "page_not_loaded"
    ENDLESS_NAVIGATION = "endless_navigation"
    BROWSER_UNAVAILABLE = "browser_unavailable"
    BROWSER_CRASHED = "browser_crashed"
    IMAGE_TOO_LARGE = "image_too_large"


class BrowserReason(StrEnum):
    """Why only `browser` fails. The first two reasons are denials, the others errors."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    TOO_MANY_BROWSERS = "too_many_browsers"

    MISSING_ARGUMENT = "missing_argument"
    NO_PAGE = "no_page"
    TOO_MANY_WINDOWS = "too_many_windows"
    ELEMENT_NOT_FOUND = "element_not_found"
