"""The options of a container: all of its confinement is decided here. Pure."""

import os
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter import Denied, HiddenPath, Job, ProcessLimits, RunnerScope, ToolError
from toolcharter_docker.daemon import Image
from toolcharter_docker.leftovers import LABEL
from toolcharter_docker.placeholders import HeldPath
from toolcharter_docker.policy import DockerPolicy
from toolcharter_docker.seccomp import profile

_KERNELS = tuple(map(Path, ("/proc", "/sys", "/dev")))
_SHARED_MEMORY_BYTES = 16 * 1024**2
_NOTHING = Path(__file__).with_name("empty")
"""An empty file."""
_SIGNALLED = 128
_SIGNALS = 31
"""Numbers of the signals that end a program. Source: signal(7)."""
# Docker detaches from a terminal when it reads its detach keys; no program types this sequence.
_DETACH_KEYS = ",".join(["ctrl-^", "ctrl-_"] * 16)


class Plan(NamedTuple):
    """The options of one container."""

    create: dict[str, Any]
    """The arguments of `APIClient.create_container`, except `host_config`."""
    host: dict[str, Any]
    """The arguments of `APIClient.create_host_config`."""
    attach: dict[str, Any]
    """The argument `params` of `APIClient.attach_socket`."""
    memory_bytes: int


class RunnerFacts(NamedTuple):
    """The common facts of all containers of a runner."""

    policy: DockerPolicy
    scope: RunnerScope
    image: Image
    owner: str


def plan_container(
    facts: RunnerFacts,
    job: Job,
    held: Iterable[HeldPath],
    hidden: Sequence[HiddenPath] = (),
    *,
    is_open: bool,
    is_terminal: bool,
) -> Plan:
    """Plan the container of one program.

    Args:
        facts: The common facts of all containers.
        job: The program.
        held: The paths that are mounted over themselves.
        hidden: The paths that the program may not see; absolute paths lie in one of the policy's `read_roots`.
        is_open: Whether the program has an input.
        is_terminal: Whether the program runs on a terminal.

    Raises:
        ToolError: `invalid_arguments`, for a text that cannot be passed to a program; `program_not_found`.
    """
    policy = facts.policy
    program, *arguments = _require_passable((*policy.command, *_command_line(facts.image, job)))
    memory = _lower_limit(policy.memory_bytes, job.limits.memory_bytes)
    create = {
        "image": facts.image.identifier,
        "entrypoint": [program],
        "command": arguments,
        "environment": _environment(facts.image, policy.path, job.env),
        "working_dir": os.path.normpath(facts.scope.workspace / job.cwd),
        "user": policy.user or f"{os.geteuid()}:{os.getegid()}",
        "hostname": "sandbox",
        "labels": {LABEL: facts.owner},
        "healthcheck": {"test": ["NONE"]},
        "stdin_open": is_open,
        "tty": is_terminal,
    }
    host = {
        "network_mode": "bridge" if policy.network and job.network else "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges", f"seccomp={profile()}"],
        "privileged": False,
        "ipc_mode": "private",
        "cgroupns": "private",
        "init": True,
        "mem_limit": memory,
        "memswap_limit": memory,
        "shm_size": _SHARED_MEMORY_BYTES,
        "nano_cpus": int(policy.cpus * 1e9),
        # The init process counts, too.
        "pids_limit": _lower_limit(policy.pids, job.limits.processes) + 1,
        "ulimits": _ulimits(job.limits),
        "log_config": {"Type": "none"},
        "tmpfs": _tmpfs(facts, hidden),
        "mounts": _mounts(facts, job, held, hidden),
    }
    streams = {"stdin": int(is_open), "stdout": 1, "stderr": 1, "stream": 1, "detachKeys": _DETACH_KEYS}
    return Plan(create, host, streams, memory)


def _command_line(image: Image, job: Job) -> tuple[str, ...]:
    """The program and its arguments.

    Raises:
        ToolError: `program_not_found`: the job has no program and the image has no default program.
    """
    if not job.image or job.argv[0]:
        return job.argv
    words = (*image.program, *(job.argv[1:] or image.words))
    if not words:
        raise ToolError(f"The image {job.image!r} has no default program.", reason="program_not_found")
    return words


