"""The sandbox: what a program finds in it, and what it does not."""

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.bwrap.conftest import ENVIRONMENT, job, shell

from toolcharter import Denied, Ended, RunnerScope, ToolError
from toolcharter.gate.runners import Repositories
from toolcharter_bwrap import SPEC, build, register_extensions, system
from toolcharter_bwrap.policy import BwrapPolicy
from toolcharter_bwrap.runner import BwrapRunner

pytestmark = pytest.mark.needs_program("bwrap", package="bubblewrap")
Sh = Callable[..., Ended]


def test_the_workspace_is_there_at_its_own_path(sh: Sh, workspace: Path) -> None:
    """What a program reads and writes there is what others find there."""
    (workspace / "sub").mkdir()
    (workspace / "in").write_text("in")

    ended = sh("pwd; cat ../in; echo out > out", cwd="sub")

    assert (ended.exit_code, ended.stdout.decode()) == (0, f"{workspace}/sub\nin")
    assert (workspace / "sub/out").read_text() == "out\n"


def test_only_the_workspace_and_the_private_folders_can_be_written(sh: Sh) -> None:
    """All else is read-only, of the sandbox's own root, too."""
    ended = sh(
        "for f in / /usr /usr/bin /etc /etc/passwd /dev /proc/sys/kernel/core_pattern /var /bin;"
        " do test -w $f && echo $f; done; find /proc -path '/proc/[0-9]*' -prune -o -type f -writable -exec test -f {} ';' -print 2>/dev/null;"
        " for f in x /tmp/x /var/tmp/y /dev/shm/x; do echo > $f; done; ls -d /tmp/?"
    )

    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, b"/tmp/x\n/tmp/y\n", b"")


def test_a_read_only_job_cannot_write_the_workspace(sh: Sh, workspace: Path) -> None:
    """Neither create nor change, nor move."""
    (workspace / "old").touch()

    ended = sh("touch new; echo x > old; rm old; mv old older; cat old", read_only=True)

    assert ended.exit_code == 0
    assert [(entry.name, entry.read_text()) for entry in workspace.iterdir()] == [("old", "")]


