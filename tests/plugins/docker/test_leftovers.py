"""What a dead process leaves is removed, and nothing else."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter_docker import leftovers, placeholders
from toolcharter_docker.leftovers import LABEL, is_orphan, process_name, remove_containers, watch_owner


def container(label: str, state: str = "running") -> dict[str, Any]:
    return {"Id": "1", "Labels": {LABEL: label}, "State": state}


BOOT, NAMESPACE, PROCESS, START = process_name().split(":")


@each_row(
    ("label", "state", "expected"),
    [
        pytest.param(f"{process_name()}:7f", "running", False, id="mine"),
        pytest.param(f"{BOOT}:{NAMESPACE}:{PROCESS}:1", "running", True, id="of a process that had my number"),
        pytest.param(f"{BOOT}:{NAMESPACE}:4194999:5", "running", True, id="of a process that is gone"),
        pytest.param(f"{BOOT}:{NAMESPACE}:x:5", "running", True, id="of no process"),
        pytest.param(f"{BOOT}:1:4194999:5", "running", False, id="of another container's processes"),
        pytest.param(f"other:{NAMESPACE}:4194999:5", "running", False, id="of another machine"),
        pytest.param(f"other:{NAMESPACE}:4194999:5", "exited", True, id="ended by a reboot"),
        pytest.param("", "running", False, id="unreadable"),
    ],
)
def test_orphans_are_those_whose_owner_is_certainly_gone(label: str, state: str, expected) -> None:
    """Where it cannot be known, a running container is let be."""
    assert is_orphan(container(label, state)) is expected


class Daemon:
    """Stands for the daemon: answers in order, and notes what it was asked."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []

    def __call__(self, socket_path: str, method: str, target: str) -> tuple[int, bytes]:
        self.asked.append((method, target.partition("?")[0]))
        return self.answers.pop(0)


@pytest.mark.parametrize("status", [204, 404, 409])
def test_removed_gone_and_going_are_all_fine(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may be faster."""
    daemon = Daemon((200, b'[{"Id": "a"}, {"Id": "b"}]'), (status, b""))
    monkeypatch.setattr(leftovers, "request", daemon)

    assert remove_containers("/s", LABEL, lambda found: found["Id"] == "b") == 1
    assert daemon.asked == [("GET", "/containers/json"), ("DELETE", "/containers/b")]


@pytest.mark.parametrize(
    "answers",
    [pytest.param([(500, b"")], id="no list"), pytest.param([(200, b'[{"Id": "a"}]'), (500, b"")], id="not removed")],
)
def test_daemon_that_fails_is_told(answers: list[tuple[int, bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a container would be taken for gone."""
    monkeypatch.setattr(leftovers, "request", Daemon(*answers))

    with pytest.raises(OSError, match="the Docker daemon answered 500"):
        remove_containers("/s", LABEL, lambda _: True)


def test_no_daemon_is_an_error(tmp_path: Path) -> None:
    """A socket that is not there."""
    with pytest.raises(FileNotFoundError):
        remove_containers(str(tmp_path / "none"), LABEL, lambda _: True)


def test_nonsense_is_an_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Somebody else listens there."""
    import socket  # noqa: PLC0415 - one test needs it
    import threading  # noqa: PLC0415 - as above

    place = str(tmp_path_factory.mktemp("s") / "s")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"220 ready\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(OSError, match="does not answer as it should"):
            remove_containers(place, LABEL, lambda _: True)
        thread.join()


@pytest.fixture
def removals(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What `remove_containers` answers in turn; then 0 for ever."""
    answers: list[Any] = []

    def remove(socket_path: str, label: str, is_doomed: Any) -> int:
        assert (socket_path, label, is_doomed({})) == ("/s", f"{LABEL}=me", True)
        answer = answers.pop(0) if answers else 0
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(leftovers, "remove_containers", remove)
    monkeypatch.setattr(leftovers, "_PAUSE_S", 0)
    return answers


def test_orderly_end_removes_nothing(removals: list[Any], tmp_path: Path) -> None:
    """The runner has done all that."""
    (tmp_path / "x").mkdir(placeholders.MODE)
    removals.append(AssertionError("asked"))

    watch_owner(io.BytesIO(f"{tmp_path}/x\n.\n".encode()), "/s", "me")

    assert (tmp_path / "x").is_dir()


def test_broken_pipe_cleans_up(removals: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers first, until twice none is left; then what their mounts lay on."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "x").mkdir(placeholders.MODE)
    removals += [2, OSError("busy"), 0, 1, 0, 0]

    watch_owner(io.BytesIO(f"{tmp_path}/x\n".encode()), "/s", "me")

    assert removals == []
    assert not (tmp_path / "x").exists()


def test_cleaning_up_ends_some_time(removals: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that is gone for good holds nobody."""
    removals += [OSError("gone")] * 40

    watch_owner(io.BytesIO(b""), "/s", "me")

    assert len(removals) == 10


def test_watchdog_runs_as_a_script(tmp_path: Path) -> None:
    """Without site directories and environment, as the runner starts it; it imports no more than it needs."""
    argv = [sys.executable, "-I", "-S", "-X", "importtime", leftovers.__file__, "/s", "me"]

    ran = subprocess.run(argv, input=b".\n", capture_output=True, check=False, cwd="/", env={})

    assert (ran.returncode, ran.stdout) == (0, b"")
    assert b"http" not in ran.stderr
