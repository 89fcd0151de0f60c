"""Chooses the temporary folder of a browser: none that tools can write to."""

from pathlib import Path

from toolcharter import Denied, Paths, Reason, ToolError
from toolcharter_browser.folders import base


def outside(paths: Paths) -> Path | None:
    """Where a browser that is started for *paths* has its folder: not in their workspace, where tools could write into it.

    Chromium runs programs and believes settings that lie there.
    """
    return next((place for place in (base(), Path("/tmp")) if _is_outside(paths, place)), None)  # noqa: S108 - as above


def _is_outside(paths: Paths, place: Path) -> bool:
    try:
        paths.open_folder(str(place.resolve())).__exit__(None, None, None)
    except Denied as denied:
        return denied.reason == Reason.PATH_OUTSIDE_WORKSPACE
    except ToolError:
        return False
    return False
