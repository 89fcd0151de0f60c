"""Read the text of a page and of its frames. Runs in the browser's own process."""

import asyncio
import re
from collections import deque
from importlib.resources import files
from typing import Any, NamedTuple

from playwright.async_api import Error, Frame, Page

MAX_FRAMES = 20
"""How many frames of a page are read."""
FRAMES_S = 5.0
"""How long all frames together may take, in seconds."""
_READ = (files("toolcharter_browser") / "read.js").read_text()
_CUT_WORD = re.compile(r"[\w+/=.-]{12,}\Z")
_MARKER_CHARS = 40
"""The characters of the lines around a frame's text, without the frame's URL."""


class Text(NamedTuple):
    """The visible text of a page or frame."""

    text: str
    truncated: bool


async def text_of(page: Page, most: int) -> Text | None:
    """Return at most *most* characters of *page* and then of its visible frames, each between two marker lines.

    Returns None if the page replaces the functions that read it.
    """
    found = await _read(page.main_frame, most)
    if found is None:
        return None
    text, truncated = found
    end = asyncio.get_running_loop().time() + FRAMES_S
    waiting = deque(page.main_frame.child_frames)
    for _ in range(MAX_FRAMES):
        if not waiting:
            break
        frame = waiting.popleft()
        try:
            async with asyncio.timeout_at(end):
                shown = await _shown(frame, most - len(text))
        except (Error, TimeoutError):  # the frame has gone, or does not answer
            truncated = True
            continue
        if shown is not None:
            text, truncated = text + shown.text, truncated or shown.truncated
            waiting.extendleft(reversed(frame.child_frames))
    return Text(text, truncated or bool(waiting))


async def _shown(frame: Frame, room: int) -> Text | None:
    """The lines of one frame; None if it is not visible or cannot be read."""
    element = await frame.frame_element()
    if not await element.is_visible():
        return None
    url = frame.url[:200]
    found = await _read(frame, max(0, room - len(url) - _MARKER_CHARS))
    if found is None or not found.text:
        return found
    return Text(f"\n\n[frame {url}]\n{found.text}\n[end of frame]", found.truncated)


async def _read(frame: Frame, most: int) -> Text | None:
    """The text of a frame; None if the result is malformed: a page can replace the functions that the script uses."""
    found: Any = await frame.evaluate(_READ, most)
    if not isinstance(found, dict) or not isinstance(text := found.get("text"), str):
        return None
    if len(text) > most or found.get("truncated") is True:
        # Drop a cut word: the scrubber would not recognise half a secret.
        return Text(_CUT_WORD.sub("", text[:most]) or text[:most], truncated=True)
    return Text(text, truncated=False)
