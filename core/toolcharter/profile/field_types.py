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
    Cache,
    Expected,
    MapOf,
    ParsedBy,
    Required,
    TextOr,
    fault,
    form,
    list_of,
    mismatch,
)
from toolcharter.profile.globs import GlobError, parse_glob
from toolcharter.profile.names import NAME, NAME_FIX, anchored
from toolcharter.profile.nodes import Located, LocatedText, to_plain
from toolcharter.profile.rules import GLOB_PATTERN, RULE_PATTERN, Rule, RuleError

if TYPE_CHECKING:
    from packaging import specifiers
else:
    specifiers = lazy("packaging.specifiers")

NON_EMPTY = r"[\s\S]+"
REASON_PATTERN = r"[a-z][a-z0-9_]{0,63}"
WEEK_S = 7 * 24 * 3600
_INT64_MAX = (1 << 63) - 1
_COMPARISON = r"(>=|<=|>|<|==)?\s*([0-9]{1,6})"
# Source: PEP 440, appendix B, only for a bare version.
_VERSION = r"v?[0-9]+(?:\.[0-9]+)*(?:[a-z]+[0-9]*)?"
# Source: PEP 440, "Version specifiers", only operators and separators.
_CLAUSE = r"\s*(?:===|~=|[=!<>]=|<|>)\s*[^\s,]+\s*"
_CLAUSES = rf"[\s,]*{_CLAUSE}(?:,(?:{_CLAUSE}|\s*))*"
_RULE_WORDS = Expected("a rule", "Write a rule such as 'git:push' or 'bash:git log *'.")
_RULE_SCHEMA = {"type": "string", "pattern": anchored(RULE_PATTERN)}
_STORE_URL = r"[a-z][a-z0-9+.-]*:[\s\S]*"
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
_STORE_FIX = "Write a URL such as `sqlite:`, or `{env: NAME}` for the variable that holds a URL with a password."
_DEPTH_WORDS = Expected("a depth", "Write a number, or comparisons such as '>=1' or '>=1,<3'.")


def _check_glob(text: str) -> str:
    try:
        parse_glob(text)
    except GlobError as error:
        raise fault(f"{error}.") from error
    return text


_GLOB = AfterValidator(_check_glob)
_NON_EMPTY = Field(pattern=anchored(NON_EMPTY))
# No look-ahead: editors, and validators that match in linear time, do not support it.
_GLOB_SCHEMA = WithJsonSchema({"type": "string", "pattern": anchored(GLOB_PATTERN)})
_WORD_SCHEMA = WithJsonSchema({"type": "string", "pattern": anchored(GLOB_PATTERN.replace(r"[^\\]", r"[^\\\s]"))})

AnyText = Annotated[str, Expected("text")]
Flag = Annotated[bool, Expected("true or false")]
Count = Annotated[int, Field(gt=0, le=_INT64_MAX), Expected("a whole number above 0")]
Seconds = Annotated[float, Field(gt=0, le=WEEK_S), Expected(f"seconds above 0 and up to {WEEK_S}")]
Reason = Annotated[str, Field(pattern=anchored(REASON_PATTERN)), Expected("a reason, a word in lower case")]
ToolName = Annotated[str, Field(pattern=anchored(NAME)), Expected("the name of a tool", NAME_FIX)]
ToolNames = Annotated[tuple[ToolName, ...], list_of("a list of tools")]
EntryName = Annotated[str, Field(pattern=anchored(NAME)), Expected("a name", NAME_FIX)]
ArgumentNames = Annotated[tuple[AnyText, ...], list_of("a list of arguments")]
CallerGlob = Annotated[str, _NON_EMPTY, _GLOB, _GLOB_SCHEMA, Expected("a name or a glob")]
ToolGlob = Annotated[
    str, _NON_EMPTY, _GLOB, _GLOB_SCHEMA, Expected("a tool's name or glob, 'group:NAME' or 'toolset:NAME'")
]
ToolGlobs = Annotated[tuple[ToolGlob, ...], list_of("a list of tools, groups and toolsets")]
Capability = Annotated[
    str, Field(pattern=anchored(r"\S+")), _GLOB, _WORD_SCHEMA, Expected("a capability such as 'fs:read'")
]
CapabilityGlobs = Annotated[tuple[Capability, ...], list_of("a list of capabilities")]


def _parse_specifier(value: Any, _: Cache) -> str:
    try:
        if isinstance(value, str) and str(specifiers.SpecifierSet(value)):
            return str(value)
    except specifiers.InvalidSpecifier:
        pass
    is_version = isinstance(value, int | float) or (isinstance(value, str) and re.fullmatch(_VERSION, value))
    exactly = f"'=={value}' or " if is_version else ""
    raise mismatch("a version specifier", f"Write {exactly}a range such as '>=1,<2'.")


Specifier = Annotated[str, ParsedBy(_parse_specifier, {"type": "string", "pattern": anchored(_CLAUSES)})]


def _parse_depth(value: Any, _: Cache) -> tuple[tuple[str, int], ...]:
    parts = [] if isinstance(value, bool) or not isinstance(value, int | str) else str(value).split(",")
    found = [re.fullmatch(_COMPARISON, part.strip()) for part in parts]
    comparisons = tuple((match[1] or "==", int(match[2])) for match in found if match)
    if not parts or len(comparisons) < len(parts):
        raise mismatch(*_DEPTH_WORDS)
    return comparisons


