"""What the daemon does wrong, one answer at a time: stand-ins for what cannot be provoked in a real one."""

import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest
import requests
from tests.rows import each_row

from toolcharter import Denied, Job, RunnerScope, ToolError
from toolcharter_docker import container as container_module
from toolcharter_docker import leftovers, running
from toolcharter_docker import runner as runner_module
from toolcharter_docker.container import Container, serve_container
from toolcharter_docker.daemon import Daemon, Image, connect, translate_errors
from toolcharter_docker.plan import Plan
from toolcharter_docker.policy import DockerPolicy
from toolcharter_docker.runner import DockerRunner

PLAN = Plan({}, {}, {}, 1)


class Client:
    """Answers as `answers` says: a value, or an exception that is raised."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    def __getattr__(self, name: str) -> Any:
        def answer(*_: Any, **__: Any) -> Any:
            found = self.answers.get(name, {})
            if isinstance(found, list):
                found = found.pop(0)
            if isinstance(found, Exception):
                raise found
            return found

        return answer


def container_of(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> tuple[Container, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    monkeypatch.setattr(container_module, "_connect_streams", lambda *_: ours)
    client: Any = Client(create_container={"Id": "1"}, **answers)
    return Container(Daemon(client, "/s", Image("i", frozenset(), frozenset())), PLAN), theirs


def test_container_that_cannot_be_joined_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would lie there, made and never started."""
    removed = []

    def fail(*_: Any) -> None:
        raise OSError("broken")

    monkeypatch.setattr(container_module, "_connect_streams", fail)
    client: Any = Client(create_container={"Id": "1"})
    client.remove_container = lambda identifier, **_: removed.append(identifier)

    with pytest.raises(Denied, match="sandbox_unavailable: The container could not be started: broken"):
        Container(Daemon(client, "/s", Image("i", frozenset(), frozenset())), PLAN)
    assert removed == ["1"]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.usefixtures("forgiving")
def test_daemon_that_goes_away_without_an_answer_may_have_started_the_program(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing listens, nothing has run."""
    address = short_path / "d"
    client = docker.APIClient(base_url=f"unix://{address}", version="1.41")
    made, _theirs = container_of(monkeypatch)
    monkeypatch.setattr(made, "_client", client)

    def hang_up(listener: socket.socket) -> None:
        asking, _ = listener.accept()
        with asking:
            asking.recv(65_536)

    with closing(client):
        with pytest.raises(Denied, match="sandbox_unavailable: The container could not be started"):
            made.start()
        with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as pool:
            listener.bind(str(address))
            listener.listen()
            pool.submit(hang_up, listener)
            with pytest.raises(ToolError, match="went away while the program ran; the program may have done its work"):
                made.start()
    made.connection.close()


@pytest.mark.parametrize(
    ("answer", "removed"),
    [
        pytest.param(None, True, id="removed"),
        pytest.param(docker.errors.NotFound("gone"), True, id="gone"),
        pytest.param(docker.errors.APIError("busy"), False, id="refused"),
        pytest.param(requests.ConnectionError("no"), False, id="no daemon"),
    ],
)
def test_removal_is_certain_or_not(answer: Any, removed, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may still be there is tried again when the runner closes."""
    made, theirs = container_of(monkeypatch, remove_container=answer)

    assert made.remove() is removed
    theirs.close()


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param({"StatusCode": 137}, -9, id="ended"),
        pytest.param(requests.ReadTimeout("late"), None, id="late"),
        pytest.param(requests.ConnectionError("Read timed out."), None, id="late body"),
    ],
)
def test_wait_ends_in_time(answer: Any, code: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library has two ways to say that the time is up."""
    made, theirs = container_of(monkeypatch, wait=answer)

    assert made.wait(1.0) == code
    made.remove()
    theirs.close()


def test_unknown_state_is_no_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer only explains; its absence changes nothing."""
    made, theirs = container_of(monkeypatch, inspect_container=docker.errors.APIError("no"))

    assert not made.ran_out_of_memory()
    made.remove()
    theirs.close()


def test_program_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that takes KILL and does nothing is not waited for for ever."""
    monkeypatch.setattr(container_module, "GRACE_S", 0.01)
    monkeypatch.setattr(container_module, "_KILL_S", 0.01)
    made, theirs = container_of(monkeypatch, wait=requests.ReadTimeout("late"), kill=docker.errors.APIError("no"))

    with pytest.raises(ToolError, match="The Docker daemon does not end the program"):
        serve_container(made, Job(("x",), expires=0))
    made.remove()
    theirs.close()


def test_connection_that_breaks_is_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset instead of closed, with input still to write and a stream that nobody asked for."""
    made, theirs = container_of(monkeypatch, wait={"StatusCode": 0}, inspect_container={"State": {"OOMKilled": False}})
    theirs.sendall(bytes([0, 0, 0, 0, 0, 0, 0, 1]) + b"x" + bytes([1, 0, 0, 0, 0, 0, 0, 2]) + b"hi")
    theirs.shutdown(socket.SHUT_RD)
    theirs.close()

    ended = serve_container(made, Job(("x",), stdin=b"y" * 3_000_000))

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, b"hi", b"")
    made.remove()


