"""What may stand below the keys of a profile or a ceiling: rules, limits, guards, notifications, cases."""

from typing import get_args

from toolcharter.api.call import Stage, Verdict
from toolcharter.api.words import SAFETY_LEVELS
from toolcharter.profile.rule_shapes import (
    HIDDEN_GLOB,
    CaseShape,
    Condition,
    Depth,
    GlobText,
    HiddenGlobs,
    HiddenShape,
    NotifyShape,
    RuleShape,
    RuleText,
)
from toolcharter.profile.rules import GLOB
from toolcharter.profile.settings import Outcome
from toolcharter.profile.shapes import (
    NAME,
    SOME,
    WORD,
    Choice,
    Flag,
    Free,
    Items,
    Key,
    Keys,
    Named,
    Number,
    OneOrMore,
    Text,
)

REASON = r"[a-z][a-z0-9_]{0,63}"
_WEEK_S = 7 * 24 * 3600
_YEARS = 3660
_INT64_MAX = (1 << 63) - 1
NAME_FIX = "Names have 1 to 64 letters, digits, '_' and '-'."

_COUNT = Number("a whole number above 0", (int,), _INT64_MAX)
_SECONDS = Number(f"seconds above 0 and up to {_WEEK_S}", (int, float), _WEEK_S)
_REASON = Text("a reason, a word in lower case", REASON)
_TOOL_NAMES = Items(Text("the name of a tool", NAME, NAME_FIX), "a list of tools")
HIDDEN = HiddenGlobs(
    HiddenShape(
        Keys(
            {
                "glob": Key(HIDDEN_GLOB, "Which files: a name such as `*.pem`, or a path below the workspace."),
                "containing": Key(Text("text", SOME), "Only files that hold this text in their first 64 KiB."),
            },
            "a glob or a mapping with `glob` and `containing`",
            {"glob": "Write `glob: '*.pem'`.", "containing": "Write the text, or the glob alone."},
        )
    ),
    "a list of globs",
)
_PATTERN = RuleText()
_MATCH_FIX = {"match": "Write `match: 'git:push'`; '*' matches every call."}


_RULE_KEYS = {
    "rule": Key(_PATTERN, "The rule itself, such as `git:push` or `bash:git log *`."),
    "when": Key(
        Named(
            Condition(),
            "a mapping from arguments to JSON Schemas",
            "Write each as `path: {pattern: '^src/'}`.",
            noun="argument",
            pattern=SOME,
            name_fix="Write the name of one of the tool's arguments.",
            same=str,
        ),
        "A JSON Schema for each argument; the rule matches where all of them hold. An absent argument is null.",
    ),
}
_RULE_FIX = {"rule": "Write `rule: git:push`."}
_MATCH = RuleShape(Keys(_RULE_KEYS, "a rule", _RULE_FIX))


def _matched(about: str) -> Key:
    return Key(_MATCH, about)


