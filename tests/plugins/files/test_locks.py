"""`lock_paths`, `unlock_paths`, and what the writing tools make of locks."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcharter import Caller, Lease, Toolbox, ToolError, build_tools
from toolcharter.guards.paths import locks as leases
from toolcharter_files import claims, lock_paths

TOOLS = ("write_file", "edit_file", "move_file", "delete_file", "make_dir", "lock_paths", "unlock_paths")
ANN, BOB = Caller(agent="ann", session="1"), Caller(agent="bob", session="2")


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(leases, "time", made)
    return made


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def toolbox(workspace: Path, tmp_path: Path, state: Path) -> Iterator[Toolbox]:
    profile = tmp_path / "profile.yaml"
    profile.write_text(json.dumps({"profile": "locks", "tools": {tool: {} for tool in TOOLS}}))
    with build_tools(profile, workspace=workspace, events=lambda _: None) as made:
        yield made


def do(toolbox: Toolbox, caller: Caller, tool: str, **args: Any) -> Any:
    return toolbox.for_caller(caller).call(tool, args)


def test_lock_keeps_others_from_writing(toolbox: Toolbox, clock: Clock) -> None:
    """The owner writes, others are told who holds it and for how long; then it expires."""
    locked = do(toolbox, ANN, "lock_paths", globs=["sub/**"], ttl_ms=60_000)
    own = do(toolbox, ANN, "write_file", path="sub/new.txt", content="x")
    other = do(toolbox, BOB, "write_file", path="sub/new.txt", content="y")
    clock.now += 60
    late = do(toolbox, BOB, "write_file", path="sub/new.txt", content="y")

    assert locked.text == f"Locked sub/** for 60000 ms, as {locked.data['lock_id']}"
    assert locked.data == {"lock_id": locked.data["lock_id"], "globs": ["sub/**"], "ttl_ms": 60_000}
    assert [own.outcome, other.outcome, late.outcome] == ["ok", "denied", "ok"]
    assert (other.reason, other.message) == (
        "path_locked",
        "'sub/new.txt' is locked by agent 'ann' (as 'sub/**', for another 60 s).",
    )


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "sub/deep/c.py", "content": "x"}),
        ("write_file", {"path": "sub/deep/new.py", "content": "x"}),
        ("edit_file", {"path": "sub/deep/c.py", "old_string": "two", "new_string": "2"}),
        ("move_file", {"path": "sub/deep/c.py", "to": "c.py"}),
        ("move_file", {"path": "a.txt", "to": "sub/deep/a.txt"}),
        ("move_file", {"path": "sub/deep", "to": "deep"}),
        ("move_file", {"path": "sub", "to": "other"}),
        ("delete_file", {"path": "sub/deep/c.py"}),
        ("make_dir", {"path": "sub/deep/new"}),
    ],
)
def test_every_change_respects_locks(toolbox: Toolbox, workspace: Path, tool: str, args: dict[str, str]) -> None:
    """Whatever way a locked path would be changed, also with its folder, in a dry run as in earnest."""
    before = {path: path.is_file() and path.read_bytes() for path in workspace.rglob("*")}
    do(toolbox, ANN, "lock_paths", globs="sub/deep/*")

    decision = toolbox.for_caller(BOB).decide(tool, args)
    result = do(toolbox, BOB, tool, **args)

    assert [decision.reason, result.reason] == ["path_locked"] * 2
    assert {path: path.is_file() and path.read_bytes() for path in workspace.rglob("*")} == before


def test_folder_is_not_moved_to_where_its_names_would_be_locked(toolbox: Toolbox, workspace: Path) -> None:
    """A place that is still missing counts with all that will lie below it; for a file it is that name alone."""
    do(toolbox, ANN, "lock_paths", globs="docs/*.py")

    folder = do(toolbox, BOB, "move_file", path="sub", to="docs")
    file = do(toolbox, BOB, "move_file", path="a.txt", to="docs")

    assert (folder.reason, file.outcome) == ("path_locked", "ok")


def test_locks_are_granted_all_or_none(toolbox: Toolbox) -> None:
    """One glob in the way of another's lock, and nothing of the set is locked."""
    do(toolbox, ANN, "lock_paths", globs=["src/**"])

    refused = do(toolbox, BOB, "lock_paths", globs=["docs/**", "src/*.py"])
    free = do(toolbox, ANN, "write_file", path="docs/a.md", content="x")

    assert (refused.outcome, refused.reason, refused.message) == (
        "denied",
        "path_locked",
        "Nothing was locked: there are locks on 'src/**' by agent 'ann'.",
    )
    assert free.outcome == "ok"


