"""Finds the first matching glob, by the index and one after the other, and makes whole decisions with as many rules."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from pathlib import Path
from random import Random
from string import ascii_lowercase, digits
from tempfile import TemporaryDirectory
from typing import Any

from toolcharter import Invocation, Toolbox, ToolPolicy, ToolSpec
from toolcharter.gate.build.open import Plan, open_toolbox
from toolcharter.loader.hooks import new_manager
from toolcharter.loader.load import LoadedPlugins, LoadedTool
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_index import GlobIndex
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.globs import parse_glob
from toolcharter.profile.model import Profile
from toolcharter.profile.rules import Rule, parse_rule

FEW, MANY = 10, 10_000
STEMS = (
    "build",
    "cargo",
    "curl",
    "deploy",
    "docker",
    "git",
    "kubectl",
    "npm",
    "pip",
    "push",
    "secret",
    "test",
    "token",
)
SHAPES = ("{} {}", "{} {} *", "*{}*")

choose = Random(1)


def word() -> str:
    """Return a common stem followed by a few random characters."""
    return choose.choice(STEMS) + "".join(choose.choices(ascii_lowercase + digits, k=choose.randint(3, 6)))


def rules(shapes: Sequence[str], number: int) -> list[str]:
    """Return *number* globs, of each shape in turn."""
    return [shapes[ordinal % len(shapes)].format(word(), word()) for ordinal in range(number)]


def indexed(texts: Sequence[str]) -> GlobIndex:
    """Index globs as a profile does when it is built."""
    return GlobIndex([parse_glob(text) for text in texts])


def regular(text: str) -> str:
    """Return the glob as a regular expression."""
    return ".*".join(map(re.escape, text.split("*")))


def asking(first: Callable[[str], object]) -> Callable[[], None]:
    """Return an operation that calls *first* with the subjects in turn."""
    following: Iterator[str] = cycle(subjects)

    def ask() -> None:
        first(next(following))

    return ask


mixed, starred = rules(SHAPES, MANY), rules(SHAPES[-1:], MANY)
mixed_patterns = [regular(text) for text in mixed]
starred_compiled = [re.compile(regular(text), re.DOTALL) for text in starred]
subjects = [f"{word()} {word()} --{word()}={number}" for number in range(20_000)]


def one_by_one(subject: str) -> int | None:
    """Match linearly, with compiled patterns."""
    for ordinal, pattern in enumerate(starred_compiled):
        if pattern.fullmatch(subject):
            return ordinal
    return None


def build() -> None:
    """Parse and index the rules."""
    indexed(mixed)


def compile_each() -> None:
    """Compile the regular expressions of the rules, whose texts exist already."""
    re.purge()
    for pattern in mixed_patterns:
        re.compile(pattern, re.DOTALL)


BASH = ToolFacts("bash", "bash", capabilities=frozenset({"proc:exec"}))
folder = TemporaryDirectory()
args = cycle([{"command": f"wc -l file-{number}"} for number in range(16)])


def parsed(texts: list[str]) -> tuple[Rule, ...]:
    """Parse globs as rules for commands."""
    return tuple(parse_rule(f"bash:{text}") for text in texts)


def deciding(deny: list[str], allow: list[str]) -> Callable[[], None]:
    """Return an operation that decides a new command each time."""
    view = Policy(parsed(deny), parsed(allow)).for_tool(BASH)
    return asking(lambda command: view.decide(RuleInput(commands=(command,))))


def forget(_event: Any) -> None:
    """Discard an event."""


def toolbox(texts: list[str]) -> Toolbox:
    """Return a toolbox with a tool of kind bash behind *texts*, all of which are deny rules."""

    def build(_workspace: Path, _policy: ToolPolicy, _rt: object) -> Any:
        def bash(command: str) -> str:
            return command

        return bash

    spec = ToolSpec(
        "bash", ToolPolicy, build, kind="bash", invocation=lambda given: Invocation(commands=(given["command"],))
    )
    loaded = LoadedPlugins({"bash": LoadedTool(spec, "bench", "1.0")}, {}, {}, {"bench": "1.0"}, new_manager(), (), {})
    profile = Profile("bench", deny=parsed(texts), allow=parsed(["wc *"]))
    plan = Plan(profile, loaded, {"bash": ToolPolicy()}, {})
    return open_toolbox(plan, workspace=folder.name, caller=None, sinks=[forget])


few, many = toolbox(mixed[:FEW]), toolbox(mixed)
for seen in range(16):  # These commands are decided again later.
    few.decide("bash", next(args))
    many.decide("bash", {"command": f"wc -l file-{seen}"})

OPERATIONS = {
    "few": asking(indexed(mixed[:FEW]).first),
    "many": asking(indexed(mixed).first),
    "few starred": asking(indexed(starred[:FEW]).first),
    "many starred": asking(indexed(starred).first),
    "one by one": asking(one_by_one),
    "build": build,
    "compile": compile_each,
    "few decided": deciding(mixed[: FEW // 2], mixed[FEW // 2 : FEW]),
    "many decided": deciding(mixed[: MANY // 2], mixed[MANY // 2 :]),
    "many starred decided": deciding(starred, []),
    "few again": lambda: few.decide("bash", next(args)),
    "many again": lambda: many.decide("bash", next(args)),
}
