"""Parses and analyses shell lines: ordinary ones in turn, repeated ones, and hostile ones."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from time import process_time
from typing import Any

from toolcharter import Invocation, Toolbox, ToolPolicy, ToolSpec
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.gate.call import CallContext
from toolcharter.guards.shell.analyse import analyse
from toolcharter.guards.shell.nodes import NotUnderstood
from toolcharter.guards.shell.parse.script import parse
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import parse_rule

LINES: list[str] = json.loads(os.environ["BENCH_LINES"])
folder = tempfile.TemporaryDirectory()
workspace = str(Path(folder.name).resolve())
lines = cycle(LINES)
repeated = cycle([{"command": line} for line in LINES])
HOSTILE: tuple[Callable[[int], str], ...] = (
    lambda size: "echo " + "$(" * (size // 2),
    lambda size: "(" * size,
    lambda size: "{" * size,
    lambda size: "a" + "{" * (size // 2) + "}" * (size // 2),
    lambda size: '"${x:-' * (size // 6),
    lambda size: "`" * size,
    lambda size: "if a; then " * (size // 11),
    lambda size: "a | " * (size // 4),
    lambda size: "'" * size,
    lambda size: "a <<E\n" * (size // 6),
    lambda size: "[[ ( " * (size // 5),
    lambda size: "x" + "\\\n" * (size // 2),
)
"""Constructs that nest or need look-ahead, as often as they fit into a line of a given length."""


def toolbox() -> Toolbox:
    """Return a toolbox with a tool of kind bash that may run anything, so paths in its lines are not checked."""

    def build(_workspace: Path, _policy: ToolPolicy, _rt: object) -> Any:
        def bash(command: str) -> str:
            return command

        return bash

    spec = ToolSpec(
        "bash", ToolPolicy, build, kind="bash", invocation=lambda given: Invocation(commands=(given["command"],))
    )
    loaded = LoadedPlugins({"bash": LoadedTool(spec, "bench", "1.0")}, {}, {}, {"bench": "1.0"}, new_manager(), (), {})
    plan = Plan(Profile("bench", allow=(parse_rule("bash:*"),)), loaded, {"bash": ToolPolicy()}, {})
    return open_toolbox(plan, workspace=folder.name, caller=None, sinks=[lambda _: None])


def judged() -> Iterator[tuple[CallContext, bytes]]:
    """Yield each line as the gate has it after validation: the context of a decision, and the key of the cache."""
    for args in ({"command": line} for line in LINES):
        yield PIPELINE.run_decision_stages(args, None, None, dry=True), PIPELINE.tool.reader.canonicalize(args)[1]


box = toolbox()
box.decide("bash", {"command": ""})
PIPELINE = box._pipelines["bash"]  # noqa: SLF001 - a part of a decision is measured
seen = cycle(judged())


def growth(size: int) -> float:
    """Return the worst time for a line of four times *size* / four times the time for *size*: 1 is linear."""
    return max(_seconds(make(4 * size)) / (4 * _seconds(make(size))) for make in HOSTILE)


def _seconds(line: str) -> float:
    """Return the best time of five runs."""
    return min(_once(line) for _ in range(5)) + 50e-6  # Shorter times do not matter.


def _once(line: str) -> float:
    started = process_time()
    with suppress(NotUnderstood):
        analyse((line,), workspace)
    return process_time() - started


OPERATIONS = {
    "read": lambda: parse(next(lines), workspace),
    "judge": lambda: analyse((next(lines),), workspace),
    "recall": lambda: PIPELINE.policy.judge(*next(seen)),
    "again": lambda: box.decide("bash", next(repeated)),
}
REPORTS = {"growth": growth}
