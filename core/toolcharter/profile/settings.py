"""The settings of a profile: the values that each key may hold, and the type it becomes.

pydantic reads these named tuples as `toolcharter.profile.forms` describes. Editors and documentation show the docstring
below a field as the description of its key. Here are only values: the modules that use a setting describe its effect.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import AfterValidator, Field, WithJsonSchema

from toolcharter.api.words import SECRET_REFERENCE, Safety, is_secret_reference
from toolcharter.profile.field_types import (
    NON_EMPTY,
    RULE_SCHEMA,
    AnyText,
    ArgumentNames,
    CallerGlob,
    CapabilityGlobs,
    Count,
    Depth,
    EntryName,
    Flag,
    MatchRule,
    RuleText,
    Seconds,
    ToolGlobs,
    ToolNames,
    read_rule,
)
from toolcharter.profile.forms import Cache, Expected, Key, OneOrMore, Required, TextOr, fault, form, list_of, mismatch
from toolcharter.profile.names import NAME, NAME_FIX, anchored
from toolcharter.profile.nodes import LocatedText
from toolcharter.profile.rules import Rule

Mode = Literal["policy", "restrict", "ask", "dangerous"]
MODES: tuple[Mode, ...] = get_args(Mode)
Outcome = Literal["ok", "error", "denied"]
LOG = "log"
"""The only value of `deliver` that needs no plugin."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_MAX_DAYS = 3660
_Outcomes = Annotated[tuple[Outcome, ...], OneOrMore(Expected("a list of outcomes such as [denied]"))]
_Callers = Annotated[tuple[CallerGlob, ...], OneOrMore(Expected("a list of names such as [researcher]"))]
_MATCH = Required("Write `match: 'git:push'`; '*' matches every call.")


@form("a mapping")
class Capabilities(NamedTuple):
    """What the tools of a profile may touch. Patterns are exact or hold `*`; upper and lower case differ."""

    allow: CapabilityGlobs | None = None
    """An action may declare only these capabilities. Absent: no restriction; []: nothing."""
    deny: CapabilityGlobs = ()
    """An action may declare none of these capabilities."""  # An action that declares nothing counts as declaring all.
    max_safety: Safety | None = None
    """The highest safety level that a tool may have."""


@form("a mapping")
class CallerPattern(NamedTuple):
    """The callers that an availability entry is for. Each given field has to match; an absent fact matches none."""

    provider: _Callers | None = None
    """Names or globs of the caller's provider."""
    agent: _Callers | None = None
    """Names or globs of the agent."""
    group: _Callers | None = None
    """Names or globs of the caller's group."""
    depth: Depth | None = None
    """How deep below the first agent: 0, '>=1', '>=1,<3'."""  # Becomes comparisons that all hold.
    channel: _Callers | None = None
    """Names or globs of the channel that people talk to the agent on."""
    chat: _Callers | None = None
    """Names or globs of the conversation there."""
    peer: _Callers | None = None
    """`direct` or `group`: whose conversation it is."""
    agent_type: _Callers | None = None
    """`open` or `predefined`: whether each user makes the agent their own."""


@form("an entry of availability", empty="Write `tools`, `deny` or `also_allow`.")
class Availability(NamedTuple):
    """Which tools some callers see. Entries are names, globs, `group:NAME` and `toolset:NAME`."""

    callers: Annotated[CallerPattern, Key("for")] = CallerPattern()
    """Which callers the entry is for; without it, all callers."""
    tools: ToolGlobs | None = None
    """The only tools that these callers see. Absent: no restriction; []: no tools; ['*']: all tools."""
    deny: ToolGlobs = ()
    """Tools that these callers never see."""
    also_allow: ToolGlobs = ()
    """Tools that these callers see even if `tools` of an entry leaves them out; `deny` still hides them."""
    name: EntryName | None = None
    """A name, by which another entry can replace this one."""
    replaces: Annotated[EntryName, Expected("the `name` of another entry")] | None = None
    """The entry that this one replaces for its callers."""
    place: str = ""


