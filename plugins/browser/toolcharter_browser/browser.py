"""`browser`: open, read and use web pages, with one page for each session."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from toolcharter import Denied, ToolError, ToolRuntime, ToolSpec
from toolcharter_browser.formatting import page_summary, page_text, strip_invisible
from toolcharter_browser.pictures import DELAY_MS, open_picture, write_picture
from toolcharter_browser.policy import Action, BrowserPolicy, BrowserReason, ScreenshotReason
from toolcharter_browser.pool import BrowserPool

Delay = Annotated[int, Field(ge=0, le=DELAY_MS)]
Short = Annotated[str, Field(max_length=2000)]
Typed = Annotated[str, Field(max_length=20_000)]
_LOOKS = frozenset({"net:read", "proc:exec"})
CAPABILITIES: Mapping[Action, frozenset[str]] = {
    "open": _LOOKS,
    "click": _LOOKS | {"net:write"},
    "type": _LOOKS | {"net:write"},
    "read": _LOOKS,
    "screenshot": _LOOKS | {"fs:write"},
    "close": _LOOKS,
}


def build(workspace: Path, policy: BrowserPolicy, rt: ToolRuntime) -> Callable[..., str]:  # noqa: ARG001 - `rt.paths`
    """Bind `browser` to one profile's policy."""
    pool = BrowserPool(policy, rt)

    def browser(
        action: Action,
        url: str = "",
        selector: Short = "",
        label: Short = "",
        text: Typed = "",
        submit: bool = False,  # noqa: FBT001, FBT002 - called by name
        delay_ms: Delay = 0,
        path: str = "",
    ) -> str:
        """Open a web page in a browser, read it, use it, take a picture of it. The page stays open between calls.

        Args:
            action: open (url); read: the page as text; click (selector or label); type (selector or label, text,
                submit): fill a field; screenshot (path); close: end the browser and forget its cookies.
            url: The page, with http:// or https://.
            selector: A CSS selector for the element.
            label: The element's visible text, label or placeholder.
            text: The field's new text; it replaces the old one.
            submit: Press Enter afterwards.
            delay_ms: How long to wait for the page before it is read or pictured, in milliseconds.
            path: The PNG file, relative to the workspace; a new file if left out.
        """
        ctx = rt.start("browser", action=action)
        if action not in policy.allowed_actions:
            raise Denied(BrowserReason.ACTION_NOT_ALLOWED, f"The profile does not allow the action {action!r}.")
        uses = BrowserActions(rt, policy, pool)
        given = {"url": url, "selector": selector, "label": label, "text": text, "submit": submit, "delay_ms": delay_ms}
        if action == "screenshot":
            return uses.screenshot(ctx, path, delay_ms)
        work = uses.prepare(action, given)
        ctx.policy_passed()
        said, data = work()
        return ctx.ok(said, data=data)

    return browser


Work = Callable[[], tuple[str, dict[str, Any]]]


class BrowserActions:
    """The actions of `browser`."""

    def __init__(self, rt: ToolRuntime, policy: BrowserPolicy, pool: BrowserPool) -> None:
        self._rt = rt
        self._policy = policy
        self._pool = pool

    def prepare(self, action: Action, given: dict[str, Any]) -> Work:
        """Check the arguments of any action except `screenshot`, and return the function that does its work."""
        if action == "open":
            return self._prepare_open(given)
        if action in {"click", "type"} and not (given["selector"] or given["label"]):
            message = f"The action {action!r} needs a `selector` or a `label`."
            raise ToolError(message, reason=BrowserReason.MISSING_ARGUMENT)
        work: dict[str, Work] = {
            "click": lambda: self._act("Clicked; now at", "click", given),
            "type": lambda: self._act("Typed; now at", "type", given),
            "read": self._read,
            "close": self._close,
        }
        return work[action]

    def screenshot(self, ctx: Any, path: str, delay_ms: int) -> str:
        """Write a picture of the page to a file."""
        with open_picture(self._rt, self._policy, path, "") as place:
            ctx.policy_passed()
            with self._pool.open_browser() as session:
                taken = session.ask("screenshot", delay_ms=delay_ms, max_image_bytes=self._policy.max_image_bytes)
            data = write_picture(place, taken)
        said = f"Saved {data['path']} ({data['bytes']} bytes).\n{page_summary('It shows', data)}"
        text: str = ctx.ok(said, data=data)
        return text

    def _prepare_open(self, given: dict[str, Any]) -> Work:
        if not given["url"]:
            raise ToolError("The action 'open' needs a `url`.", reason=BrowserReason.MISSING_ARGUMENT)
        url = self._rt.http.check(given["url"], self._policy)
        self._pool.require_room()

        def work() -> tuple[str, dict[str, Any]]:
            with self._pool.browser() as session:
                answer = session.ask("open", url=url, delay_ms=given["delay_ms"])
            return page_summary("Opened", answer), answer

        return work

    def _act(self, verb: str, do: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        with self._pool.open_browser() as session:
            answer = session.ask(do, **given)
        return page_summary(verb, answer), answer

    def _read(self) -> tuple[str, dict[str, Any]]:
        with self._pool.open_browser() as session:
            answer = session.ask("read", max_chars=self._policy.max_chars)
        answer = {**answer, "text": strip_invisible(answer["text"])}
        return page_text(answer), answer

    def _close(self) -> tuple[str, dict[str, Any]]:
        self._pool.end()
        return "The browser is closed.", {}


def advertise(policy: BrowserPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only the actions that its profile allows."""
    properties = schema.get("properties", {})
    narrowed = {**properties, "action": {**properties.get("action", {}), "enum": list(policy.allowed_actions)}}
    return {**schema, "properties": narrowed}


SPEC = ToolSpec(
    "browser",
    BrowserPolicy,
    build,
    reasons=[*BrowserReason, *ScreenshotReason],
    capabilities=CAPABILITIES,
    safety="high",
    staged=True,
    isolate=True,  # As for `capture_screenshot`.
    group="ui",
    advertise=advertise,
)
