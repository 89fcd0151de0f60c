"""Commands in the index of an array: a shell runs them when it evaluates a name or an expression.

Source: bash(1), "ARITHMETIC EVALUATION" and "Arrays": bash expands an index, so that it runs `$(...)` in it, even if the name
comes from a variable, from input or from a quoted word.
"""

import re
from collections.abc import Iterable, Iterator

from toolcharter.guards.shell.floor.context import Context, base_name
from toolcharter.guards.shell.floor.interpreters import EVALUATES_TEXT
from toolcharter.guards.shell.nodes import Assignment, Command, Word

_INDEX = re.compile(r"[A-Za-z_]\w*\[[^\]]*(?:\$\(|`|\$\{)")
_EXPRESSION = re.compile(r"[\s\w=+*/%(),<>!&|^~?:-]*(?<![^\W\d])" + _INDEX.pattern)
_QUOTED_INDEX = re.compile(r"\$\{[!#]?[A-Za-z_]\w*\[\s*['\"\\][^\]]*(?:\$\(|`)")
_PROMPT = re.compile(r"PS[0-4]|PROMPT_COMMAND")
EVALUATORS = frozenset(
    """[ [[ declare export exit getopts let local mapfile print printf read readarray readonly return shift test typeset
    ulimit unset wait""".split()
)
"""Builtins that evaluate a name or a number among their words."""
_OTHER_SHELLS = frozenset({"zsh", "ksh", "mksh"})


def may_hold_index(text: str) -> bool:
    """Whether a text may hold a command in an index: a fast check."""
    return "[" in text and ("$" in text or "`" in text)


def check_indices(context: Context) -> str | None:
    """`read 'a[$(TEXT)]'`, `x='a[$(TEXT)]'; echo $((x))`, `${x['$(TEXT)']}`: why a script is catastrophic."""
    script, commands = context.script, context.script.commands
    if not _may_be_relevant(commands):
        return None
    prompts = (
        one.value.text or "" for command in commands for one in command.assignments if _PROMPT.fullmatch(one.name)
    )
    if (why := next((why for text in prompts if (why := context.check_source(text))), None)) is not None:
        return why
    if any("@P}" in form for command in commands for form in _non_literal_forms(command)):
        return (
            EVALUATES_TEXT
            if any("$(" in text or "`" in text for one in commands for text in _possible_names(one))
            else None
        )
    if any(_QUOTED_INDEX.search(form) for command in commands for form in _non_literal_forms(command)):
        return EVALUATES_TEXT
    carried = any(
        may_hold_index(text) and _EXPRESSION.match(text) for command in commands for text in _possible_names(command)
    )
    return EVALUATES_TEXT if carried and (script.unsupported or any(map(_evaluates_names, commands))) else None


def _may_be_relevant(commands: Iterable[Command]) -> bool:
    """Whether *commands* hold a bracket, or a prompt or text that is expanded like one: a fast check that most lines pass."""
    for command in commands:
        for word in command.words:
            text = word.text or word.form
            if "[" in text or "@P}" in text:
                return True
        if command.assignments and any(map(may_be_evaluated, command.assignments)):
            return True
        for target in command.redirections:
            if "[" in (target.text or ""):
                return True
    return False


def may_be_evaluated(one: Assignment) -> bool:
    """Whether an assignment sets a prompt, or holds a bracket or text that is expanded like a prompt."""
    text = f"{one.form} {one.value.text}"
    return "[" in text or "@P}" in text or _PROMPT.fullmatch(one.name) is not None


def _possible_names(command: Command) -> Iterator[str]:
    """The texts of a command that are names, or may become the value of a variable."""
    yield from (word.text or word.form.replace("'", "").replace('"', "") for word in command.words)
    yield from (one.value.text for one in command.assignments if one.value.text)
    yield from (one.form for one in command.assignments if "[" in one.form.partition("=")[0])
    yield from (one.text for one in command.redirections if one.text)


def _non_literal_forms(command: Command) -> Iterator[str]:
    yield from (word.form for word in command.words if word.text is None)
    yield from (one.form for one in command.assignments if one.value.text is None)


def _evaluates_names(command: Command) -> bool:
    words = command.words
    if not words:
        return any("[" in one.form.partition("=")[0] for one in command.assignments)
    at = next((place for place, word in enumerate(words) if word.text not in {"builtin", "command"}), 0)
    name = base_name(words[at].text or "")
    return name in _OTHER_SHELLS or (name in EVALUATORS and not _only_compares(name, words[at + 1 :]))


def _only_compares(name: str, words: tuple[Word, ...]) -> bool:
    """Whether a builtin only prints or compares texts."""
    texts = [word.text for word in words]
    if name == "printf":
        return not (texts and (texts[0] or "-v").startswith("-v"))
    if name in {"test", "[", "[["}:
        return _NUMERIC.isdisjoint(texts)
    return False


_NUMERIC = frozenset({"-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-t"})
