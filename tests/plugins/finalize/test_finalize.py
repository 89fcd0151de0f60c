"""`finalize_task`: what a packet has to hold, and that its call is no more than that."""

from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import build_tools
from toolcharter.hosts import parse_actions
from toolcharter.testing import toolbox_of
from toolcharter_finalize import SPEC

WHOLE = {
    "title": "Log in",
    "user_stories": ["Kim wants to log in, to see her notes."],
    "acceptance_criteria": ["A wrong password is told."],
    "mermaid_wireframe": "graph TD; a-->b",
}


def test_packet_is_handed_over(tmp_path: Path) -> None:
    """Whole, with nothing for what is left out; a second call is as good."""
    with toolbox_of(SPEC, workspace=tmp_path) as box:
        whole = box.call("finalize_task", {"packet": WHOLE})
        bare = box.call("finalize_task", {"packet": {"title": " Log in "}})
    assert (whole.outcome, whole.data) == ("ok", {"packet": WHOLE})
    assert bare.data == {
        "packet": {"title": "Log in", "user_stories": [], "acceptance_criteria": [], "mermaid_wireframe": None}
    }


@each_row(
    "packet",
    [
        {},
        {"title": ""},
        {"title": "  "},
        {"title": "x" * 301},
        {"title": 5},
        {"title": "x", "notes": "y"},
        {"title": "x", "user_stories": "one"},
        {"title": "x", "user_stories": [""]},
        {"title": "x", "acceptance_criteria": ["y"] * 201},
        "x",
        None,
    ],
)
def test_what_is_no_packet(packet: Any, tmp_path: Path) -> None:
    """It is told, and nothing is handed over."""
    with toolbox_of(SPEC, workspace=tmp_path) as box:
        assert box.call("finalize_task", {"packet": packet}).reason == "invalid_arguments"


def test_what_a_profile_wants(tmp_path: Path) -> None:
    """Parts that may not be missing, and how long all may be."""
    policy = {"required": ["acceptance_criteria", "mermaid_wireframe"], "max_chars": 80}
    with toolbox_of(SPEC, workspace=tmp_path, policies={"finalize_task": policy}) as box:
        lacking = box.call("finalize_task", {"packet": {"title": "x", "acceptance_criteria": ["y"]}})
        long = box.call("finalize_task", {"packet": WHOLE})
        fitting = box.call("finalize_task", {"packet": WHOLE | {"user_stories": []}})
    assert (lacking.outcome, lacking.reason) == ("error", "packet_incomplete")
    assert "mermaid_wireframe" in str(lacking.message)
    assert (long.outcome, long.reason) == ("error", "packet_too_large")
    assert fitting.outcome == "ok"


def test_action_of_a_model_without_tool_calls_is_the_same(tmp_path: Path) -> None:
    """What `parse_actions` reads goes into the tool as it is."""
    found = parse_actions('Done. {"type": "finalize_task", "packet": {"title": "Log in", "user_stories": []}}')
    (action,) = found.actions
    with toolbox_of(SPEC, workspace=tmp_path) as box:
        assert box.call("finalize_task", {"packet": action.args["packet"]}).outcome == "ok"


@pytest.mark.parametrize("tools", [{}, {"finalize_task": {}}])
def test_only_listed_agents_end_a_task(tools: dict[str, Any], tmp_path: Path) -> None:
    """A profile without the tool has none."""
    from_profile = tmp_path / "p.yaml"
    from_profile.write_text(f"profile: p\ntools: {tools}\n")
    with build_tools(from_profile, workspace=tmp_path, events=lambda _: None) as box:
        result = box.call("finalize_task", {"packet": WHOLE})
    assert result.reason == (None if tools else "unknown_tool")
