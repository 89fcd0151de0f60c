"""The keys of a whole file: of a profile, of an administrator's ceiling, of a workspace's; and what they become."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import Field

from toolcharter.api.call import Stage, Verdict
from toolcharter.api.words import SECRET_REFERENCE
from toolcharter.profile.field_types import (
    AllowRules,
    AnyText,
    AskRules,
    DenyRules,
    Reason,
    Specifier,
    StoreSetting,
    ToolGlobs,
)
from toolcharter.profile.forms import INLINE, Expected, MapOf, Required, fault, form, list_of, mapping_of
from toolcharter.profile.model import Case, Events, Limits, Profile
from toolcharter.profile.names import NAME, NAME_FIX, anchored, canonical_distribution, fold_tool_name
from toolcharter.profile.rules import GLOB_PATTERN
from toolcharter.profile.settings import (
    DEFAULT_HIDDEN,
    Approvals,
    Availability,
    Capabilities,
    Ceiling,
    HiddenGlobs,
    Mode,
    Notifications,
    Rate,
    Rates,
    SessionGuards,
    WorkspaceNotifications,
)

# A parent of another suffix is refused unopened: the faults of a file that is no profile would quote its lines.
PARENT_PATTERN = r"[A-Za-z0-9_-]+|[\s\S]*\.ya?ml"
_DISTRIBUTION = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_LISTED_NAME = rf"(?:group:|toolset:)?{NAME}(?::[A-Za-z0-9_-]+)?"
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_TOOL_LISTS = Expected("a mapping from names to lists of tools", "Write each as `mine: [read_file]`.")


@form("a mapping of limits")
class ToolLimits(NamedTuple):
    """The limits of one tool."""

    limits: Annotated[Limits, INLINE] = Limits()
    rate: Annotated[Rate, INLINE] = Rate()


@form(
    "a mapping of limits",
    misplaced=dict.fromkeys(
        ("per", "store"), "Write it in a profile: a ceiling says how many calls, not where they are counted."
    ),
)
class CeilingLimits(NamedTuple):
    """The limits that a ceiling may hold."""

    total: Annotated[ToolLimits, INLINE] = ToolLimits()
    tools: Annotated[
        Mapping[str, ToolLimits],
        MapOf(Expected("a mapping from tools to their limits", "Write each as `git: {timeout_s: 10}`.")),
    ] = _NOTHING
    """Limits of single tools; the smaller number wins."""
    agents: Annotated[
        Mapping[str, Rate],
        MapOf(
            Expected("a mapping from agents to their limits", "Write each as `researcher: {calls_per_hour: 10}`."),
            noun="agent",
            pattern=GLOB_PATTERN,
            name_fix=r"Write a name, or a glob in which '*' is any text; '\*' and '\\' are a star and a backslash.",
            same=str,
        ),
    ] = _NOTHING
    """Limits of single agents, by name or glob."""

    def settings(self, per: Literal["session", "agent"] = "session", store: str | None = None) -> dict[str, Any]:
        """Return the limits as arguments of a profile or a ceiling."""
        tools = {fold_tool_name(name): limits for name, limits in self.tools.items()}
        rates = {name: limits.rate for name, limits in tools.items() if limits.rate != Rate()}
        agents = {name: rate for name, rate in self.agents.items() if rate != Rate()}
        return {
            "limits": self.total.limits,
            "tool_limits": MappingProxyType({name: limits.limits for name, limits in tools.items()}),
            "rates": Rates(self.total.rate, MappingProxyType(rates), MappingProxyType(agents), per, store),
        }


@form("a mapping of limits")
class ProfileLimits(NamedTuple):
    """The limits that a profile may hold."""

    all: Annotated[CeilingLimits, INLINE] = CeilingLimits()
    per: Literal["session", "agent"] = "session"
    """Whose calls are counted together."""
    store: (
        Annotated[
            str,
            Field(pattern=anchored(rf"(?:redis|rediss|unix)://.+|{SECRET_REFERENCE}")),
            Expected("a URL", "Write a URL such as `redis://127.0.0.1:6379/0`, or `secret:NAME` if it has a password."),
        ]
        | None
    ) = None
    """Where processes share their counts; without it, each counts alone. `secret:NAME`: the URL is a secret of the store."""


def _to_case(read: "CaseEntry") -> Case:
    if read.expect == "allow" and read.reason is not None:
        raise fault("a call that is allowed has no reason.", "Remove it, or expect deny.", "reason")
    return Case(read.tool, dict(read.args), read.expect, read.reason, read.stage, read.name, read.place)


@form(
    "a case, which is a mapping",
    finish=_to_case,
    schema={"not": {"properties": {"expect": {"const": "allow"}}, "required": ["reason"]}},
)
class CaseEntry(NamedTuple):
    """A call, and the decision that the profile must make about it."""

    tool: Annotated[AnyText, Required("Write `tool: NAME`.")]
    """The tool to call; it may be unknown."""
    expect: Annotated[Verdict, Required(f"Write one of {', '.join(get_args(Verdict))}.")]
    """The decision that the call must get."""
    args: Annotated[Mapping[str, Any], mapping_of("a mapping of arguments")] = _NOTHING
    """Its arguments; {} by default."""
    reason: Reason | None = None
    """The reason that the decision must have."""
    stage: Stage | None = None
    """The stage that must decide the call."""
    name: AnyText | None = None
    """The name that the test runner shows."""
    place: str = ""


@form("a mapping of keys such as `profile` and `tools`")
class ProfileFile(NamedTuple):
    """A profile, as one file or a file merged with its parents has it."""

    profile: Annotated[
        str,
        Field(pattern=anchored(NAME)),
        Expected("a name of letters, digits, '_' and '-'"),
        Required("Write `profile: NAME`; events show the name."),
    ]
    """The name that events show."""
    description: AnyText | None = None
    """A description for people."""
    extends: Annotated[
        tuple[
            Annotated[
                str,
                Field(pattern=anchored(PARENT_PATTERN)),
                Expected("the name of a profile or the path of a .yaml or .yml file"),
            ],
            ...,
        ],
        list_of("a list of profiles"),
    ] = ()
    """Parents: names, or paths of .yaml files relative to this file. They apply from left to right, then the child."""
    mode: Mode = "policy"
    """Which calls run without a rule: see the table of modes."""
    tools: Annotated[
        Mapping[str, Annotated[dict[str, Any], mapping_of("a mapping with the tool's policy")]],
        MapOf(Expected("a mapping from tools to their policies", "Write each tool as a key: `git: {}`.")),
    ] = _NOTHING
    """The available tools, each with its policy; {} means the defaults, which permit the least."""
    deny: DenyRules = ()
    """Rules that forbid calls; no other rule undoes them."""
    ask: AskRules = ()
    """Rules for calls about which a person is asked in every mode, even if `allow` covers them."""
    allow: AllowRules = ()
    """Rules that permit calls which need one; `mode` decides which calls do."""
    capabilities: Capabilities = Capabilities()
    """What the tools may touch."""
    availability: Annotated[tuple[Availability, ...], list_of("a list of entries")] = ()
    """Which tools some callers see."""
    toolsets: Annotated[Mapping[str, ToolGlobs], MapOf(_TOOL_LISTS, noun="toolset")] = _NOTHING
    """Named lists of tools: `toolset:NAME` in availability."""
    groups: Annotated[Mapping[str, ToolGlobs], MapOf(_TOOL_LISTS, noun="group")] = _NOTHING
    """More members of tool groups: `group:NAME`."""
    approvals: Approvals = Approvals()
    """How people are asked."""
    session_guards: SessionGuards = SessionGuards()
    """Guards that remember a session's calls."""
    limits: ProfileLimits = ProfileLimits()
    """How long a call may take, how much it may return, and how many calls there may be."""
    notify: Notifications = ()
    """Which calls to report after they end, and where."""
    extensions: Annotated[
        Mapping[str, Annotated[dict[str, Any], mapping_of("a mapping with the extension's policy")]],
        MapOf(
            Expected("a mapping from extensions to their policies", "Write each extension as a key: `principles: {}`."),
            noun="extension",
        ),
    ] = _NOTHING
    """Plugins without tools, such as checks, each with its policy."""
    runner: (
        Annotated[
            str,
            Field(pattern=anchored(NAME)),
            Expected("the name of a runner", "Runners: 'host', which is not a sandbox, and those of plugins."),
        ]
        | None
    ) = None
    """Where programs run: `host`, or an extension such as `bwrap`. Without it, tools such as `bash` run nothing."""
    hidden: HiddenGlobs = DEFAULT_HIDDEN
    """Files that no tool reads or changes and no program in a sandbox sees. Without it: files of credentials; see below."""
    store: StoreSetting | None = None
    """Where tools keep records: the URL of a store, or `{env: NAME}`. Without it: `sqlite:`, in the user's state folder."""
    plugins: Annotated[
        Mapping[str, Specifier],
        MapOf(
            Expected(
                "a mapping from distributions to version specifiers",
                "Write each as `toolcharter-git: '>=1,<2'`.",
            ),
            noun="distribution",
            pattern=_DISTRIBUTION,
            name_fix="Write its name as pip knows it.",
            same=canonical_distribution,
        ),
    ] = _NOTHING
    """Accepted versions of distributions; with any other version, the start is refused."""
    events: Events = Events()
    """How much events show, and whether calls need them."""
    cases: Annotated[tuple[CaseEntry, ...], list_of("a list of cases")] = ()
    """Calls, each with the expected decision; `toolcharter test` checks them."""
    missing_ok: Annotated[
        tuple[
            Annotated[
                str,
                Field(pattern=anchored(_LISTED_NAME)),
                Expected("the name of a tool, 'group:NAME' or 'toolset:NAME'", NAME_FIX),
            ],
            ...,
        ],
        list_of("a list of names of tools"),
    ] = ()
    """Names of tools and groups that need not exist yet."""

    def to_profile(self) -> Profile:
        """Return the profile that the file defines."""
        fields = self._asdict()
        limits = self.limits
        for key in ("profile", "extends", "limits"):
            del fields[key]
        return Profile(name=self.profile, **limits.all.settings(limits.per, limits.store), **fields)


