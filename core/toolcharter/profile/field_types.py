"""The types of the values in a profile: names, globs, numbers, rules, each with the words of its faults."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field, WithJsonSchema

from toolcharter._lazy import lazy
from toolcharter.errors import ConfigurationError, Fault
from toolcharter.profile.conditions import Condition, ConditionError, Conditions
from toolcharter.profile.forms import (
    INLINE,
    Names,
    Needed,
    ReadBy,
    Reading,
    TextOr,
    Words,
    fault,
    form,
    listed,
    unlike,
)
from toolcharter.profile.globs import GlobError, parse_glob
from toolcharter.profile.names import NAME, NAME_FIX, whole
from toolcharter.profile.nodes import Located, LocatedText, plain
from toolcharter.profile.rules import GLOB, PATTERN, Rule, RuleError

if TYPE_CHECKING:
    from packaging import specifiers
else:
    specifiers = lazy("packaging.specifiers")

SOME = r"[\s\S]+"
REASON = r"[a-z][a-z0-9_]{0,63}"
WEEK_S = 7 * 24 * 3600
_INT64_MAX = (1 << 63) - 1
_COMPARISON = r"(>=|<=|>|<|==)?\s*([0-9]{1,6})"
# Source: PEP 440, appendix B, only for a bare version.
_VERSION = r"v?[0-9]+(?:\.[0-9]+)*(?:[a-z]+[0-9]*)?"
# Source: PEP 440, "Version specifiers", only operators and separators.
_CLAUSE = r"\s*(?:===|~=|[=!<>]=|<|>)\s*[^\s,]+\s*"
_CLAUSES = rf"[\s,]*{_CLAUSE}(?:,(?:{_CLAUSE}|\s*))*"
_RULE = Words("a rule", "Write a rule such as 'git:push' or 'bash:git log *'.")
_RULE_SCHEMA = {"type": "string", "pattern": whole(PATTERN)}
_STORE_URL = r"[a-z][a-z0-9+.-]*:[\s\S]*"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_STORE_FIX = "Write a URL such as `sqlite:`, or `{env: NAME}` for the variable that holds a URL with a password."
_DEPTH = Words("a depth", "Write a number, or comparisons such as '>=1' or '>=1,<3'.")


def _glob(text: str) -> str:
    try:
        parse_glob(text)
    except GlobError as error:
        raise fault(f"{error}.") from error
    return text


_GLOB = AfterValidator(_glob)
_SOME = Field(pattern=whole(SOME))
# No look-ahead: editors, and validators that match in linear time, do not support it.
_GLOB_SCHEMA = WithJsonSchema({"type": "string", "pattern": whole(GLOB)})
_WORD_SCHEMA = WithJsonSchema({"type": "string", "pattern": whole(GLOB.replace(r"[^\\]", r"[^\\\s]"))})

AnyText = Annotated[str, Words("text")]
Flag = Annotated[bool, Words("true or false")]
Count = Annotated[int, Field(gt=0, le=_INT64_MAX), Words("a whole number above 0")]
Seconds = Annotated[float, Field(gt=0, le=WEEK_S), Words(f"seconds above 0 and up to {WEEK_S}")]
Reason = Annotated[str, Field(pattern=whole(REASON)), Words("a reason, a word in lower case")]
ToolName = Annotated[str, Field(pattern=whole(NAME)), Words("the name of a tool", NAME_FIX)]
ToolNames = Annotated[tuple[ToolName, ...], listed("a list of tools")]
EntryName = Annotated[str, Field(pattern=whole(NAME)), Words("a name", NAME_FIX)]
ArgumentNames = Annotated[tuple[AnyText, ...], listed("a list of arguments")]
CallerGlob = Annotated[str, _SOME, _GLOB, _GLOB_SCHEMA, Words("a name or a glob")]
ToolGlob = Annotated[str, _SOME, _GLOB, _GLOB_SCHEMA, Words("a tool's name or glob, 'group:NAME' or 'toolset:NAME'")]
ToolGlobs = Annotated[tuple[ToolGlob, ...], listed("a list of tools, groups and toolsets")]
Capability = Annotated[str, Field(pattern=whole(r"\S+")), _GLOB, _WORD_SCHEMA, Words("a capability such as 'fs:read'")]
CapabilityGlobs = Annotated[tuple[Capability, ...], listed("a list of capabilities")]


def _specifier(value: Any, _: Reading) -> str:
    try:
        if isinstance(value, str) and str(specifiers.SpecifierSet(value)):
            return str(value)
    except specifiers.InvalidSpecifier:
        pass
    is_version = isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(_VERSION, value))
    exactly = f"'=={value}' or " if is_version else ""
    raise unlike("a version specifier", f"Write {exactly}a range such as '>=1,<2'.")


Specifier = Annotated[str, ReadBy(_specifier, {"type": "string", "pattern": whole(_CLAUSES)})]


def _depth(value: Any, _: Reading) -> tuple[tuple[str, int], ...]:
    parts = [] if isinstance(value, bool) or not isinstance(value, int | str) else str(value).split(",")
    found = [re.fullmatch(_COMPARISON, part.strip()) for part in parts]
    comparisons = tuple((match[1] or "==", int(match[2])) for match in found if match)
    if not parts or len(comparisons) < len(parts):
        raise unlike(*_DEPTH)
    return comparisons


_ONE_DEPTH = rf"\s*{_COMPARISON}\s*"
Depth = Annotated[
    tuple[tuple[str, int], ...],
    ReadBy(
        _depth,
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 999_999},
                {"type": "string", "pattern": whole(f"{_ONE_DEPTH}(?:,{_ONE_DEPTH})*")},
            ]
        },
        _DEPTH,
    ),
]


def _rule_text(value: Any, reading: Reading) -> Rule:
    if not isinstance(value, str):
        raise unlike(*_RULE)
    try:
        rule = reading.rule(value)
    except RuleError as error:
        raise fault(error.what, error.fix) from error
    return rule._replace(source=str(value.node.place)) if isinstance(value, LocatedText) else rule


def _condition(value: Any, reading: Reading) -> Condition:
    try:
        return reading.condition(plain(value.node) if isinstance(value, Located) else value)
    except ConditionError as error:
        raise fault(f"{error}.", error.fix or "Write a JSON Schema of draft 2020-12.") from error


RuleText = Annotated[Rule, ReadBy(_rule_text, _RULE_SCHEMA, _RULE)]
_Schema = Annotated[Condition, ReadBy(_condition, {"type": ["object", "boolean"]})]
_When = Annotated[
    Mapping[str, _Schema],
    Names(
        Words("a mapping from arguments to JSON Schemas", "Write each as `path: {pattern: '^src/'}`."),
        noun="argument",
        pattern=SOME,
        name_fix="Write the name of one of the tool's arguments.",
        same=str,
    ),
]


class _Match(NamedTuple):
    rule: Annotated[RuleText, Needed("Write `rule: git:push`.")]
    """The rule itself, such as `git:push` or `bash:git log *`."""
    when: _When | None = None
    """A JSON Schema for each argument; the rule matches where all of them hold. An absent argument is null."""
    place: str = ""

    def made(self, reason: str | None = None, message: str | None = None) -> Rule:
        """Return the rule together with its conditions, reason and message."""
        when = None if self.when is None else Conditions(self.when)
        return self.rule._replace(source=self.place, when=when, reason=reason, message=message)


_UNSAID = "Remove it: a call that is allowed has no reason and no message. Write it beside a rule of `deny` or `ask`."


@form(_RULE, finish=lambda read: read.match.made())
class Match(NamedTuple):
    """The long form of a rule that selects calls."""

    match: Annotated[_Match, INLINE]


@form(_RULE, finish=lambda read: read.match.made(), misplaced={"reason": _UNSAID, "message": _UNSAID})
class Allow(NamedTuple):
    """The long form of a rule in `allow`."""

    match: Annotated[_Match, INLINE]


@form(_RULE, finish=lambda read: read.match.made(read.reason, read.message))
class Deny(NamedTuple):
    """The long form of a rule in `deny`."""

    match: Annotated[_Match, INLINE]
    reason: Reason | None = None
    """The reason that a refused call gets; `denied_by_rule` without it."""
    message: AnyText | None = None
    """The model's text for a refused call."""


