"""`http_get`: returns the answer of one URL as unchanged text."""

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

from toolcharter import ToolRuntime, ToolSpec
from toolcharter_web.common import URL_ALIASES, WebPolicy, WebReason, fence_untrusted, get_page, truncate_text


class HttpGetPolicy(WebPolicy):
    """How far one profile lets `http_get` go."""


class HttpGetData(TypedDict):
    """The structured result."""

    url: str
    """The URL of the last request, after redirects."""
    status: int
    content_type: str
    body: str
    """The text of the answer; it is untrusted."""
    truncated: bool
    redirects: list[str]


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: HttpGetPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `http_get` to one policy."""

    def http_get(url: str) -> str:
        """Fetch a URL with GET and return its text as it is: JSON, XML, source code, HTML.

        Args:
            url: Absolute, http or https.
        """
        ctx = rt.start("http_get", url=url)
        rt.http.check(url, policy)
        ctx.policy_passed()
        page = get_page(rt, url, policy, "application/json, text/*;q=0.9, */*;q=0.5")
        shown = truncate_text(page.text, policy.max_text_bytes, truncated=page.answer.truncated)
        data: HttpGetData = {
            "url": page.answer.url,
            "status": page.answer.status,
            "content_type": page.media_type,
            "body": shown.text,
            "truncated": shown.truncated,
            "redirects": [*page.answer.redirects],
        }
        return ctx.ok(fence_untrusted(shown.text, page.answer.url, truncated=shown.truncated), data=data)

    return http_get


SPEC = ToolSpec(
    "http_get",
    HttpGetPolicy,
    build,
    reasons=WebReason,
    capabilities={"net:read"},
    safety="medium",
    staged=True,
    isolate=True,  # a host may be slow, and must not block asynchronous callers
    group="web",
    aliases=("tool_http_get",),
    argument_aliases=URL_ALIASES,
    output=HttpGetData,
)
