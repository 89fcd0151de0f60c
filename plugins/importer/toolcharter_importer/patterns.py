"""Turn Duragent's patterns into rules: a rule that forbids never covers less, a rule that permits never covers more.

In Duragent a pattern is `TYPE:GLOB`, and both parts match anywhere in the text: `cli:deploy` also matches `predeploy`.
It matches a command line as written, as one text. Here, rules match each command of the line, in its normal form.
Source: giosakti/duragent, crates/duragent/src/agent/policy_eval.rs.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

TYPES: Final = ("bash", "builtin", "cli", "mcp")
BACKGROUND: Final = "background_process"
"""A built-in tool in Duragent. Here, it runs commands, which need `bash:` rules."""
_BACKGROUND_ACTIONS: Final = (
    "spawn", "list", "status", "log", "capture", "send_keys", "write", "kill", "watch", "unwatch",
)  # fmt: skip
_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
_PARENTHESIS: Final = re.compile(r"[()]")
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_*:-]")
_OF_SERVERS: Final = re.compile(r"[./]+")
"""Characters that Duragent permits in the names of a server's tools. Here, such names are changed."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def matches(pattern: str, text: str) -> bool:
    """Match as Duragent does: return whether the parts of *pattern* between stars occur in *text* in their order."""
    at = 0
    for part in pattern.split("*"):
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


def split_types(pattern: str) -> tuple[tuple[str, ...], str]:
    """Split *pattern* into the types of tools that it applies to, and its glob."""
    kind, colon, rest = pattern.partition(":")
    if not colon:
        return TYPES, pattern
    return tuple(one for one in TYPES if kind == "*" or matches(kind, one)), rest


def deny_rules(pattern: str) -> list[Any]:
    """Return rules for `deny`, `ask` or `notify` that match everything that *pattern* matches."""
    return list(dict.fromkeys(_deny_rules(pattern)))


def line_rules(pattern: str) -> list[dict[str, Any]]:
    """Return the `deny` rule for matches of *pattern* in a whole command line as written, across several commands."""
    types, rest = split_types(pattern)
    if "bash" not in types or not rest.strip("*"):
        return []
    return [{"rule": "bash", "when": {"command": {"type": "string", "pattern": regex(rest)}}}]


def _deny_rules(pattern: str) -> Iterator[str]:
    types, rest = split_types(pattern)
    glob = _match_anywhere(rest)
    if types == TYPES and not _PARENTHESIS.search(rest):
        yield f"*:{glob}"
        return
    for kind in types:
        if kind == "bash":
            yield f"{kind}:{glob}"
        elif (named := _OF_SERVERS.sub("*", glob)) == _NO_NAME.sub("", named):
            yield f"{kind}:{named}"
    if "builtin" in types:
        yield from (
            f"{BACKGROUND}:{action}" for action in _BACKGROUND_ACTIONS if matches(rest, f"{BACKGROUND}:{action}")
        )


def allow_rules(pattern: str) -> list[str]:
    """Return `allow` rules that cover nothing that *pattern* does not match."""
    types, rest = split_types(pattern)
    glob = _escape(rest)
    is_text = bool(glob) and glob == glob.strip()  # no command begins or ends with a blank
    found = [f"{kind}:{glob}" for kind in types if is_text and (kind == "bash" or not _NO_NAME.search(rest))]
    if "builtin" in types:
        found += [
            f"{BACKGROUND}:{action}"
            for action in _BACKGROUND_ACTIONS[1:]
            if re.fullmatch(regex(rest), f"{BACKGROUND}:{action}")
        ]
    return found


def permits_spawning(pattern: str) -> bool:
    """Return whether *pattern* permits starting any command in the background."""
    types, rest = split_types(pattern)
    return "builtin" in types and matches(rest, f"{BACKGROUND}:spawn")


def literal_name(rule: str) -> str | None:
    """Return the tool that a rule names without a star; None for other rules.

    The tool has to be installed or listed in `missing_ok`.
    """
    kind, _, rest = rule.partition(":")
    if "*" in rule or kind in {"bash", "*"}:
        return None
    name = rest if kind in {"cli", "mcp"} else rest.partition(":")[0] if kind == "builtin" else kind
    if kind == "mcp":
        server, _, tool = rest.partition(":")
        name = f"mcp__{server}__{tool}"
    return name if _NAME.fullmatch(name) else None


def regex(glob: str) -> str:
    """Return a regular expression that finds the matches of *glob* anywhere in a text."""
    return r"[\s\S]*".join(_SPECIAL.sub(r"\\\g<0>", part) for part in glob.split("*") if part) or r"[\s\S]*"


def _match_anywhere(glob: str) -> str:
    return re.sub(r"\*+", "*", f"*{_escape(glob)}*")


def _escape(glob: str) -> str:
    """Escape backslashes, which are special here; in Duragent only a star is special."""
    return glob.replace("\\", "\\\\")
