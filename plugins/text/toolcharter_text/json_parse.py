"""`json_parse`: checks JSON, prints it indented, and selects parts of it."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import orjson
from pydantic import BaseModel, Field

from toolcharter import ToolError, ToolRuntime, ToolSpec, lazy
from toolcharter_text.common import SOURCE_ALIASES, Count, SharedReason, TextPolicy, open_input
from toolcharter_text.documents import DocumentReason, read_document, read_lines

if TYPE_CHECKING:
    from toolcharter_text import jsonpaths
else:
    jsonpaths = lazy("toolcharter_text.jsonpaths")  # only a query needs the library


class JsonParsePolicy(TextPolicy):
    """How far one profile lets `json_parse` go."""

    max_depth: Annotated[int, Field(ge=1, le=200)] = 100
    """The most levels of arrays and objects in a document."""
    max_steps: Count = 500_000
    """The most nodes, comparisons and filter results that a query may take."""
    max_results: Count = 1000
    """The most nodes one call returns; a call may ask for fewer."""
    max_result_bytes: Count = 65_536
    """The most that one call returns, in bytes of printed JSON."""


class JsonParseReason(StrEnum):
    """Why `json_parse` fails, in addition to the reasons of the path guard and of parsing documents."""

    INVALID_QUERY = "invalid_query"


class JsonMatch(BaseModel):
    """One node that a query selects."""

    path: str
    """The node's normalized path, such as `$['a'][0]`."""
    name: str | None
    """The name of the nearest member: the node itself, or for an array's element the member that holds the array."""
    value: Any


class JsonData(BaseModel):
    """The structured result."""

    path: str | None
    """The file's path, as in the call."""
    value: Any
    """The document, or with `lines` a list of documents; null with a query, or if it is too large."""
    matches: list[JsonMatch] | None
    """The nodes that the query selects, in its order; null without a query."""
    truncated: bool


class Result(NamedTuple):
    """The parts of a document that are returned."""

    text: str
    value: Any
    matches: list[dict[str, Any]] | None
    truncated: bool


def build(
    workspace: Path,  # noqa: ARG001 - every constructor takes it
    policy: JsonParsePolicy,
    rt: ToolRuntime,
) -> Callable[..., str]:
    """Bind `json_parse` to one profile's policy."""
    paths = policy.paths(rt)

    def json_parse(
        text: str | None = None,
        path: str | None = None,
        query: str | None = None,
        lines: bool = False,  # noqa: FBT001, FBT002 - passed by name
        max_results: Count | None = None,
    ) -> str:
        """Check that a text or a file is strict JSON, print it indented, or select parts of it by a JSONPath.

        Args:
            text: The JSON. Give this or `path`.
            path: A file of the workspace that holds the JSON.
            query: A JSONPath of RFC 9535 that selects what to return: `$.items[?@.price < 10].name`.
            lines: Each line is a document of its own (JSON Lines); together they are an array.
            max_results: With a query, return at most so many nodes; the profile may allow fewer.
        """
        ctx = rt.start("json_parse", path=path, query=query)
        find = None if query is None else _make_finder(query, policy, rt)
        with open_input(paths, text, path, policy.max_bytes) as read:
            ctx.policy_passed()
            document = (read_lines if lines else read_document)(read(), policy.max_depth)
        limit = min(policy.max_results, max_results or policy.max_results)
        result = _whole_document(document, policy) if find is None else _first_matches(find(document), limit, policy)
        return ctx.ok(result.text, data=_data(path, result))

    return json_parse


SPEC = ToolSpec(
    "json_parse",
    JsonParsePolicy,
    build,
    reasons=(*JsonParseReason, *DocumentReason, *SharedReason),
    capabilities={"fs:read"},
    safety="low",
    staged=True,
    group="text",
    aliases=("tool_json_parse",),
    argument_aliases={**SOURCE_ALIASES, "json": "text", "jsonpath": "query"},
    output=JsonData,
)


def _make_finder(query: str, policy: JsonParsePolicy, rt: ToolRuntime) -> Callable[[Any], Iterable[Any]]:
    """Parse *query*, and return the function that evaluates it."""
    try:
        return jsonpaths.Query(query, jsonpaths.Budget(policy.max_steps, policy.deadline(rt))).find
    except jsonpaths.QueryError as error:
        message = f"The query is no JSONPath: {error}."
        raise ToolError(
            message, reason=JsonParseReason.INVALID_QUERY, hint="Begin with `$`, as RFC 9535 says."
        ) from None


def _whole_document(document: Any, policy: JsonParsePolicy) -> Result:
    printed = _to_json(document)
    if len(printed) <= policy.max_result_bytes:
        return Result(printed.decode(), document, None, truncated=False)
    kept = printed[: policy.max_result_bytes]
    kept = kept[: kept.rfind(b"\n") + 1]
    notice = f"[truncated: the document has {len(printed)} bytes; pick parts of it with query]"
    return Result(f"{kept.decode()}{notice}", None, None, truncated=True)


def _first_matches(found: Iterable[Any], limit: int, policy: JsonParsePolicy) -> Result:
    """Return the first nodes, as many as the limits allow."""
    matches: list[dict[str, Any]] = []
    size = 0
    for node in found:
        match = node._asdict()
        size += len(_to_json(match))
        if len(matches) == limit or size > policy.max_result_bytes:
            notice = f"\n[truncated: the first {len(matches)} nodes; the next is {node.path}; narrow the query]"
            return Result(_to_json(matches).decode() + notice, None, matches, truncated=True)
        matches.append(match)
    return Result(_to_json(matches).decode(), None, matches, truncated=False)


def _to_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _data(path: str | None, result: Result) -> dict[str, Any]:
    return {"path": path, "value": result.value, "matches": result.matches, "truncated": result.truncated}
