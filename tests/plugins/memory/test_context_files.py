"""`context_files`: every file tool sees the same files, whose content is the caller's own, and programs see the disk."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.memory.conftest import Boxes
from tests.plugins.memory.store_kinds import ON_BOTH_STORES
from tests.rows import each_row

from toolcharter import Caller, Toolbox, ToolResult
from toolcharter_memory import context_files

FILE_TOOLS = (
    *("read_file", "write_file", "edit_file", "delete_file", "list_files", "glob", "grep", "move_file", "make_dir"),
    *("memory", "memory_search", "memory_get", "lock_paths"),
)
OPEN = Caller(agent="ada", user="kim", session="s1", agent_type="open")
PREDEFINED = Caller(agent="ada", user="kim", session="s1", agent_type="predefined")
Seat = Callable[..., ToolResult]


@pytest.fixture
def boxed(box: Boxes) -> Callable[..., Toolbox]:
    """A toolbox with all file tools and the extension."""

    def build(**policy: Any) -> Toolbox:
        return box({tool: {} for tool in FILE_TOOLS}, extensions={"context_files": policy})

    return build


@pytest.fixture
def seat(boxed: Callable[..., Toolbox]) -> Callable[[Caller], Seat]:
    """Calls of one caller under the default policy."""
    toolbox = boxed()
    return lambda caller: lambda tool, **args: toolbox.for_caller(caller).call(tool, args)


def names(result: ToolResult) -> list[str]:
    """The names of a listing."""
    return [item["name"] for item in result.data["items"]]


@ON_BOTH_STORES
def test_all_file_tools_see_the_same(seat: Callable[[Caller], Seat], workspace: Path) -> None:
    """What one writes another reads, lists, finds, edits and deletes; the disk has none of it."""
    (workspace / "SOUL.md").write_text("disk")
    (workspace / "memory").mkdir()
    (workspace / "memory" / "disk.md").write_text("disk")
    (workspace / "plain.md").write_text("disk")
    call = seat(OPEN)

    assert call("write_file", path="SOUL.md", content="I am Ada.\n").data["created"] is True
    assert call("edit_file", path="./SOUL.md", old_string="Ada", new_string="Ada Lovelace").outcome == "ok"
    assert call("write_file", path="memory/notes/tea.md", content="Green tea.\n").outcome == "ok"
    assert call("write_file", path="memory/notes/tea.md", content="Black tea.\n", append=True).outcome == "ok"
    assert call("memory", action="remember", content="Lovelace wrote.").outcome == "ok"

    assert call("read_file", path=str(workspace / "SOUL.md")).text == "I am Ada Lovelace.\n"
    assert call("read_file", path="memory/notes/tea.md").text == "Green tea.\nBlack tea.\n"
    assert names(call("list_files")) == ["SOUL.md", "memory", "plain.md"]
    assert names(call("list_files", path="memory")) == ["daily", "notes"]
    assert names(call("list_files", path="memory/notes")) == ["tea.md"]
    found = call("glob", globs="*.md").data["items"]
    assert [name for name in found if "daily" not in name] == ["SOUL.md", "memory/notes/tea.md", "plain.md"]
    assert call("glob", globs="*.md", path="memory/notes").data["items"] == ["memory/notes/tea.md"]
    assert [one["path"] for one in call("grep", query="tea|Lovelace|disk").data["matches"]][:1] == ["SOUL.md"]
    assert [(one["line"], one["text"]) for one in call("grep", query="Black", path="memory").data["matches"]] == [
        (2, "Black tea.")
    ]
    assert {one["path"] for one in call("memory_search", query="black tea").data["hits"]} == {"memory/notes/tea.md"}
    assert "memory/notes/tea.md" in (call("read_file", path="tea.md").hint or "")

    assert call("delete_file", path="memory/notes/tea.md").data == {"path": "memory/notes/tea.md", "kind": "file"}
    assert call("memory_search", query="black tea").data["hits"] == []
    assert call("read_file", path="memory/notes/tea.md").text == ""
    assert call("delete_file", path="memory/notes/tea.md").reason == "path_not_found"
    assert (workspace / "SOUL.md").read_text() == "disk"
    assert sorted(path.name for path in workspace.rglob("*")) == ["SOUL.md", "disk.md", "memory", "plain.md"]


@ON_BOTH_STORES
def test_open_agents_are_each_users_own(boxed: Callable[..., Toolbox]) -> None:
    """The agent's files are what a user begins with; nobody sees another user's, nor another agent's."""
    toolbox = boxed(allow_agent_files=True)
    everybody = toolbox.for_caller(Caller(agent="ada", agent_type="open"))
    everybody.call("write_file", {"path": "SOUL.md", "content": "template"})
    kim = toolbox.for_caller(OPEN)
    kim.call("write_file", {"path": "SOUL.md", "content": "Kim's"})
    lou = toolbox.for_caller(Caller(agent="ada", user="lou", agent_type="open"))
    bob = toolbox.for_caller(Caller(agent="bob", user="kim", agent_type="open"))
    elsewhere = toolbox.for_caller(Caller(agent="ada", user="kim", agent_type="open", tenant="other"))

    read = [one.call("read_file", {"path": "SOUL.md"}).text for one in (kim, lou, everybody, bob, elsewhere)]

    assert read == ["Kim's", "template", "template", "", ""]
    deleted = [one.call("delete_file", {"path": "SOUL.md"}).reason for one in (kim, kim, bob)]
    assert deleted == [None, "protected_path", "path_not_found"]
    assert kim.call("read_file", {"path": "SOUL.md"}).text == "template"