def check_workspace(policy: DockerPolicy, scope: RunnerScope, socket_path: str) -> None:
    """Refuse a workspace or a readable root that a container must not have.

    Raises:
        Denied: `sandbox_unavailable`: the workspace would hide the image's programs; or it or a readable root lies in a
            kernel's file system, or contains the daemon's socket, with which a program could start any container.
    """
    workspace = scope.workspace
    on_path = [Path(folder) for folder in policy.path.split(":")]
    if any(folder.is_relative_to(workspace) for folder in on_path):
        raise Denied("sandbox_unavailable", f"The workspace {str(workspace)!r} would hide the image's programs.")
    for folder in (workspace, *policy.read_roots):
        if any(folder.is_relative_to(kernel) for kernel in _KERNELS):
            raise Denied("sandbox_unavailable", f"{str(folder)!r} must not be mounted in a container.")
        # A read-only mount does not keep programs from connecting to a socket.
        if Path(socket_path).resolve().is_relative_to(folder.resolve()):
            raise Denied("sandbox_unavailable", f"{str(folder)!r} contains the Docker daemon's socket.")


def exit_code(status: int) -> int:
    """Turn a container's status into a program's exit code: init and shells report a signal as 128 plus its number."""
    return _SIGNALLED - status if _SIGNALLED < status <= _SIGNALLED + _SIGNALS else status


def signal_name(number: int) -> str:
    """Return the name of a signal, as the daemon expects it."""
    return signal.Signals(number).name


def _require_passable(argv: tuple[str, ...]) -> tuple[str, ...]:
    for word in argv:
        _check_text(word, "an argument")
    return argv


def _check_text(text: str, what: str) -> None:
    # JSON can carry both, but the daemon would change them, so that the program would get another text than was judged.
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ToolError(f"There is a NUL or a lone surrogate in {what}.", reason="invalid_arguments")


def _environment(image: Image, path: str, given: Mapping[str, str]) -> dict[str, str | None]:
    """The variables of the program; None removes a variable that the image or the daemon would set."""
    for name, value in given.items():
        _check_text(name + value, "the environment")
        if not name or "=" in name:
            raise ToolError(f"{name!r} is not a valid name of a variable.", reason="invalid_arguments")
    removed = dict.fromkeys((*image.variables, "HOSTNAME", "TERM"))
    return removed | dict(given) | {"PATH": path}


def _lower_limit(own: int, asked: int | None) -> int:
    return own if asked is None else min(own, asked)


def _ulimits(limits: ProcessLimits) -> list[dict[str, Any]]:
    wanted = {"nofile": limits.open_files, "fsize": limits.file_bytes, "cpu": limits.cpu_s, "core": 0}
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in wanted.items() if value is not None]


def _tmpfs(facts: RunnerFacts, hidden: Sequence[HiddenPath]) -> dict[str, str]:
    """The folders in memory: `/tmp`, hidden folders, and the image's volumes, which would else lie on this machine."""
    options = f"rw,nosuid,nodev,noexec,mode=1777,size={facts.policy.tmp_bytes}"
    taken = {str(folder) for folder in (facts.scope.workspace, *facts.policy.read_roots)}
    usual = dict.fromkeys(sorted({"/tmp", *facts.image.volumes} - taken), options)  # noqa: S108 - of the container
    folders = (str(facts.scope.workspace / place.path) for place in hidden if place.is_folder)
    return {**usual, **dict.fromkeys(folders, "ro,nosuid,nodev,noexec,mode=0555,size=4096")}


def _mounts(
    facts: RunnerFacts, job: Job, held: Iterable[HeldPath], hidden: Sequence[HiddenPath]
) -> list[dict[str, Any]]:
    """The mounts. Each folder has its own path, so that a judged path means the same inside. Hidden files are empty."""
    workspace = facts.scope.workspace
    return [
        *(_bind(root, writable=False) for root in facts.policy.read_roots),
        _bind(workspace, writable=not job.read_only),
        *(_bind(workspace / part.path, writable=part.writable) for part in held),
        *(_bind(_NOTHING, writable=False, target=workspace / one.path) for one in hidden if not one.is_folder),
    ]


def _bind(source: Path, *, writable: bool, target: Path | None = None) -> dict[str, Any]:
    # Not recursive: dockerd before 25 would leave mounts below a read-only folder writable.
    options = {"Propagation": "rprivate", "NonRecursive": True}
    return {
        "Type": "bind",
        "Source": str(source),
        "Target": str(target or source),
        "ReadOnly": not writable,
        "BindOptions": options,
    }