def test_nothing_else_of_the_host_is_there(sh: Sh, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No home, no sockets, no other folder, no kernel's or other users' secrets, and nothing of our environment."""
    monkeypatch.setenv("CANARY", "leaked")
    (workspace.parent / "neighbour").write_text("secret")

    ended = sh(
        f"ls -d /home /root /run /sys /mnt /srv /opt /boot /etc/shadow /etc/ssh /etc/ssl/private {workspace.parent}/neighbour;"
        f" ls {workspace.parent}; ls /; env | sort; wc -c /proc/kmsg /proc/timer_list /proc/kpageflags"
    )

    root = "bin\ndev\netc\nlib\nlib32\nlib64\nlibx32\nproc\nsbin\ntmp\nusr\nvar\n"
    lines = ended.stdout.decode().split()
    assert lines[0] == "ws"
    assert set(lines[1 : lines.index("var") + 1]) <= set(root.split())
    variables = {"HOME=/nonexistent", "PATH=/usr/local/bin:/usr/bin:/bin", f"PWD={workspace}", "SHLVL=1"}
    assert {line for line in lines if "=" in line and not line.startswith("_=")} == variables
    assert b"neighbour'" in ended.stderr


def test_a_program_sees_only_its_own_processes(sh: Sh) -> None:
    """They have a PID namespace with a /proc of its own, an IPC, UTS and cgroup namespace."""
    ended = sh("ls /proc | grep -c '^[0-9]'; hostname; kill -0 1000000; readlink /proc/self/ns/*")

    count, hostname, *namespaces = ended.stdout.decode().split()
    kinds = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
    own = {str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in kinds}
    assert (int(count) <= 6, hostname) == (True, "sandbox")
    assert {name.partition(":")[0] for name in namespaces} >= set(kinds)
    assert not own & set(namespaces)


def test_a_program_has_no_rights_of_a_user_with_rights(sh: Sh) -> None:
    """No capability, none to come, a filter for system calls; the first process, which it could reach, neither."""
    ended = sh(
        "id -u; cat /proc/1/status /proc/self/status | grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' | sort -u"
    )

    uid, *status = ended.stdout.decode().splitlines()
    assert uid == str(os.geteuid() or 1000)
    assert [line.split() for line in status] == [
        *([f"Cap{kind}:", "0" * 16] for kind in ("Amb", "Bnd", "Eff", "Inh", "Prm")),
        ["NoNewPrivs:", "1"],
        ["Seccomp:", "2"],
    ]


def test_no_file_takes_on_its_owners_rights(sh: Sh, workspace: Path) -> None:
    """Outside, every user could run it."""
    ended = sh("cp /bin/true x; chmod u+s x || chmod g+s x || chmod 700 x")

    assert (ended.exit_code, (workspace / "x").stat().st_mode & 0o7777) == (0, 0o700)


MAKING = """
import os, stat
def tried(make):
    try:
        made = make()
    except OSError as error:
        print(error.errno)
    else:
        print("made")
folder = os.open(".", os.O_RDONLY)
for mode in (0o4755, 0o2755, 0o6711):
    tried(lambda: os.open("a", os.O_CREAT | os.O_WRONLY, mode))
    tried(lambda: os.open("b", os.O_CREAT | os.O_EXCL, mode, dir_fd=folder))
    tried(lambda: os.mknod("c", stat.S_IFREG | mode))
    tried(lambda: os.open(".", os.O_TMPFILE | os.O_WRONLY, mode))
    os.umask(0)
tried(lambda: os.open("plain", os.O_CREAT, 0o755))
"""


def test_no_file_is_made_with_its_owners_rights(runner: BwrapRunner, workspace: Path) -> None:
    """However it is made, named or not."""
    ended = runner.run(job("/usr/bin/python3", "-S", "-c", MAKING))

    assert ended.stdout.split() == [b"1"] * 12 + [b"made"]
    assert sorted(path.name for path in workspace.iterdir()) == ["plain"]


def test_a_program_has_no_descriptor_of_ours(runner: BwrapRunner) -> None:
    """Its three streams, and nothing of bubblewrap's."""
    code = "import os; print([n for n in range(3, 256) if os.path.exists(f'/proc/self/fd/{n}')])"

    assert runner.run(job("/usr/bin/python3", "-S", "-c", code)).stdout == b"[]\n"


def test_a_program_leads_a_session_without_a_terminal(sh: Sh) -> None:
    """There is nothing to put input into."""
    assert sh("ps -o sid=,tty= $$ | tr -s ' '; : < /dev/tty").stdout.split()[1:] == [b"?"]


def test_other_users_cannot_read_the_environment_of_a_program(runner: BwrapRunner) -> None:
    """Command lines are for all to see: variables are not among them."""
    environment = {**ENVIRONMENT, "CANARY": "hidden"}

    ended = runner.run(shell("cat /proc/*/cmdline | tr '\\0' ' ' | grep -c hid[d]en; echo $CANARY", env=environment))

    assert ended.stdout == b"0\nhidden\n"


@pytest.fixture
def server() -> Iterator[dict[str, Any]]:
    """Sockets of this host: on the loopback, in the workspace, and with an abstract name."""
    listeners = []
    tcp = socket.create_server(("127.0.0.1", 0))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0toolcharter-{os.getpid()}-{threading.get_ident()}")
    abstract.listen()
    listeners += [tcp, abstract]
    yield {"port": tcp.getsockname()[1], "name": abstract.getsockname().decode()}
    for listener in listeners:
        listener.close()


CONNECT = """
import socket, sys
def attempt(family, address):
    try:
        socket.socket(family).connect(address)
    except OSError as error:
        return type(error).__name__
    return "connected"
print(attempt(socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))), attempt(socket.AF_UNIX, "\\0" + sys.argv[2]))
"""


@pytest.mark.parametrize(
    ("granted", "asked", "reached"),
    [
        pytest.param(False, False, "ConnectionRefusedError ConnectionRefusedError", id="off"),
        pytest.param(False, True, "ConnectionRefusedError ConnectionRefusedError", id="asked for, not granted"),
        pytest.param(True, False, "ConnectionRefusedError ConnectionRefusedError", id="granted, not asked for"),
        pytest.param(True, True, "connected OSError", id="on"),
    ],
)
def test_the_network_takes_two(
    open_runner: Callable[..., BwrapRunner], server: dict[str, Any], *, granted: bool, asked: bool, reached: str
) -> None:
    """The policy has to grant it and the tool to ask for it; sockets with abstract names are never reached."""
    runner = open_runner(network=granted)

    ended = runner.run(job("/usr/bin/python3", "-c", CONNECT, str(server["port"]), server["name"][1:], network=asked))

    assert ended.stdout.decode().strip() == reached


def test_a_loopback_of_its_own_works(sh: Sh) -> None:
    """Test suites that serve and connect run in the sandbox."""
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname());"
        " a, b = socket.socketpair(); print('served')"
    )

    assert sh(f'/usr/bin/python3 -c "{code}"').stdout == b"served\n"


def test_folders_of_the_policy_can_be_read(open_runner: Callable[..., BwrapRunner], tmp_path: Path) -> None:
    """And not be written to; programs there can be run."""
    (tmp_path / "tools").mkdir()
    program = tmp_path / "tools/program"
    program.write_text("#!/bin/sh\necho ran\n")
    program.chmod(0o755)
    runner = open_runner(read_roots=(tmp_path / "tools",))

    ended = runner.run(shell(f"cat {program} | wc -l; touch {program}", read_only=True))

    assert (ended.stdout, b"Read-only file system" in ended.stderr) == (b"2\n", True)
    assert runner.run(job(str(program))).stdout == b"ran\n"


