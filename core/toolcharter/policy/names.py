"""Names in rules and patterns that nothing provides: a misspelt deny protects nothing, so that it stops the start."""

from collections.abc import Callable, Collection, Iterable, Iterator

from toolcharter.api.words import RULE_PREFIXES
from toolcharter.errors import Fault, did_you_mean
from toolcharter.profile.globs import fold
from toolcharter.profile.model import Profile
from toolcharter.profile.nodes import dotted
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Ceiling, Notify, ReadBeforeWrite

_NAMING = frozenset({"", "builtin", "cli", "custom"})
MayCome = Callable[[str], bool]
"""Whether a tool of a name may come while a session lasts, as a discoverer says."""


def _never(_: str) -> bool:
    return False


def written_patterns(profile: Profile, ceilings: Iterable[Ceiling]) -> Iterator[tuple[str, Rule]]:
    """Every rule and pattern that holds for a profile, with the key it is under."""
    yield from (("deny", rule) for rule in profile.deny)
    yield from (("ask", rule) for rule in profile.ask)
    yield from (("allow", rule) for rule in profile.allow)
    memory = profile.session_guards
    yield from (("session_guards.depends_on", one) for entry in memory.depends_on for one in (entry.match, entry.needs))
    yield from (("session_guards.skip_duplicate", entry.match) for entry in memory.skip_duplicate)
    yield from (("session_guards.after_call", entry.match) for entry in memory.after_call)
    yield from _told(profile.notify)
    for ceiling in ceilings:
        yield from (("deny", rule) for rule in ceiling.deny)
        yield from (("ask", rule) for rule in ceiling.ask)
        yield from _told(ceiling.notify)


def _told(notify: Iterable[Notify]) -> Iterator[tuple[str, Rule]]:
    yield from (("notify", rule) for entry in notify for rule in entry.match)


def written_tools(
    profile: Profile, ceilings: Iterable[Ceiling], place_of: Callable[..., str]
) -> Iterator[tuple[str, str, str]]:
    """Every name of a tool that a ceiling's limit or a guard is written for: its place, its key, and the name."""
    for ceiling in ceilings:
        yield from ((ceiling.name, f"limits.tools.{name}", name) for name in ceiling.tool_limits)
    usual, written = ReadBeforeWrite(), profile.session_guards.read_before_write
    for key in ("reads", "writes"):
        path = ("session_guards", "read_before_write", key)
        yield from (
            (place_of(*path), ".".join(path), name) for name in getattr(written, key) if name not in getattr(usual, key)
        )


def limit_faults(
    profile: Profile, aliases: Iterable[str], place_of: Callable[..., str], may_come: MayCome = _never
) -> Iterator[Fault]:
    """The limits of *profile* for tools that it does not list: a misspelt name would limit nothing.

    Args:
        profile: Its `missing_ok` names what it may add later.
        aliases: Of the tools that it lists.
        place_of: Where a key was written.
        may_come: What need not be there yet.
    """
    known = {fold(name) for name in (*profile.tools, *aliases)}
    later = {fold(name) for name in profile.missing_ok}
    listed = ", ".join(map(repr, sorted(profile.tools))) or "none"
    for name in profile.tool_limits:
        if name not in known | later and not may_come(name):
            fix = f"{did_you_mean(name, known)} Listed tools: {listed}.".lstrip()
            place = place_of("limits", "tools", name)
            yield Fault(place, dotted(("limits", "tools", name)), f"the profile lists no tool named {name!r}.", fix)


def tool_faults(
    written: Iterable[tuple[str, str, str]],
    tools: Iterable[str],
    missing_ok: Iterable[str],
    may_come: MayCome = _never,
) -> Iterator[Fault]:
    """Those of *written* that nothing provides: a limit for a misspelt name limits nothing.

    Args:
        written: From `written_tools`.
        tools: Names and aliases of listed and of installed tools.
        missing_ok: Names that may appear later.
        may_come: Says so of more of them.
    """
    known = {fold(name) for name in (*tools, *missing_ok)}
    for place, path, name in written:
        if fold(name) not in known and not may_come(name):
            near = did_you_mean(fold(name), known)
            fix = f"{near} If it comes later, add {name!r} to `missing_ok`.".lstrip()
            yield Fault(place, path, f"nothing provides a tool named {name!r}.", fix)


def name_faults(
    patterns: Iterable[tuple[str, Rule]],
    tools: Collection[str],
    groups: Collection[str],
    missing_ok: Collection[str],
    may_come: MayCome = _never,
) -> Iterator[Fault]:
    """The patterns that name a tool or a group, literally, that nothing provides.

    Args:
        patterns: Each with the key it is under.
        tools: Names and aliases of listed and of installed tools.
        groups: Known groups.
        missing_ok: Names, and `group:NAME`, that may appear later.
        may_come: Says so of more names.
    """
    known = {fold(name) for name in (*tools, *missing_ok)}
    known_groups = {fold(group) for group in groups} | {
        fold(name).removeprefix("group:") for name in missing_ok if ":" in name
    }
    for path, rule in patterns:
        name = literal_name(rule)
        if name is not None and name not in known and not may_come(name):
            yield Fault(rule.source, path, f"nothing provides a tool named {name!r}.", _fix(name, rule, known))
        elif rule.prefix == "group" and rule.glob.literal is not None and rule.glob.literal not in known_groups:
            listed = ", ".join(map(repr, sorted(known_groups))) or "none"
            near = did_you_mean(rule.glob.literal, known_groups)
            fix = f"{near} Known groups: {listed}. If it comes later, add {rule.text!r} to `missing_ok`.".lstrip()
            yield Fault(rule.source, path, f"there is no group {rule.glob.literal!r}.", fix)


def literal_name(rule: Rule) -> str | None:
    """The one tool that *rule* names, without case; None if it is a glob over names, or about something else."""
    if rule.prefix not in _NAMING:
        return None
    if rule.glob.literal is not None:
        return rule.glob.literal.partition(":")[0]
    name, colon, _ = rule.glob.prefix.partition(":")
    return name if colon else None


def _fix(name: str, rule: Rule, known: Collection[str]) -> str:
    if did_you_mean(name, RULE_PREFIXES) and ":" in rule.text and not did_you_mean(name, known):
        return f"{did_you_mean(name, RULE_PREFIXES)} Prefixes: {', '.join(map(repr, sorted(RULE_PREFIXES)))}."
    near = did_you_mean(name, known)
    return f"{near} If it comes later, add {name!r} to `missing_ok`; a glob may match nothing.".lstrip()
