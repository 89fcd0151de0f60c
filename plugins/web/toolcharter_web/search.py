"""Web searches with each provider, through the network guard."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict
from urllib.parse import urlencode

import orjson

from toolcharter import HttpAnswer, HttpLimits, NetworkPolicy, ToolError, ToolRuntime
from toolcharter_web.common import format_status, shorten
from toolcharter_web.content import without_invisible

Provider = Literal["brave", "duckduckgo"]
BRAVE = "https://api.search.brave.com/res/v1/web/search"
"""Source: the Brave Search API, "Web search"."""
KEY = "BRAVE_API_KEY"
"""The environment variable that holds Brave's key."""
_OK = 200
_BUSY = frozenset({202, 403, 429, 503})
"""The statuses of a provider that should be asked again later. DuckDuckGo uses the first two."""
_AGENT = "Mozilla/5.0 (compatible; toolcharter)"
MAX_SNIPPET = 500


class Result(TypedDict):
    """One result; all of it is untrusted."""

    title: str
    url: str
    snippet: str


Ask = Callable[[str, Mapping[str, str], bytes], HttpAnswer]
"""`(url, headers, content)`: GET without content, POST with it."""
Compute = Callable[..., Any]
"""`rt.compute`."""
_READER = "toolcharter_web.duckduckgo"


def search(rt: ToolRuntime, provider: Provider, query: str, count: int, limits: HttpLimits) -> list[Result]:
    """Return at most *count* results.

    Raises:
        ToolError: `missing_key`, `search_failed`, and as `rt.http.fetch`.
    """

    def ask(url: str, headers: Mapping[str, str], content: bytes = b"") -> HttpAnswer:
        # The operator chooses the provider: the policy's limits for pages do not apply to it.
        policy = NetworkPolicy(allowed_domains=(url.split("/")[2],), ports=(443,))
        method = "POST" if content else "GET"
        return rt.http.fetch(url, policy, method=method, headers=headers, content=content, limits=limits)

    found = _PROVIDERS[provider](ask, rt.compute, query, count)
    return [_clean_result(one) for one in found[:count] if one["url"]]


def require_key(provider: Provider) -> None:
    """Refuse a search if the provider's key is missing.

    Raises:
        ToolError: `missing_key`.
    """
    if provider == "brave" and not os.environ.get(KEY):
        message = f"Searching with Brave needs a key in the environment variable {KEY}."
        raise ToolError(message, reason="missing_key")


def _brave(ask: Ask, _compute: Compute, query: str, count: int) -> list[Result]:
    headers = {"Accept": "application/json", "X-Subscription-Token": os.environ.get(KEY, "")}
    answer = ask(f"{BRAVE}?{urlencode({'q': query, 'count': count})}", headers, b"")
    _require_ok(answer)
    try:
        found: Any = orjson.loads(answer.body)["web"]["results"]
        return [{"title": one["title"], "url": one["url"], "snippet": one.get("description") or ""} for one in found]
    except (ValueError, LookupError, TypeError, AttributeError):
        return _require_no_results(answer)


def _require_no_results(answer: HttpAnswer) -> list[Result]:
    """Return no results if the answer lacks `web`: Brave answers so if it finds nothing. Raise for other answers."""
    if answer.body.lstrip().startswith(b"{") and b'"results"' not in answer.body:
        return []
    raise ToolError("The search provider's answer cannot be read.", reason="search_failed")


def _duckduckgo(ask: Ask, compute: Compute, query: str, count: int) -> list[Result]:  # noqa: ARG001 - its page has always ten
    url, form = compute(f"{_READER}:build_request", query)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "User-Agent": _AGENT}
    answer = ask(url, headers, urlencode(form).encode())
    _require_ok(answer)
    found: list[Result] = compute(f"{_READER}:parse_results", query, answer.body.decode(errors="replace"))
    return found


def _require_ok(answer: HttpAnswer) -> None:
    if answer.status != _OK:
        message = f"The search provider answered {format_status(answer.status)}."
        raise ToolError(message, reason="search_failed", retryable=answer.status in _BUSY)


def _clean_result(result: Result) -> Result:
    title, url, snippet = (" ".join(without_invisible(str(value)).split()) for value in result.values())
    return {"title": shorten(title, MAX_SNIPPET), "url": url, "snippet": shorten(snippet, MAX_SNIPPET)}


_PROVIDERS: Mapping[Provider, Callable[[Ask, Compute, str, int], list[Result]]] = {
    "brave": _brave,
    "duckduckgo": _duckduckgo,
}
