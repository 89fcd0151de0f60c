"""Which role each operand of a command has, by its place among them."""

from collections.abc import Sequence

from toolcharter.guards.shell.nodes import Word
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.table import Operands, Role


def assign(words: Sequence[Word], operands: Operands, asking: RequirementCollector, *, appends: bool = False) -> None:
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
            asking.need(word, "is more than its program takes")
        elif role.kind == "command":
            asking.command(words[place:], appends=appends)
            return
        elif role.kind == "run":
            asking.run(words[place:])
            return
        elif role.kind == "source_or_command":
            asking.source_or_command(words[place:])
            return
        elif role.kind == "script" and role is rest:
            asking.source(words[place:])
            return
        else:
            asking.operand(role, word, may_grow=word.splits and operands.take_many(place))


def _is_assignment(word: Word) -> bool:
    return "=" in (word.prefix if word.text is None else word.text)
