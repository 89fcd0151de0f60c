"""What a profile and a ceiling may hold, key by key."""

import re
from typing import Any, NamedTuple, get_args

from toolcharter.errors import Fault
from toolcharter.profile.conditions import ConditionError, compile_condition
from toolcharter.profile.globs import GlobError, parse_glob
from toolcharter.profile.nodes import Entry, KeyPath, Node, dotted, entries, plain
from toolcharter.profile.rules import RuleError, parse_rule
from toolcharter.profile.settings import MODES, Outcome
from toolcharter.profile.shapes import (
    NAME,
    Choice,
    Flag,
    Free,
    Items,
    Keys,
    Named,
    Number,
    OneOrMore,
    Shape,
    Specifier,
    Text,
    canonical,
    wrong,
)
from toolcharter.spec.call import Stage, Verdict
from toolcharter.spec.words import SAFETY_LEVELS

# A path to anything else is refused unopened: the faults of a file that is no profile would repeat its lines.
PARENT = r"[A-Za-z0-9_-]+|(?s:.*)\.ya?ml"
REASON = r"[a-z][a-z0-9_]{0,63}"
COMPARISON = r"(>=|<=|>|<|==)?\s*([0-9]{1,6})"
_DISTRIBUTION = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_WEEK_S = 7 * 24 * 3600
_YEARS = 3660
_INT64_MAX = (1 << 63) - 1


class CaseShape(NamedTuple):
    """A case, whose keys have to agree with each other."""

    keys: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        good = self.keys.clean(node, path, faults)
        if good is None or any(key not in entries(good) for key in self.keys.required):
            return None
        reason = entries(good).get("reason")
        if reason is not None and _text(good, "expect") == "allow":
            what = "a call that is allowed has no reason."
            faults.append(Fault(str(reason.place), dotted((*path, "reason")), what, "Remove it, or expect deny."))
        return good


class RuleText:
    """The text of a rule, or of a pattern in the same language."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, str):
            faults.append(wrong(node, path, "a rule", "Write such as 'git:push' or 'bash:git log *'."))
            return None
        try:
            parse_rule(node.value)
        except RuleError as error:
            faults.append(Fault(str(node.place), dotted(path), error.what, error.fix))
            return None
        return node


class GlobText(NamedTuple):
    """Text in which `*` is any text."""

    expected: str

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        good = Text(self.expected, r"(?s:.+)").clean(node, path, faults)
        if good is None:
            return None
        try:
            parse_glob(str(good.value))
        except GlobError as error:
            faults.append(Fault(str(node.place), dotted(path), f"{error}."))
            return None
        return good


class Condition:
    """A JSON Schema."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        try:
            compile_condition(plain(node))
        except ConditionError as error:
            faults.append(
                Fault(str(node.place), dotted(path), f"{error}.", error.fix or "Write a JSON Schema of draft 2020-12.")
            )
            return None
        return node


class RuleShape(NamedTuple):
    """A rule: its text, or its long form."""

    long_form: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if not isinstance(node.value, dict):
            return RuleText().clean(node, path, faults)
        good = self.long_form.clean(node, path, faults)
        return good if good is not None and "rule" in entries(good) else None


class NotifyShape(NamedTuple):
    """A pattern alone, or a mapping that says more."""

    keys: Keys

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        if isinstance(node.value, str):
            pattern = RuleText().clean(node, path, faults)
            match = Node([] if pattern is None else [pattern], node.place)
            return None if pattern is None else Node({"match": Entry(node.place, match)}, node.place)
        good = self.keys.clean(node, path, faults)
        if good is None or "match" not in entries(good):
            return None
        if ("url" in entries(good)) != (_text(good, "deliver") == "webhook"):
            what = "`deliver: webhook` and `url` belong together."
            faults.append(Fault(str(node.place), dotted(path), what, "Write both, or neither for the log."))
            return None
        return good


class Depth:
    """How deep a caller stands below the first agent: a number, or comparisons that all hold."""

    def clean(self, node: Node, path: KeyPath, faults: list[Fault]) -> Node | None:
        """See `Shape`."""
        value = node.value
        parts = [] if isinstance(value, bool) or not isinstance(value, int | str) else str(value).split(",")
        if parts and all(re.fullmatch(COMPARISON, part.strip()) for part in parts):
            return node
        faults.append(wrong(node, path, "a depth", "Write a number, or comparisons such as '>=1' or '>=1,<3'."))
        return None


def _text(node: Node, key: str) -> Any:
    return entries(node)[key].node.value if key in entries(node) else None


