"""Leases as the path guard keeps them: turns between those who write and those who grant, owners, the file."""

import errno
import fcntl
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from toolcharter import Caller, Claim, Denied, Lease, ToolError
from toolcharter.guards.paths import WorkspacePaths
from toolcharter.guards.paths import locks as leases
from toolcharter.guards.paths.locks import TouchedPath, WorkspaceLeases

ANN, BOB = Caller(agent="ann", session="1"), Caller(agent="bob", session="2")
A = Claim("a", "a", "[^/]*x")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's state folder."""
    folder = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


Made = Callable[..., WorkspaceLeases]


@pytest.fixture
def made(workspace: Path) -> Made:
    """The leases as one caller sees them, with so many seconds left."""

    def make(caller: Caller = ANN, left_s: float = 60.0) -> WorkspaceLeases:
        ends = monotonic() + left_s
        return WorkspaceLeases(workspace, lambda: caller, lambda: ends)

    return make


def nothing(_: list[Lease]) -> list[Lease]:
    return []


def acquire(held: WorkspaceLeases, *claims: Claim, ttl_s: float = 60.0) -> str:
    return held.acquire(claims, ttl_s, nothing)[0]


@contextmanager
def refused(reason: str) -> Iterator[None]:
    with pytest.raises((Denied, ToolError)) as caught:
        yield
    assert isinstance(caught.value, Denied | ToolError)
    assert caught.value.reason == reason


HOLDER = """
import fcntl, os, sys
folder = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(folder, getattr(fcntl, sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_by_another(workspace: Path, kind: str) -> Iterator[None]:
    """Another process holds the folder."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(workspace), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == b"held\n"
        yield
        process.communicate()


def test_first_lease_is_not_granted_during_a_write(made: Made, state: Path) -> None:
    """Though nobody has ever leased anything and no file is there, who has begun to write is not overtaken."""
    with made(BOB).lock_for_write([TouchedPath("a")]), refused("locks_unavailable"):
        acquire(made(ANN, left_s=0.05), A)

    assert not any(path.is_file() for path in state.rglob("*"))
    assert acquire(made(ANN), A)


def test_lease_waits_for_the_end_of_a_write(made: Made) -> None:
    """Both get their turn, the write first."""
    begun, asked, order = Event(), Event(), list[str]()

    def write() -> None:
        with made(BOB).lock_for_write([TouchedPath("a")]):
            begun.set()
            asked.wait()
            sleep(0.05)
            order.append("written")

    def lease() -> None:
        asked.set()
        acquire(made(ANN), A)
        order.append("leased")

    writer, leased = Thread(target=write), Thread(target=lease)
    writer.start()
    begun.wait()
    leased.start()
    writer.join()
    leased.join()

    assert order == ["written", "leased"]
    with refused("path_locked"), made(BOB).lock_for_write([TouchedPath("a")]):
        pass


def test_writers_do_not_wait_for_each_other(made: Made) -> None:
    """Any number at a time, of one process or several."""
    with made(ANN).lock_for_write([TouchedPath("a")]), made(BOB, left_s=0.0).lock_for_write([TouchedPath("a")]):
        pass


def test_who_writes_alone_waits_for_the_others(made: Made) -> None:
    """No longer than the call may last; and the others wait for him."""
    with made(ANN).lock_for_write([TouchedPath("a")]), refused("locks_unavailable"):
        made(BOB, left_s=0.05).lock_for_write([TouchedPath("HEAD")], exclusive=True).__enter__()

    with made(ANN).lock_for_write([TouchedPath("HEAD")], exclusive=True), refused("locks_unavailable"):
        made(BOB, left_s=0.05).lock_for_write([TouchedPath("a")]).__enter__()


@pytest.mark.parametrize("exists", [False, True], ids=["first", "later"])
def test_write_waits_no_longer_than_its_call_may_last(made: Made, workspace: Path, *, exists: bool) -> None:
    """Where somebody else keeps the folder locked a write is refused in time, and says why."""
    if exists:
        acquire(made(ANN), A)
    with locked_by_another(workspace, "LOCK_EX"):
        began = monotonic()
        with pytest.raises(Denied) as caught, made(BOB, left_s=0.1).lock_for_write([TouchedPath("b")]):
            pass
        took = monotonic() - began

    assert (caught.value.reason, caught.value.message) == (
        "locks_unavailable",
        "The workspace could not be locked in time: another process keeps its folder locked (flock).",
    )
    assert 0.1 <= took < 30


def test_call_with_much_time_does_not_wait_for_ever(made: Made, workspace: Path, monkeypatch) -> None:
    """There is a limit beside the call's own."""
    monkeypatch.setattr(leases, "WAIT_S", 0.05)

    with locked_by_another(workspace, "LOCK_SH"), pytest.raises(Denied) as caught:
        acquire(made(ANN, left_s=float("inf")), A)

    assert (caught.value.reason, caught.value.message) == (
        "locks_unavailable",
        "The workspace could not be locked in time: other calls are writing in it.",
    )