def test_predefined_agents_let_users_write_about_themselves(seat: Callable[[Caller], Seat]) -> None:
    """USER.md is the user's, the rest may be read only."""
    call = seat(PREDEFINED)

    told = [
        (file, call("write_file", path=file, content="x").reason) for file in ("USER.md", "SOUL.md", "BOOTSTRAP.md")
    ]

    assert told == [("USER.md", None), ("SOUL.md", "protected_path"), ("BOOTSTRAP.md", "protected_path")]
    assert call("read_file", path="USER.md").text == "x"
    assert call("read_file", path="SOUL.md").text == ""
    assert names(call("list_files")) == ["USER.md"]


def test_an_empty_bootstrap_is_gone(seat: Callable[[Caller], Seat]) -> None:
    """That is how the first run ends."""
    call = seat(OPEN)
    call("write_file", path="BOOTSTRAP.md", content="Ask for a name.")
    assert names(call("list_files")) == ["BOOTSTRAP.md"]

    assert call("write_file", path="BOOTSTRAP.md", content="").outcome == "ok"

    assert names(call("list_files")) == []
    assert seat(PREDEFINED)("write_file", path="BOOTSTRAP.md", content="").outcome == "ok"


@each_row(
    "caller",
    [
        Caller(agent="ada", agent_type="open"),
        Caller(agent="ada", user="kim"),
        Caller(agent="ada", agent_type="predefined"),
    ],
)
def test_what_all_users_read_takes_a_policy_to_write(seat: Callable[[Caller], Seat], caller: Caller) -> None:
    """Else one conversation could change who the agent is for everybody."""
    assert seat(caller)("write_file", path="SOUL.md", content="x").reason == "protected_path"


def test_without_an_agent_all_is_on_the_disk(seat: Callable[[Caller], Seat], workspace: Path) -> None:
    """As if there were no extension."""
    call = seat(Caller(user="kim"))

    call("write_file", path="SOUL.md", content="on disk")
    call("write_file", path="memory/x.md", content="on disk")

    assert (workspace / "SOUL.md").read_text() == (workspace / "memory" / "x.md").read_text() == "on disk"
    assert names(call("list_files")) == ["SOUL.md", "memory"]
    assert seat(OPEN)("read_file", path="SOUL.md").text == ""


