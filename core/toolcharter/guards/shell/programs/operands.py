"""Gives each operand of a command its role, by position, and collects the requirements of the command as a whole."""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.nodes import Word
from toolcharter.guards.shell.programs.collector import RequirementCollector, is_number
from toolcharter.guards.shell.programs.options import ParsedWords
from toolcharter.guards.shell.programs.table import Operands, Role, Table
from toolcharter.guards.shell.setters import sets_only_line_variables

# Options of `set` that only make the line end earlier, a pipeline fail, or bash print what it runs. For the last, bash expands
# `PS4`, which a rule has to mention if the line sets it.
_STRICT_OPTIONS: Final = re.compile(
    r"(?:(?: |\A)[-+](?:[euvx]+|[euvx]*o (?:pipefail|errexit|nounset|verbose|xtrace)))+"
)
# The events of `trap` at the end of the line or after a failed command. Rules have to cover the commands that run then.
_TRAP_EVENTS: Final = re.compile(
    r"(?:EXIT|0|ERR|(?:SIG)?(?:INT|TERM|HUP))(?: (?:EXIT|0|ERR|(?:SIG)?(?:INT|TERM|HUP)))*"
)


def assign_roles(
    words: Sequence[Word], operands: Operands, collector: RequirementCollector, *, appends: bool = False
) -> None:
    """Give each of *words* its role among *operands*."""
    rest, last = operands.rest, operands.last
    roles: list[Role | None] = list(operands.first)
    if rest is not None and rest.kind == "assignment":
        start = len(roles)
        while len(roles) < len(words) and _is_assignment(words[len(roles)]):
            roles.append(rest)
        roles += last if len(roles) >= start else ()
    else:
        roles += [rest] * (len(words) - len(roles) - len(last)) if rest else ()
        roles += last
    for place, word in enumerate(words):
        role = roles[place] if place < len(roles) else None
        if role is None:
            collector.require(word, "is more than its program takes")
        elif role.kind == "command":
            collector.add_command(words[place:], appends=appends)
            return
        elif role.kind == "run":
            collector.add_required_command(words[place:])
            return
        elif role.kind == "source_or_command":
            collector.add_source_or_command(words[place:])
            return
        elif role.kind == "script" and role is rest:
            collector.add_source(words[place:])
            return
        else:
            collector.add_operand(role, word, may_repeat=word.splits and operands.are_repeatable(place))


def _is_assignment(word: Word) -> bool:
    return "=" in (word.prefix if word.text is None else word.text)


def needs_no_rule(table: Table, words: Sequence[Word]) -> bool:
    """Whether a program needs no rule of its own with *words*, which begin with its name."""
    match table.transparent:
        case "numbers":
            return all(is_number(word.text or "") for word in words[1:])
        case "settings":
            return _STRICT_OPTIONS.fullmatch(" ".join(word.text or "''" for word in words[1:])) is not None
        case "own variables":
            return sets_only_line_variables(words)
        case "at the end":
            texts = [word.text for word in words[1:]]
            return (
                None not in texts
                and _TRAP_EVENTS.fullmatch(" ".join(map(str, texts[1:]))) is not None
                and texts[0] not in {"", "-"}
            )
        case other:
            return other == "always"


def collect_extra_mentions(
    name: Word, words: Sequence[Word], parsed: ParsedWords, table: Table, collector: RequirementCollector
) -> None:
    """Collect what rules have to mention because a program does more with too few operands, with any, or without an option."""
    count = len(parsed.operands)
    lacks = bool(table.requires) and table.requires.isdisjoint(parsed.given)
    is_short = count < table.at_least and (lacks or not table.requires)
    more = []
    if is_short or (table.alone_named and not count):
        more.append("does more where less than that follows it")
    if table.named_with_operands and count:
        more.append("does more with the words that follow it")
    if lacks:
        more.append(f"asks, edits or runs more without one of {', '.join(sorted(table.requires))}")
    for why in more:
        for word in (name, *words) if is_short or table.written_out else (name,):
            collector.require(word, why)
