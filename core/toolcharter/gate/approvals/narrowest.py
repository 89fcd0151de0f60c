"""The rule that "allow always" keeps: this call and no other, or none at all.

Source: lessons.md, 11: the narrowest rule, never one for an interpreter or a wrapper, and never for more than one
command.
"""

import json
import os
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter.gate.approvals.visible import visible
from toolcharter.guards.secrets import scrub_bytes
from toolcharter.guards.shell.parts import quoted
from toolcharter.profile.globs import escape_glob
from toolcharter.spec.words import RULE_PREFIXES

MAX_RULE_BYTES = 4096
"""A rule is something that a person reads again."""

_SIMPLE_ACTION = re.compile(r"[a-z0-9_.-]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
# python3.11, python3.13t, gcc-12, python2.7-dbg: a name, its version, and a letter or two of its build.
_VERSION = re.compile(r"[-.]?[0-9][0-9.]*[a-z]{0,2}\Z")
# What `npm test` runs stands in the project's files, like the tests that `pytest` runs: approving the exact command is
# what people mean by "always". Anything more, an option, a variable or a second word, could name another program.
_RUNNERS = frozenset({"npm", "pnpm", "yarn"})
_SCRIPT = re.compile(r"[a-z0-9][a-z0-9:_-]*")
_RUN_AND_NAME = 2
_STARTING = frozenset({"create", "dlx", "exec", "explore", "init", "x"})
"""Their own subcommands that start a program, or fetch one; `run` alone names none."""
_MAX_NAME = 255
"""No file has a longer name."""


class Always(NamedTuple):
    """What "allow always" would keep, or why it is not offered."""

    rule: str | Mapping[str, Any] | None = None
    """As an entry of `allow`: a text, or a mapping with `rule` and `when`."""
    why_not: str | None = None
    """A sentence for the person who is asked; None if there is a rule."""

    @property
    def text(self) -> str | None:
        """The rule as a person reads it, whole and in one line."""
        return self.rule if self.rule is None or isinstance(self.rule, str) else _dumps(self.rule)


def narrowest(
    kind: str,
    tool: str,
    action: str | None,
    args: Mapping[str, Any],
    *,
    commands: Sequence[str] = (),
    sources: Collection[object] = (),
    arguments: Collection[str] | None,
    workspace: Path,
) -> Always:
    """Find the rule that covers this call and no other.

    Args:
        kind: Of the tool.
        tool: Its canonical name.
        action: What the call does, as rules name it.
        args: The validated arguments, unscrubbed, defaults filled in; JSON types only.
        commands: What it would run, each in normal form.
        sources: The same as the tool gives it: an argument that is one of them is bound by the command.
        arguments: The names of all arguments that the tool can be given; None if they are not a closed list.
        workspace: The folder that tools can write to.
    """
    why_not = next((why for why in (_unfit(command, workspace) for command in commands) if why), None)
    if why_not:
        return Always(why_not=why_not)
    try:
        shown = _dumps([args, *commands]).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError):
        return Always(why_not="Its arguments are no JSON.")
    if scrub_bytes(shown)[1]:
        return Always(why_not="It holds what may be a secret, which must not be stored.")
    if kind == "bash" and commands:
        always = _of_command(commands, args, sources, arguments)
    else:
        always = _of_arguments(tool, action, args, arguments)
    if always.text is not None and len(always.text.encode("utf-8", "surrogatepass")) > MAX_RULE_BYTES:
        return Always(why_not=f"The rule would be longer than {MAX_RULE_BYTES} bytes.")
    return always


def _of_command(
    commands: Sequence[str], args: Mapping[str, Any], sources: Collection[object], names: Collection[str] | None
) -> Always:
    """The rule for one command, and for all that stands beside it, such as what it reads on its standard input."""
    if len(commands) > 1:
        return Always(why_not="It is more than one command.")
    if names is None:
        return Always(why_not="It may be given arguments that its tool does not list.")
    rule = "bash:" + escape_glob(commands[0])
    others = sorted(name for name in {*names, *args} if args.get(name) not in sources)
    when = {name: {"const": args.get(name)} for name in others}
    return Always({"rule": rule, "when": when} if when else rule)


def _of_arguments(tool: str, action: str | None, args: Mapping[str, Any], names: Collection[str] | None) -> Always:
    if tool.lower() in RULE_PREFIXES:
        return Always(why_not=f"A rule cannot name {tool!r} alone.")
    if names is None:
        return Always(why_not=f"{tool!r} may be given arguments that it does not list.")
    # An argument that is absent is null to `when`: without this the rule would cover calls that have it.
    when = {name: {"const": args.get(name)} for name in sorted({*names, *args})}
    rule = f"{tool}:{action}" if action is not None and _SIMPLE_ACTION.fullmatch(action) else tool
    return Always({"rule": rule, "when": when} if when else rule)


def _unfit(command: str, workspace: Path) -> str | None:
    """Why no rule is kept for *command*, in normal form; None if one may be."""
    if visible(command) != command:
        return "The command holds characters that cannot be seen."
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    # The normal form of plain words; anything else is an expansion, a redirection, or not understood.
    if not words or " ".join(map(quoted, words)) != command:
        return "The command is more than plain words."
    program = words[0]
    if _ASSIGNMENT.match(program):
        return "The command sets a variable."
    if is_launcher(program) and not _is_script(words):
        return f"{program!r} can run any other program."
    if "/" in program and _is_changeable(Path(program), workspace):
        return f"{program!r} is a file that tools could change."
    return None


def _is_script(words: Sequence[str]) -> bool:
    """Whether the command runs one script that the project names, as `npm test` does, and nothing else."""
    program, *script = words
    return (
        program in _RUNNERS
        and 1 <= len(script) <= _RUN_AND_NAME
        and all(map(_SCRIPT.fullmatch, script))
        and (script[0] == "run") == (len(script) == _RUN_AND_NAME)
        and script[0] not in _STARTING
    )


def _is_changeable(program: Path, workspace: Path) -> bool:
    """Whether *program* is named from some current folder, or it or a link on its way lies in the workspace."""
    places = (program, Path(os.path.realpath(program)))
    roots = {workspace, Path(os.path.realpath(workspace))}
    return not program.is_absolute() or any(place.is_relative_to(root) for place in places for root in roots)


def is_launcher(program: str) -> bool:
    """Whether *program* is known to run other programs or code.

    Args:
        program: As written: `python3.11`, `/usr/bin/env`, `x86_64-linux-gnu-gcc-12`. One of its parts between hyphens
            suffices, so that the many names of one program need not be listed.
    """
    name = program.rpartition("/")[2].lower().removesuffix(".exe")
    parts = (name, *name.split("-"))
    return len(name) > _MAX_NAME or any(
        part in _launchers() or _VERSION.sub("", part) in _launchers() for part in parts
    )


@cache
def _launchers() -> frozenset[str]:
    lines = Path(__file__).with_name("launchers.txt").read_text("ascii").splitlines()
    return frozenset(word for line in lines for word in line.partition("#")[0].split())


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
