"""`capture_screenshot`: take a picture of one page, in a new browser."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_browser.formatting import page_summary
from toolcharter_browser.pictures import DELAY_MS, open_picture, write_picture
from toolcharter_browser.policy import ScreenshotPolicy, ScreenshotReason
from toolcharter_browser.session import Session

Delay = Annotated[int, Field(ge=0, le=DELAY_MS)]


def build(workspace: Path, policy: ScreenshotPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `capture_screenshot` to one profile's policy."""

    def capture_screenshot(url: str, delay_ms: Delay = 1000, path: str = "") -> str:
        """Take a picture of a web page as a person would see it, into a PNG file of the workspace.

        Args:
            url: The page, with http:// or https://.
            delay_ms: How long to wait after the page has loaded, in milliseconds.
            path: The file, relative to the workspace, ending in .png; a new file if left out.
        """
        ctx = rt.start("capture_screenshot", url=url)
        checked = rt.http.check(url, policy)
        with open_picture(rt, policy, path, checked) as place:
            ctx.policy_passed()
            session = Session(rt, policy)
            try:
                opened = session.ask("open", url=checked, delay_ms=0)
                taken = session.ask("screenshot", delay_ms=delay_ms, max_image_bytes=policy.max_image_bytes)
            finally:
                session.close()
            data = write_picture(place, {**taken, "refused": opened["refused"] + taken["refused"]})
        return ctx.ok(f"Saved {data['path']} ({data['bytes']} bytes).\n{page_summary('It shows', data)}", data=data)

    return capture_screenshot


SPEC = ToolSpec(
    "capture_screenshot",
    ScreenshotPolicy,
    build,
    reasons=ScreenshotReason,
    capabilities={"fs:write", "net:read", "proc:exec"},
    safety="medium",
    staged=True,
    isolate=True,  # It waits for a browser, which must not block asynchronous callers.
    group="ui",
)