@form(_RULE, finish=lambda read: read.match.made(read.reason, read.message))
class Ask(NamedTuple):
    """The long form of a rule in `ask`."""

    match: Annotated[_Match, INLINE]
    reason: Reason | None = None
    """The reason that the question gives; `asked_by_rule` without it."""
    message: AnyText | None = None
    """What the person who is asked reads beside the call."""


RuleList = listed("a list of rules")
MatchRule = Annotated[Rule, TextOr(Match, _rule_text, _RULE_SCHEMA)]
AllowRules = Annotated[tuple[Annotated[Rule, TextOr(Allow, _rule_text, _RULE_SCHEMA)], ...], RuleList]
DenyRules = Annotated[tuple[Annotated[Rule, TextOr(Deny, _rule_text, _RULE_SCHEMA)], ...], RuleList]
AskRules = Annotated[tuple[Annotated[Rule, TextOr(Ask, _rule_text, _RULE_SCHEMA)], ...], RuleList]
RULE_SCHEMA = _RULE_SCHEMA
read_rule = _rule_text


class StoreUrl(NamedTuple):
    """Where the tools of a profile keep records."""

    url: str
    """Empty if a variable holds the URL."""
    env: str = ""
    place: str = ""

    def resolved(self, environ: Mapping[str, str]) -> str:
        """Return the URL, from the environment variable if there is one.

        Raises:
            ConfigurationError: The variable is not set, or does not hold a URL.
        """
        if not self.env:
            return self.url
        url = environ.get(self.env, "")
        if not is_store_url(url):
            what = f"the variable {self.env!r} {'does not hold a URL' if url else 'is not set'}."
            raise ConfigurationError([Fault(self.place, "store", what, "Set it to a URL such as `sqlite:`.")])
        return url

    def written(self) -> str | dict[str, str]:
        """Return the setting as a profile has it."""
        return {"env": self.env} if self.env else self.url

    def without_password(self) -> str | dict[str, str]:
        """Return the setting for a digest: the facts that decide where records are kept, without secrets."""
        if self.env:
            return {"env": self.env}
        scheme, mark, rest = self.url.partition("://")
        if not mark:
            return self.url.partition("?")[0]
        # The last `@`: a password that was not encoded may hold `@` and `/`.
        user, at, address = rest.rpartition("@")
        return f"{scheme}://{user.partition(':')[0]}{at}{address.partition('?')[0]}"


def is_store_url(text: str) -> bool:
    """Whether *text* begins like a URL."""
    scheme, colon, _ = text.partition(":")
    return bool(colon) and scheme.isascii() and scheme[:1].islower() and scheme.replace("+", "").isalnum()


def _store_url(text: str, _: Reading) -> StoreUrl:
    if not is_store_url(text):
        raise unlike("the URL of a store", _STORE_FIX)
    return StoreUrl(str(text), place=str(text.node.place) if isinstance(text, LocatedText) else "")


@form("the URL of a store, or a mapping with `env`", finish=lambda read: StoreUrl("", read.env, read.place))
class _StoreVariable(NamedTuple):
    """The environment variable that holds the URL of a store."""

    env: Annotated[
        str,
        Field(pattern=whole(_VARIABLE)),
        Words("the name of an environment variable", _STORE_FIX),
        Needed("Write `env: NAME`, or the URL alone."),
    ]
    """The variable that holds the URL."""
    place: str = ""


StoreSetting = Annotated[StoreUrl, TextOr(_StoreVariable, _store_url, {"type": "string", "pattern": whole(_STORE_URL)})]
