"""`reload_tools` in a session, from the call to the new tool."""

from typing import Any

from toolcharter.testing.toolboxes import toolbox_of
from toolcharter_cli_tools.reload_tools import SPEC


def test_new_tools_can_be_called(place: Any) -> None:
    """What was written is there after the call, with all that it says in its data."""
    place.tool("old", "#!/bin/sh\nprintf old\n")
    script = place.tool("kept", "#!/bin/sh\nprintf kept\n")
    live = place.open(agent_folders=["tools"])
    assert live.call("new", {}).reason == "unknown_tool"
    place.tool("new", "#!/bin/sh\nprintf new\n")
    script.write_text("#!/bin/sh\nprintf changed\n")
    (place.workspace / "tools/old/run").unlink()
    place.write(place.workspace / "tools" / "file")
    place.write(place.workspace / "tools" / ".hidden" / "run")

    result = live.call("reload_tools", {})

    folder = place.workspace / "tools"
    note = f"{folder / 'old'} is left out (no_program): there is no file named run or run.*."
    assert result.data == {
        "discovered_tools": ["kept", "new"],
        "count": 2,
        "directories_scanned": [str(folder)],
        "new": ["new"],
        "changed": ["kept"],
        "gone": ["old"],
        "notes": [note],
    }
    assert result.text == (
        f"Discovered tools: kept, new.\nNew: new.\nChanged, so a person is asked before each call: kept.\nGone: old.\n{note}"
    )
    assert live.call("new", {}).text == "new"
    assert live.call("old", {}).reason == "unknown_tool"


def test_nothing_there(place: Any) -> None:
    """No tool and no folder is an answer."""
    result = place.open().call("reload_tools", {})

    assert (result.text, result.data["count"], result.data["directories_scanned"]) == ("Discovered tools: none.", 0, [])


def test_toolbox_that_never_changes(tmp_path: Any) -> None:
    """Without a session that takes new tools in, it says so."""
    with toolbox_of(SPEC, workspace=tmp_path) as toolbox:
        result = toolbox.call("reload_tools", {})

    assert (result.outcome, result.reason) == ("error", "tool_error")
    assert "LiveToolbox" in result.text
