"""What a command asks for as a whole: no rule, where it does nothing by itself, or more than its words do one by one."""

import re
from collections.abc import Sequence
from typing import Final

from toolcharter.guards.shell.nodes import Word
from toolcharter.guards.shell.programs.collector import RequirementCollector, is_number
from toolcharter.guards.shell.programs.options import Divided
from toolcharter.guards.shell.programs.table import Table
from toolcharter.guards.shell.setters import sets_own

# Of `set`: with these a line ends earlier than it would, or one of its pipelines fails.
_STRICTER: Final = re.compile(r"(?:(?: |\A)[-+](?:[eu]+|[eu]*o (?:pipefail|errexit|nounset)))+")
# Of `trap`: when the line ends, or one of its commands fails. What runs then has to be covered itself.
_LATER: Final = re.compile(r"(?:EXIT|0|ERR)(?: (?:EXIT|0|ERR))*")


def needs_no_rule(table: Table, words: Sequence[Word]) -> bool:
    """Whether a program needs no rule of its own with these *words*, its name among them."""
    match table.transparent:
        case "numbers":
            return all(is_number(word.text or "") for word in words[1:])
        case "settings":
            return _STRICTER.fullmatch(" ".join(word.text or "''" for word in words[1:])) is not None
        case "own variables":
            return sets_own(words)
        case "at the end":
            texts = [word.text for word in words[1:]]
            return (
                None not in texts
                and _LATER.fullmatch(" ".join(map(str, texts[1:]))) is not None
                and texts[0] not in {"", "-"}
            )
        case other:
            return other == "always"


def ask_more(name: Word, words: Sequence[Word], divided: Divided, table: Table, asking: RequirementCollector) -> None:
    """Some programs do more than is ordinary: with too few operands, with any, or without one of some options."""
    count = len(divided.operands)
    lacks = bool(table.requires) and table.requires.isdisjoint(divided.given)
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
            asking.need(word, why)
