"""`web`: searches the web, and reads pages as Markdown."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from toolcharter import Denied, Invocation, Reason, ToolContext, ToolError, ToolRuntime, ToolSpec
from toolcharter_web.common import URL_ALIASES, WebPolicy, fence_untrusted, get_page, truncate_text
from toolcharter_web.content import HTML
from toolcharter_web.search import Provider, Result, require_key, search

Action = Literal["search", "fetch"]
Count = Annotated[int, Field(ge=1, le=20)]


class WebToolPolicy(WebPolicy):
    """How far one profile lets `web` go."""

    allowed_actions: tuple[Action, ...] = ("search", "fetch")
    """The actions that the tool may be used for."""
    provider: Provider = "brave"
    """The search provider: `brave`, with a key in `BRAVE_API_KEY`, or `duckduckgo`."""


class WebToolReason(StrEnum):
    """Why `web` denies a call or fails, in addition to the reasons of the network guard."""

    ACTION_NOT_ALLOWED = "action_not_allowed"
    HTTP_STATUS = "http_status"
    BINARY_CONTENT = "binary_content"
    MISSING_KEY = "missing_key"
    SEARCH_FAILED = "search_failed"


class WebData(TypedDict, total=False):
    """The structured result: `query`, `results` and `missing` for a search, the other fields for a page."""

    query: str
    results: list[Result]
    """The results; their text is untrusted."""
    missing: int
    """How many results are missing to `count`: only one page of results is requested."""
    url: str
    """The URL of the last request, after redirects."""
    status: int
    content_type: str
    title: str
    content: str
    """The text of the page; it is untrusted."""
    truncated: bool
    redirects: list[str]


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: WebToolPolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `web` to one policy."""

    def web(action: Action | None = None, query: str | None = None, url: str | None = None, count: Count = 5) -> str:
        """Search the web, or fetch a page as Markdown.

        Args:
            action: `search` needs a query, `fetch` a URL. May be left out if only one of the two is given.
            query: What to search for.
            url: The page, absolute, http or https.
            count: How many results a search returns.
        """
        chosen = _resolve_action(action, query, url)
        ctx = rt.start("web", action=chosen)
        if chosen not in policy.allowed_actions:
            raise Denied(WebToolReason.ACTION_NOT_ALLOWED, f"The profile does not let `web` {chosen}.")
        if chosen == "search":
            return _search(rt, ctx, policy, query or "", count)
        return _fetch(rt, ctx, policy, url or "")

    return web


def _resolve_action(action: Action | None, query: str | None, url: str | None) -> Action:
    """Return the action of a call.

    Raises:
        ToolError: `invalid_arguments`, if the action is unclear or its argument is missing.
    """
    wanted = action or implied_action({"query": query, "url": url})
    if wanted is None or not (query if wanted == "search" else url):
        message = "Give a query to search for, or the url of a page to fetch; with both, say which action."
        raise ToolError(message, reason=Reason.INVALID_ARGUMENTS)
    return wanted


def implied_action(args: Mapping[str, Any]) -> Action | None:
    """Return the action that the arguments imply; None if they imply none."""
    given = [bool(args.get(name)) for name in ("query", "url")]
    return None if given[0] == given[1] else "search" if given[0] else "fetch"


def _fetch(rt: ToolRuntime, ctx: ToolContext, policy: WebToolPolicy, url: str) -> str:
    rt.http.check(url, policy)
    ctx.policy_passed()
    page = get_page(rt, url, policy, "text/html, application/xhtml+xml, text/*;q=0.9, */*;q=0.5")
    title, content, truncated = "", page.text, page.answer.truncated
    if page.media_type in HTML:
        read = rt.compute("toolcharter_web.pages:page_as_markdown", page.text, page.answer.url, policy.max_text_bytes)
        title, content = read["title"], read["text"]
        truncated = truncated or read["truncated"]
    shown = truncate_text(content, policy.max_text_bytes, truncated=truncated)
    data: WebData = {
        "url": page.answer.url,
        "status": page.answer.status,
        "content_type": page.media_type,
        "title": title,
        "content": shown.text,
        "truncated": shown.truncated,
        "redirects": [*page.answer.redirects],
    }
    return ctx.ok(fence_untrusted(shown.text, page.answer.url, truncated=shown.truncated), data=data)


def _search(rt: ToolRuntime, ctx: ToolContext, policy: WebToolPolicy, query: str, count: int) -> str:
    require_key(policy.provider)
    ctx.policy_passed()
    results = search(rt, policy.provider, query, count, policy.limits())
    missing = max(count - len(results), 0)
    data: WebData = {"query": query, "results": results, "missing": missing}
    if not results:
        return ctx.ok("Nothing was found.", data=data)
    lines = [
        f"{number}. {one['title']}\n   {one['url']}\n   {one['snippet']}" for number, one in enumerate(results, start=1)
    ]
    text = fence_untrusted("\n".join(lines), f"a search with {policy.provider}", truncated=False)
    if missing:
        text += f"\n[{len(results)} of {count} results: {policy.provider} gives one page, which has no more]"
    return ctx.ok(text, data=data)


def invocation(args: Mapping[str, Any]) -> Invocation:
    """Return the action, explicit or implied."""
    return Invocation(args.get("action") or implied_action(args))


def advertise(policy: WebToolPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model only the actions that its profile allows."""
    properties = schema.get("properties", {})
    narrowed = {**properties.get("action", {}), "enum": list(policy.allowed_actions)}
    narrowed.pop("anyOf", None)
    return {**schema, "properties": {**properties, "action": {"type": "string", **narrowed}}}


SPEC = ToolSpec(
    "web",
    WebToolPolicy,
    build,
    reasons=WebToolReason,
    capabilities={"search": {"net:read"}, "fetch": {"net:read"}},
    safety="medium",
    staged=True,
    isolate=True,  # a host may be slow, and must not block asynchronous callers
    group="web",
    aliases=("web_fetch", "web_search", "WebFetch", "WebSearch", "tool_web_search"),
    argument_aliases={**URL_ALIASES, "max_results": "count", "q": "query"},
    output=WebData,
    invocation=invocation,
    advertise=advertise,
)
