"""What processes tell in their session's inbox: matches and ends, once, and in no other session."""

import json
import time
from pathlib import Path

from toolcharter import Caller, InboxItem, LiveToolbox, open_live

KIM = Caller(agent="ada", user="kim", session="s1")
LEE = Caller(agent="ada", user="lee", session="s2")


def session(tmp_path: Path) -> LiveToolbox:
    """One whose processes tell in its inbox."""
    (tmp_path / "workspace").mkdir()
    tool = {"tell_in_inbox": True, "state_dir": f"{tmp_path}/state", "max_memory_bytes": None, "max_children": None}
    profile = {
        "profile": "inbox",
        "store": f"sqlite:///{tmp_path}/store.db",
        "runner": "host",
        "mode": "dangerous",
        "tools": {"background_process": tool},
    }
    file = tmp_path / "inbox.yaml"
    file.write_text(json.dumps(profile))
    return open_live(file, workspace=tmp_path / "workspace", caller=KIM, events=lambda _: None)


def test_ends_and_matches_arrive_in_the_inbox(tmp_path: Path) -> None:
    """Without a call in between; each once, and none with a later call."""
    with session(tmp_path) as live:
        spawned = live.call("background_process", {"action": "spawn", "command": "echo ready", "pattern": "ready"})
        handle, told, until = spawned.data["handle"], list[InboxItem](), time.monotonic() + 60
        while len(told) < 2 and time.monotonic() < until:
            told += live.inbox()
            time.sleep(0.01)

        assert [(item.source, item.text) for item in told] == [
            (f"process {handle}", "match (w1): ready"),
            (f"process {handle}", "exit (end): exited, status 0"),
        ]
        assert live.inbox(caller=LEE) == ()
        assert "notices" not in live.call("background_process", {"action": "list"}).data


def test_what_the_inbox_does_not_take_comes_with_the_next_call(tmp_path: Path) -> None:
    """A store that is away loses nothing that a session waits for."""
    (tmp_path / "store.db").mkdir()
    with session(tmp_path) as live:
        spawned = live.call("background_process", {"action": "spawn", "command": "true"})
        notices, until = list(spawned.data.get("notices", [])), time.monotonic() + 60  # it may have ended by then
        while not notices and time.monotonic() < until:
            notices += live.call("background_process", {"action": "list"}).data.get("notices", [])

    assert [(one["event"], one["text"]) for one in notices] == [("exit", "exited, status 0")]