# Components that are not empty, `.` or `..`; a trailing slash changes nothing. A leading `!` excepts. Braces are
# refused: an author of `*.{pem,key}` means two names, but as one literal name it would hide nothing.
_NOT_IN_NAMES = r"/\x00\[\]{}\\"
_COMPONENT = rf"(?:[^{_NOT_IN_NAMES}.]|\.[^{_NOT_IN_NAMES}.]|\.\.[^{_NOT_IN_NAMES}])[^{_NOT_IN_NAMES}]*"
_FIRST_COMPONENT = _COMPONENT.replace(".]|", ".!]|", 1)
_HIDDEN = rf"!?{_FIRST_COMPONENT}(?:/{_COMPONENT})*/?"
_HIDDEN_WORDS = Expected(
    "a glob of names, or of paths below the workspace",
    "Write a name such as '.env.*', a path such as 'config/secrets/**', or '!.env.example' to except one. "
    "Braces, brackets and backslashes have no meaning here: write one entry for each name, or '?' for any one letter.",
)
_TEXT_REQUIRED = Required("Write the text, or the glob alone.")


@form("a glob or a mapping with `glob` and `containing`")
class HiddenGlob(NamedTuple):
    """Names of files and folders that no tool reads, and no program in a sandbox sees."""

    glob: Annotated[str, Field(pattern=anchored(_HIDDEN)), _HIDDEN_WORDS, Required("Write `glob: '*.pem'`.")]
    """Which files: a name such as `*.pem`, or a path below the workspace."""  # `!GLOB` excepts.
    containing: Annotated[str, Field(pattern=anchored(NON_EMPTY)), Expected("text"), _TEXT_REQUIRED] | None = None
    """Only files that hold this text in their first 64 KiB."""


def _to_glob(text: str, _: Cache) -> HiddenGlob:
    if re.fullmatch(_HIDDEN, text) is None:
        raise mismatch(*_HIDDEN_WORDS)
    return HiddenGlob(str(text))


def _require_hiding(globs: tuple[HiddenGlob, ...]) -> tuple[HiddenGlob, ...]:
    """Refuse a list of exceptions alone: it replaces the default and would hide nothing."""
    if globs and all(one.glob.startswith("!") and one.containing is None for one in globs):
        what = "only exceptions are listed: this list replaces the default, so nothing would be hidden."
        raise fault(what, "List what to hide, too; or write [] to hide nothing.")
    return globs


HiddenGlobs = Annotated[
    tuple[Annotated[HiddenGlob, TextOr(HiddenGlob, _to_glob, {"type": "string", "pattern": anchored(_HIDDEN)})], ...],
    list_of("a list of globs"),
    AfterValidator(_require_hiding),
]
DEFAULT_HIDDEN = tuple(
    HiddenGlob(*one)
    for one in (
        *((glob,) for glob in (".env", ".env.*", "!.env.example", "!.env.sample", "!.env.template")),
        *((f"id_{kind}",) for kind in ("rsa", "dsa", "ecdsa", "ecdsa_sk", "ed25519", "ed25519_sk")),
        *((glob, "PRIVATE KEY") for glob in ("*.pem", "*.key")),
        *((glob,) for glob in ("*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk")),
        *((glob,) for glob in (".netrc", "_netrc", ".pgpass", ".git-credentials", ".vault-token")),
        *((".npmrc", text) for text in ("_auth", "_password")),
        (".yarnrc.yml", "npmAuth"),
        (".pypirc", "password"),
        *(
            (glob,)
            for glob in (".aws", ".azure", ".kube", ".ssh", ".gnupg", "**/.config/gcloud", "**/.docker/config.json")
        ),
    )
)
"""The default of `hidden`: files that hold credentials according to their name, or to a word in them."""


@form("a mapping")
class Approvals(NamedTuple):
    """How people are asked."""

    timeout_s: Seconds = 120.0
    """How long to wait for an answer, in seconds; 120 by default."""
    approvers: Annotated[tuple[CallerGlob, ...], list_of("a list of names")] | None = None
    """Who may answer; by default, anyone except the caller."""
    always: Flag = True
    """Whether 'allow always' is offered; true by default."""
    keep_days: Annotated[float, Field(gt=0, le=_MAX_DAYS), Expected(f"days above 0 and up to {_MAX_DAYS}")] = 30.0
    """How long a kept approval holds; 30 by default."""


@form("a mapping of limits")
class Rate(NamedTuple):
    """How many calls may enter a tool; None is no limit."""

    calls_per_minute: Count | None = None
    """How many calls may enter a tool in any 60 seconds."""
    calls_per_hour: Count | None = None
    """How many calls may enter a tool in any 3600 seconds."""
    calls_per_session: Count | None = None
    """How many calls may enter a tool in one session."""