_ONE_DEPTH = rf"\s*{_COMPARISON}\s*"
Depth = Annotated[
    tuple[tuple[str, int], ...],
    ParsedBy(
        _parse_depth,
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 999_999},
                {"type": "string", "pattern": anchored(f"{_ONE_DEPTH}(?:,{_ONE_DEPTH})*")},
            ]
        },
        _DEPTH_WORDS,
    ),
]


def _parse_rule_text(value: Any, cache: Cache) -> Rule:
    if not isinstance(value, str):
        raise mismatch(*_RULE_WORDS)
    try:
        rule = cache.rule(value)
    except RuleError as error:
        raise fault(error.what, error.fix) from error
    return rule._replace(source=str(value.node.place)) if isinstance(value, LocatedText) else rule


def _parse_condition(value: Any, cache: Cache) -> Condition:
    try:
        return cache.condition(to_plain(value.node) if isinstance(value, Located) else value)
    except ConditionError as error:
        raise fault(f"{error}.", error.fix or "Write a JSON Schema of draft 2020-12.") from error


RuleText = Annotated[Rule, ParsedBy(_parse_rule_text, _RULE_SCHEMA, _RULE_WORDS)]
_Schema = Annotated[Condition, ParsedBy(_parse_condition, {"type": ["object", "boolean"]})]
_When = Annotated[
    Mapping[str, _Schema],
    MapOf(
        Expected("a mapping from arguments to JSON Schemas", "Write each as `path: {pattern: '^src/'}`."),
        noun="argument",
        pattern=NON_EMPTY,
        name_fix="Write the name of one of the tool's arguments.",
        same=str,
    ),
]


class _Match(NamedTuple):
    rule: Annotated[RuleText, Required("Write `rule: git:push`.")]
    """The rule itself, such as `git:push` or `bash:git log *`."""
    when: _When | None = None
    """A JSON Schema for each argument; the rule matches where all of them hold. An absent argument is null."""
    place: str = ""

    def to_rule(self, reason: str | None = None, message: str | None = None) -> Rule:
        """Return the rule together with its conditions, reason and message."""
        when = None if self.when is None else Conditions(self.when)
        return self.rule._replace(source=self.place, when=when, reason=reason, message=message)


_NO_REASON_FIX = (
    "Remove it: a call that is allowed has no reason and no message. Write it beside a rule of `deny` or `ask`."
)


@form(_RULE_WORDS, finish=lambda read: read.match.to_rule())
class Match(NamedTuple):
    """The long form of a rule that selects calls."""

    match: Annotated[_Match, INLINE]


@form(
    _RULE_WORDS,
    finish=lambda read: read.match.to_rule(),
    misplaced={"reason": _NO_REASON_FIX, "message": _NO_REASON_FIX},
)
class Allow(NamedTuple):
    """The long form of a rule in `allow`."""

    match: Annotated[_Match, INLINE]


@form(_RULE_WORDS, finish=lambda read: read.match.to_rule(read.reason, read.message))
class Deny(NamedTuple):
    """The long form of a rule in `deny`."""

    match: Annotated[_Match, INLINE]
    reason: Reason | None = None
    """The reason that a refused call gets; `denied_by_rule` without it."""
    message: AnyText | None = None
    """The model's text for a refused call."""


@form(_RULE_WORDS, finish=lambda read: read.match.to_rule(read.reason, read.message))
class Ask(NamedTuple):
    """The long form of a rule in `ask`."""

    match: Annotated[_Match, INLINE]
    reason: Reason | None = None
    """The reason that the question gives; `asked_by_rule` without it."""
    message: AnyText | None = None
    """What the person who is asked reads beside the call."""


RuleList = list_of("a list of rules")
MatchRule = Annotated[Rule, TextOr(Match, _parse_rule_text, _RULE_SCHEMA)]
AllowRules = Annotated[tuple[Annotated[Rule, TextOr(Allow, _parse_rule_text, _RULE_SCHEMA)], ...], RuleList]
DenyRules = Annotated[tuple[Annotated[Rule, TextOr(Deny, _parse_rule_text, _RULE_SCHEMA)], ...], RuleList]
AskRules = Annotated[tuple[Annotated[Rule, TextOr(Ask, _parse_rule_text, _RULE_SCHEMA)], ...], RuleList]
RULE_SCHEMA = _RULE_SCHEMA
read_rule = _parse_rule_text


class StoreUrl(NamedTuple):
    """Where the tools of a profile keep records."""

    url: str
    """Empty if a variable holds the URL."""
    env: str = ""
    place: str = ""

    def resolve_url(self, environ: Mapping[str, str]) -> str:
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

    def to_plain(self) -> str | dict[str, str]:
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


def _parse_store_url(text: str, _: Cache) -> StoreUrl:
    if not is_store_url(text):
        raise mismatch("the URL of a store", _STORE_FIX)
    return StoreUrl(str(text), place=str(text.node.place) if isinstance(text, LocatedText) else "")


@form("the URL of a store, or a mapping with `env`", finish=lambda read: StoreUrl("", read.env, read.place))
class _StoreVariable(NamedTuple):
    """The environment variable that holds the URL of a store."""

    env: Annotated[
        str,
        Field(pattern=anchored(_VARIABLE)),
        Expected("the name of an environment variable", _STORE_FIX),
        Required("Write `env: NAME`, or the URL alone."),
    ]
    """The variable that holds the URL."""
    place: str = ""


StoreSetting = Annotated[
    StoreUrl, TextOr(_StoreVariable, _parse_store_url, {"type": "string", "pattern": anchored(_STORE_URL)})
]
