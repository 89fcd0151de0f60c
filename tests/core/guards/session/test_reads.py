"""Read before write, with real files and the path guard in between."""

import os
from pathlib import Path, PurePosixPath

import pytest

from toolcharter.api.call import Deny
from toolcharter.errors import Denied, ToolError
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.session import order
from toolcharter.profile.settings import ReadBeforeWrite

STRICT = ReadBeforeWrite("strict")


def said(*paths):
    return f"This session has not read the current version of {', '.join(map(repr, paths))}; read it first."


def denied(*paths):
    return Deny("precondition_failed", said(*paths), "Call 'read_file', then repeat this call.")


@pytest.fixture
def identify(workspace):
    """What the gate passes: the file behind the path guard, as it is now."""
    paths = WorkspacePaths(workspace)

    def identify(path):
        try:
            with paths.open_file(path) as file:
                status = os.fstat(file.fileno())
        except ToolError as error:
            if error.reason == "path_not_found":
                return None
            raise
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    yield identify
    paths.close()


@pytest.fixture
def agent(make_agent, identify, workspace):
    (workspace / "a.txt").write_text("A")
    (workspace / "b.txt").write_text("B")
    return make_agent(read_before_write=STRICT, identify=identify)


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        pytest.param("strict", denied("a.txt"), id="strict"),
        pytest.param("warn", (f"NOTE: {said('a.txt')}",), id="warn"),
        pytest.param("off", (), id="off"),
    ],
)
def test_modes_differ_on_a_file_that_was_not_read(agent, make_agent, identify, mode, told) -> None:
    """Strict denies, warn tells the model, off does nothing."""
    agent = make_agent(read_before_write=ReadBeforeWrite(mode), identify=identify)

    assert agent("write_file", path="a.txt") == told


@pytest.mark.parametrize("tool", ["write_file", "edit_file", "Edit_File"])
def test_every_writing_tool_is_held_to_it(agent, tool) -> None:
    """Names are without case, like all names of tools."""
    assert agent(tool, path="a.txt") == denied("a.txt")


def test_file_that_was_read_may_be_written(agent) -> None:
    """The session knows what it is about to change."""
    assert [agent("read_file", path="a.txt"), agent("write_file", path="a.txt")] == [(), ()]


@pytest.mark.parametrize("outcome", ["error", "denied"])
def test_read_that_failed_does_not_count(agent, outcome) -> None:
    """Only an ok read has shown the file."""
    agent("read_file", path="a.txt", outcome=outcome)

    assert agent("write_file", path="a.txt") == denied("a.txt")


def test_read_by_another_session_does_not_count(agent, agent_of) -> None:
    """Each session reads for itself."""
    agent_of(agent.memory, "other")("read_file", path="a.txt")

    assert agent("write_file", path="a.txt") == denied("a.txt")


def test_other_tools_neither_read_nor_write(agent) -> None:
    """What the profile does not list is not looked at."""
    agent("grep", path="a.txt")

    assert [agent("delete", path="a.txt"), agent("write_file", path="a.txt")] == [(), denied("a.txt")]


def test_new_file_is_exempt_and_known_once_written(agent, workspace: Path) -> None:
    """Nothing is lost by a new file; what the session itself wrote it knows."""
    call = agent.begin("write_file", path="new.txt")
    (workspace / "new.txt").write_text("N")

    assert [agent.end(call), agent("edit_file", path="new.txt")] == [(), ()]


@pytest.mark.parametrize(("outcome", "known"), [("ok", True), ("error", False)])
def test_own_write_refreshes_what_is_known(agent, workspace: Path, outcome, known) -> None:
    """After an ok write the file is known as it is then; after a failed one it has to be read again."""
    agent("read_file", path="a.txt")
    call = agent.begin("write_file", path="a.txt")
    (workspace / "a.txt").write_text("changed by the call")
    agent.end(call, outcome)

    assert agent("write_file", path="a.txt") == (() if known else denied("a.txt"))


def test_file_that_somebody_changed_must_be_read_again(agent, workspace: Path) -> None:
    """The same inode with other content is not what the session has read."""
    agent("read_file", path="a.txt")
    (workspace / "a.txt").write_text("changed by somebody")
    told = [agent("write_file", path="a.txt"), agent("read_file", path="a.txt")]

    assert [*told, agent("write_file", path="a.txt")] == [denied("a.txt"), (), ()]