@pytest.mark.parametrize("error", [BlockingIOError(), ConnectionResetError()])
def test_reading_and_writing_survive_errors(error: OSError) -> None:
    """Woken without cause it waits on; reset it stops."""

    class Broken:
        def recv(self, _: int) -> bytes:
            raise error

        def send(self, _: bytes) -> int:
            raise error

        def shutdown(self, _: int) -> None:
            raise error

    with socket.socket() as real:
        conversation = container_module._Conversation(real, b"x", {})
        conversation._connection = Broken()  # type: ignore[assignment]
        conversation._poll = SimpleNamespace(modify=lambda *_: None)  # type: ignore[assignment]

        conversation._write()
        assert conversation._read() is isinstance(error, BlockingIOError)
        assert bytes(conversation._pending) == (b"x" if isinstance(error, BlockingIOError) else b"")


def api_error(status: int, text: str) -> docker.errors.APIError:
    response: Any = SimpleNamespace(status_code=status, reason="", url="")
    return docker.errors.APIError("failed", response=response, explanation=text)


@each_row(
    ("error", "expected"),
    [
        pytest.param(
            api_error(400, 'exec: "x": executable file not found in $PATH'), "program_not_found", id="program"
        ),
        pytest.param(api_error(500, "exec /x: argument list too long"), "invalid_arguments", id="arguments"),
        pytest.param(api_error(500, "no space left"), "sandbox_unavailable", id="disk"),
        pytest.param(docker.errors.DockerException("odd"), "sandbox_unavailable", id="library"),
        pytest.param(requests.ConnectionError("gone"), "sandbox_unavailable", id="connection"),
    ],
)
def test_errors_of_the_daemon_are_told(error: Exception, expected: str) -> None:
    """What is the program's fault is the call's error; all else is a missing sandbox."""
    with pytest.raises((Denied, ToolError)) as raised, translate_errors("It failed"):
        raise error

    assert raised.value.reason == expected  # type: ignore[attr-defined]


def test_daemon_of_another_machine_is_refused() -> None:
    """It could not mount the workspace."""
    with pytest.raises(Denied, match="is on another machine"):
        connect("tcp://192.0.2.1:2375", "i")


def test_daemon_that_may_not_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The socket is there, but not for this user."""

    class Refusing:
        def connect(self, _: str) -> None:
            raise PermissionError

        def settimeout(self, _: float) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(socket, "socket", lambda *_: Refusing())

    with pytest.raises(Denied, match="This user may not use the Docker daemon at '/s'"):
        connect("unix:///s", "i")


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DockerRunner:
    """One that has a daemon which knows nothing."""
    client: Any = Client()
    daemon = Daemon(client, "/s", Image("i", frozenset(), frozenset()))
    monkeypatch.setattr(runner_module, "connect", lambda *_: daemon)
    monkeypatch.setattr(leftovers, "remove_containers", lambda *_: 0)
    return DockerRunner(DockerPolicy(image="i"), RunnerScope(tmp_path, ("link",)), "unix:///s")


def test_watchdog_that_cannot_start_refuses(runner: DockerRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers might outlive the harness."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no processes")

    monkeypatch.setattr(subprocess, "Popen", fail)

    with pytest.raises(Denied, match="The watchdog of the containers cannot be started: no processes"):
        runner.run(Job(("true",)))


def test_protected_link_refuses(runner: DockerRunner, tmp_path: Path) -> None:
    """The refusal says which path it is about."""
    (tmp_path / "link").symlink_to("/")

    with pytest.raises(
        Denied, match="protected_path: A protected path cannot be protected in a container: 'link' is a link"
    ):
        runner.run(Job(("true",)))
    runner.close()


def test_folder_outside_refuses(runner: DockerRunner) -> None:
    """Also one that is not there, which the daemon would make."""
    for folder in ("..", "missing", "link/x"):
        with pytest.raises(Denied, match="path_outside_workspace"):
            runner.run(Job(("true",), cwd=folder))
    runner.close()


def test_close_without_a_daemon_leaves_the_rest_to_the_watchdog(
    runner: DockerRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not told that all is well, and tries for a while."""
    ends: list[bool] = []
    runner._connect()
    real = runner_module._Watchdog.end

    def end(watchdog: Any, *, orderly) -> None:
        ends.append(orderly)
        real(watchdog, orderly=True)

    def fail(*_: Any) -> int:
        raise OSError("gone")

    monkeypatch.setattr(runner_module._Watchdog, "end", end)
    monkeypatch.setattr(leftovers, "remove_containers", fail)

    runner.close()

    assert ends == [False]


def test_runner_closed_while_a_program_starts_does_not_start_it(runner: DockerRunner) -> None:
    """The container is there, but nothing runs in it."""
    runner._is_closed = True
    started: Any = SimpleNamespace(start=lambda: pytest.fail("started"))

    with pytest.raises(Denied, match="The runner is closed"):
        runner._start_checked(started, [])


def test_lost_program_counts_as_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the daemon its end is lost, too: it waits no longer."""
    made, theirs = container_of(monkeypatch, wait=[requests.ReadTimeout("late"), docker.errors.APIError("gone")])

    lost = running.DockerRunning(made, lambda container: None, lambda: None, is_terminal=False)

    assert lost.wait(60) == -9
    lost.close()
    made.remove()
    theirs.close()


def test_output_may_begin_with_half_a_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head of a frame alone is no output, and no end."""
    made, theirs = container_of(monkeypatch, wait={"StatusCode": 0})
    started = running.DockerRunning(made, lambda container: None, lambda: None, is_terminal=False)

    theirs.sendall(bytes([1, 0, 0, 0]))
    assert started.read(100) == b""
    theirs.sendall(bytes([0, 0, 0, 2]) + b"hi")
    assert started.read(4) + started.read(100) == b"hi"
    started.close()
    made.remove()
    theirs.close()
