"""Write screenshots to files of the workspace."""

import base64
import re
from collections.abc import Generator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

from toolcharter import OpenPlace, Reason, ToolError, ToolRuntime
from toolcharter_browser.policy import PagePolicy

SUFFIX = ".png"
_NO_NAME = re.compile(r"[^A-Za-z0-9.-]+")
DELAY_MS = 10_000
"""The longest delay that a call may ask for, in milliseconds."""


@contextmanager
def open_picture(rt: ToolRuntime, policy: PagePolicy, path: str, url: str) -> Generator[OpenPlace]:
    """Open the place for a picture of *url*: *path*, or a new name in the policy's folder.

    Raises:
        Denied, ToolError: As for `Paths.open_place`; `invalid_arguments`, if the path does not end in `.png`.
    """
    if path and not path.lower().endswith(SUFFIX):
        raise ToolError(f"The path {path!r} does not end in {SUFFIX}.", reason=Reason.INVALID_ARGUMENTS)
    with rt.paths.open_place(path or f"{policy.folder}/{_name(url)}-{token_hex(4)}{SUFFIX}") as place:
        yield place


def write_picture(place: OpenPlace, answer: dict[str, Any]) -> dict[str, Any]:
    """Write the picture of an answer to *place*; return the answer with the file's facts in place of the picture."""
    image = base64.b64decode(answer.pop("image"))
    place.write(image)
    return {**answer, "path": place.path, "bytes": len(image), "mime_type": "image/png"}


def _name(url: str) -> str:
    host = url.partition("://")[2].partition("/")[0]
    return _NO_NAME.sub("-", host).strip(".-")[:100] or "page"
