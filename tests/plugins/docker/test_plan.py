"""What a container is made with, without a daemon."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import Denied, Job, ProcessLimits, RunnerScope, ToolError
from toolcharter_docker.daemon import Image
from toolcharter_docker.placeholders import HeldPath
from toolcharter_docker.plan import Plan, RunnerFacts, check_workspace, exit_code, plan_container, signal_name
from toolcharter_docker.policy import DockerPolicy
from toolcharter_docker.seccomp import profile

WORKSPACE = Path("/srv/work")
IMAGE = Image("sha256:1", frozenset({"PATH", "SECRET", "WORD"}), frozenset({"/data", "/srv/work"}))
MIB = 1024**2


def planned(
    job: Job, held: tuple[HeldPath, ...] = (), *, is_open: bool = False, is_terminal: bool = False, **policy: Any
) -> Plan:
    ground = RunnerFacts(DockerPolicy.from_profile({"image": "i"} | policy), RunnerScope(WORKSPACE), IMAGE, "owner")
    return plan_container(ground, job, held, is_open=is_open, is_terminal=is_terminal)


def bind(path: str, *, read_only: bool) -> dict[str, Any]:
    options = {"Propagation": "rprivate", "NonRecursive": True}
    return {"Type": "bind", "Source": path, "Target": path, "ReadOnly": read_only, "BindOptions": options}


def test_container_is_locked_down() -> None:
    """Every setting that contains a program, as a whole: a stray one would show."""
    made = planned(
        Job(("ls", "-l"), cwd="sub", env={"WORD": "x"}),
        (HeldPath("a", writable=True, identity=(1, 2)), HeldPath("a/b", writable=False, identity=(1, 3))),
    )

    assert made.create == {
        "image": "sha256:1",
        "entrypoint": ["ls"],
        "command": ["-l"],
        "environment": {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "SECRET": None,
            "WORD": "x",
            "HOSTNAME": None,
            "TERM": None,
        },
        "working_dir": "/srv/work/sub",
        "user": f"{os.geteuid()}:{os.getegid()}",
        "hostname": "sandbox",
        "labels": {"dev.toolcharter.owner": "owner"},
        "healthcheck": {"test": ["NONE"]},
        "stdin_open": False,
        "tty": False,
    }
    tmpfs = "rw,nosuid,nodev,noexec,mode=1777,size=67108864"
    assert made.host == {
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={profile()}"],
        "privileged": False,
        "ipc_mode": "private",
        "cgroupns": "private",
        "init": True,
        "mem_limit": 512 * MIB,
        "memswap_limit": 512 * MIB,
        "shm_size": 16 * MIB,
        "nano_cpus": 1_000_000_000,
        "pids_limit": 257,
        "ulimits": [
            {"Name": "nofile", "Soft": 1024, "Hard": 1024},
            {"Name": "fsize", "Soft": 1024 * MIB, "Hard": 1024 * MIB},
            {"Name": "core", "Soft": 0, "Hard": 0},
        ],
        "log_config": {"Type": "none"},
        "tmpfs": {"/data": tmpfs, "/tmp": tmpfs},
        "mounts": [
            bind("/srv/work", read_only=False),
            bind("/srv/work/a", read_only=False),
            bind("/srv/work/a/b", read_only=True),
        ],
    }
    assert {key: made.attach[key] for key in ("stdin", "stdout", "stderr", "stream")} == {
        "stdin": 0,
        "stdout": 1,
        "stderr": 1,
        "stream": 1,
    }


def test_smaller_limit_counts() -> None:
    """Policy and job both limit; the processor time is the job's alone."""
    limits = ProcessLimits(memory_bytes=64 * MIB, processes=300, open_files=None, file_bytes=None, cpu_s=7)

    made = planned(Job(("x",), limits=limits), pids=50, memory_bytes=128 * MIB, cpus=0.5)

    assert (made.memory_bytes, made.host["mem_limit"], made.host["memswap_limit"]) == (64 * MIB,) * 3
    assert (made.host["pids_limit"], made.host["nano_cpus"]) == (51, 500_000_000)
    assert made.host["ulimits"] == [{"Name": "cpu", "Soft": 7, "Hard": 7}, {"Name": "core", "Soft": 0, "Hard": 0}]