@each_row(
    "path",
    [
        "soul.md",
        "SOUL.md.bak",
        "sub/SOUL.md",
        "Memory.md",
        "MEMORY.MD",
        "Memory/x.md",
        "notes/memory/x.md",
        "README.md",
    ],
)
def test_other_paths_are_the_disks(seat: Callable[[Caller], Seat], workspace: Path, path: str) -> None:
    """Case counts, and so does the place."""
    seat(OPEN)("write_file", path=path, content="on disk")

    assert (workspace / path).read_text() == "on disk"


def test_the_memory_is_its_users(seat: Callable[[Caller], Seat]) -> None:
    """As files and as memory; a world file is all agents'."""
    kim, lou = seat(OPEN), seat(Caller(agent="ada", user="lou", agent_type="open"))
    other = seat(Caller(agent="bob", user="kim"))
    kim("write_file", path="memory/a.md", content="private")
    kim("write_file", path="memory/world/tea.md", content="Green.")

    assert [call("read_file", path="memory/a.md").text for call in (kim, lou, other)] == ["private", "", ""]
    assert [call("read_file", path="memory/world/tea.md").text for call in (kim, lou, other)] == [
        "Green.",
        "",
        "Green.",
    ]
    assert lou("glob", globs="*").data["items"] == []
    assert other("glob", globs="*").data["items"] == ["memory/world/tea.md"]


def test_a_document_of_all_users_is_not_deleted_by_one(seat: Callable[[Caller], Seat]) -> None:
    """A user deletes their own, and has the global one again."""
    everybody, kim = seat(Caller(agent="ada")), seat(OPEN)
    everybody("write_file", path="MEMORY.md", content="all")
    assert kim("delete_file", path="MEMORY.md").reason == "protected_path"
    kim("write_file", path="MEMORY.md", content="own")

    assert kim("delete_file", path="MEMORY.md").outcome == "ok"

    assert kim("read_file", path="MEMORY.md").text == "all"


def test_only_markdown_is_found_by_searches(seat: Callable[[Caller], Seat]) -> None:
    """Other files are kept as they are."""
    call = seat(OPEN)
    call("write_file", path="memory/state.json", content='{"tea": 1}')

    assert call("memory_search", query="tea").data["hits"] == []
    assert call("read_file", path="memory/state.json").text == '{"tea": 1}'


def test_an_index_that_fails_fails_no_write(seat: Callable[[Caller], Seat], monkeypatch: pytest.MonkeyPatch) -> None:
    """The document is there; nobody finds it by its words."""
    call = seat(OPEN)
    sql = pytest.importorskip("toolcharter_stores.sql")
    with monkeypatch.context() as patch:
        patch.setattr(sql.SqlEngine, "has_full_text", False)
        assert call("write_file", path="memory/a.md", content="tea").outcome == "ok"

    assert call("read_file", path="memory/a.md").text == "tea"
    assert call("memory_search", query="tea").data["hits"] == []


def test_what_is_written_is_text_scrubbed_and_bounded(boxed: Callable[..., Toolbox]) -> None:
    """With a reason that every file tool has."""
    toolbox = boxed(max_bytes=100).for_caller(OPEN)
    token = "ghp_" + "R4nd0mT0kenV4lue" * 2 + "Abcd"

    assert toolbox.call("write_file", {"path": "SOUL.md", "content": f"token {token}"}).outcome == "ok"
    assert token not in toolbox.call("read_file", {"path": "SOUL.md"}).text
    for path in ("SOUL.md", "memory/x.md"):
        for text in ("x" * 101, "a\0b"):
            assert toolbox.call("write_file", {"path": path, "content": text}).reason == "write_failure"


def test_nothing_is_moved_or_made_where_files_are_virtual(seat: Callable[[Caller], Seat], workspace: Path) -> None:
    """What would be lost from sight stays."""
    call = seat(OPEN)
    (workspace / "plain.md").write_text("disk")
    call("write_file", path="memory/x.md", content="x")

    told = [
        call("move_file", path="plain.md", to="SOUL.md"),
        call("move_file", path="memory/x.md", to="y.md"),
        call("move_file", path="memory", to="other"),
        call("make_dir", path="memory/folder"),
        call("delete_file", path="memory"),
    ]

    assert [one.reason for one in told] == ["virtual_path"] * 5
    assert (workspace / "plain.md").read_text() == "disk"