_TIGHTENING_KEYS = ("deny", "ask", "mode", "capabilities", "limits", "notify")
_TIGHTEN_FIX = f"A ceiling can only tighten: {', '.join(_TIGHTENING_KEYS)}. Write it in a profile."
_MISPLACED_KEYS = {name: _TIGHTEN_FIX for name in ProfileFile._fields if name not in _TIGHTENING_KEYS}


class _Tightening(NamedTuple):
    deny: DenyRules = ()
    """Rules that forbid calls; no other rule undoes them."""
    ask: AskRules = ()
    """Rules for calls about which a person is asked in every mode, even if `allow` covers them."""
    mode: Mode | None = None
    """Which calls run without a rule: see the table of modes."""
    capabilities: Capabilities = Capabilities()
    """What the tools may touch."""
    limits: CeilingLimits = CeilingLimits()
    """How long a call may take, how much it may return, and how many calls there may be."""

    def to_ceiling(self, name: str, notify: Notifications) -> Ceiling:
        """Return the ceiling that the file *name* defines."""
        fields = self._asdict()
        del fields["limits"]
        return Ceiling(name=name, notify=notify, **fields, **self.limits.settings())


@form("a mapping of keys such as `deny` and `mode`", misplaced=_MISPLACED_KEYS)
class CeilingFile(NamedTuple):
    """An administrator's file."""

    tightening: Annotated[_Tightening, INLINE] = _Tightening()
    notify: Notifications = ()
    """Which calls to report after they end, and where."""


@form("a mapping of keys such as `deny` and `mode`", misplaced=_MISPLACED_KEYS)
class WorkspaceFile(NamedTuple):
    """The workspace's own file."""

    tightening: Annotated[_Tightening, INLINE] = _Tightening()
    notify: WorkspaceNotifications = ()
    """Which calls to report after they end, and where."""
