"""The program for hooks: whatever becomes of the gate that it starts, no call passes by it."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import venv
from contextlib import suppress
from pathlib import Path

import pytest

from toolcharter_guard import client
from toolcharter_guard.patches import parse_patch

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a gate is started by a fork")
WORDS = ("toolcharter", "guard", "hook", "claude-code")
PUSH = json.dumps({"tool_name": "Bash", "tool_input": {"command": "git push"}})
STARTED = """
import sys
made = {{"__name__": "client"}}
exec(open({client!r}).read(), made)
made["DEADLINE_S"], sys.executable = {deadline_s!r}, {gate!r}
made["main"]({words!r})
"""


def answered(gate: str, folder: Path, *, deadline_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """A hook whose gate is the shell program *gate*."""
    program = folder / "gate"
    program.write_text(f"#!/bin/sh\n{gate}\n")
    program.chmod(0o755)
    code = STARTED.format(client=client.__file__, gate=str(program), words=list(WORDS), deadline_s=deadline_s)
    environment = {"HOME": str(folder)}
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, input=PUSH, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(
    "gate",
    [
        pytest.param("exit 0", id="no answer"),
        pytest.param("exit 1", id="a failure"),
        pytest.param("echo '{}'; exit 1", id="an answer, then a failure"),
        pytest.param("echo '{}'; kill -9 $$", id="an answer, then killed"),
        pytest.param("kill -11 $$", id="killed"),
        pytest.param("printf '{\"decision\": '", id="half an answer"),
        pytest.param("echo Usage", id="something else"),
        pytest.param("exit 126", id="not started"),
    ],
)
def test_a_gate_that_breaks_down_denies(gate: str, tmp_path: Path) -> None:
    """Agents let a call pass whose hook ends with any status but 0 and 2, and one whose hook says nothing."""
    done = answered(gate, tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "toolcharter denies the call, because its gate has failed.\n"


@pytest.mark.parametrize("gate", ["sleep 600", "exec >&-; sleep 600", "echo '{}'; sleep 600"])
def test_a_gate_that_is_late_denies(gate: str, tmp_path: Path) -> None:
    """Before the agent stops waiting and lets the call pass."""
    began = time.monotonic()
    done = answered(f"exec 2>/dev/null; {gate.replace('sleep', 'exec sleep')}", tmp_path, deadline_s=1.0)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "toolcharter denies the call, because it could not be judged in time.\n"
    assert time.monotonic() - began < 300


def test_an_answer_and_a_refusal_are_handed_on(tmp_path: Path) -> None:
    """Status, output and standard error are those of the gate, which reads the agent's message."""
    allowed = answered("cat >/dev/null; echo '{}'", tmp_path)
    refused = answered("echo no >&2; exit 2", tmp_path)

    assert (allowed.returncode, allowed.stdout, allowed.stderr) == (0, "{}\n", "")
    assert (refused.returncode, refused.stdout, refused.stderr) == (2, "", "no\n")


def test_an_answer_that_cannot_be_written_denies(tmp_path: Path) -> None:
    """The agent would read nothing, and take that for no objection."""
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-I", "-S", str(client.__file__), *WORDS]
        done = subprocess.run(command, input=PUSH.encode(), stdout=full, env={"HOME": str(tmp_path)}, check=False)

    assert done.returncode == 2


def test_a_python_without_the_gate_denies(tmp_path: Path) -> None:
    """As after an update of Python, or when its environment was removed."""
    venv.create(tmp_path / "empty", with_pip=False)
    command = [str(tmp_path / "empty/bin/python"), "-I", "-S", str(client.__file__), *WORDS]
    given = {"HOME": str(tmp_path)}
    done = subprocess.run(command, input=PUSH, capture_output=True, text=True, env=given, check=False)

    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["click", "sitecustomize", "yaml", "toolcharter_guard"])
def test_the_project_gives_the_gate_no_modules(name: str, tmp_path: Path) -> None:
    """Many shells have PYTHONPATH=. or =src, and an agent may write modules there."""
    project = tmp_path / "project"
    project.mkdir()
    (project / f"{name}.py").write_text("import os\nos.write(1, b'{}\\n')\nos._exit(0)\n")
    command = [sys.executable, "-I", "-S", str(client.__file__), *WORDS]
    given = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": f"{project}:."}
    done = subprocess.run(command, input=PUSH, capture_output=True, text=True, env=given, cwd=project, check=False)

    assert (done.returncode, "no_push" in done.stdout) == (0, True)


