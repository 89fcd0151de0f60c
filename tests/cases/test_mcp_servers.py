"""Samples of what another gateway does with MCP servers: lists, waits, texts of results. Where we differ, the row says how."""

from typing import Any

import pytest
from tests.samples import sample_rows

from toolcharter_mcp_bridge.policy import McpBridgePolicy, ServerPolicy
from toolcharter_mcp_bridge.texts import is_granted
from toolcharter_mcp_bridge.tools import answer_text

ROWS = {row["id"]: row for row in sample_rows("seeds/004-mcp-net")}


def rows(*words: str) -> list[dict[str, Any]]:
    """The samples whose case begins with one of *words*."""
    return [row for row in ROWS.values() if row["case"].startswith(words)]


def test_lists() -> None:
    """Deny, then allow, by exact names."""
    found = rows("in allow", "not in allow", "grant filter")
    assert len(found) >= 3
    for row in found:
        given, expect = row["input"], row["expect"]
        name = given.get("tool", given.get("registered"))
        granted = is_granted("s", name, given["allow"], given["deny"] or ())
        assert granted is expect["allowed"], row


def test_waits_and_constants() -> None:
    """Health, waits, attempts and time limits are those of the samples."""
    policy = McpBridgePolicy()
    for row in rows("wait before"):
        assert policy.delay(row["input"]["attempt"]) == row["expect"]["wait_s"], row
    (constants,) = rows("constants")
    server = ServerPolicy(command="x")
    assert constants["expect"] == {
        "health_s": policy.health_s,
        "backoff_first_s": policy.backoff_s,
        "backoff_max_s": policy.max_backoff_s,
        "attempts": policy.attempts,
        "timeout_s": server.timeout_s,
    }


def test_texts() -> None:
    """They are joined by a line break."""
    for row in rows("texts are joined"):
        content = [{"type": "text", "text": text} for text in row["input"]["texts"]]
        assert answer_text({"content": content}, 1_000)[0] == row["expect"]["text"], row


@pytest.mark.parametrize("value", ["Bearer xyz"])
def test_values_of_headers(value: str) -> None:
    """A text is a text; what comes from the environment is a key of its own, so that no text can mean it by accident."""
    server = ServerPolicy.from_profile({"url": "https://a.example/", "headers": {"X": value, "Y": {"env": "NAME"}}})

    assert server.headers["X"] == value
    assert "xyz" not in server.identity
    assert "$NAME" in server.identity