def test_lock_that_is_lost_between_look_and_grasp_is_not_granted(toolbox: Toolbox, monkeypatch) -> None:
    """Two who saw the same path free do not both get it."""
    monkeypatch.setattr(leases.WorkspaceLeases, "others", lambda _: [])
    do(toolbox, ANN, "lock_paths", globs="a.txt")

    assert do(toolbox, BOB, "lock_paths", globs="a.txt").reason == "path_locked"


def test_globs_are_compared_once(toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """While nobody may write, only what has come since is held against the globs that are wanted."""
    compared: list[list[str]] = []

    def find_conflicts(held: list[Lease], *_: object) -> list[Lease]:
        compared.append([lease.name for lease in held])
        return []

    do(toolbox, ANN, "lock_paths", globs=["a", "b"])
    monkeypatch.setattr(lock_paths, "find_conflicts", find_conflicts)
    do(toolbox, BOB, "lock_paths", globs="c")

    assert compared == [["a", "b"], []]


@pytest.mark.parametrize(
    ("glob", "locked", "path"),
    [
        ("way/**", ["way/**", "sub/**"], "sub/deep/c.py"),
        ("way/deep/*.py", ["way/deep/*.py", "sub/deep/*.py"], "way/deep/c.py"),
        ("way/b.py", ["way/b.py", "sub/b.py"], "way/b.py"),
        ("to_file", ["to_file", "a.txt"], "to_file"),
        ("top/**", ["top/**", "./**"], "a.txt"),
        ("new/**", ["new/**"], "new/x"),
        ("out/**", ["out/**"], None),
        ("s*/**", ["s*/**"], "way/b.py"),
        ("./sub/./b.py", ["./sub/./b.py"], "sub/b.py"),
        ("sub/", ["sub/"], "sub/b.py"),
    ],
)
def test_lock_holds_where_links_lead(
    toolbox: Toolbox, workspace: Path, glob: str, locked: list[str], path: str | None
) -> None:
    """What is named by a link is locked by its own name, too: by whichever of them it is written."""
    for name, target in (("way", "sub"), ("to_file", "a.txt"), ("top", ".")):
        (workspace / name).symlink_to(target)

    result = do(toolbox, ANN, "lock_paths", globs=glob)

    assert result.data["globs"] == locked
    if path is not None:
        assert do(toolbox, BOB, "write_file", path=path, content="x").reason == "path_locked"


def test_link_to_a_path_that_is_too_long_is_not_locked(toolbox: Toolbox, workspace: Path) -> None:
    """What cannot be locked where it lies is not locked at all."""
    (workspace / "/".join(["d" * 200] * 2)).mkdir(parents=True)
    (workspace / "way").symlink_to("/".join(["d" * 200] * 2))

    assert do(toolbox, ANN, "lock_paths", globs="way/**").reason == "invalid_glob"


def test_own_locks_are_in_nobodys_own_way(toolbox: Toolbox) -> None:
    """An owner may lock again, and what is released by one name stays locked by the other."""
    first = do(toolbox, ANN, "lock_paths", globs=["a.txt", "b.txt"]).data["lock_id"]
    second = do(toolbox, ANN, "lock_paths", globs=["a.txt"]).data["lock_id"]

    released = do(toolbox, ANN, "unlock_paths", tokens=first)
    still = do(toolbox, BOB, "write_file", path="a.txt", content="x").reason
    again = do(toolbox, ANN, "unlock_paths", tokens=[second])
    free = do(toolbox, BOB, "write_file", path="a.txt", content="x").reason

    assert (released.text, released.data) == ("Unlocked a.txt, b.txt", {"globs": ["a.txt", "b.txt"]})
    assert (still, again.data["globs"], free) == ("path_locked", ["a.txt"], None)


def test_nobody_unlocks_what_is_anothers(toolbox: Toolbox) -> None:
    """Whoever knows the name of another's lock has no use for it."""
    lock_id = do(toolbox, ANN, "lock_paths", globs="a.txt").data["lock_id"]

    tried = [do(toolbox, BOB, "unlock_paths", token=lock_id), do(toolbox, BOB, "unlock_paths")]

    assert [each.text for each in tried] == ["This caller has no such lock."] * 2
    assert do(toolbox, ANN, "unlock_paths").data == {"globs": ["a.txt"]}


def test_nothing_is_asked_before_the_first_lock(toolbox: Toolbox, state: Path) -> None:
    """Without locks there is no file, and nothing to unlock."""
    wrote = do(toolbox, ANN, "write_file", path="new.txt", content="x")
    unlocked = do(toolbox, ANN, "unlock_paths")

    assert (wrote.outcome, unlocked.outcome, state.exists()) == ("ok", "ok", False)


def test_dry_run_locks_nothing(toolbox: Toolbox, state: Path) -> None:
    """What is only asked about makes no file."""
    decisions = [
        toolbox.decide(tool, args).outcome for tool, args in (("lock_paths", {"globs": "a"}), ("unlock_paths", {}))
    ]

    assert (decisions, state.exists()) == (["allow", "allow"], False)


def test_sessions_of_one_agent_are_several_owners(toolbox: Toolbox) -> None:
    """Two sessions write at the same time, whatever their agent is called; a caller without a name is its process."""
    do(toolbox, Caller(session="1"), "lock_paths", globs="a.txt")
    do(toolbox, Caller(), "lock_paths", globs="b.txt")

    said = {
        path: [
            do(toolbox, caller, "write_file", path=path, content="x").message
            for caller in (Caller(session="2"), Caller())
        ]
        for path in ("a.txt", "b.txt")
    }

    assert [None if message is None else message.partition(" (")[0] for message in said["a.txt"]] == [
        "'a.txt' is locked by another session"
    ] * 2
    assert [None if message is None else message.partition(" (")[0] for message in said["b.txt"]] == [
        "'b.txt' is locked by another process",
        None,
    ]


def test_smaller_time_wins(box, state: Path) -> None:
    """A call asks for less than the profile's limit, never for more."""
    times = [
        box("lock_paths", {"max_ttl_ms": 1000}).call("lock_paths", {"globs": "a", **more}).data["ttl_ms"]
        for more in ({}, {"ttl_ms": 10}, {"ttl": 5000})
    ]

    assert times == [1000, 10, 1000]


@pytest.mark.parametrize(
    "globs",
    [[], ["a"] * 33, ["a" * 257], ["{a,b}" * 5], [""], ["../a"], ["/a"], ["a", "[z-a]"]],
    ids=["none", "many", "long", "braces", "empty", "climbing", "absolute", "malformed"],
)
def test_globs_that_mean_nothing_are_refused(toolbox: Toolbox, state: Path, globs: list[str]) -> None:
    """Nothing is locked by a glob that is no glob of the workspace."""
    result = do(toolbox, ANN, "lock_paths", globs=globs)

    assert (result.outcome, result.reason, state.exists()) == ("error", "invalid_glob", False)


def test_number_of_locks_is_limited(toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit they are granted, one past it none is."""
    monkeypatch.setattr(leases, "MAX_LEASES", 3)
    reasons = [do(toolbox, ANN, "lock_paths", globs=[f"{name}1", f"{name}2"]).reason for name in "ab"]

    assert (reasons, do(toolbox, ANN, "lock_paths", globs="c").reason) == ([None, "locks_unavailable"], None)


def test_file_of_locks_that_cannot_be_read_stops_writes(toolbox: Toolbox, workspace: Path, state: Path) -> None:
    """Whether a path is locked cannot be determined, so it is not written."""
    do(toolbox, ANN, "lock_paths", globs="a.txt")
    (file,) = (state / "toolcharter/locks").iterdir()
    file.write_bytes(b"no database" * 100)

    reasons = [
        do(toolbox, ANN, tool, **args).reason
        for tool, args in (
            ("write_file", {"path": "b.txt", "content": "x"}),
            ("lock_paths", {"globs": "b.txt"}),
            ("unlock_paths", {}),
        )
    ]

    assert reasons == ["locks_unavailable"] * 3
    assert not (workspace / "b.txt").exists()


def test_call_that_got_no_turn_may_be_repeated(
    toolbox: Toolbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its hint says; a moment later it goes well."""
    monkeypatch.setattr(leases, "WAIT_S", 0.05)
    folder = os.open(workspace, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    refused = do(toolbox, ANN, "write_file", path="b.txt", content="x")
    os.close(folder)

    again = do(toolbox, ANN, "write_file", path="b.txt", content="x")

    assert (refused.reason, refused.hint, refused.retryable) == ("locks_unavailable", "Try again later.", True)
    assert again.outcome == "ok"


def test_state_folder_in_the_workspace_is_not_trusted(toolbox: Toolbox, workspace: Path, monkeypatch) -> None:
    """Where tools write, an agent could unlock itself."""
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace / "state"))

    result = do(toolbox, ANN, "lock_paths", globs="a.txt")

    assert (result.reason, result.message) == (
        "locks_unavailable",
        "The state folder lies in the workspace, where tools write.",
    )


def test_comparing_ends_with_the_time_of_the_call() -> None:
    """Locks that take too long to compare are an error, not a lock."""
    held = [Lease("a", "agent 'ann'", float("inf"))]

    with pytest.raises(ToolError) as caught:
        list(claims.find_conflicts(held, [], 0.0))

    assert caught.value.reason == "timed_out"


@pytest.mark.parametrize("glob", ["new", "new/**", "new/deep", "new/deep/x.txt"])
@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "new/deep/x.txt", "content": "x"}),
        ("make_dir", {"path": "new/deep/x.txt"}),
        ("move_file", {"path": "a.txt", "to": "new/deep/x.txt"}),
        ("move_file", {"path": "sub", "to": "new/deep/x.txt"}),
    ],
)
def test_folders_that_would_be_made_count(
    toolbox: Toolbox, workspace: Path, tool: str, args: dict[str, str], glob: str
) -> None:
    """Whoever holds a name that is not there yet finds nothing of others below it either."""
    do(toolbox, ANN, "lock_paths", globs=glob)

    decision = toolbox.for_caller(BOB).decide(tool, args)
    result = do(toolbox, BOB, tool, **args)

    assert [decision.reason, result.reason] == ["path_locked"] * 2
    assert (workspace / "new").exists() is False