def test_a_program_that_is_not_in_the_sandbox_is_not_found(runner: BwrapRunner, tmp_path: Path) -> None:
    """The error says how it would come there."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    with pytest.raises(ToolError, match="is not in the sandbox") as caught:
        runner.run(job(str(program)))

    assert (caught.value.reason, "read_roots" in str(caught.value.hint)) == ("program_not_found", True)


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param("exit 0", 0, id="zero"),
        pytest.param("exit 3", 3, id="a status"),
        pytest.param("kill -SEGV $$", -11, id="a signal"),
        pytest.param("exit 128", 128, id="the last that is no signal"),
        pytest.param("exit 193", 193, id="past the last signal"),
    ],
)
def test_the_exit_status_tells_a_signal_by_its_sign(sh: Sh, script: str, code: int) -> None:
    """As on the host."""
    assert sh(script).exit_code == code


def test_input_arrives_and_both_outputs_are_kept(sh: Sh) -> None:
    """Up to the limit."""
    ended = sh("cat; echo err >&2", stdin=b"x" * 300_000, max_output_bytes=1000)

    assert ended == Ended(0, b"x" * 1000, b"err\n", truncated=True, timed_out=False)


def test_private_folders_are_bounded(open_runner: Callable[..., BwrapRunner]) -> None:
    """Their memory is the host's."""
    ended = open_runner(tmp_bytes=1_000_000).run(
        shell("for d in /tmp /dev/shm; do head -c 2000000 /dev/zero > $d/x; done")
    )

    assert ended.stderr.count(b"No space left on device") == 2


@pytest.mark.parametrize("place", ["/", "/usr", "/etc", "/var"])
def test_a_workspace_in_the_place_of_the_system_is_refused(place: str) -> None:
    """It would lie over what contains programs."""
    with pytest.raises(Denied, match="contains parts of the system") as caught:
        system.require_workspace(Path(place))

    assert caught.value.reason == "sandbox_unavailable"


@pytest.mark.parametrize("root", ["relative", "/", "/a/../etc", "."])
def test_a_root_has_to_be_absolute(root: str) -> None:
    """And no detour."""
    with pytest.raises(ValueError, match="not an absolute path below /"):
        BwrapPolicy(read_roots=(Path(root),))


def test_a_variable_with_nul_is_refused(runner: BwrapRunner) -> None:
    """Behind it another argument of bubblewrap's would begin."""
    with pytest.raises(ToolError) as caught:
        runner.run(job("true", env={"A": "b\0--bind\0/\0/"}))

    assert caught.value.reason == "invalid_arguments"


@pytest.mark.parametrize("root", [False, True])
def test_systems_differ(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: bool) -> None:  # noqa: FBT001
    """Folders may be links or none, and root has more to hide."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib").symlink_to("usr/lib")
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 5)
    names = ("bin", "lib", "lib64")
    monkeypatch.setattr(system, "_USR_MERGED", tuple(str(tmp_path / name) for name in names))
    for cached in (system._merged_usr, system._guard_proc):
        cached.cache_clear()

    arguments = " ".join(system.system_arguments(BwrapPolicy()))

    for cached in (system._merged_usr, system._guard_proc):
        cached.cache_clear()
    assert (
        f"--ro-bind /usr /usr --ro-bind {tmp_path}/bin {tmp_path}/bin --symlink usr/lib {tmp_path}/lib --ro-bind-try"
        in arguments
    )
    assert (("--uid 1000" in arguments), ("--ro-bind /dev/null /proc/kmsg" in arguments)) == (root, root)


def test_the_plugin_offers_one_extension(workspace: Path) -> None:
    """Its object opens runners for what the harness has chosen."""
    runner = build(workspace, BwrapPolicy()).open_runner(RunnerScope(workspace, (".toolcharter",)))

    ended = runner.run(shell("mkdir .toolcharter; mkdir other"))

    runner.close()
    assert (register_extensions(), runner.name, runner.is_sandbox) == ([SPEC], "bwrap", True)
    assert (ended.exit_code, [entry.name for entry in workspace.iterdir()]) == (0, ["other"])


def test_a_submodule_leads_git_to_no_repository_of_a_program(workspace: Path, tmp_path: Path, sh: Sh) -> None:
    """Whoever asks for the state of the workspace afterwards has git run in the submodule, by the settings found there."""
    inner, ran = tmp_path / "inner", tmp_path / "ran"
    for folder, words in (
        (tmp_path, f"init --quiet {inner}"),
        (inner, "commit --quiet --allow-empty --message=x"),
        (workspace, "init --quiet"),
        (workspace, f"submodule --quiet add {inner} sub"),
    ):
        options = "-c user.name=a -c user.email=a@b -c protocol.file.allow=always"
        subprocess.run(["git", *options.split(), *words.split()], cwd=folder, check=True, capture_output=True)
    protected = Repositories(workspace)()

    ended = sh(
        f"cp -r .git/modules/sub evil; printf '[core]\\n worktree=../sub\\n fsmonitor=\"touch {ran}; false\"\\n' > evil/config;"
        "rm -rf sub/.git; mv sub old; mkdir -p sub; echo 'gitdir: ../evil' > sub/.git",
        protected=protected,
    )

    subprocess.run(["git", "status"], cwd=workspace, check=True, capture_output=True)
    assert (ended.exit_code, ran.exists()) == (1, False)
    assert (workspace / "sub/.git").read_text() == "gitdir: ../.git/modules/sub\n"