_RATE_KEYS = {
    "calls_per_minute": Key(_COUNT, "How many calls may enter a tool in any 60 seconds."),
    "calls_per_hour": Key(_COUNT, "How many calls may enter a tool in any 3600 seconds."),
    "calls_per_session": Key(_COUNT, "How many calls may enter a tool in one session."),
}
_LIMIT_KEYS = {
    "timeout_s": Key(_SECONDS, "After so many seconds the call ends with `timed_out`."),
    "max_output_chars": Key(_COUNT, "Longer text for the model is cut, with a notice."),
    "truncate": Key(Choice(("head", "tail", "both")), "Which part of a text that is too long is kept."),
    **_RATE_KEYS,
}
_CEILING_LIMIT_KEYS = {
    **_LIMIT_KEYS,
    "tools": Key(
        Named(
            Keys(_LIMIT_KEYS, "a mapping of limits"),
            "a mapping from tools to their limits",
            "Write each as `git: {timeout_s: 10}`.",
        ),
        "Limits of single tools; the smaller number wins.",
    ),
    "agents": Key(
        Named(
            Keys(_RATE_KEYS, "a mapping of limits"),
            "a mapping from agents to their limits",
            "Write each as `researcher: {calls_per_hour: 10}`.",
            noun="agent",
            pattern=GLOB,
            name_fix=r"Write a name, or a glob in which '*' is any text; '\*' and '\\' are a star and a backslash.",
            same=str,
        ),
        "Limits of single agents, by name or glob.",
    ),
}
LIMITS = Keys(
    {
        **_CEILING_LIMIT_KEYS,
        "per": Key(Choice(("session", "agent")), "Whose calls are counted together."),
        "store": Key(
            Text("a URL", r"(?:redis|rediss|unix)://.+", "Write such as `redis://127.0.0.1:6379/0`."),
            "Where several processes share their counts; without it each counts its own.",
        ),
    },
    "a mapping of limits",
)
CEILING_LIMITS = Keys(
    _CEILING_LIMIT_KEYS,
    "a mapping of limits",
    misplaced=dict.fromkeys(
        ("per", "store"), "Write it in a profile: a ceiling says how many calls, not where they are counted."
    ),
)
_UNSAID = "Remove it: a call that is allowed has no reason and no message. Write it beside a rule of `deny` or `ask`."
DENY = Items(
    RuleShape(
        Keys(
            {
                **_RULE_KEYS,
                "reason": Key(_REASON, "The reason that a refused call gets; `denied_by_rule` without it."),
                "message": Key(Text(), "What the model is told of a refused call."),
            },
            "a rule",
            _RULE_FIX,
        )
    ),
    "a list of rules",
)
ASK = Items(
    RuleShape(
        Keys(
            {
                **_RULE_KEYS,
                "reason": Key(_REASON, "The reason that the question gives; `asked_by_rule` without it."),
                "message": Key(Text(), "What the person who is asked reads beside the call."),
            },
            "a rule",
            _RULE_FIX,
        )
    ),
    "a list of rules",
)
ALLOW = Items(
    RuleShape(Keys(_RULE_KEYS, "a rule", _RULE_FIX, misplaced={"reason": _UNSAID, "message": _UNSAID})),
    "a list of rules",
)
_CAPABILITIES = Items(GlobText("a capability such as 'fs:read'", WORD), "a list of capabilities")
CAPABILITIES = Keys(
    {
        "allow": Key(_CAPABILITIES, "All that an action declares must be here. Absent: no restriction; []: nothing."),
        "deny": Key(_CAPABILITIES, "None of what an action declares may be here."),
        "max_safety": Key(Choice(SAFETY_LEVELS), "The highest safety level that a tool may have."),
    },
    "a mapping",
)
_OUTCOMES = OneOrMore(Choice(get_args(Outcome)), "a list of outcomes such as [denied]")
_NOTIFY_KEYS = {
    "match": Key(OneOrMore(_PATTERN, "a list of patterns such as ['git:push']"), "Which calls, as rules say it."),
    "deliver": Key(Choice(("log", "webhook")), "How to tell: by a line in the log, or by a POST to `url`."),
    "outcomes": Key(_OUTCOMES, "Which outcomes; all by default."),
}
_URL = Key(Text("a URL", r"https?://.+", "Write such as `https://example.org/hook`."), "Where the webhook listens.")
NOTIFY = Items(
    NotifyShape(Keys({**_NOTIFY_KEYS, "url": _URL}, "a notification", _MATCH_FIX)), "a list of notifications"
)
# A repository that could name a URL would be told of every call and its arguments.
_LOG_ONLY = "A workspace's file may only log: its author must not be told of calls. The administrator's file may."
_WORKSPACE_NOTIFY = Keys(
    {**_NOTIFY_KEYS, "deliver": Key(Choice(("log",), _LOG_ONLY), _NOTIFY_KEYS["deliver"].about)},
    "a notification",
    _MATCH_FIX,
    misplaced={"url": _LOG_ONLY},
)
WORKSPACE_NOTIFY = Items(NotifyShape(_WORKSPACE_NOTIFY), "a list of notifications")
_LIST_OF_TOOLS = Items(
    GlobText("a tool's name or glob, 'group:NAME' or 'toolset:NAME'"), "a list of tools, groups and toolsets"
)
_NAMES = OneOrMore(GlobText("a name or a glob"), "a list of names such as [researcher]")
TOOL_LISTS = Named(_LIST_OF_TOOLS, "a mapping from names to lists of tools", "Write each as `mine: [read_file]`.")
AVAILABILITY = Keys(
    {
        "for": Key(
            Keys(
                {
                    "provider": Key(_NAMES, "Names or globs of the caller's provider."),
                    "agent": Key(_NAMES, "Names or globs of the agent."),
                    "group": Key(_NAMES, "Names or globs of the caller's group."),
                    "depth": Key(Depth(), "How deep below the first agent: 0, '>=1', '>=1,<3'."),
                },
                "a mapping",
            ),
            "Which callers the entry is for; all of them without it.",
        ),
        "tools": Key(_LIST_OF_TOOLS, "All that these callers see. Absent: no restriction; []: nothing; ['*']: all."),
        "deny": Key(_LIST_OF_TOOLS, "What these callers never see."),
        "also_allow": Key(_LIST_OF_TOOLS, "Undoes narrowing by `tools`, never a deny."),
        "name": Key(Text("a name", NAME, NAME_FIX), "A name, by which another entry can replace this one."),
        "replaces": Key(
            Text("the `name` of another entry", NAME, NAME_FIX), "The entry that this one replaces for its callers."
        ),
    },
    "an entry of availability",
    empty="Write `tools`, `deny` or `also_allow`.",
)
_STREAK = Keys(
    {
        "warn": Key(_COUNT, "From this one in a row on, the model is told."),
        "deny": Key(_COUNT, "From this one in a row on, the call is refused with `repeated_call`."),
    },
    "a mapping",
    empty="Write `warn: 3`, `deny: 5` or both.",
)
GUARDS = Keys(
    {
        "read_before_write": Key(
            Keys(
                {
                    "mode": Key(Choice(("strict", "warn", "off")), "Whether the write is refused, or the model told."),
                    "reads": Key(_TOOL_NAMES, "Tools whose success counts as having read the file."),
                    "writes": Key(_TOOL_NAMES, "Tools that change a file."),
                    "argument": Key(Text("the name of an argument", SOME), "Their argument that holds the path."),
                },
                "a mapping",
                {"mode": "Write `mode: strict`, `warn` or `off`."},
            ),
            "An existing file must have been read in the session before it is written.",
        ),
        "repeated_calls": Key(_STREAK, "The same call with the same arguments, several times in a row."),
        "same_result": Key(_STREAK, "The same result, several times in a row."),
        "depends_on": Key(
            Items(
                Keys(
                    {
                        "match": _matched("The calls that need another one first."),
                        "needs": _matched("The call that must have succeeded in the session."),
                        "message": Key(Text(), "What the model is told otherwise."),
                        "args": Key(
                            Items(Text(), "a list of arguments"),
                            "Arguments that must have the same values in both calls, such as a handle.",
                        ),
                    },
                    "a mapping",
                    {**_MATCH_FIX, "needs": "Write the pattern of the call that has to come first."},
                ),
                "a list",
            ),
            "Calls that need an earlier one.",
        ),
        "skip_duplicate": Key(
            Items(
                Keys(
                    {
                        "match": _matched("The calls that need not be made twice."),
                        "args": Key(
                            Items(Text(), "a list of arguments"),
                            "The arguments that make two calls the same; all by default.",
                        ),
                    },
                    "a mapping",
                    _MATCH_FIX,
                ),
                "a list",
            ),
            "Calls that need not be made twice in a session.",
        ),
        "after_call": Key(
            Items(
                Keys(
                    {
                        "match": _matched("The calls to speak about."),
                        "message": Key(Text(), "What the model reads behind the result."),
                        "outcomes": Key(_OUTCOMES, "After which outcomes; ok by default."),
                    },
                    "a mapping",
                    {**_MATCH_FIX, "message": "Write what the model is to read."},
                ),
                "a list",
            ),
            "Messages to the model after a call.",
        ),
    },
    "a mapping of guards",
)
APPROVALS = Keys(
    {
        "timeout_s": Key(_SECONDS, "How long to wait for an answer, in seconds; 120 by default."),
        "approvers": Key(
            Items(GlobText("a name or a glob"), "a list of names"), "Who may answer; anybody but the caller by default."
        ),
        "always": Key(Flag(), "Whether 'allow always' is offered; true by default."),
        "keep_days": Key(
            Number(f"days above 0 and up to {_YEARS}", (int, float), _YEARS),
            "How long a kept approval holds; 30 by default.",
        ),
    },
    "a mapping",
)
CASE = CaseShape(
    Keys(
        {
            "tool": Key(Text(), "The tool to call; an unknown one is a fine case."),
            "args": Key(Free("a mapping of arguments", "{}"), "Its arguments; {} by default."),
            "expect": Key(Choice(get_args(Verdict)), "What must become of the call."),
            "reason": Key(_REASON, "For which reason."),
            "stage": Key(Choice(get_args(Stage)), "Where it must be decided."),
            "name": Key(Text(), "What the test runner shows."),
        },
        "a case, which is a mapping",
        {"tool": "Write `tool: NAME`.", "expect": f"Write one of {', '.join(get_args(Verdict))}."},
    )
)