_TOOL_NAME = Text("the name of a tool", NAME, "Names have 1 to 64 letters, digits, '_' and '-'.")
_LISTED_NAME = Text(
    "the name of a tool, or 'group:NAME'",
    rf"(?:group:)?{NAME}(?::[A-Za-z0-9_-]+)?",
    "Names have 1 to 64 letters, digits, '_' and '-'.",
)
_COUNT = Number("a whole number above 0", (int,), _INT64_MAX)
_SECONDS = Number(f"seconds above 0 and up to {_WEEK_S}", (int, float), _WEEK_S)
_RATE_KEYS: dict[str, Shape] = {"calls_per_minute": _COUNT, "calls_per_hour": _COUNT, "calls_per_session": _COUNT}
_LIMIT_KEYS: dict[str, Shape] = {
    "timeout_s": _SECONDS,
    "max_output_chars": _COUNT,
    "truncate": Choice(("head", "tail", "both")),
    **_RATE_KEYS,
}
_TOOL_AND_AGENT_LIMITS: dict[str, Shape] = {
    **_LIMIT_KEYS,
    "tools": Named(
        Keys(_LIMIT_KEYS, "a mapping of limits"),
        "a mapping from tools to their limits",
        "Write each as `git: {timeout_s: 10}`.",
    ),
    "agents": Named(
        Keys(_RATE_KEYS, "a mapping of limits"),
        "a mapping from agents to their limits",
        "Write each as `researcher: {calls_per_hour: 10}`.",
        noun="agent",
        pattern=r"(?s:.+)",
        same=str,
    ),
}
_LIMITS = Keys(
    {
        **_TOOL_AND_AGENT_LIMITS,
        "per": Choice(("session", "agent")),
        "store": Text("a URL", r"(?:redis|rediss|unix)://.+", "Write such as `redis://127.0.0.1:6379/0`."),
    },
    "a mapping of limits",
)
RULE = RuleShape(
    Keys(
        {
            "rule": RuleText(),
            "when": Named(
                Condition(),
                "a mapping from arguments to JSON Schemas",
                "Write each as `path: {pattern: '^src/'}`.",
                noun="argument",
                pattern=r"(?s:.+)",
                same=str,
            ),
            "reason": Text("a reason, a word in lower case", REASON),
            "message": Text(),
        },
        "a rule",
        {"rule": "Write `rule: git:push`."},
    )
)
RULES = Items(RULE, "a list of rules")
CAPABILITIES = Keys(
    {
        "allow": Items(GlobText("a capability such as 'fs:read'"), "a list of capabilities"),
        "deny": Items(GlobText("a capability such as 'fs:read'"), "a list of capabilities"),
        "max_safety": Choice(SAFETY_LEVELS),
    },
    "a mapping",
)
_PATTERNS = OneOrMore(RuleText(), "a list of patterns")
_OUTCOMES = OneOrMore(Choice(get_args(Outcome)), "a list of outcomes")
_NOTIFY_KEYS: dict[str, Shape] = {"match": _PATTERNS, "deliver": Choice(("log", "webhook")), "outcomes": _OUTCOMES}
_MATCH = {"match": "Write `match: 'git:push'`; '*' matches every call."}
_NOTIFY = NotifyShape(
    Keys(
        {**_NOTIFY_KEYS, "url": Text("a URL", r"https?://.+", "Write such as `https://example.org/hook`.")},
        "a notification",
        _MATCH,
    )
)
_LIST_OF_TOOLS = Items(
    GlobText("a tool's name or glob, 'group:NAME' or 'toolset:NAME'"), "a list of tools, groups and toolsets"
)
_NAMES = OneOrMore(GlobText("a name or a glob"), "a list of names")
_TOOL_LISTS = Named(_LIST_OF_TOOLS, "a mapping from names to lists of tools", "Write each as `mine: [read_file]`.")
_AVAILABILITY = Keys(
    {
        "for": Keys({"provider": _NAMES, "agent": _NAMES, "group": _NAMES, "depth": Depth()}, "a mapping"),
        "tools": _LIST_OF_TOOLS,
        "deny": _LIST_OF_TOOLS,
        "also_allow": _LIST_OF_TOOLS,
        "name": Text("a name", NAME),
        "replaces": Text("the `name` of another entry", NAME),
    },
    "an entry of availability",
)
_STREAK = Keys({"warn": _COUNT, "deny": _COUNT}, "a mapping")
_GUARDS = Keys(
    {
        "read_before_write": Keys(
            {
                "mode": Choice(("strict", "warn", "off")),
                "reads": Items(_TOOL_NAME, "a list of tools"),
                "writes": Items(_TOOL_NAME, "a list of tools"),
                "argument": Text("the name of an argument", r"(?s:.+)"),
            },
            "a mapping",
            {"mode": "Write `mode: strict`, `warn` or `off`."},
        ),
        "repeated_calls": _STREAK,
        "same_result": _STREAK,
        "depends_on": Items(
            Keys(
                {"match": RuleText(), "needs": RuleText(), "message": Text()},
                "a mapping",
                {**_MATCH, "needs": "Write the pattern of the call that has to come first."},
            ),
            "a list",
        ),
        "skip_duplicate": Items(
            Keys({"match": RuleText(), "args": Items(Text(), "a list of arguments")}, "a mapping", _MATCH), "a list"
        ),
        "after_call": Items(
            Keys(
                {"match": RuleText(), "message": Text(), "outcomes": _OUTCOMES},
                "a mapping",
                {**_MATCH, "message": "Write what the model is to read."},
            ),
            "a list",
        ),
    },
    "a mapping of guards",
)
_APPROVALS = Keys(
    {
        "timeout_s": _SECONDS,
        "approvers": Items(GlobText("a name or a glob"), "a list of names"),
        "always": Flag(),
        "keep_days": Number(f"days above 0 and up to {_YEARS}", (int, float), _YEARS),
    },
    "a mapping",
)
_CASE = CaseShape(
    Keys(
        {
            "tool": Text(),
            "args": Free("a mapping of arguments", "{}"),
            "expect": Choice(get_args(Verdict)),
            "reason": Text("a reason, a word in lower case", REASON),
            "stage": Choice(get_args(Stage)),
            "name": Text(),
        },
        "a case, which is a mapping",
        {"tool": "Write `tool: NAME`.", "expect": f"Write one of {', '.join(get_args(Verdict))}."},
    )
)
PROFILE = Keys(
    {
        "profile": Text("a name of letters, digits, '_' and '-'", NAME),
        "description": Text(),
        "extends": Items(
            Text("the name of a profile or the path of a .yaml or .yml file", PARENT), "a list of profiles"
        ),
        "tools": Named(
            Free("a mapping with the tool's policy", "{}"),
            "a mapping from tools to their policies",
            "Write each tool as a key: `git: {}`.",
        ),
        "extensions": Named(
            Free("a mapping with the extension's policy", "{}"),
            "a mapping from extensions to their policies",
            "Write each extension as a key: `principles: {}`.",
            noun="extension",
        ),
        "plugins": Named(
            Specifier(),
            "a mapping from distributions to version specifiers",
            "Write each as `toolcharter-git: '>=1,<2'`.",
            noun="distribution",
            pattern=_DISTRIBUTION,
            name_fix="Write its name as pip knows it.",
            same=canonical,
        ),
        "mode": Choice(MODES),
        "deny": RULES,
        "allow": RULES,
        "capabilities": CAPABILITIES,
        "availability": Items(_AVAILABILITY, "a list of entries"),
        "toolsets": _TOOL_LISTS._replace(noun="toolset"),
        "groups": _TOOL_LISTS._replace(noun="group"),
        "approvals": _APPROVALS,
        "guards": _GUARDS,
        "limits": _LIMITS,
        "notify": Items(_NOTIFY, "a list of notifications"),
        "events": Keys({"args": Choice(("full", "shape", "none")), "required": Flag()}, "a mapping"),
        "cases": Items(_CASE, "a list of cases"),
        "missing_ok": Items(_LISTED_NAME, "a list of names of tools"),
    },
    "a mapping of keys such as `profile` and `tools`",
    {"profile": "Write `profile: NAME`; events show the name."},
)
CEILING = Keys(
    {
        "deny": RULES,
        "mode": Choice(MODES),
        "capabilities": CAPABILITIES,
        "limits": Keys(_TOOL_AND_AGENT_LIMITS, "a mapping of limits"),
        "notify": Items(_NOTIFY, "a list of notifications"),
    },
    "a mapping of keys such as `deny` and `mode`",
)
"""An administrator's file."""
# A repository that could name a URL would be told of every call and its arguments.
WORKSPACE_CEILING = CEILING._replace(
    keys={
        **CEILING.keys,
        "notify": Items(
            NotifyShape(Keys({**_NOTIFY_KEYS, "deliver": Choice(("log",))}, "a notification", _MATCH)),
            "a list of notifications",
        ),
    }
)
"""The workspace's own file."""
