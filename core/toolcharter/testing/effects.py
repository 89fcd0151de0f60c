"""`Effects`: an audit hook that records and forbids effects on the outside world during a phase.

Source: the table of audit events in Python's documentation (PEP 578). A hook cannot be removed, so
this one runs in a separate process (`toolcharter.testing.probe`).
"""

import os
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CODE = (".py", ".pyc", ".so", ".pth")
_MAX_PRINTED = 200
_FORBIDDEN = frozenset(
    [
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.mkdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "os.chmod",
        "os.chown",
        "os.utime",
        "os.setxattr",
        "os.removexattr",
        "os.chflags",
        "os.lockf",
        "os.putenv",
        "os.unsetenv",
        "os.kill",
        "os.killpg",
        "shutil.rmtree",
        "shutil.move",
        "shutil.copyfile",
        "shutil.copymode",
        "shutil.copystat",
        "shutil.copytree",
        "shutil.make_archive",
        "shutil.unpack_archive",
        "tempfile.mkstemp",
        "tempfile.mkdtemp",
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.fork",
        "os.forkpty",
        "pty.spawn",
        "socket.connect",
        "socket.bind",
        "socket.sendto",
        "socket.sendmsg",
        "socket.getaddrinfo",
        "socket.gethostbyname",
        "socket.gethostbyaddr",
        "socket.getnameinfo",
        "signal.pthread_kill",
    ]
)
"""Audit events of effects on files, processes and networks. Opening a file for writing is forbidden, too."""


class ForbiddenEffect(RuntimeError):
    """An effect that is forbidden; raised by the operation that was tried."""


class Effects:
    """Records effects in phases; only one phase at a time, for the whole process."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self._found: list[str] = []
        self._active = False
        self._quiet = False
        """Whether reading a file that is not code counts as an effect, too."""

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Check one audit event.

        Raises:
            ForbiddenEffect: The event is an effect on the outside world, during a phase.
        """
        if not self._active:
            return
        what = self._find_effect(event, args)
        if what is not None:
            self._found.append(what)
            raise ForbiddenEffect(what)

    def _find_effect(self, event: str, args: tuple[Any, ...]) -> str | None:
        if event == "open":
            return self._find_open_effect(*args)
        if event == "_thread.start_new_thread":
            return "starts a thread" if self._quiet else None
        return f"{event} {', '.join(map(repr, args))[:_MAX_PRINTED]}" if event in _FORBIDDEN else None

    def _find_open_effect(self, path: Any, _mode: Any, flags: int) -> str | None:
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else str(path)
        if name == os.devnull:
            return None
        if flags & _WRITING:
            return f"opens {name!r} for writing"
        return f"opens {name!r}" if self._quiet and not name.endswith(_CODE) else None

    @contextmanager
    def phase(self, found: list[str], *, quiet: bool = False) -> Generator[None]:
        """Watch until the block ends, even if it raises.

        Args:
            found: Gets the effects.
            quiet: Whether reading a file that is not code, and starting a thread, count as effects, too.
        """
        before = snapshot(self.workspace)
        printed = StringIO()
        self._found, self._quiet = found, quiet
        with redirect_stdout(printed), redirect_stderr(printed):
            self._active = True
            try:
                yield
            finally:
                self._active = False
                if printed.getvalue():
                    found.append(f"prints {printed.getvalue()[:_MAX_PRINTED]!r}")
                found += changes(before, snapshot(self.workspace))

    @contextmanager
    def permitted(self) -> Generator[None]:
        """Permit effects within the block, for `rt.inspect`, which may start programs."""
        before, self._active = self._active, False
        try:
            yield
        finally:
            self._active = before


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return every path below *folder* with its mode, size and time of change; links are not followed."""
    return {
        str(path.relative_to(folder)): (state.st_mode, state.st_size, state.st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        for state in [path.lstat()]
    }


def changes(before: dict[str, tuple[int, int, int]], after: dict[str, tuple[int, int, int]]) -> list[str]:
    """Describe the differences between two snapshots."""
    return [
        *(f"makes {name!r} in the workspace" for name in after if name not in before),
        *(f"removes {name!r} from the workspace" for name in before if name not in after),
        *(f"changes {name!r} in the workspace" for name in before if name in after and before[name] != after[name]),
    ]
