"""Runs lines under strace inside the sandbox, one after the other. It imports no other module of ours: none is there.

    python driver.py ROOT WORKSPACE PRISTINE OUT

It reads a JSON list per line from its input, with a text and the time limit in seconds, and answers each with
`{"status": ..., "changed": [...]}`. The trace and the output are in OUT. Afterwards, the folders below ROOT are again
as in PRISTINE.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SECONDS = 2.0
"""The default time limit of a line, in seconds."""
_BYTES = 20_000_000
_MEMORY = 2 * 1024**3
_XTRACE = 9
TRACED = (
    "execve,execveat,open,openat,openat2,creat,unlink,unlinkat,rmdir,rename,renameat,renameat2,link,linkat,symlink,"
    "symlinkat,mkdir,mkdirat,mknod,mknodat,chmod,fchmod,fchmodat,chown,lchown,fchown,fchownat,truncate,utimensat,"
    "setxattr,lsetxattr,fsetxattr,connect,bind,sendto,stat,lstat,newfstatat,statx,access,faccessat,faccessat2,"
    "readlink,readlinkat,chdir,clone,clone3,fork,vfork"
)
_STRACE = ("strace", "--seccomp-bpf", "-f", "-y", "-q", "-s", "4096", "-e", f"trace={TRACED}", "-e", "signal=none")
_BASH = ("bash", "--noprofile", "--norc", "-p", "-x", "-c", "--")
State = dict[str, tuple[int, ...]]


def main() -> None:
    """Serve until the input ends."""
    root, workspace, pristine, out = map(Path, sys.argv[1:])
    before = state(root)
    for asked in sys.stdin:
        line, seconds = json.loads(asked)
        status = run(line, seconds, workspace, out)
        after = state(root)
        changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
        if changed:
            restore(root, pristine)
            before = state(root)
        print(json.dumps({"status": status, "changed": changed}), flush=True)


def run(line: str, seconds: float, workspace: Path, out: Path) -> int | None:
    """Run *line* as the shell tool does, but traced; return its status, or None if it took too long."""
    with (
        (out / "stdout").open("wb") as stdout,
        (out / "stderr").open("wb") as stderr,
        (out / "xtrace").open("wb") as log,
    ):
        os.dup2(log.fileno(), _XTRACE)
        program = subprocess.Popen(
            [*_STRACE, "-o", str(out / "trace"), *_BASH, line],
            cwd=workspace,
            env={**os.environ, "BASH_XTRACEFD": str(_XTRACE)},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(_XTRACE,),
            preexec_fn=_limit,  # noqa: PLW1509 - one thread
        )
        os.close(_XTRACE)
        try:
            return program.wait(seconds)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
            return None
        finally:
            _kill_all()


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _kill_all() -> None:
    """Kill all remaining processes: in a new process namespace, that is all except this one and the first."""
    if os.getpid() < 100:  # noqa: PLR2004 - a namespace that began a moment ago
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return


def state(root: Path) -> State:
    """Return facts that show whether a file has changed, by path."""
    return {str(path.relative_to(root)): facts for path, facts in _walk(root)}


def _walk(folder: Path) -> Iterator[tuple[Path, tuple[int, ...]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            found = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield Path(entry.path), (found.st_mode,)
                yield from _walk(Path(entry.path))
            else:
                yield Path(entry.path), (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def restore(root: Path, pristine: Path) -> None:
    """Make the content of *root* equal to that of *pristine*."""
    for path in root.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.copytree(pristine, root, symlinks=True, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
