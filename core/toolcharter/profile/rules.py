"""One entry of `deny` or `allow`: from its text to its parts. What a rule matches is for `toolcharter.policy` to say.

Source: design.md, section 4, "Rules".
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcharter.profile.globs import Glob, GlobError, parse_glob
from toolcharter.spec.words import RULE_PREFIXES

_NAME_PART = re.compile(r"[A-Za-z0-9_*-]+")
_PLAIN = frozenset({"group", "cap"})
"""Prefixes that look at no arguments and take no action."""


class RuleError(ValueError):
    """A rule that cannot be read."""

    def __init__(self, what: str, fix: str = "") -> None:
        self.what = what
        self.fix = fix
        super().__init__(f"{what} {fix}".rstrip())


class Rule(NamedTuple):
    """A rule once it is read."""

    text: str
    """As written."""
    source: str
    """`file:line:column`."""
    prefix: str
    """`bash`, `builtin`, `cli`, `mcp`, `custom`, `*`, `group` or `cap`; empty for a bare glob."""
    glob: Glob
    """Over the subject; in lower case unless the subject is a command."""
    args: tuple[tuple[str, Glob], ...] = ()
    """Globs over string arguments; all must match."""
    when: Mapping[str, Any] | None = None
    """A JSON Schema for each argument; all must hold."""
    reason: str | None = None
    message: str | None = None

    def plain(self) -> str | dict[str, Any]:
        """The rule as a profile would write it."""
        long = {"when": self.when, "reason": self.reason, "message": self.message}
        given = {key: value for key, value in long.items() if value is not None}
        return {"rule": self.text, **given} if given else self.text


def parse_rule(text: str, source: str = "", **long_form: Any) -> Rule:
    """Read the text of a rule.

    Args:
        text: Such as `git:push`, `bash:git log *`, `read_file(path=*secret*)`, `group:fs`.
        source: Where it stands.
        **long_form: `when`, `reason` and `message`, as they stand beside it.

    Raises:
        RuleError: With what is wrong and what to write instead.
    """
    prefix, rest = _split(text)
    try:
        if prefix == "bash":
            return Rule(text, source, prefix, parse_glob(rest), **long_form)
        subject, args = _selectors(rest)
        glob = parse_glob(subject).folded()
    except GlobError as error:
        raise RuleError(f"{error}") from error
    if prefix in _PLAIN and args:
        raise RuleError(f"'{prefix}:' takes no arguments.", "Name the tools instead, or use `when`.")
    if prefix not in {"*", "mcp", *_PLAIN}:
        _check_name(text, subject)
    return Rule(text, source, prefix, glob, args, **long_form)


def _split(text: str) -> tuple[str, str]:
    if text.lower() == "bash":
        return "bash", "*"
    first, colon, rest = text.partition(":")
    prefix = first.lower()
    if prefix not in RULE_PREFIXES:
        return "", text
    if not colon:
        if prefix == "*":
            return "", text
        raise RuleError(f"{text!r} is a prefix and nothing behind it.", f"Write '{prefix}:*' for all of them.")
    if not rest:
        raise RuleError(f"nothing stands behind '{prefix}:'.", f"Write '{prefix}:*' for all of them.")
    return prefix, rest


def _check_name(text: str, subject: str) -> None:
    """Refuse what no tool's name could match: a rule that never matches protects nobody."""
    name = subject.partition(":")[0]
    if not _NAME_PART.fullmatch(name):
        fix = f"For a command write {'bash:' + text!r}." if " " in text else "Names have letters, digits, '_' and '-'."
        raise RuleError(f"no tool's name can match {name!r}.", fix)


def _selectors(rest: str) -> tuple[str, tuple[tuple[str, Glob], ...]]:
    """The subject and its `(argument=glob, ...)`."""
    subject, parenthesis, inside = rest.partition("(")
    if not parenthesis:
        return rest, ()
    if not inside.endswith(")"):
        raise RuleError("the parenthesis is never closed.", "Write `tool(argument=glob)`.")
    if not subject:
        raise RuleError("no tool stands before the parenthesis.", "Write `*(argument=glob)` for all tools.")
    return subject, tuple(map(_selector, _unescaped_parts(inside[:-1])))


def _unescaped_parts(inside: str) -> list[str]:
    """*inside*, cut at the commas that no backslash stands before."""
    if re.search(r"(?<!\\)(?:\\\\)*\)", inside):
        raise RuleError("a parenthesis is closed twice.", r"Write `\)` for one that belongs to a glob.")
    return re.findall(r"(?s:(?:\\.|[^,\\]|\\$)+)", inside) if inside.strip() else [""]


def _selector(part: str) -> tuple[str, Glob]:
    name, equals, glob = part.strip().partition("=")
    if not equals or not re.fullmatch(r"[^\W\d]\w*|[A-Za-z0-9_.-]+", name.strip()):
        raise RuleError(f"{part.strip()!r} is no condition on an argument.", "Write `tool(argument=glob)`.")
    return name.strip(), parse_glob(glob.strip(), also_escaped=",()")
