"""The text of a page and of the frames in it. Runs in the browser's own process."""

import asyncio
import re
from collections import deque
from importlib.resources import files
from typing import Any, NamedTuple

from playwright.async_api import Error, Frame, Page

MAX_FRAMES = 20
"""How many frames of a page are read."""
FRAMES_S = 5.0
"""How long all of them together may take, in seconds."""
_READ = (files("toolcharter_browser") / "read.js").read_text()
_LAST_WORD = re.compile(r"[\w+/=.-]{12,}\Z")
_BESIDE = 40
"""Characters of the lines around a frame's text, beside its URL."""


class Text(NamedTuple):
    """What can be seen."""

    text: str
    truncated: bool


async def text_of(page: Page, most: int) -> Text | None:
    """At most *most* characters of *page* and then of the frames that can be seen in it, each between two lines.

    None if the page puts something of its own in the place of what reads it.
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
        except (Error, TimeoutError):  # it has gone, or does not answer
            truncated = True
            continue
        if shown is not None:
            text, truncated = text + shown.text, truncated or shown.truncated
            waiting.extendleft(reversed(frame.child_frames))
    return Text(text, truncated or bool(waiting))


async def _shown(frame: Frame, room: int) -> Text | None:
    """The lines of one frame; none if it cannot be seen, or does not let itself be read."""
    element = await frame.frame_element()
    if not await element.is_visible():
        return None
    url = frame.url[:200]
    found = await _read(frame, max(0, room - len(url) - _BESIDE))
    if found is None or not found.text:
        return found
    return Text(f"\n\n[frame {url}]\n{found.text}\n[end of frame]", found.truncated)


async def _read(frame: Frame, most: int) -> Text | None:
    """What a frame says; a page can put functions of its own in the place of those that this uses."""
    found: Any = await frame.evaluate(_READ, most)
    if not isinstance(found, dict) or not isinstance(text := found.get("text"), str):
        return None
    if len(text) > most or found.get("truncated") is True:
        # Half a secret would no longer be recognised as one.
        return Text(_LAST_WORD.sub("", text[:most]) or text[:most], truncated=True)
    return Text(text, truncated=False)
