"""Finds `session_guards` and `limits` without effect, and tools whose commands rules cannot see. For authors. Pure.

All findings are true, as in `toolcharter.policy.lint.rules`.
"""

from collections.abc import Iterator, Sequence

from toolcharter.errors import did_you_mean
from toolcharter.policy.lint.ceilings import limit_values
from toolcharter.policy.lint.coverage import ToolMatcher, ToolSignature
from toolcharter.policy.lint.rules import Finding, LintedProfile, format_names, tool_names
from toolcharter.policy.names import literal_name
from toolcharter.profile.globs import fold
from toolcharter.profile.rules import Rule
from toolcharter.profile.settings import SessionGuards


def settings_findings(subject: LintedProfile) -> Iterator[Finding]:
    """Yield the findings about a profile's settings; `rules.py` checks its rules."""
    guards = subject.profile.session_guards
    yield from _undeclared_commands(subject)
    yield from _code_arguments(subject)
    yield from _late_warnings(subject, guards)
    yield from _unknown_arguments(subject, guards)
    yield from _ineffective_limits(subject)


def _undeclared_commands(subject: LintedProfile) -> Iterator[Finding]:
    for tool in subject.tools:
        if tool.facts.kind == "bash" and not tool.gives_commands:
            name = tool.facts.name
            what = "it runs commands, but its spec has no `invocation` that declares them, so no rule can match them."
            fix = "The plugin's author has to add it."
            yield Finding("risky", subject.place_of("tools", name), f"tools.{name}", what, fix)


def _code_arguments(subject: LintedProfile) -> Iterator[Finding]:
    for tool in subject.tools:
        name = tool.facts.name
        for argument in tool.evaluated:
            what = (
                f"a shell or an interpreter gets its argument {argument!r} as code, or a program starts it: "
                "its callers write programs."
            )
            fix = "Give the program a file or words, or choose the mode `ask`, so that a person sees each call."
            yield Finding("risky", subject.place_of("tools", name), f"tools.{name}", what, fix)


def _late_warnings(subject: LintedProfile, guards: SessionGuards) -> Iterator[Finding]:
    """Report warnings of guards that refuse the call before they would warn."""
    # `same_result` and `no_progress` warn with a result; they refuse only the call after it.
    rows: tuple[tuple[tuple[str, ...], tuple[int | None, ...], int], ...] = (
        (("repeated_calls",), guards.repeated_calls, 0),
        (("same_result",), guards.same_result, 1),
        (("no_progress",), guards.no_progress, 1),
        (("read_streak",), guards.read_streak[:2], 0),
        (("read_streak", "exploring"), guards.read_streak.exploring, 0),
    )
    for keys, (warn, deny), late in rows:
        if warn is not None and deny is not None and warn >= deny + late:
            what = f"`warn` is {warn} and `deny` is {deny}: the call is refused before any warning."
            place = subject.place_of("session_guards", *keys, "warn")
            yield Finding(
                "never_matters", place, f"session_guards.{'.'.join(keys)}.warn", what, "Let `warn` be less than `deny`."
            )


def _unknown_arguments(subject: LintedProfile, guards: SessionGuards) -> Iterator[Finding]:
    """Report arguments that guards depend on although no tool they apply to has them."""
    reading = guards.read_before_write
    if reading.mode != "off":
        named = set(map(fold, (*reading.reads, *reading.writes)))
        tools = [tool for tool in subject.tools if named & set(map(fold, (tool.facts.name, *tool.facts.aliases)))]
        if not named & _pending(subject):
            yield from _unknown_argument(
                subject, tools, ("session_guards", "read_before_write", "argument"), reading.argument
            )
    for index, skip in enumerate(guards.skip_duplicate):
        for name in skip.args or ():
            yield from _unknown_of_rule(subject, skip.match, ("session_guards", "skip_duplicate", index, "args"), name)
    for index, depends in enumerate(guards.depends_on):
        for name in depends.args:
            path = ("session_guards", "depends_on", index, "args")
            found = next((one for rule in depends[:2] for one in _unknown_of_rule(subject, rule, path, name)), None)
            yield from () if found is None else (found,)


def _unknown_of_rule(subject: LintedProfile, rule: Rule, path: tuple[str | int, ...], name: str) -> Iterator[Finding]:
    """Report *name* if no tool that *rule* matches has an argument of that name."""
    literal, pending = literal_name(rule), _pending(subject)
    if not pending or (literal is not None and literal not in pending):
        reaching = ToolMatcher(rule)
        yield from _unknown_argument(
            subject, [tool for tool in subject.tools if reaching.reaches(tool, "deny")], path, name
        )


def _pending(subject: LintedProfile) -> set[str]:
    return set(map(fold, subject.pending))


def _unknown_argument(
    subject: LintedProfile, tools: Sequence[ToolSignature], path: tuple[str | int, ...], name: str
) -> Iterator[Finding]:
    known = sorted({argument for tool in tools for argument in tool.arguments or ()})
    if tools and name not in known and all(tool.arguments is not None for tool in tools):
        fix = f"{did_you_mean(name, known)} Arguments: {format_names(known) or 'none'}.".lstrip()
        what = f"no argument of {tool_names(tools)} is named {name!r}."
        yield Finding("risky", subject.place_of(*path), ".".join(map(str, path)), what, fix)


def _ineffective_limits(subject: LintedProfile) -> Iterator[Finding]:
    """Report limits of single tools and agents that are higher than the limits for every call."""
    profile = subject.profile
    own = limit_values(profile.limits, profile.tool_limits, profile.rates)
    for path, number in own.items():
        total = own.get(path[-1:])
        if len(path) == 1 or total is None or number <= total:
            continue
        what = f"{number:g} never matters: for every call it is {total:g}, and the smaller number wins."
        place = subject.place_of("limits", *path)
        yield Finding("never_matters", place, ".".join(("limits", *path)), what, "Lower it, or raise the other.")
