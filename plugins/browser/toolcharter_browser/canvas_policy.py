"""How far one profile lets `canvas` go, and why it refuses."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from toolcharter import ProgramPlace
from toolcharter_browser.policy import PooledPolicy

CanvasAction = Literal["present", "hide", "navigate", "eval", "snapshot", "a2ui_push", "a2ui_reset"]
MAX_DOCUMENT_BYTES = 700_000
"""The largest document, in bytes: it has to fit into one line to the browser's process."""


class CanvasPolicy(PooledPolicy):
    """How far one profile lets `canvas` go; by default it shows, and reaches nothing."""

    allowed_actions: tuple[CanvasAction, ...] = ("present", "hide", "snapshot", "a2ui_push", "a2ui_reset")
    """The actions that may be used; `eval` runs the agent's script in the page, `navigate` uses the network."""
    allowed_domains: tuple[str, ...] = ()
    """The only hosts that `navigate` may open; none by default. Presented pages can never reach the network."""
    max_content_bytes: Annotated[int, Field(ge=1, le=500_000)] = 100_000
    """The largest page, and the limit for all A2UI of a session together, in bytes."""
    max_lines: Annotated[int, Field(ge=1, le=10_000)] = 500
    """The most lines of A2UI in one call, and the most components and values of a session."""
    max_line_bytes: Annotated[int, Field(ge=64, le=500_000)] = 32_768
    """The longest line of A2UI, in bytes."""
    max_canvases: Annotated[int, Field(ge=1, le=1_000)] = 20
    """How many sessions may have a canvas at the same time."""
    max_chars: Annotated[int, Field(ge=1, le=200_000)] = 20_000
    """How much of the value of `eval` is returned, in characters."""

    @override
    def never_works(self, place: ProgramPlace) -> Iterator[str]:
        """Warn of nothing: a canvas is shown even without a browser."""
        yield from ()


class CanvasReason(StrEnum):
    """Why `canvas` fails. The first two reasons are denials, the others errors."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    TOO_MANY_CANVASES = "too_many_canvases"

    MISSING_ARGUMENT = "missing_argument"
    NO_CANVAS = "no_canvas"
    TOO_LARGE = "too_large"
    INVALID_A2UI = "invalid_a2ui"
    SCRIPT_FAILED = "script_failed"
    PAGE_FAILED = "page_failed"
