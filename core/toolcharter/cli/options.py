"""Options that commands share."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from toolcharter._lazy import lazy

if TYPE_CHECKING:
    from toolcharter.api import call
    from toolcharter.api.call import Caller
else:
    call = lazy("toolcharter.api.call")

F = TypeVar("F", bound=Callable[..., Any])

json_output = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
profile = click.option("--profile", "-p", required=True, metavar="PROFILE", help="A profile's name or path.")

_CALLER_FACTS = (
    "agent",
    "provider",
    "group",
    "session",
    "user",
    "project",
    "tenant",
    "channel",
    "chat",
    "peer",
    "agent_type",
    "depth",
)
_FACT_VALUES = {"peer": ("direct", "group"), "agent_type": ("open", "predefined")}


def _parse_caller(_: click.Context, __: click.Parameter, words: Sequence[str]) -> "Caller | None":
    """Parse `FACT=VALUE` words into the caller; None if there are none."""
    if not words:
        return None

    facts: dict[str, Any] = {}
    for word in words:
        fact, equals, value = word.partition("=")
        if not equals or fact not in _CALLER_FACTS:
            raise click.BadParameter(f"{word!r} is not of the form FACT=VALUE; facts: {', '.join(_CALLER_FACTS)}.")
        if fact in facts:
            raise click.BadParameter(f"{fact!r} is given twice.")
        facts[fact] = value
    for fact, known in _FACT_VALUES.items():
        if facts.get(fact, known[0]) not in known:
            raise click.BadParameter(f"{fact!r} is one of {', '.join(known)}, not {facts[fact]!r}.")
    if "depth" in facts:
        if not (facts["depth"].isascii() and facts["depth"].isdecimal()):
            raise click.BadParameter(f"'depth' is a whole number from 0 on, not {facts['depth']!r}.")
        facts["depth"] = int(facts["depth"])
    return call.Caller(**facts)


caller = click.option(
    "--caller",
    multiple=True,
    metavar="FACT=VALUE",
    callback=_parse_caller,
    help="A fact about the caller: agent, provider, group, session, user, project, tenant, channel, chat, peer, "
    "agent_type or depth; repeatable.",
)


def workspace_and_events(function: F) -> F:
    """Add `--workspace` and `--events`, for a command that makes calls."""
    return workspace(_events_option(function))


def ignored_workspace_and_events(function: F) -> F:
    """Add both options to a command that makes no calls and ignores them: a wrapper can pass them to every command."""
    return workspace(ignored_events(function), expose=False)


def ignored_events(function: F) -> F:
    """Add an ignored `--events`, for a command that defines its own `--workspace`."""
    return _events_option(function, expose=False)


def workspace(function: F, *, expose: bool = True) -> F:
    """Add `--workspace` alone; the command does not receive its value unless *expose*."""
    return click.option(
        "--workspace",
        default=".",
        metavar="DIR",
        expose_value=expose,
        help="The folder that tools may touch; default: the current one." if expose else "Accepted, but ignored.",
    )(function)


def _events_option(function: F, *, expose: bool = True) -> F:
    return click.option(
        "--events",
        multiple=True,
        metavar="SINK",
        expose_value=expose,
        help="Where events go: stderr:, file:PATH, structlog:; repeatable; default: stderr:."
        if expose
        else "Accepted, but ignored.",
    )(function)
