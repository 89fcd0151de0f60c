"""The keeper: a tiny process that outlives the gate, however that ends, and cleans up after its programs.

The keeper waits for the end of a pipe that only the gate's process holds. If that process is killed, it cannot clean up
itself. A signal at the parent's death (prctl(2), PR_SET_PDEATHSIG) would reach one process of a tree only, and would
already be sent when the thread that started it ends.
"""

import subprocess
import threading
import weakref
from contextlib import suppress
from typing import IO, cast

from toolcharter.guards.process.marks import end_runner

_PATIENCE_S = 10.0
# $0 is the mark. Each input line is `+` and a folder (to remove at the end; it has one user more), `-` and a folder (it
# has one user less), or `.` (the parent has done all the work itself). The parent waits while the keeper has not read a
# line. Folders that another process of ours uses are locked; our folders have the sticky bit.
_SCRIPT = r"""
trap '' HUP INT QUIT TERM
left=$(awk '
    $0 == "." { over = 1; exit }
    /^[+]/    { needed[substr($0, 2)]++; next }
              { folder = substr($0, 2); if (--needed[folder] <= 0) delete needed[folder] }
    END       { if (over) print "."; else for (folder in needed) print folder }
' | sort -r)
[ "$left" != . ] || exit
# Were there no awk, or had it been killed, this would not be our end yet.
while read -r line; do :; done
# What lies in another has the longer name, and comes first.
IFS='
'
set -f
set -- $left
set +f
# More than once: a sandbox that was about to start when we died has the mark only when its program begins, which on a busy
# machine takes seconds.
kill_marked() {
    passes=100
    while [ "$passes" -gt 0 ]; do
        passes=$((passes - 1))
        # Its status says nothing: a process that ends meanwhile makes it an error.
        found=$(grep -ls "^Max realtime timeout .* $0 *us" /proc/[0-9]*/limits)
        [ "$found" ] || break
        for file in $found; do file=${file#/proc/}; kill -KILL "${file%%/*}"; done
    done
}
# What a process has just left, or another of these folders lies in, may take another try.
remove_folders() {
    for try in 1 2 3 4 5; do
        left=
        for folder; do [ -k "$folder" ] && { flock -n "$folder" rmdir -- "$folder" || left=1; }; done
        [ "$left" ] || break
        sleep 0.1
    done
}
for pause in 0.25 0.25 0.25 0.25; do kill_marked; sleep "$pause"; done
remove_folders "$@"
for pause in 1 2 4; do sleep "$pause"; kill_marked; done
remove_folders "$@"
"""


class Keeper:
    """Starts a keeper, which kills all processes with the mark *runner* and removes our folders when this process dies.

    The keeper starts at its first use. Safe from many threads.
    """

    def __init__(self, runner: int) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._release: weakref.finalize[..., Keeper] | None = None
        self._pipe: IO[bytes] | None = None

    def watch(self) -> None:
        """Start the keeper if it does not run yet. Does nothing where programs cannot be marked."""
        if self._pipe is None and self._runner:
            with self._lock:
                self._ensure_started()

    def add(self, folder: str) -> None:
        """Have the keeper remove *folder* at the end if it is empty, inner folders first. No line break in its name."""
        self._send(f"+{folder}\n")

    def drop(self, folder: str) -> None:
        """Note that *folder* has one user less. The keeper forgets it after the last one."""
        self._send(f"-{folder}\n")

    def close(self) -> None:
        """Kill the processes that are left, and end the keeper. The caller has dropped all folders before."""
        with self._lock:
            if self._release is not None:
                self._release()
            self._release = self._pipe = None

    def _send(self, line: str) -> None:
        with self._lock:
            self._ensure_started().write(line.encode(errors="surrogateescape"))

    def _ensure_started(self) -> IO[bytes]:
        if self._pipe is None:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, str(self._runner)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
                start_new_session=True,
            )
            self._pipe = cast("IO[bytes]", process.stdin)
            self._release = weakref.finalize(self, _end_keeper, self._pipe, process, self._runner)
        return self._pipe


def _end_keeper(pipe: IO[bytes], process: "subprocess.Popen[bytes]", runner: int) -> None:
    """Kill the processes here, a hundred times as fast as the keeper could, and tell the keeper to end."""
    end_runner(runner)
    with suppress(BrokenPipeError):
        pipe.write(b".\n")
    pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
