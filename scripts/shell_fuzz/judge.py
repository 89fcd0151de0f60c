"""Judges a line as the gate does under the sample policy, without a toolbox."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolcharter.gate.commands import analyse_commands
from toolcharter.gate.stages.s4_confine import Confinement
from toolcharter.guards.shell.nodes import Command, Word
from toolcharter.guards.shell.parse.script import parse
from toolcharter.policy.evaluate import Policy
from toolcharter.policy.rule_input import RuleInput, ToolFacts
from toolcharter.profile.rules import parse_rule

ALLOWED = "allowed"
_WRITTEN = frozenset({"local", "return", "mapfile", "readarray", "read", "echo", "printf"})
"""Commands that the guard judges in another form, or as one word instead of several."""
_BASH = ToolFacts("bash", "bash", ("exec", "tool_exec"), capabilities=frozenset({"fs:read", "proc:exec"}))


class Verdict(NamedTuple):
    """The verdict on a line."""

    reason: str
    """`allowed`, or the reason of the refusal."""

    @property
    def is_allowed(self) -> bool:
        """Whether it may run."""
        return self.reason == ALLOWED


class Judge:
    """The stages 3 and 4 of the gate for one workspace.

    Args:
        workspace: Its real path.
        rules: The policy's `allow`; its mode is `restrict`.
    """

    def __init__(self, workspace: Path, rules: Sequence[str]) -> None:
        self.workspace = str(workspace)
        self._view = Policy(allow=[parse_rule(rule, "") for rule in rules], mode="restrict").for_tool(_BASH)
        self._lookout = Confinement(workspace)

    def verdict(self, line: str) -> Verdict:
        """Return whether *line* may run, and the reason if not."""
        found = analyse_commands((line,), self.workspace)
        subject = RuleInput(None, {"command": line}, found.commands, found.refusal, found.needs, found.unsupported)
        decision = self._view.decide(subject)
        if decision.outcome != "allow":
            return Verdict(str(decision.reason))
        denied = None if found.preconditions is None else self._lookout.find_objection(found.preconditions)
        return Verdict(ALLOWED if denied is None else str(denied.reason))

    def is_foreseen(self, argv: Sequence[str], line: str) -> bool:
        """Whether bash may run *argv* in *line*: builtins of `_WRITTEN` and functions as written, others as judged."""
        written = parse(line, self.workspace)
        if argv[:1] and (argv[0] in _WRITTEN or argv[0] in written.functions):
            return is_foreseen(argv, [*written.commands, *self._later(written.commands)])
        commands = parse(line, self.workspace, is_line=True, lists=True).commands
        return is_foreseen(argv, [*commands, *self._later(commands)])

    def _later(self, commands: Sequence[Command]) -> list[Command]:
        """Return the commands that bash runs later because of `trap`."""
        traps = (one.words[1].text or "" for one in commands if len(one.words) > 1 and one.words[0].text == "trap")
        return [one for text in traps for one in parse(text, self.workspace).commands]


def is_foreseen(argv: Sequence[str], commands: Sequence[Command]) -> bool:
    """Whether bash may run *argv* as one of *commands*. Known words must be equal; others may have any value."""
    return any(_fits(argv, command.words) for command in commands)


def _fits(argv: Sequence[str], words: Sequence[Word]) -> bool:
    places = {0}
    for word in words:
        reached: set[int] = set()
        for place in places:
            if word.pattern is not None or word.splits:
                least = place if word.pattern is None else place + 1
                reached |= set(range(least, len(argv) + 1))
            elif place < len(argv) and _may_be(argv[place], word):
                reached.add(place + 1)
        places = reached
    return len(argv) in places


def _may_be(text: str, word: Word) -> bool:
    if word.form == "-":  # The guard resolves the `-` of `cd -`; bash runs it as written.
        return text == "-"
    return text == word.text if word.text is not None else text.startswith(word.prefix)


def program_names(rules: Sequence[str]) -> tuple[str, ...]:
    """Return the programs that `bash:` rules name."""
    found = (re.match(r"bash:(\S+)", rule) for rule in rules)
    return tuple(dict.fromkeys(match[1] for match in found if match))