def test_folder_that_is_there_may_be_asked_for(toolbox: Toolbox, workspace: Path) -> None:
    """What changes nothing is in nobody's way; neither is a file in a folder whose name alone is held."""
    do(toolbox, ANN, "lock_paths", globs=["sub", "sub/deep/**"])

    made = do(toolbox, BOB, "make_dir", path="sub")
    wrote = do(toolbox, BOB, "write_file", path="sub/new.txt", content="x")

    assert (made.outcome, wrote.outcome) == ("ok", "ok")


@pytest.mark.parametrize(
    ("path", "to"), [("sub", "other"), ("other", "sub2"), ("other", "place")], ids=["below", "top", "below the target"]
)
def test_all_below_a_moved_folder_counts(toolbox: Toolbox, workspace: Path, path: str, to: str) -> None:
    """At either end, be it there or not, in a dry run as in earnest."""
    (workspace / "other/x").mkdir(parents=True)
    (workspace / "sub2").mkdir()
    if path == "sub":
        (workspace / "other").rename(workspace / "another")
    if to == "sub2":
        (workspace / "sub2").rmdir()
    do(toolbox, ANN, "lock_paths", globs=["sub/deep/nothing/*.py", "sub2", "place/x/y.txt"])

    decision = toolbox.for_caller(BOB).decide("move_file", {"path": path, "to": to})
    result = do(toolbox, BOB, "move_file", path=path, to=to)

    assert [decision.reason, result.reason] == ["path_locked"] * 2


def test_all_below_a_deleted_folder_counts(toolbox: Toolbox, workspace: Path) -> None:
    """An empty folder in which others have reserved a name stays."""
    (workspace / "empty").mkdir()
    do(toolbox, ANN, "lock_paths", globs="empty/*/x.txt")

    assert do(toolbox, BOB, "delete_file", path="empty").reason == "path_locked"
    assert do(toolbox, ANN, "delete_file", path="empty").outcome == "ok"


def test_lock_that_comes_between_look_and_write_is_respected(
    toolbox: Toolbox, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was free when the call looked is looked at again for the change."""
    monkeypatch.setattr(leases.WorkspaceLeases, "check", lambda *_: None)
    do(toolbox, ANN, "lock_paths", globs=["a.txt", "moved/deep/c.py"])

    reasons = [
        do(toolbox, BOB, tool, **args).reason
        for tool, args in (
            ("write_file", {"path": "a.txt", "content": "x"}),
            ("delete_file", {"path": "a.txt"}),
            ("move_file", {"path": "a.txt", "to": "b.txt"}),
            ("move_file", {"path": "sub", "to": "moved"}),
        )
    ]

    assert reasons == ["path_locked"] * 4
    assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