def test_a_dry_run_writes_nothing(boxed: Callable[..., Toolbox]) -> None:
    """Whoever asks what would happen changes nothing, on no disk either."""
    toolbox = boxed().for_caller(OPEN)

    assert toolbox.decide("write_file", {"path": "SOUL.md", "content": "x"}).outcome == "allow"
    assert toolbox.call("read_file", {"path": "SOUL.md"}).text == ""


def test_locks_of_others_hold(seat: Callable[[Caller], Seat]) -> None:
    """A virtual file is claimed by its path, as any other."""
    call, other = seat(OPEN), seat(Caller(agent="bob", user="kim", session="s2", agent_type="open"))
    assert other("lock_paths", paths=["SOUL.md"]).outcome == "ok"

    assert call("write_file", path="SOUL.md", content="x").reason == "path_locked"


def test_a_failing_extension_is_an_error_of_every_tool(
    boxed: Callable[..., Toolbox], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is never read in its place."""
    (workspace / "plain.md").write_text("disk")

    def fail(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(context_files, "context_file", fail)
    toolbox = boxed().for_caller(OPEN)

    for tool, args in (
        ("read_file", {"path": "plain.md"}),
        ("write_file", {"path": "plain.md", "content": "x"}),
        ("delete_file", {"path": "plain.md"}),
        ("grep", {"query": "disk", "path": "plain.md"}),
    ):
        result = toolbox.call(tool, args)
        assert (result.outcome, result.reason) == ("error", "route_failed")
    assert (workspace / "plain.md").read_text() == "disk"


def test_a_store_that_is_away_is_no_way_to_the_disk(box: Boxes, workspace: Path, tmp_path: Path) -> None:
    """What cannot be looked up is denied."""
    (workspace / "SOUL.md").write_text("disk")
    away = tmp_path / "away" / "store.sqlite3"
    away.parent.mkdir(mode=0o777)
    away.parent.chmod(0o777)  # others could write: the store refuses it
    toolbox = box({"read_file": {}}, store=f"sqlite://{away}", extensions={"context_files": {}}).for_caller(OPEN)

    result = toolbox.call("read_file", {"path": "SOUL.md"})

    assert (result.outcome, result.reason) == ("denied", "store_unavailable")


def test_programs_see_the_disk_alone(box: Boxes, workspace: Path) -> None:
    """No file of the store lies in the workspace for them."""
    (workspace / "SOUL.md").write_text("disk\n")
    tools: dict[str, Any] = {"write_file": {}, "bash": {}}
    toolbox = box(tools, runner="host", allow=["bash:cat *"], extensions={"context_files": {}}).for_caller(OPEN)
    toolbox.call("write_file", {"path": "SOUL.md", "content": "virtual"})

    result = toolbox.call("bash", {"command": "cat SOUL.md"})

    assert result.text.strip() == "disk"


def test_settings_are_checked(box: Boxes) -> None:
    """An unknown key stops the start, as in every policy."""
    with pytest.raises(Exception, match="allow_everything"):
        box({"read_file": {}}, extensions={"context_files": {"allow_everything": True}})


def test_agents_files_are_kept_as_they_were_written(boxed: Callable[..., Toolbox]) -> None:
    """Whatever text: line ends, no end of line, and what looks like JSON."""
    toolbox = boxed().for_caller(OPEN)
    for text in ("a\r\nb", "", "\n", json.dumps({"a": "ä"}), "x" * 70_000):
        toolbox.call("write_file", {"path": "memory/x.md", "content": text})
        assert toolbox.call("read_file", {"path": "memory/x.md", "max_bytes": 65_536}).data["content"] == text[:65_536]