@pytest.mark.parametrize(
    ("granted", "asked", "mode"),
    [
        pytest.param(False, False, "none", id="neither"),
        pytest.param(True, False, "none", id="granted, not asked for"),
        pytest.param(False, True, "none", id="asked for, not granted"),
        pytest.param(True, True, "bridge", id="both"),
    ],
)
def test_network_takes_policy_and_job(granted, asked, mode) -> None:
    """The network is off unless both want it."""
    assert planned(Job(("x",), network=asked), network=granted).host["network_mode"] == mode


def test_policy_stands_before_the_program() -> None:
    """`command` becomes the entry point; user and roots are as the policy says; input and terminal as the call says."""
    made = planned(
        Job(("ls",), read_only=True), is_open=True, is_terminal=True,
        command=["/bin/nice", "-n"], user="5:6", read_roots=["/usr/share/dict"],
    )  # fmt: skip

    assert (made.create["entrypoint"], made.create["command"]) == (["/bin/nice"], ["-n", "ls"])
    assert (made.create["user"], made.create["stdin_open"], made.create["tty"]) == ("5:6", True, True)
    assert made.attach["stdin"] == 1
    assert made.host["mounts"] == [bind("/usr/share/dict", read_only=True), bind("/srv/work", read_only=True)]


@each_row(
    "job",
    [
        pytest.param(Job(("a\0b",)), id="NUL"),
        pytest.param(Job(("a", "\udc80")), id="lone surrogate"),
        pytest.param(Job(("a",), env={"A": "\0"}), id="NUL in the environment"),
        pytest.param(Job(("a",), env={"A=B": "c"}), id="name with ="),
        pytest.param(Job(("a",), env={"": "c"}), id="empty name"),
    ],
)
def test_what_no_program_can_be_passed_is_refused(job: Job) -> None:
    """JSON could carry it to the daemon, which would make something else of it."""
    with pytest.raises(ToolError) as refused:
        planned(job)

    assert refused.value.reason == "invalid_arguments"


@each_row(
    ("workspace", "policy", "message"),
    [
        pytest.param("/", {}, "The workspace '/' would hide the image's programs.", id="all"),
        pytest.param("/usr", {}, "The workspace '/usr' would hide the image's programs.", id="programs"),
        pytest.param("/proc/1", {}, "'/proc/1' must not be mounted in a container.", id="kernel"),
        pytest.param("/srv", {"read_roots": ["/sys/fs"]}, "'/sys/fs' must not be mounted in a container.", id="root"),
        pytest.param("/run", {}, "'/run' contains the Docker daemon's socket.", id="socket in the workspace"),
        pytest.param(
            "/srv", {"read_roots": ["/run/d"]}, "'/run/d' contains the Docker daemon's socket.", id="socket in a root"
        ),
    ],
)
def test_ground_that_cannot_hold_is_refused(workspace: str, policy: dict[str, Any], message: str) -> None:
    """Some folders would undo the sandbox if they were mounted."""
    with pytest.raises(Denied) as refused:
        check_workspace(
            DockerPolicy.from_profile({"image": "i"} | policy), RunnerScope(Path(workspace)), "/run/d/s.sock"
        )

    assert (refused.value.reason, refused.value.message) == ("sandbox_unavailable", message)


def test_ordinary_ground_is_accepted() -> None:
    """A folder that is none of these."""
    policy = DockerPolicy.from_profile({"image": "i", "read_roots": ["/usr/share"]})

    check_workspace(policy, RunnerScope(Path("/srv/work")), "/run/d/s.sock")


@each_row(
    ("status", "code"),
    [(0, 0), (1, 1), (127, 127), (128, 128), (129, -1), (137, -9), (159, -31), (160, 160), (255, 255)],
)
def test_signals_are_told_apart(status: int, code: int) -> None:
    """Above 128 stands the signal, as long as there is one of that number."""
    assert exit_code(status) == code


def test_signals_have_names() -> None:
    """The daemon is told the name."""
    assert signal_name(15) == "SIGTERM"
