"""The cost of shell lines before they run, and of a sandbox around a program."""

import json

from environments import BASHLEX
from measure import Bench, Row, Subject, ratio

# Typical lines of agents: mostly plain, sometimes a loop, an expansion or a redirection.
_LINES = (
    "git status",
    "ls -la src",
    "cat README.md",
    "cd src && ls -la",
    "git diff HEAD~1 -- src/app.py",
    "grep -rn 'def main' src --include=*.py | head -n 20",
    "find . -name '*.py' -type f | xargs wc -l | sort -n",
    "sed -n '1,80p' src/app.py",
    "python -m pytest -q tests 2>&1 | tail -n 5",
    'rg -n "class \\w+" src && git log --oneline -5',
    'for f in *.md; do wc -l "$f"; done',
    "test -f setup.py && echo yes || echo no",
)
_VARIABLES = (("BENCH_LINES", json.dumps(_LINES)),)
_OURS, _THEIRS = Subject("ours/lines.py", variables=_VARIABLES), Subject("peers/bashlex_parse.py", BASHLEX, _VARIABLES)
_CONFINED = Subject("ours/confined.py")
_BALLAST = 1 << 30


def _growth(bench: Bench) -> float:
    with bench.workers(_OURS) as (worker,):
        return float(worker.ask("growth", 500 if bench.quick else 2000))


def _large_parent(bench: Bench) -> float:
    large = Subject("ours/confined.py", variables=(("BENCH_BALLAST", str(bench.scaled(_BALLAST))),))
    return ratio((large, "confined"), (_CONFINED, "confined"))(bench)


_LAUNCHERS = (
    "`prlimit` is started twice, ahead of bubblewrap, which it marks, and within, for the program's limits: a fifth of the bare "
    "time. For root a shell enters a control group: another fifth. In their place code of ours would have to run between fork and "
    "exec, or bubblewrap to live for a moment without the mark by which it is found if we die."
)

ROWS = (
    Row(
        "shell lines read into commands / `bashlex.parse`, which gives a tree",
        ratio((_OURS, "read"), (_THEIRS, "parse")),
        0.1,
    ),
    Row(
        "shell lines read, looked up in tables and held against the floor / `bashlex.parse`",
        ratio((_OURS, "judge"), (_THEIRS, "parse")),
    ),
    Row(
        "judgement and decision of a shell line seen before / `bashlex.parse`",
        ratio((_OURS, "recall"), (_THEIRS, "parse")),
        0.002,
    ),
    Row(
        "whole `decide` on a shell line seen before, through a toolbox / `bashlex.parse`",
        ratio((_OURS, "again"), (_THEIRS, "parse")),
    ),
    Row("hostile nesting of four times the size / four times the time", _growth, 1.5),
    Row(
        "program in a sandbox, through the bubblewrap runner / bare `bwrap` with the same flags",
        ratio((_CONFINED, "confined"), (_CONFINED, "bare")),
        1.3,
        price=_LAUNCHERS,
    ),
    Row("program in a sandbox, started by a parent of 1 GiB / by a small parent", _large_parent, 1.3),
)
