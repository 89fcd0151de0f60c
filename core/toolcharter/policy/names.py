"""Reports names in rules and patterns that nothing provides: a misspelt deny protects nothing, so the start fails."""

from collections.abc import Callable, Collection, Iterable, Iterator

from toolcharter.api.words import RULE_PREFIXES
from toolcharter.errors import Fault, did_you_mean
from toolcharter.profile.globs import fold
from toolcharter.profile.model import Profile
from toolcharter.profile.nodes import dotted
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import Ceiling, Notify, ReadBeforeWrite

_NAME_PREFIXES = frozenset({"", "builtin", "cli", "custom"})
MayCome = Callable[[str], bool]
"""Returns whether a tool of the name may appear during a session, according to a discoverer."""


def _none_may_come(_: str) -> bool:
    return False


def written_patterns(profile: Profile, ceilings: Iterable[Ceiling]) -> Iterator[tuple[str, Rule]]:
    """Yield every rule and pattern that applies to a profile, with its key."""
    yield from (("deny", rule) for rule in profile.deny)
    yield from (("ask", rule) for rule in profile.ask)
    yield from (("allow", rule) for rule in profile.allow)
    guards = profile.session_guards
    yield from (("session_guards.depends_on", one) for entry in guards.depends_on for one in (entry.match, entry.needs))
    yield from (("session_guards.skip_duplicate", entry.match) for entry in guards.skip_duplicate)
    yield from (("session_guards.after_call", entry.match) for entry in guards.after_call)
    yield from _notify_patterns(profile.notify)
    for ceiling in ceilings:
        yield from (("deny", rule) for rule in ceiling.deny)
        yield from (("ask", rule) for rule in ceiling.ask)
        yield from _notify_patterns(ceiling.notify)


def _notify_patterns(notify: Iterable[Notify]) -> Iterator[tuple[str, Rule]]:
    yield from (("notify", rule) for entry in notify for rule in entry.match)


def written_tools(
    profile: Profile, ceilings: Iterable[Ceiling], place_of: Callable[..., str]
) -> Iterator[tuple[str, str, str]]:
    """Yield every tool name that a ceiling's limit or a guard contains, with its place and its key."""
    for ceiling in ceilings:
        yield from ((ceiling.name, f"limits.tools.{name}", name) for name in ceiling.tool_limits)
    usual, written = ReadBeforeWrite(), profile.session_guards.read_before_write
    for key in ("reads", "writes"):
        path = ("session_guards", "read_before_write", key)
        yield from (
            (place_of(*path), ".".join(path), name) for name in getattr(written, key) if name not in getattr(usual, key)
        )


def limit_faults(
    profile: Profile, aliases: Iterable[str], place_of: Callable[..., str], may_come: MayCome = _none_may_come
) -> Iterator[Fault]:
    """Yield a fault for each limit of *profile* for a tool that it does not list: a misspelt name would limit nothing.

    Args:
        profile: Its `missing_ok` names tools that it may list later.
        aliases: The aliases of the tools that it lists.
        place_of: Returns the place of a key.
        may_come: Returns whether a tool of a name may appear later.
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
    may_come: MayCome = _none_may_come,
) -> Iterator[Fault]:
    """Yield a fault for each of *written* that nothing provides: a limit for a misspelt name limits nothing.

    Args:
        written: From `written_tools`.
        tools: Names and aliases of listed and of installed tools.
        missing_ok: Names that may appear later.
        may_come: Returns whether a tool of another name may appear later.
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
    may_come: MayCome = _none_may_come,
) -> Iterator[Fault]:
    """Yield a fault for each pattern that literally names a tool or a group that nothing provides.

    Args:
        patterns: Each with its key.
        tools: Names and aliases of listed and of installed tools.
        groups: Known groups.
        missing_ok: Names, and `group:NAME`, that may appear later.
        may_come: Returns whether a tool of another name may appear later.
    """
    known = {fold(name) for name in (*tools, *missing_ok)}
    known_groups = {fold(group) for group in groups} | {
        fold(name).removeprefix("group:") for name in missing_ok if ":" in name
    }
    for path, rule in patterns:
        name = literal_name(rule)
        if name is not None and name not in known and not may_come(name):
            yield Fault(rule.source, path, f"nothing provides a tool named {name!r}.", _suggest_fix(name, rule, known))
        elif rule.prefix == "group" and rule.glob.literal is not None and rule.glob.literal not in known_groups:
            listed = ", ".join(map(repr, sorted(known_groups))) or "none"
            near = did_you_mean(rule.glob.literal, known_groups)
            fix = f"{near} Known groups: {listed}. If it comes later, add {rule.text!r} to `missing_ok`.".lstrip()
            yield Fault(rule.source, path, f"there is no group {rule.glob.literal!r}.", fix)


def literal_name(rule: Rule) -> str | None:
    """Return the one tool that *rule* names, without case; None if it is a glob for names, or not about a name."""
    if rule.prefix not in _NAME_PREFIXES:
        return None
    if rule.glob.literal is not None:
        return rule.glob.literal.partition(":")[0]
    name, colon, _ = rule.glob.prefix.partition(":")
    return name if colon else None


def _suggest_fix(name: str, rule: Rule, known: Collection[str]) -> str:
    if did_you_mean(name, RULE_PREFIXES) and ":" in rule.text and not did_you_mean(name, known):
        return f"{did_you_mean(name, RULE_PREFIXES)} Prefixes: {', '.join(map(repr, sorted(RULE_PREFIXES)))}."
    near = did_you_mean(name, known)
    return f"{near} If it comes later, add {name!r} to `missing_ok`; a glob may match nothing.".lstrip()