class Rates(NamedTuple):
    """The rate limits of a profile. A call is refused if any limit that applies to it is used up."""

    total: Rate = Rate()
    tools: Mapping[str, Rate] = _NOTHING
    """By tool, names in lower case."""
    agents: Mapping[str, Rate] = _NOTHING
    """By pattern of the agent's name."""
    per: Literal["session", "agent"] = "session"
    """Whose calls are counted together."""
    store: str | None = None
    """`redis://...` to share the counts between processes; None keeps them in this one."""


@form("a mapping")
class ReadBeforeWrite(NamedTuple):
    """An existing file must have been read in the session before it is written."""

    mode: Annotated[Literal["strict", "warn", "off"], Required("Write `mode: strict`, `warn` or `off`.")] = "off"
    """Whether the write is refused, or the model warned."""
    reads: ToolNames = ("read_file",)
    """Tools whose success counts as having read the file."""
    writes: ToolNames = ("write_file", "edit_file")
    """Tools that change a file."""
    argument: Annotated[str, Field(pattern=anchored(NON_EMPTY)), Expected("the name of an argument")] = "path"
    """The argument of these tools that holds the path."""


@form("a mapping", empty="Write `warn: 3`, `deny: 5` or both.")
class Repeats(NamedTuple):
    """Identical calls, or identical results, one after the other in a session; None is off."""

    warn: Count | None = None
    """From this many in a row on, the model is warned."""
    deny: Count | None = None
    """From this many in a row on, the call is refused with `repeated_call`."""


@form("a mapping", empty="Write `warn: 8`, `deny: 12`, or `exploring: {deny: 36}`.")
class ReadStreak(NamedTuple):
    """Calls that read, with none between that changes something; None is off."""

    warn: Count | None = None
    """From this many reads on, a model that reads the same again and again is warned."""
    deny: Count | None = None
    """From this many reads on, such a read is refused with `repeated_call`."""
    exploring: Repeats = Repeats()
    """The same limits for a model of whose reads more than 6 in 10 read something new."""


@form("a mapping", empty="Write `seconds: 30`.")
class CachedReads(NamedTuple):
    """Reads that are answered from a cache; None is off."""

    seconds: Seconds | None = None
    """How long a cached answer is valid; a call that may have effects invalidates it before."""


@form("a mapping")
class DependsOn(NamedTuple):
    """Calls that need an earlier one."""

    match: Annotated[MatchRule, _MATCH]
    """The calls that need another one first."""
    needs: Annotated[MatchRule, Required("Write the pattern of the call that has to come first.")]
    """The call that must have succeeded in the session."""
    message: AnyText | None = None
    """The model's text if the earlier call is missing."""
    args: ArgumentNames = ()
    """Arguments that must have the same values in both calls, such as a handle."""


@form("a mapping")
class SkipDuplicate(NamedTuple):
    """Calls that a session need not repeat."""

    match: Annotated[MatchRule, _MATCH]
    """The calls that need not be made twice."""
    args: ArgumentNames | None = None
    """The arguments that make two calls the same; all by default."""


@form("a mapping")
class AfterCall(NamedTuple):
    """A message to the model after the result of a call."""

    match: Annotated[MatchRule, _MATCH]
    """The calls after which the model reads the message."""
    message: Annotated[AnyText, Required("Write what the model is to read.")]
    """The text that the model reads after the result."""
    outcomes: _Outcomes = ("ok",)
    """After which outcomes; ok by default."""


@form("a mapping of guards")
class SessionGuards(NamedTuple):
    """The guards that remember a session's calls (`session_guards:`)."""

    read_before_write: ReadBeforeWrite = ReadBeforeWrite()
    """An existing file must have been read in the session before it is written."""
    repeated_calls: Repeats = Repeats()
    """The same call with the same arguments, several times in a row."""
    same_result: Repeats = Repeats()
    """The same result, several times in a row."""
    depends_on: Annotated[tuple[DependsOn, ...], list_of("a list")] = ()
    """Calls that need an earlier one."""
    skip_duplicate: Annotated[tuple[SkipDuplicate, ...], list_of("a list")] = ()
    """Calls that need not be made twice in a session."""
    after_call: Annotated[tuple[AfterCall, ...], list_of("a list")] = ()
    """Messages to the model after a call."""
    no_progress: Repeats = Repeats()
    """The same call with the same result, several times among the latest 30 calls."""
    read_streak: ReadStreak = ReadStreak()
    """Many reads with no change between them."""
    cached_reads: CachedReads = CachedReads()
    """Repeated reads, which are answered from a cache."""


