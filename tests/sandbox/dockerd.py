"""A Docker daemon of the tests' own, shared by all workers of one test session, that leaves nothing behind.

Run as a script it is the daemon's guard: it starts `dockerd` in a folder, and ends it and cleans up when no process that
has signed the folder's list is alive, however those have ended.
"""

import fcntl
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

IMAGE = "toolcharter-test:latest"
START_S = 60.0
PERL = "/usr/bin/perl"
_POLL_S = 0.25


class Dockerd(NamedTuple):
    """A daemon that listens and has the image."""

    folder: Path
    host: str
    """For `DOCKER_HOST`."""
    image: str = IMAGE

    @property
    def pid(self) -> int:
        return int((self.folder / "dockerd.pid").read_text())


@contextmanager
def shared(folder: Path) -> Iterator[Dockerd]:
    """The daemon in *folder*, started by whoever comes first and ended by whoever goes last.

    Raises:
        RuntimeError: It does not start here; with the end of its log.
    """
    folder.mkdir(exist_ok=True)
    (folder / "users").mkdir(exist_ok=True)
    daemon = Dockerd(folder, f"unix://{folder / 'docker.sock'}")
    ticket = folder / "users" / f"{os.getpid()}.{time.monotonic_ns()}"
    guard = None
    with _locked(folder):
        ticket.touch()
        if not _is_guarded(folder):
            guard = _start(daemon)
    try:
        yield daemon
    finally:
        ticket.unlink()
        _await_end(folder, guard)


def image_of(program: str) -> bytes:
    """A tar of busybox with a link for each of its programs, of perl for raw system calls, and of their libraries."""
    applets = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.add(os.path.realpath(program), "bin/busybox")
        for name in _perl():
            tar.add(name, name.lstrip("/"))
        for library in sorted({*_libraries(program), *_libraries(PERL)}):
            tar.add(os.path.realpath(library), library.lstrip("/"))
        for applet in sorted({*applets} - {"busybox"}):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
        for name, text in {"etc/passwd": "root:x:0:0::/:/bin/sh\n", "mnt/.keep": "", "var/run/.keep": ""}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def _perl() -> list[str]:
    """The part of perl that every Debian has; none elsewhere."""
    asked = subprocess.run([PERL, "-e", 'print join "\\n", @INC'], capture_output=True, text=True, check=False)
    return [PERL, *(folder for folder in asked.stdout.split() if folder.endswith("perl-base"))]


def _libraries(program: str) -> list[str]:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    return re.findall(r"(/\S+) \(0x", listed)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_guarded(folder: Path) -> bool:
    """The guard holds this lock for as long as it lives."""
    with (folder / "guard").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _start(daemon: Dockerd) -> subprocess.Popen[bytes]:
    guard = subprocess.Popen(
        [sys.executable, "-I", __file__, daemon.folder], stdin=subprocess.DEVNULL, cwd="/", start_new_session=True
    )
    until = time.monotonic() + START_S
    while not _listens(daemon.host):
        if guard.poll() is not None or time.monotonic() > until:
            log = (daemon.folder / "log").read_text(errors="replace")
            raise RuntimeError(f"dockerd does not start: {log[-1500:]}")
        time.sleep(_POLL_S)
    import docker  # noqa: PLC0415 - most tests need none

    client = docker.APIClient(base_url=daemon.host, version="auto")
    answer = client.import_image_from_data(image_of(shutil.which("busybox") or ""), *IMAGE.split(":"))
    client.close()
    assert "error" not in json.loads(answer), answer
    return guard


def _listens(host: str) -> bool:
    with socket.socket(socket.AF_UNIX) as asking, suppress(OSError):
        asking.settimeout(START_S)
        asking.connect(host.removeprefix("unix://"))
        asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        return b" 200 " in asking.recv(64)
    return False


def _await_end(folder: Path, guard: subprocess.Popen[bytes] | None) -> None:
    """Whoever goes last waits, so that nothing is left when the session ends."""
    while not any((folder / "users").iterdir()) and _is_guarded(folder):
        time.sleep(_POLL_S)
    if guard is not None:
        # Others may still use it; it is nobody's child then, which is for init to bury.
        with suppress(subprocess.TimeoutExpired):
            guard.wait(timeout=_POLL_S)
        guard.returncode = guard.returncode or 0


def main(folder: Path) -> None:
    """Guard the daemon in *folder* from its start to its end."""
    with (folder / "guard").open("w") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        with (folder / "log").open("w") as log:
            daemon = subprocess.Popen(_command(folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            while daemon.poll() is None and _has_users(folder):
                time.sleep(_POLL_S)
        finally:
            _end(folder, daemon)


def _command(folder: Path) -> list[str]:
    places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "dockerd.pid"}
    options = [f"{option}={folder / name}" for option, name in places.items()]
    return ["dockerd", *options, f"--host=unix://{folder}/docker.sock", "--iptables=false", "--bridge=none"]


def _has_users(folder: Path) -> bool:
    return any(Path("/proc", ticket.stem).exists() for ticket in (folder / "users").iterdir())


def _end(folder: Path, daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(30)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()
    with suppress(OSError, ValueError):
        os.kill(int((folder / "exec/containerd/containerd.pid").read_text()), signal.SIGKILL)
    _end_shims(folder)
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        if (place := line.split()[4]).startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", place], check=False)
    for name in ("data", "exec", "docker.sock", "dockerd.pid"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _end_shims(folder: Path) -> None:
    """A daemon that was killed leaves its containers, each with a parent that names the folder."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{folder}/exec/".encode() in (place / "cmdline").read_bytes():
                for process in (*_children(place), place.name):
                    os.kill(int(process), signal.SIGKILL)


def _children(process: Path) -> list[str]:
    """Of all its threads: any of them may have started one."""
    return [child for task in (process / "task").iterdir() for child in (task / "children").read_text().split()]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
