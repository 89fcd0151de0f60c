"""The hooks of toolcharter: when each runs, with what, and what a failure does.

A plugin implements a hook by marking a module-level function of the same name with `hookimpl`.
"""

from collections.abc import Awaitable, Sequence
from typing import Any

import pluggy

from toolcharter.spec.call import Ask, Call, Deny
from toolcharter.spec.extension import ExtensionSpec, Sink
from toolcharter.spec.tool import ToolSpec

PROJECT = "toolcharter"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_tools() -> Sequence[ToolSpec[Any]]:  # type: ignore[empty-body]
    """Offer the tools this distribution provides.

    Called when a toolbox is built, after the plugins its profile needs are imported and
    before any tool is built. Do no I/O here; a tool acquires its resources on first use.

    Returns:
        One spec per tool, in any order. Specs the profile does not list are dropped.

    Raises:
        Exception: Anything raised stops the start-up with the name and version of the
            distribution: a profile must never run with fewer guards than it was written for.
    """


@hookspec
def register_extensions() -> Sequence[ExtensionSpec[Any]]:  # type: ignore[empty-body]
    """Offer the extensions this distribution provides, each with its typed policy.

    Called when a toolbox is built whose profile names one of the distribution's entry points
    under `extensions`. The object an extension builds may implement any hook below.

    Raises:
        Exception: Anything raised stops the start-up with the distribution's name and version.
    """


@hookspec
def check_call(call: Call) -> Deny | Ask | Awaitable[Deny | Ask | None] | None:
    """Look at one call before it runs, and refuse it or ask for a human.

    Called for every call that policy lets through, after its arguments were validated and
    before its body is entered. Checks run in the order of their plugins' names; the first
    `Deny` ends the call, an `Ask` counts only if no check denies.

    Args:
        call: The call with canonical names and complete arguments. Do not count, remember
            or notify anything while `call.dry_run` is true.

    Returns:
        None to let the call pass, or a `Deny` or `Ask`. A synchronous check does no I/O; an
        asynchronous one is awaited within the call's deadline.

    Raises:
        Exception: Anything raised, a timeout or another answer denies with `check_failed`.
    """


@hookspec(firstresult=True)
def open_sink(url: str) -> Sink | None:
    """Open an event sink for *url*, whose scheme is the name of the plugin's entry point.

    Called when a toolbox is built with that sink.

    Raises:
        Exception: Anything raised stops the start-up with the distribution's name and version.
    """