_Patterns = Annotated[tuple[RuleText, ...], OneOrMore(Expected("a list of patterns such as ['git:push']")), _MATCH]
_URL_WORDS = Expected("a URL", "Write a URL such as `https://example.org/hook`.")
_WEBHOOK = "webhook"
_CHANNEL_WORDS = Expected("'log', 'webhook' or the name of a plugin's channel", NAME_FIX)
_CHANNEL_SCHEMA = WithJsonSchema({"anyOf": [{"enum": [LOG, _WEBHOOK]}, {"type": "string", "pattern": anchored(NAME)}]})
_WEBHOOK_URL = rf"https?://.+|{SECRET_REFERENCE}"
_URL_SCHEMA = {
    "if": {"properties": {"deliver": {"const": LOG}}},
    "then": {"not": {"required": ["url"]}},
    "else": {"required": ["url"]},
}
_WEBHOOK_SCHEMA = {
    "if": {"properties": {"deliver": {"const": _WEBHOOK}}, "required": ["deliver"]},
    "then": {"properties": {"url": {"pattern": anchored(_WEBHOOK_URL)}}},
}


def _check_delivery(read: "Notify") -> "Notify":
    if (read.deliver == LOG) != (read.url is None):
        channel = _WEBHOOK if read.deliver == LOG else read.deliver
        raise fault(f"`deliver: {channel}` and `url` belong together.", "Write both, or neither for the log.")
    of_webhook = read.deliver == _WEBHOOK and not re.fullmatch(_WEBHOOK_URL, str(read.url))
    if of_webhook or (is_secret_reference(str(read.url)) and not re.fullmatch(SECRET_REFERENCE, str(read.url))):
        raise mismatch(*_URL_WORDS, key="url")
    return read


@form("a notification", finish=_check_delivery, schema={"allOf": [_URL_SCHEMA, _WEBHOOK_SCHEMA]})
class Notify(NamedTuple):
    """Which calls cause a notification, and where it goes, after the call."""

    match: _Patterns
    """Which calls, as patterns of rules."""
    deliver: Annotated[str, Field(pattern=anchored(NAME)), _CHANNEL_SCHEMA, _CHANNEL_WORDS] = LOG
    """How to notify: by a line in the log, or through a plugin's channel such as `webhook`, which sends it to `url`."""
    url: Annotated[str, Field(pattern=anchored(r"[A-Za-z][A-Za-z0-9+.-]*:[\s\S]+")), _URL_WORDS] | None = None
    """Where the channel delivers: the webhook to `http://` or `https://`; or `secret:NAME` of the store, read when it connects."""
    outcomes: _Outcomes = ("ok", "error", "denied")
    """Which outcomes; all by default."""
    place: str = ""


def _to_notify(text: str, cache: Cache) -> Notify:
    rule = read_rule(text, cache)
    return Notify((rule,), place=str(text.node.place) if isinstance(text, LocatedText) else "")


# A repository that could name a URL would receive every call with its arguments.
_LOG_ONLY = "A workspace's file may only log: its author must not receive calls. The administrator's file may."


@form(
    "a notification",
    misplaced={"url": _LOG_ONLY},
    finish=lambda read: Notify(read.match, outcomes=read.outcomes, place=read.place),
)
class WorkspaceNotify(NamedTuple):
    """The notifications that a workspace's own file may ask for."""

    match: _Patterns
    """Which calls, as patterns of rules."""
    deliver: Annotated[Literal["log"], Expected("one of 'log'", _LOG_ONLY)] = "log"
    """How to notify: by a line in the log."""
    outcomes: _Outcomes = ("ok", "error", "denied")
    """Which outcomes; all by default."""
    place: str = ""


_LIST = list_of("a list of notifications")
Notifications = Annotated[tuple[Annotated[Notify, TextOr(Notify, _to_notify, RULE_SCHEMA)], ...], _LIST]
WorkspaceNotifications = Annotated[
    tuple[Annotated[Notify, TextOr(WorkspaceNotify, _to_notify, RULE_SCHEMA)], ...], _LIST
]


class Ceiling(NamedTuple):
    """The settings by which a workspace's or an administrator's file, or the environment, tightens every profile."""

    name: str
    """The file's name as the user gave it, or the environment variable."""
    deny: tuple[Rule, ...] = ()
    mode: Mode | None = None
    capabilities: Capabilities = Capabilities()
    limits: Any = None
    """`toolcharter.profile.model.Limits`."""
    tool_limits: Mapping[str, Any] = _NOTHING
    rates: Rates = Rates()
    notify: tuple[Notify, ...] = ()
    ask: tuple[Rule, ...] = ()
