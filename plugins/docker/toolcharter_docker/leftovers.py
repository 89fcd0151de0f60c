"""Remove the containers and placeholders of a process that has died. Standard library only.

Run as a script, this is the watchdog of one runner: `leftovers.py SOCKET LABEL`. Its input is a pipe from the runner's
process. Each line is the path of a placeholder; `.` announces an orderly end. If the pipe ends without it, that process
has died, and the watchdog removes its containers and then its placeholders. To be cheap, it starts without site
directories and imports most modules only when it has to clean up.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

LABEL = "dev.toolcharter.owner"
"""The label of every container; its value is the container's owner, as `process_name` returns it."""

_ATTEMPTS = 30
_PAUSE_S = 1.0
_TIMEOUT_S = 30.0

Container = Mapping[str, Any]


def remove_containers(socket_path: str, label: str, is_doomed: Callable[[Container], bool]) -> int:
    """Remove the containers with *label* (`NAME` or `NAME=VALUE`) that *is_doomed* picks, running or not.

    Args:
        socket_path: The daemon's socket.
        label: The label by which the daemon filters.
        is_doomed: Gets a container as the daemon lists it: `Id`, `Labels`, `State`, `Created`.

    Returns:
        The number of removed containers.

    Raises:
        OSError: The daemon does not answer, or could not remove a container.

    Source: Docker Engine API 1.41, ContainerList and ContainerDelete.
    """
    from urllib.parse import quote  # noqa: PLC0415 - imported only when there is something to do

    asked = quote(json.dumps({"label": [label]}))
    status, body = request(socket_path, "GET", f"/containers/json?all=1&filters={asked}")
    if status != 200:  # noqa: PLR2004 - OK
        raise OSError(f"the Docker daemon answered {status}")
    doomed = [entry["Id"] for entry in json.loads(body) if is_doomed(entry)]
    for identifier in doomed:
        status, _ = request(socket_path, "DELETE", f"/containers/{identifier}?force=1&v=1")
        # 404: the container is gone. 409: another process is removing it.
        if status not in {204, 404, 409}:
            raise OSError(f"the Docker daemon answered {status} for the removal of {identifier}")
    return len(doomed)


def process_name() -> str:
    """Return a name for this process: its boot, PID namespace, number and start time, from `/proc`."""
    return f"{_boot()}:{_namespace()}:{os.getpid()}:{_start_time(os.getpid())}"


def is_orphan(container: Container) -> bool:
    """Return whether the owner of a listed container is certainly gone.

    An owner in another PID namespace or from another boot cannot be checked. Its container counts as an orphan only if
    the container has ended, as all containers have after a reboot.
    """
    boot, namespace, process, start = (*container["Labels"].get(LABEL, "").split(":"), "", "", "", "")[:4]
    if (boot, namespace) != (_boot(), _namespace()):
        return container["State"] in {"exited", "dead"}
    return not process.isdecimal() or _start_time(int(process)) != start


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:  # noqa: PTH123 - pathlib takes half the time of the start
        return file.read().strip()


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid").strip("pid:[]")  # noqa: PTH115 - as above


def _start_time(process: int) -> str:
    """The start time of a process in clock ticks since the boot; empty if there is no such process.

    Source: proc(5), field 22 of `stat`.
    """
    try:
        with open(f"/proc/{process}/stat") as file:  # noqa: PTH123 - as above
            return file.read().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def request(socket_path: str, method: str, target: str, timeout_s: float = _TIMEOUT_S) -> tuple[int, bytes]:
    """Send a request to the daemon; return the status and the body of the response.

    Raises:
        OSError: The daemon cannot be reached, or its response is malformed.
    """
    import http.client  # noqa: PLC0415 - imported only when there is something to do
    import socket  # noqa: PLC0415 - as above

    connection = http.client.HTTPConnection("localhost", timeout=timeout_s)
    try:
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(timeout_s)
        connection.sock.connect(socket_path)
        connection.request(method, target)
        response = connection.getresponse()
        return response.status, response.read()
    except http.client.HTTPException as error:
        raise OSError(f"the Docker daemon does not answer as it should: {error!r}") from error
    finally:
        connection.close()


def watch_owner(lines: Any, socket_path: str, label: str) -> None:
    """Read *lines* to their end; unless the last is `.`, clean up after the process that wrote them."""
    seen: list[str] = []
    for line in lines:
        path = line.rstrip(b"\n")
        if path == b".":
            return
        seen.append(os.fsdecode(path))
    _retry_until_clean(lambda: remove_containers(socket_path, f"{LABEL}={label}", lambda _: True))
    if seen:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as above
        from placeholders import remove_if_unused  # type: ignore[import-not-found]  # noqa: PLC0415 - by its file: a script has no package

        for path in seen:
            remove_if_unused(path)


def _retry_until_clean(remove: Callable[[], int]) -> None:
    """Repeat *remove* until nothing is left twice: a container may still have been in creation when its owner died."""
    clean = 0
    for _ in range(_ATTEMPTS):
        try:
            clean = 0 if remove() else clean + 1
        except OSError:
            clean = 0
        if clean == 2:  # noqa: PLR2004 - twice
            return
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    watch_owner(sys.stdin.buffer, *sys.argv[1:])
