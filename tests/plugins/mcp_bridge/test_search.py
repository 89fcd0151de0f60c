"""With many tools, a session offers a search, and what it has found."""

import pytest

from .bridge_setup import BridgeSetup, wait_until

pytestmark = pytest.mark.slow


def test_tools_are_found_and_offered(world: BridgeSetup) -> None:
    """What is found can be called from then on, under the same rules."""
    tools = [{"name": f"t{n}", "description": f"Thing number {n}."} for n in range(5)]
    world.orders(*tools, {"name": "weather", "description": "The forecast for a city."})
    live = world.live({"raw": world.raw}, search_above=5, mark_output=False)
    assert [*live.current] == ["mcp_search"]
    assert live.call("mcp__raw__weather", {"text": "x"}).reason == "unknown_tool"

    found = live.call("mcp_search", {"query": "forecast weather"})

    assert found.data == {"tools": ["mcp__raw__weather"]}
    assert "mcp__raw__weather: The forecast for a city." in found.text
    wait_until(lambda: sorted(live.current) == ["mcp__raw__weather", "mcp_search"])
    assert live.call("mcp__raw__weather", {"text": "x"}).text == "x"
    assert live.call("mcp_search", {"query": "nothing like it"}).data == {"tools": []}
    assert len(live.call("mcp_search", {"query": "thing"}).data["tools"]) == 5


def test_as_many_as_the_limit_need_no_search(world: BridgeSetup) -> None:
    """And a toolbox that never changes has them all."""
    world.orders("a", "b", "c")

    assert sorted(world.live({"raw": world.raw}, search_above=3).current) == [
        "mcp__raw__a",
        "mcp__raw__b",
        "mcp__raw__c",
    ]
    assert len(world.open({"raw": world.raw}, search_above=2)) == 3


def test_the_search_needs_an_allow_rule(world: BridgeSetup) -> None:
    """As every tool of a server does."""
    world.orders("a", "b")
    world.allow = ["mcp:raw:*"]
    live = world.live({"raw": world.raw}, search_above=1)

    assert live.call("mcp_search", {"query": "a"}).reason == "not_in_allow"
