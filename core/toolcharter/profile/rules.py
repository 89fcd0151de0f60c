"""Parses one entry of `deny`, `ask` or `allow` into its parts. `toolcharter.policy` decides what a rule matches.

docs/profiles.md, "Rules", describes the language to authors.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcharter.api.words import RULE_PREFIXES
from toolcharter.profile.globs import Glob, GlobError, parse_glob
from toolcharter.profile.names import any_case_pattern

_NAME_PART = re.compile(r"[A-Za-z0-9_*-]+")
_EMPTY_PART = re.compile(r"(?:^|:)(?:\s|:|$)|\s(?::|$)")
_BARE_PARENTHESIS = re.compile(r"(?<!\\)(?:\\\\)*[()]")
_COMMA = re.compile(r"(?s:\\.)|(,)")
_WITHOUT_ARGUMENTS = frozenset({"group", "cap"})
"""Prefixes of rules that match no arguments and no action."""

GLOB_PATTERN = r"(?:[^\\]|\\[\\*])+"
"""A pattern for every text that `parse_glob` accepts, except the empty text; for Python and for JSON Schema."""
_SUBJECT = r"(?:[^\\(]|\\[\\*])+"
_ARGS = r"(?:\((?:[^\\]|\\[\\*,()])+\))?"
_TOOL_PREFIXES = "|".join(map(any_case_pattern, ("builtin", "cli", "custom")))
_GLOB_PREFIXES = "|".join((r"\*", *map(any_case_pattern, ("mcp", "group", "cap"))))
RULE_PATTERN = (
    rf"{any_case_pattern('bash')}(?::{GLOB_PATTERN})?|(?:{_GLOB_PREFIXES}):{_SUBJECT}{_ARGS}"
    rf"|(?:(?:{_TOOL_PREFIXES}):)?[A-Za-z0-9_*-]+(?::{_SUBJECT})?{_ARGS}"
)
"""A pattern that matches every rule, and few other texts."""


class RuleError(ValueError):
    """A rule that cannot be parsed."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what} {fix}".rstrip())


class Rule(NamedTuple):
    """A parsed rule."""

    text: str
    """The rule as written."""
    source: str
    """`file:line:column`."""
    prefix: str
    """`bash`, `builtin`, `cli`, `mcp`, `custom`, `*`, `group` or `cap`; empty for a bare glob."""
    glob: Glob
    """The glob for the subject; in lower case unless the subject is a command."""
    args: tuple[tuple[str, Glob], ...] = ()
    """Globs for string arguments; all must match."""
    when: Mapping[str, Any] | None = None
    """A JSON Schema for each argument; all must hold."""
    reason: str | None = None
    message: str | None = None

    def plain(self) -> str | dict[str, Any]:
        """Return the rule as a profile would write it."""
        long = {"when": None if self.when is None else dict(self.when), "reason": self.reason, "message": self.message}
        given = {key: value for key, value in long.items() if value is not None}
        return {"rule": self.text, **given} if given else self.text


def parse_rule(text: str, source: str = "", **long_form: Any) -> Rule:
    """Parse a rule.

    Args:
        text: A rule such as `git:push`, `bash:git log *`, `read_file(path=*secret*)`, `group:fs`.
        source: Its place.
        **long_form: `when`, `reason` and `message`, from the same entry.

    Raises:
        RuleError: It says what is wrong and what to write instead.
    """
    prefix, rest = _split_prefix(text)
    try:
        if prefix == "bash":
            if rest != rest.strip():
                raise RuleError("no command begins or ends with a blank.", f"Write {f'bash:{rest.strip()}'!r}.")
            return Rule(text, source, prefix, parse_glob(rest), **long_form)
        if prefix not in {"*", "mcp", *_WITHOUT_ARGUMENTS}:
            _check_name(text, prefix, re.split(r"[:(]", rest)[0])
        subject, args = _parse_selectors(rest)
        if _EMPTY_PART.search(subject):
            what = f"in {subject!r}, a name or an action is empty, or has a blank at its end."
            raise RuleError(what, "Write a rule such as 'git:push'; a command follows 'bash:'.")
        glob = parse_glob(subject).folded()
    except GlobError as error:
        raise RuleError(f"{error}.") from error
    if prefix in _WITHOUT_ARGUMENTS and args:
        raise RuleError(f"'{prefix}:' takes no arguments.", "Name the tools instead, or use `when`.")
    return Rule(text, source, prefix, glob, args, **long_form)


def _split_prefix(text: str) -> tuple[str, str]:
    if text.lower() == "bash":
        return "bash", "*"
    first, colon, rest = text.partition(":")
    prefix = first.lower()
    if prefix not in RULE_PREFIXES:
        return "", text
    if not colon:
        if prefix == "*":
            return "", text
        raise RuleError(f"{text!r} is a prefix with nothing after it.", f"Write '{prefix}:*' for all of them.")
    if not rest:
        raise RuleError(f"nothing follows '{prefix}:'.", f"Write '{prefix}:*' for all of them.")
    return prefix, rest


def _check_name(text: str, prefix: str, name: str) -> None:
    """Refuse a name that no tool's name could match: a rule that never matches protects nothing."""
    if not prefix and name.lower() in RULE_PREFIXES - {"*"}:
        raise RuleError(f"no tool is named {name!r}: it is a prefix.", f"Write '{name}:' and a pattern after it.")
    if not _NAME_PART.fullmatch(name):
        is_command = " " in name.strip()
        words = text.partition(" ")[2] if text.lower().startswith("bash ") else text
        fix = f"For a command write {'bash:' + words!r}." if is_command else "Names have letters, digits, '_' and '-'."
        raise RuleError(f"no tool's name can match {name!r}.", fix)


def _parse_selectors(rest: str) -> tuple[str, tuple[tuple[str, Glob], ...]]:
    """Return the subject and its `(argument=glob, ...)`."""
    subject, parenthesis, inside = rest.partition("(")
    if not parenthesis:
        return rest, ()
    if not subject:
        raise RuleError("there is no tool before the parenthesis.", "Write `*(argument=glob)` for all tools.")
    found = _BARE_PARENTHESIS.search(inside)
    if found is None:
        raise RuleError("the parenthesis is never closed.", "Write `tool(argument=glob)`.")
    if found.end() != len(inside) or found[0].endswith("("):
        what = "a parenthesis is inside another." if found[0].endswith("(") else "there is text after the parenthesis."
        raise RuleError(what, r"Write `\(` and `\)` for those that belong to a glob.")
    return subject, tuple(map(_parse_selector, _split_selectors(inside[:-1])))


def _split_selectors(inside: str) -> list[str]:
    """Split *inside* at the commas that have no backslash before them."""
    cuts = [found.start() for found in _COMMA.finditer(inside) if found[1]]
    return [inside[start:end] for start, end in zip([0, *(cut + 1 for cut in cuts)], [*cuts, None], strict=True)]


def _parse_selector(part: str) -> tuple[str, Glob]:
    name, equals, glob = part.strip().partition("=")
    if not equals or not re.fullmatch(r"[^\W\d]\w*|[A-Za-z0-9_.-]+", name.strip()):
        raise RuleError(f"{part.strip()!r} is not a condition on an argument.", "Write `tool(argument=glob)`.")
    return name.strip(), parse_glob(glob.strip(), also_escaped=",()")