def test_turn_comes_when_the_other_lets_go(made: Made, workspace: Path) -> None:
    """Who waits gets it, as soon as there is room."""
    folder = os.open(workspace, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    waiting = Thread(target=lambda: acquire(made(ANN), A))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()

    os.close(folder)
    waiting.join()

    with refused("path_locked"):
        made(BOB).check([TouchedPath("a")])


def test_where_folders_cannot_be_locked_nobody_gets_a_lease(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so nobody is in the way of a write."""

    def unsupported(_: int, kind: int) -> None:
        if kind != fcntl.LOCK_UN:
            raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)

    with made(BOB).lock_for_write([TouchedPath("a")]), refused("locks_unavailable"):
        acquire(made(ANN), A)
    with refused("locks_unavailable"):
        made(BOB).lock_for_write([TouchedPath("HEAD")], exclusive=True).__enter__()


def test_workspace_that_is_gone_is_told(made: Made, workspace: Path) -> None:
    """Nothing can be locked in it."""
    workspace.rmdir()

    with refused("locks_unavailable"), made().lock_for_write([TouchedPath("a")]):
        pass


@pytest.mark.parametrize(
    ("touched", "free"),
    [
        (TouchedPath("a"), False),
        (TouchedPath("b"), True),
        (TouchedPath("ax"), True),
        (TouchedPath("ax", below=True), False),
        (TouchedPath("b", below=True), True),
        (TouchedPath("\udcffx", below=True), False),
    ],
)
def test_paths_and_folders_are_held_against_the_expressions(made: Made, touched: TouchedPath, *, free: bool) -> None:
    """One for the path itself, another for all below it; a name that is no Unicode is matched as what it is shown as."""
    acquire(made(ANN), A)

    made(ANN).check([touched])
    if free:
        made(BOB).check([touched])
    else:
        with refused("path_locked"):
            made(BOB).check([touched])


def test_one_path_can_be_asked_for(made: Made) -> None:
    """What tools see of `check`."""
    acquire(made(ANN), A)

    made(BOB).require_free("ax")
    with refused("path_locked"):
        made(BOB).require_free("ax", below=True)


def test_expression_that_nobody_can_read_stops_writes(made: Made) -> None:
    """What is leased cannot be determined."""
    acquire(made(ANN), A)
    with sqlite3.connect(made().path) as file:
        file.execute("UPDATE leases SET paths = '('")

    with refused("locks_unavailable"):
        made(BOB).check([TouchedPath("a")])


@pytest.mark.parametrize("claim", [Claim("x", "(", ""), Claim("x", "", "("), Claim("x", "(?s:.{1000}){1000}", "")])
def test_claim_that_nobody_could_read_is_not_granted(made: Made, claim: Claim) -> None:
    """All would stumble over it: malformed, or too large."""
    with pytest.raises(ToolError) as caught:
        acquire(made(ANN), A, claim)

    assert (caught.value.reason, caught.value.message) == (
        "invalid_arguments",
        "The claim 'x' is malformed or too large.",
    )
    assert made(BOB).others() == []


def test_process_is_the_owner_where_nobody_says_who_he_is(made: Made) -> None:
    """Its own leases are in its own way as little as an agent's are."""
    token = acquire(made(Caller()), A)

    made(Caller()).check([TouchedPath("a")])
    with pytest.raises(Denied) as caught:
        made(BOB).check([TouchedPath("a")])

    assert caught.value.message == "'a' is locked by another process (as 'a', for another 60 s)."
    assert (made(BOB).release(), made(Caller()).release([]), made(Caller()).release([token])) == ([], [], ["a"])


def test_state_folder_in_the_workspace_is_not_trusted(made: Made, workspace: Path, monkeypatch) -> None:
    """Where tools write, an agent could let go of the leases of others."""
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace))

    with refused("locks_unavailable"):
        acquire(made(), A)
    assert list(workspace.iterdir()) == []


def test_file_that_tools_could_write_counts_as_missing(made: Made, workspace: Path, monkeypatch) -> None:
    """Nobody has ever been granted a lease there, so that no junk in it stops a write."""
    monkeypatch.setenv("XDG_STATE_HOME", str(workspace / "state"))
    made().path.parent.mkdir(parents=True)
    made().path.write_bytes(b"junk")

    made().check([TouchedPath("a")])
    with made().lock_for_write([TouchedPath("a")]):
        pass
    assert (made().others(), made().release()) == ([], [])
    with refused("locks_unavailable"):
        acquire(made(), A)


def test_state_folder_that_is_none_holds_nothing(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where an operator wants no state: writes go on, and nobody gets a lease."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")

    with made().lock_for_write([TouchedPath("a")]):
        pass
    with refused("locks_unavailable"):
        acquire(made(), A)


