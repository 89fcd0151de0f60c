"""The settings of a profile that are more than one number: what its keys become once they are read.

Values only: `toolcharter.profile.schema` says what may stand in a file, the modules that use a setting say what it does.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from toolcharter.api.words import Safety
from toolcharter.profile.rules import Rule

Mode = Literal["policy", "restrict", "ask", "dangerous"]
MODES: tuple[Mode, ...] = ("policy", "restrict", "ask", "dangerous")
Outcome = Literal["ok", "error", "denied"]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Capabilities(NamedTuple):
    """What the tools of a profile may touch. Patterns are exact or hold `*`; upper and lower case differ."""

    allow: tuple[str, ...] | None = None
    """All that an action declares must be here; None is no restriction, `()` nothing, `("*",)` all."""
    deny: tuple[str, ...] = ()
    """None of what an action declares may be here; an action that declares nothing counts as declaring all."""
    max_safety: Safety | None = None


class CallerPattern(NamedTuple):
    """Which callers an availability entry is for: each field given has to match; an absent fact matches none."""

    provider: tuple[str, ...] | None = None
    agent: tuple[str, ...] | None = None
    group: tuple[str, ...] | None = None
    depth: tuple[tuple[str, int], ...] | None = None
    """Comparisons that all hold: `((">=", 1), ("<", 3))`."""


class Availability(NamedTuple):
    """Which tools some callers see. Entries are names, globs, `group:NAME` and `toolset:NAME`."""

    callers: CallerPattern = CallerPattern()
    tools: tuple[str, ...] | None = None
    """None is no restriction, `()` nothing, `("*",)` all."""
    deny: tuple[str, ...] = ()
    also_allow: tuple[str, ...] = ()
    """Undoes narrowing by `tools`, never a deny."""
    name: str | None = None
    replaces: str | None = None
    """The name of the entry whose place this one takes for the callers it matches."""
    place: str = ""
    """`file:line:column`."""


class HiddenGlob(NamedTuple):
    """Names of files and folders that no tool reads, and no program in a sandbox sees."""

    glob: str
    """For the name of any component, or with a slash for a path; `!GLOB` excepts."""
    containing: str | None = None
    """Only files that hold this text near their beginning."""


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
"""Where a profile has no `hidden`: files that hold credentials by their name, or by a word in them."""


class Approvals(NamedTuple):
    """How people are asked."""

    timeout_s: float = 120.0
    approvers: tuple[str, ...] | None = None
    """Patterns of the names that may answer; None is anybody but the caller."""
    always: bool = True
    """Whether "allow always" is offered."""
    keep_days: float = 30.0
    """How long a kept approval holds, in days."""


class Rate(NamedTuple):
    """How many calls may enter a tool; None is no limit."""

    calls_per_minute: int | None = None
    calls_per_hour: int | None = None
    calls_per_session: int | None = None


class Rates(NamedTuple):
    """The rate limits of a profile; a call needs room in all that concern it."""

    total: Rate = Rate()
    tools: Mapping[str, Rate] = _NOTHING
    """By tool, names in lower case."""
    agents: Mapping[str, Rate] = _NOTHING
    """By pattern of the agent's name."""
    per: Literal["session", "agent"] = "session"
    """Whose calls are counted together."""
    store: str | None = None
    """`redis://...` to share the counts between processes; None keeps them in this one."""


class ReadBeforeWrite(NamedTuple):
    """An existing file must have been read in the session before it is written."""

    mode: Literal["strict", "warn", "off"] = "off"
    reads: tuple[str, ...] = ("read_file",)
    """Tools whose success counts as having read the file."""
    writes: tuple[str, ...] = ("write_file", "edit_file")
    argument: str = "path"


class Repeats(NamedTuple):
    """Identical calls, or identical results, one after the other in a session; None is off."""

    warn: int | None = None
    """From this one on, the model is told."""
    deny: int | None = None
    """From this one on, the call is refused."""


class DependsOn(NamedTuple):
    """Calls that need an earlier one."""

    match: Rule
    needs: Rule
    message: str | None = None
    args: tuple[str, ...] = ()
    """Arguments that must have the same values in both calls, such as a handle."""


class SkipDuplicate(NamedTuple):
    """Calls that need not be made twice in a session."""

    match: Rule
    args: tuple[str, ...] | None = None
    """The arguments that make two calls the same; None is all of them."""


class AfterCall(NamedTuple):
    """A message to the model behind the result of a call."""

    match: Rule
    message: str
    outcomes: tuple[Outcome, ...] = ("ok",)


class SessionGuards(NamedTuple):
    """The guards that remember a session's calls (`guards:`)."""

    read_before_write: ReadBeforeWrite = ReadBeforeWrite()
    repeated_calls: Repeats = Repeats()
    same_result: Repeats = Repeats()
    depends_on: tuple[DependsOn, ...] = ()
    skip_duplicate: tuple[SkipDuplicate, ...] = ()
    after_call: tuple[AfterCall, ...] = ()


class Notify(NamedTuple):
    """Whom to tell of which calls, after the call."""

    match: tuple[Rule, ...]
    deliver: Literal["log", "webhook"] = "log"
    url: str | None = None
    """Where a webhook listens."""
    outcomes: tuple[Outcome, ...] = ("ok", "error", "denied")
    place: str = ""


class Ceiling(NamedTuple):
    """What a workspace's or an administrator's file, or the environment, adds to every profile: it only tightens."""

    name: str
    """The file as the user knows it, or the environment variable."""
    deny: tuple[Rule, ...] = ()
    mode: Mode | None = None
    capabilities: Capabilities = Capabilities()
    limits: Any = None
    """`toolcharter.profile.model.Limits`."""
    tool_limits: Mapping[str, Any] = _NOTHING
    rates: Rates = Rates()
    notify: tuple[Notify, ...] = ()
    ask: tuple[Rule, ...] = ()
