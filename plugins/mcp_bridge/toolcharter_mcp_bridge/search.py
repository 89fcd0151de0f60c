"""The tool `mcp_search`: finds tools for a purpose, if servers have more tools than a model should see."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from toolcharter import Caller, ToolPolicy, ToolRuntime, ToolSpec
from toolcharter_mcp_bridge.tools import ShownTool

NAME = "mcp_search"
_MOST_FOUND = 10
_LONGEST = 200
"""The maximum length of a description in the answer, in characters."""
_WORD = re.compile(r"[a-z0-9]+")
_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "A few words: what the tool should do, or a part of its name.",
        }
    },
    "required": ["query"],
    "additionalProperties": False,
}


class Catalog(Protocol):
    """The part of the bridge that the search needs."""

    def tools_for(self, caller: Caller) -> Iterable[ShownTool]:
        """Return every tool that *caller* may use by its grants."""
        ...

    def offer(self, names: Iterable[str]) -> None:
        """Make the session offer these tools from now on."""
        ...


def search_spec(count: int, catalog: Catalog) -> ToolSpec[ToolPolicy]:
    """Return the spec of the search over *count* tools."""

    def build(_workspace: Path, _policy: ToolPolicy, rt: ToolRuntime) -> Callable[[Any], str]:
        def mcp_search(query: str) -> str:
            ctx = rt.start(NAME, query=query)
            ctx.policy_passed()
            found = rank_tools(query, catalog.tools_for(rt.caller))
            if not found:
                return ctx.ok("No tool matches. Try other words.", data={"tools": []})
            catalog.offer(shown.name for shown in found)
            lines = [f"{one.name}: {one.offer.definition.description[:_LONGEST]}" for one in found]
            text = "\n".join(["These tools can be called from now on; the list of tools will soon have them.", *lines])
            return ctx.ok(text, data={"tools": [one.name for one in found]})

        return mcp_search

    return ToolSpec(
        NAME,
        ToolPolicy,
        build,
        reasons=(),
        capabilities=(),
        safety="low",
        kind="mcp",
        staged=True,
        parameters=_SCHEMA,
        description=f"Find tools among the {count} tools of MCP servers; the found tools can be called afterwards.",
        fingerprint=f"search-{count}",
    )


def rank_tools(query: str, tools: Iterable[ShownTool]) -> list[ShownTool]:
    """Return the matching tools, best first. Words in names count more than words in descriptions."""
    words = set(_WORD.findall(query.lower()))

    def score(one: ShownTool) -> int:
        name, said = one.name.lower(), set(_WORD.findall(one.offer.definition.description.lower()))
        return sum(3 * (word in name) + (word in said) for word in words)

    ranked = sorted(((score(one), one.name, one) for one in tools), key=lambda ranked: (-ranked[0], ranked[1]))
    return [one for points, _, one in ranked[:_MOST_FOUND] if points]