def test_file_that_was_replaced_must_be_read_again(agent, workspace: Path) -> None:
    """Another file at the same path is another file."""
    agent("read_file", path="a.txt")
    (workspace / "b.txt").replace(workspace / "a.txt")

    assert agent("write_file", path="a.txt") == denied("a.txt")


def test_file_that_changed_while_it_was_read_must_be_read_again(agent, workspace: Path) -> None:
    """Nobody can tell which half of the change the session has seen."""
    call = agent.begin("read_file", path="a.txt")
    (workspace / "a.txt").write_text("changed by somebody")
    agent.end(call)

    assert agent("write_file", path="a.txt") == denied("a.txt")


def test_file_that_appeared_or_changed_since_the_look_is_denied_at_the_door(agent, make_call, workspace: Path) -> None:
    """Whoever was asked in between may have taken minutes: the last look decides."""
    call = make_call("write_file", {"path": "new.txt"})
    before = agent.memory.before("s", call)
    (workspace / "new.txt").write_text("by somebody")

    assert (before, agent.memory.entered("s", call, has_effects=True)) == ((), denied("new.txt"))


def test_names_of_one_file_are_one(agent, workspace: Path) -> None:
    """A file is known by what a path leads to, not by its text."""
    (workspace / "link").symlink_to("a.txt")
    agent("read_file", path="link")

    assert [agent("write_file", path="./a.txt"), agent("write_file", path="b.txt")] == [(), denied("b.txt")]


@pytest.mark.parametrize("path", ["../outside/secret.txt", ".git/config", "nothing/a.txt", "", ".", "a.txt/b"])
def test_what_the_path_guard_refuses_is_left_to_it(agent, outside, path) -> None:
    """The tool's own path guard names the better reason."""
    assert agent("write_file", path=path) == ()


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        pytest.param(Denied("protected_path"), (), id="denied"),
        pytest.param(ToolError("", reason="is_directory"), (), id="no-file"),
        pytest.param(ToolError("", reason="read_failure"), denied("f"), id="unreadable"),
        pytest.param(ToolError("", reason="timed_out"), denied("f"), id="no-time"),
        pytest.param(OSError("too many open files"), denied("f"), id="anything-else"),
    ],
)
def test_what_cannot_be_seen_is_not_known(make_agent, raised, told) -> None:
    """A file that only cannot be looked at may be there, and nobody has read it."""

    def identify(path):
        raise raised

    agent = make_agent(read_before_write=STRICT, identify=identify)
    agent("read_file", path="f")

    assert agent("write_file", path="f") == told


def test_several_paths_are_all_looked_at(agent) -> None:
    """The denial names those that are missing, and only those."""
    settings = {"path": ["a.txt", PurePosixPath("b.txt"), "new.txt"]}
    agent("read_file", path="a.txt")
    told = [agent("write_file", **settings), agent("read_file", path=("a.txt", "b.txt"))]

    assert [*told, agent("write_file", **settings)] == [denied("b.txt"), (), ()]


@pytest.mark.parametrize("value", [None, 7, [], ["a.txt", 7], {"a.txt": 1}])
def test_write_that_names_no_file_is_denied(agent, value) -> None:
    """A guard that cannot see what it guards does not wave it through; a read like that shows nothing."""
    message = "'write_file' must name the file it writes in 'path', so that it can be read first."

    told = [agent("read_file", path=value), agent("write_file", path=value)]

    assert told == [(), Deny("precondition_failed", message, "Give 'path' as text.")]


def test_the_profile_names_tools_and_argument(make_agent, identify, agent) -> None:
    """Other tools and another argument work alike."""
    settings = ReadBeforeWrite("strict", reads=("view", "Cat"), writes=("patch",), argument="file")
    agent = make_agent(read_before_write=settings, identify=identify)
    hint = "Call 'view' or 'Cat', then repeat this call."

    told = [agent("patch", file="a.txt"), agent("cat", file="a.txt"), agent("patch", file="a.txt")]

    assert told == [Deny("precondition_failed", said("a.txt"), hint), (), ()]


def test_oldest_file_is_forgotten_first(agent, monkeypatch) -> None:
    """A session remembers so many files; the one before must be read again."""
    monkeypatch.setattr(order, "MAX_FILES", 1)
    agent("read_file", path="a.txt")
    agent("read_file", path="b.txt")

    assert [agent("write_file", path="b.txt"), agent("write_file", path="a.txt")] == [(), denied("a.txt")]
