"""The keeper: a tiny process that outlives us, however we end, and does away with what our programs leave.

It waits for the end of a pipe that only we hold. A parent that is killed can clean up nothing itself, and a signal at
the parent's death (prctl(2), PR_SET_PDEATHSIG) would reach one process of a tree, and come with the end of a mere thread.
"""

import subprocess
import threading
import weakref
from contextlib import suppress
from typing import IO, cast

from toolcharter.guards.process.marks import end_runner

_PATIENCE_S = 10.0
# $0 is the mark. Each line read is `+` or `-` and a folder of ours: one to remove, once for each that needs it, or one that
# is needed once less; or `.`, when we have done all that ourselves. We wait where lines are not read as fast as they come.
# What other processes of ours use is locked; ours have a sticky bit.
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
    """Kills what has the mark *runner*, and removes the folders given to it, when we die.

    Started by its first use. Safe from many threads.
    """

    def __init__(self, runner: int) -> None:
        self._runner = runner
        self._lock = threading.Lock()
        self._release: weakref.finalize[..., Keeper] | None = None
        self._pipe: IO[bytes] | None = None

    def watch(self) -> None:
        """See to it that the keeper is there; nothing where programs cannot be marked."""
        if self._pipe is None and self._runner:
            with self._lock:
                self._started()

    def add(self, folder: str) -> None:
        """Remove *folder* at the end if it is empty, the one added last first; its name holds no line break."""
        self._tell(f"+{folder}\n")

    def drop(self, folder: str) -> None:
        """Forget *folder*, which is no more."""
        self._tell(f"-{folder}\n")

    def close(self) -> None:
        """Kill what is left, and end. The folders have been dropped by now."""
        with self._lock:
            if self._release is not None:
                self._release()
            self._release = self._pipe = None

    def _tell(self, line: str) -> None:
        with self._lock:
            self._started().write(line.encode(errors="surrogateescape"))

    def _started(self) -> IO[bytes]:
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
            self._release = weakref.finalize(self, _end, self._pipe, process, self._runner)
        return self._pipe


def _end(pipe: IO[bytes], process: "subprocess.Popen[bytes]", runner: int) -> None:
    """Do the keeper's work, which takes it a hundred times as long, and let it go."""
    end_runner(runner)
    with suppress(BrokenPipeError):
        pipe.write(b".\n")
    pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_PATIENCE_S)