def test_the_sockets_lie_in_no_folder_of_the_project() -> None:
    """A relative folder would be one of the current folder, as the XDG specification says of all of them."""
    home = "/home/u/.local/state/toolcharter/run"

    assert client.socket_folder({"HOME": "/home/u", "XDG_STATE_HOME": "state"}) == home
    assert client.socket_folder({"HOME": "/home/u", "XDG_RUNTIME_DIR": "run"}) == home


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("LD_PRELOAD", "{project}/x.so", id="preloaded"),
        pytest.param("LD_PRELOAD", "libc.so.6 ./x.so", id="preloaded, relative"),
        pytest.param("LD_AUDIT", "/dev/shm/x.so", id="audit"),
        pytest.param("LD_LIBRARY_PATH", "/usr/lib:", id="the present folder"),
        pytest.param("LD_LIBRARY_PATH", "lib", id="relative"),
        pytest.param("LD_LIBRARY_PATH", "/usr/lib;{project}/lib", id="in the project"),
        pytest.param("LD_LIBRARY_PATH", "{link}", id="by a link"),
    ],
)
def test_libraries_from_where_the_agent_writes_deny(name: str, value: str, tmp_path: Path) -> None:
    """A project's `.env`, which some agents read, may name them."""
    project = tmp_path / "project"
    (project / "lib").mkdir(parents=True)
    (tmp_path / "link").symlink_to(project / "lib")
    given = {"HOME": str(tmp_path), name: value.format(project=project, link=tmp_path / "link")}
    command = [sys.executable, "-I", "-S", str(client.__file__), *WORDS]
    done = subprocess.run(command, input=PUSH, capture_output=True, text=True, env=given, cwd=project, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"because {name} makes programs load libraries from a folder in which an agent may write" in done.stderr


@pytest.mark.parametrize(
    "value",
    [
        {"LD_LIBRARY_PATH": "/opt/cuda/lib64:$ORIGIN/../lib", "LD_PRELOAD": "/usr/lib/libjemalloc.so libm.so.6"},
        {"LD_LIBRARY_PATH": "", "LD_PRELOAD": " : "},
        {},
    ],
)
def test_libraries_from_elsewhere_do_not(value: dict[str, str]) -> None:
    """Many machines set such variables for good reasons."""
    assert client.find_loader_variable(value, "/home/u/project") is None


def test_variables_that_have_a_gate_run_other_code_do_not_reach_it(tmp_path: Path) -> None:
    """The hook's own Python takes none of them."""
    kept, dropped = (
        {"PATH": os.environ["PATH"], "TOKEN": "t"},
        {"PYTHONPATH": ".", "OPENSSL_CONF": "x", "BASH_ENV": "x"},
    )
    gate = tmp_path / "gate"
    gate.write_text(f"#!/bin/sh\nenv > {tmp_path}/given\necho '{{}}'\n")
    gate.chmod(0o755)
    code = STARTED.format(client=client.__file__, gate=str(gate), words=list(WORDS), deadline_s=60.0)
    given = {"HOME": str(tmp_path), **kept, **dropped}
    subprocess.run([sys.executable, "-I", "-S", "-c", code], input=PUSH, text=True, env=given, check=True)

    seen = dict(line.split("=", 1) for line in (tmp_path / "given").read_text().splitlines())
    assert {**kept, **seen} == seen
    assert seen.keys().isdisjoint(dropped)


@pytest.mark.skipif(sys.platform != "linux", reason="peers are known on Linux")
def test_a_folder_that_is_too_deep_for_a_socket_is_replaced() -> None:
    """By one below `/tmp`, which is used only if nobody else can write there."""
    deep = f"/run/{'x' * (client.MAX_SOCKET_PATH - len('/run//toolcharter/guard-01234567-0123456.sock'))}"

    assert client.socket_folder({"XDG_RUNTIME_DIR": deep}) == f"{deep}/toolcharter"
    assert client.socket_folder({"XDG_RUNTIME_DIR": f"{deep}y"}) == f"/tmp/toolcharter-{os.geteuid()}"
    assert len(client.socket_path(f"{deep}/toolcharter", b"x" * 1_000_000)) <= client.MAX_SOCKET_PATH


@pytest.mark.skipif(sys.platform != "linux", reason="peers are known on Linux")
def test_an_answer_in_drops_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part comes in time, and all of them would not before the agent stops waiting."""
    monkeypatch.setattr(client, "TIMEOUT_S", 0.3)
    ours, theirs = socket.socketpair()
    ended = threading.Event()

    def drip() -> None:
        with suppress(OSError):  # the reader has gone
            while not ended.wait(0.05):
                theirs.send(b" ")

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with ours, pytest.raises(TimeoutError):
            client.receive(ours, 1 << 20)
    finally:
        ended.set()
        dripping.join()
        theirs.close()


def test_a_long_patch_is_read_in_time() -> None:
    """Line by line, not the whole text anew for each line."""
    began = time.monotonic()
    [change] = parse_patch("*** Begin Patch\n*** Add File: x\n" + "+line\n" * 400_000 + "*** End Patch")

    assert len(change.added) == 400_000 * 5
    assert time.monotonic() - began < 60