def test_number_of_leases_is_limited(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the limit they are granted, one past it none is."""
    monkeypatch.setattr(leases, "MAX_LEASES", 2)
    acquire(made(), A)

    with refused("locks_unavailable"):
        acquire(made(), A, A)
    assert acquire(made(), A)


def test_nothing_is_granted_where_somebody_is_in_the_way(made: Made) -> None:
    """Who asks decides what that is; he is shown what others hold."""
    acquire(made(ANN), A)

    token, taken = made(BOB).acquire([A, A], 60, lambda held: held)

    assert (token, [lease.name for lease in taken], made(ANN).others()) == ("", ["a"], [])


def test_comparing_ends_with_the_time_of_the_call(made: Made) -> None:
    """Leases that take too long to compare are an error, not a write."""
    acquire(made(ANN), A)

    with refused("timed_out"):
        made(BOB, left_s=-1.0).check([TouchedPath("b")])


def test_leases_of_others_are_shown(made: Made) -> None:
    """Those of one's own and those that have ended are not."""
    before = made(BOB).others()
    acquire(made(ANN), A)
    acquire(made(ANN), Claim("old", "old", ""), ttl_s=-1.0)

    (lease,) = made(BOB).others()

    assert (before, lease.name, lease.holder, made(ANN).others()) == ([], "a", "agent 'ann'", [])


def test_file_without_a_table_holds_nothing(made: Made) -> None:
    """Whoever died while it was made has leased nothing."""
    path = made().path
    path.parent.mkdir(parents=True)
    path.touch()

    with made().lock_for_write([TouchedPath("a")]):
        pass
    assert (made().others(), made().release()) == ([], [])
    assert acquire(made(), A)


def test_file_that_cannot_be_looked_at_stops_writes(made: Made, state: Path) -> None:
    """It may be there."""
    state.symlink_to(state)

    with refused("locks_unavailable"):
        made().check([TouchedPath("a")])


@pytest.mark.parametrize("given", ["relative", ""])
def test_without_the_variable_the_state_lies_at_home(made: Made, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """A path that is not absolute is ignored, as the specification says."""
    monkeypatch.setenv("XDG_STATE_HOME", given)

    assert made().path.parent.parts[-4:] == (".local", "state", "toolcharter", "locks")


def test_user_without_an_entry_has_the_home_of_the_environment(made: Made, monkeypatch, tmp_path: Path) -> None:
    """A container may run as a number that no list of users knows."""
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 987_654_321)

    assert made().path.parent == tmp_path / ".local/state/toolcharter/locks"


def test_other_workspaces_have_other_leases(made: Made, workspace: Path, tmp_path: Path) -> None:
    """Equal paths in two workspaces have nothing to do with each other."""
    other = tmp_path / "other"
    other.mkdir()
    acquire(made(ANN), A)

    WorkspaceLeases(other, lambda: BOB, lambda: float("inf")).check([TouchedPath("a")])


def test_file_is_for_its_user_alone(made: Made) -> None:
    """Others on the machine neither read nor write it."""
    acquire(made(), A)

    assert made().path.parent.stat().st_mode & 0o777 == 0o700
    with sqlite3.connect(made().path) as file:
        assert file.execute("SELECT name FROM leases").fetchall() == [("a",)]


def test_every_change_of_a_place_asks(workspace: Path, made: Made) -> None:
    """Whatever tool it is: a view that may act looks when a place is opened, and again for the change itself."""
    (workspace / "a").write_text("A")
    asked: list[tuple[str, Sequence[TouchedPath]]] = []

    class Asking(WorkspaceLeases):
        def check(self, touched: Sequence[TouchedPath]) -> None:
            asked.append(("check", touched))

        @contextmanager
        def lock_for_write(self, touched: Sequence[TouchedPath], *, exclusive: bool = False) -> Iterator[None]:
            asked.append(("alone" if exclusive else "writing", touched))
            yield

    paths = WorkspacePaths(workspace).writable(lambda: None, Asking(workspace, lambda: ANN, lambda: 0.0))
    with paths.open_place("x/y/new") as place:
        place.write(b"")
    with paths.open_place("x", "move") as source, paths.open_place("z", "receive") as target:
        source.move(target)
    with paths.open_place("z", "make") as place:
        place.make_folder()
    with paths.open_place("a", "delete") as place:
        place.delete()
    with paths.open_place("objects/b") as place:
        place.write(b"")

    new = [TouchedPath("x/y/new"), TouchedPath("x"), TouchedPath("x/y")]
    assert asked == [
        ("check", new),
        ("writing", new),
        ("check", [TouchedPath("x", below=True)]),
        ("check", [TouchedPath("z")]),
        ("writing", [TouchedPath("x", below=True), TouchedPath("z", below=True)]),
        ("check", [TouchedPath("a")]),
        ("writing", [TouchedPath("a")]),
        ("check", [TouchedPath("objects/b"), TouchedPath("objects")]),
        ("alone", [TouchedPath("objects/b"), TouchedPath("objects")]),
    ]
