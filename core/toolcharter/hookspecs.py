"""The hooks of toolcharter: when each runs, with what, and what a failure does.

A plugin implements a hook by marking a module-level function of the same name with `hookimpl`;
the object that an extension builds may implement `discover_tools`, `check_call`, `open_sink`, `open_channel`,
`answer_approval`, `open_runner`, `read_roots`, `route_path` and `run_agent` as methods, and is closed with the toolbox
if it has a method `close`.

Implementations are resolved when a toolbox is built and called straight, past pluggy. So an
implementation takes just the arguments of its hook, or fewer, without defaults, and is no
wrapper; a misspelt hook, or one that does not fit, stops the start with the distribution's name.
"""

from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click

    from toolcharter.api.agents import AgentResult, AgentTask
    from toolcharter.api.approval import Answer, ApprovalAnswer, ApprovalRequest
    from toolcharter.api.bus import Bus
    from toolcharter.api.call import Ask, Call, Caller, Deny
    from toolcharter.api.channel import Channel
    from toolcharter.api.discovery import Discovery, DiscoveryRuntime, ProfileView
    from toolcharter.api.extension import ExtensionSpec, Sink
    from toolcharter.api.runner import ProgramRunner, RunnerScope
    from toolcharter.api.runtime import ToolRuntime
    from toolcharter.api.store_engine import StoreEngine
    from toolcharter.api.tool import ToolSpec
    from toolcharter.api.virtual import VirtualFile, VirtualFolder

PROJECT = "toolcharter"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def register_tools() -> "Sequence[ToolSpec[Any]]":  # type: ignore[empty-body]
    """Offer the tools this distribution provides.

    Called when a toolbox is built, after the plugins its profile needs are imported and
    before any tool is built. Do no I/O here; a tool acquires its resources on first use.

    Returns:
        A list with one spec per tool, in any order: exactly the tools whose entry points name
        this module, by exactly these names. Specs the profile does not list are dropped.

    Raises:
        Exception: Anything raised stops the start-up with the name and version of the
            distribution: a profile must never run with fewer guards than it was written for.
    """


@hookspec
def register_extensions() -> "Sequence[ExtensionSpec[Any]]":  # type: ignore[empty-body]
    """Offer the extensions this distribution provides, each with its typed policy.

    Called when a toolbox is built whose profile names one of the distribution's entry points
    under `extensions`, after its import. The object an extension builds may implement any hook
    below.

    Returns:
        A list with one spec per extension: for each entry point that names this module, unless
        the module itself implements `open_sink`, `open_channel`, `open_store` or `open_bus` and the entry point is there
        for that.

    Raises:
        Exception: Anything raised stops the start-up with the distribution's name and version.
    """


@hookspec
def register_programs() -> Sequence[Path]:  # type: ignore[empty-body]
    """Say what the options and operands of programs do, so that allow rules cover their ordinary purpose and no more.

    Called when a toolbox is built, after the import of the plugin.

    Returns:
        Paths of TOML files that lie in the plugin, one for each program or small family; the page on the shell guard
        has their format. Read when the toolbox is built.

    Raises:
        Exception: Anything raised, a file that cannot be read, and a program that has a table already, stop the
            start-up with the distribution's name and version.
    """


@hookspec(firstresult=True)
def discover_tools(profile: "ProfileView", workspace: Path | None, rt: "DiscoveryRuntime | None") -> "Discovery":  # type: ignore[empty-body]
    """Find tools that no entry point names: declared in a profile, lying in folders, offered by servers.

    Called in the module of each extension that the profile lists, when a toolbox is built and the policies are
    valid, and again when a `LiveToolbox` reloads. There it reads files, and starts and changes nothing.

    Called also as a method of the object that an extension builds, once the rest of the toolbox is there, and again at
    each reload. There it may start programs and ask servers, through *rt* alone. It answers at once with what it has: it
    goes on in threads of its own, which end in the object's `close`, and says with `rt.announce()` that more has come.
    A `LiveToolbox` then looks again, and tells its hosts; a toolbox that never changes waits for `wait_s` of the answer.

    Args:
        profile: The profile's name and folder, the tools that it lists, and the extension's policy.
        workspace: Real path of the workspace; None where a profile is looked at without one.
        rt: What may be used; None in the module, and where a profile is checked or tried, so that nothing is started.

    Returns:
        A `Discovery`. Its specs are of kind `cli`, `custom` or `mcp` and have a `fingerprint`. Never is a tool of a
        plugin replaced, whether the profile lists it or not; aliases must be as free as names.

    Raises:
        Exception: Anything raised stops the start-up, with its own faults if it is a `ConfigurationError` (those with a
            path and no place get the place in the profile), else with the distribution's name and version. While a session lasts, what it had before stays.
    """


@hookspec
def check_call(call: "Call") -> "Deny | Ask | Awaitable[Deny | Ask | None] | None":
    """Look at one call before it runs, and refuse it or ask for a human.

    Called for every call that policy lets through, after its arguments were validated and
    before its body is entered. Checks run in the order of their plugins' names; the first
    `Deny` ends the call, an `Ask` counts only if no check denies.

    Args:
        call: The call with canonical names and complete arguments. Do not count, remember
            or notify anything while `call.dry_run` is true.

    Returns:
        None to let the call pass, or a `Deny` or `Ask`. A synchronous check does no I/O; an
        asynchronous one is awaited for 10 seconds, or what the `timeout_s` of its extension's
        `CheckPolicy` says, and never beyond the call's deadline.

    Raises:
        Exception: `Denied` is a denial like a `Deny`. Anything else raised, a timeout or another answer
            denies with `check_failed`. Where the profile says `advisory: true` of an extension with
            a `CheckPolicy`, the failure is noted on the event and the call goes on; what such a
            check denies is denied.
    """


@hookspec(firstresult=True)
def answer_approval(
    request: "ApprovalRequest",
) -> "ApprovalAnswer | Answer | Awaitable[ApprovalAnswer | Answer | None] | None":
    """Ask a person about one call, and say what they answered.

    Called for each call that only a person may permit, by policy or a check, after the tool's
    own checks were rehearsed and before anything of it runs. Only the object of an extension that
    the profile lists implements it, and only one of them; `build_tools(approver=...)` goes first.

    Args:
        request: The call, whole and scrubbed of secrets, with what an answer would be bound to.

    Returns:
        An `ApprovalAnswer`, one of its three words, or None if no person is there. A synchronous
        implementation runs in a thread of its own, an asynchronous one is awaited; both for no
        longer than `request.timeout_s`.

    Raises:
        Exception: Anything raised, or another answer, denies with `approval_unavailable`, a
            timeout with `approval_timeout`. `ApprovalHandedOn` says that another process goes on with the call.
    """


@hookspec
def register_commands() -> Sequence["click.Command"]:  # type: ignore[empty-body]
    """Offer the commands that this distribution adds to `toolcharter`.

    Called when one of them is called, after the import of the module that its entry point in the group
    `toolcharter.commands` names; `toolcharter --help` lists the entry points and imports nothing. An entry point with a
    dot in its name adds a part to a command, also to one of another plugin: `mcp.wrap` is `toolcharter mcp wrap`.

    Returns:
        A list with one click command for each entry point that names this module, by exactly these names.

    Raises:
        Exception: Anything raised ends the command with status 2 and the name and version of the distribution.
            No other command is affected.
    """


@hookspec(firstresult=True)
def open_runner(scope: "RunnerScope") -> "ProgramRunner":  # type: ignore[empty-body]
    """Open the place where programs run, for one toolbox.

    Called when the first program is to run, at most once for each toolbox, and only for the object of the
    extension that the profile's `runner` names.

    Args:
        scope: The workspace and what in it no program may write to; the harness has chosen both.

    Returns:
        A `ProgramRunner`; it is closed with the toolbox.

    Raises:
        Exception: `Denied` with `sandbox_unavailable` denies the call, and the next call tries again; so does
            anything else raised, with its type in the message. Nothing falls back to the host.
    """


@hookspec
def read_roots() -> Sequence[Path]:  # type: ignore[empty-body]
    """Say which folders outside the workspace every tool of the profile that reads files may read, too.

    Called when a toolbox is built, for the object of each extension that implements it. The folders are the operator's choice,
    by the extension's policy; they never come from a repository or a model. Nothing in them can be written.

    Returns:
        Absolute paths of folders. Programs see them only where their runner shows them.

    Raises:
        Exception: Anything raised, and a relative path, stop the start-up with the distribution's name and version.
    """


@hookspec(firstresult=True)
def route_path(path: str, caller: "Caller", rt: "ToolRuntime") -> "VirtualFile | VirtualFolder | None":
    """Say what lies at a path of the workspace that an extension keeps elsewhere than on the disk.

    Called whenever a tool opens a path through `rt.paths`, before the disk is looked at, for the object of each extension
    that the profile lists, in the order of the profile; the first `VirtualFile` counts. The path guard has judged the
    path by then, and judges what is changed as it does on the disk. Programs see the disk alone. Answer by the path's text, at
    once: it is asked for every name of a listing, too. What has to be looked up is for the methods of the answer.

    Args:
        path: Relative to the workspace, with `/`, without `.`, `..` and links; `.` is the workspace.
        caller: Who makes the call.
        rt: As a tool of the extension's distribution would have it within this call: `rt.store` is the distribution's,
            and nothing is written before the mark of the tool that asks. Its `paths` are those of the disk.

    Returns:
        A `VirtualFile` for a path that the extension takes, whether there is a file or not; a `VirtualFolder` for each
        folder in which there may be such paths; None for all others, which are the disk's.

    Raises:
        Exception: `Denied` and `ToolError` end the call with their reasons. Anything else raised, by the hook or by
            a method of its answer, and any other answer, is an error with `route_failed`. Nothing falls through to
            the disk.
    """


@hookspec(firstresult=True)
def run_agent(task: "AgentTask") -> "AgentResult | Awaitable[AgentResult]":  # type: ignore[empty-body]
    """Run an agent that a tool has started: ask its model, make the calls that it wants, until it has answered.

    Called for each agent, in a thread of its own. Only the object of an extension that the profile lists implements it,
    and only one of them. An asynchronous implementation runs on an event loop of its own.

    Args:
        task: The agent, its tools, and how long it may take.

    Returns:
        Its last answer, with what it has used.

    Raises:
        Exception: The agent has failed: a `ToolError` or `Denied` with its reason, anything else with `tool_error`.
    """


@hookspec(firstresult=True)
def open_sink(url: str) -> "Sink | None":
    """Open an event sink for *url*, whose scheme is the name of the plugin's entry point.

    Called when a toolbox is built with that sink, once for each, and only in the plugin whose
    entry point bears the name of the scheme; that plugin is not imported before.

    Args:
        url: As the user wrote it, with everything behind the scheme: `syslog://127.0.0.1:514`.

    Returns:
        An object with `write` and `close`, open and ready.

    Raises:
        Exception: Anything raised stops the start-up with the distribution's name and version.
    """


@hookspec(firstresult=True)
def open_channel(url: str) -> "Channel":  # type: ignore[empty-body]
    """Open the channel on which the notifications and messages for *url* go.

    Called when a toolbox is built whose profile or ceilings have a `notify` entry that names the plugin's
    entry point under `deliver`, or a tool whose policy does so in `delivers_on`, once for each URL there, and in no
    other plugin; that plugin is not imported before. Called again when a tool delivers a message. Check the URL here, and
    connect to nothing: threads that deliver do that later.

    Args:
        url: As the operator wrote it under `url`; it never comes from a repository or a model.

    Returns:
        A `Channel`, whose `connect` gives the sender of one thread.

    Raises:
        ValueError: The URL cannot be used. Its text says why, does not repeat the URL, and stops the
            start-up with the entry's place in the profile. Nothing is delivered in another way.
        Exception: Anything else raised stops the start-up with the distribution's name and version, and
            the entry's place.
    """


@hookspec(firstresult=True)
def open_store(url: str) -> "StoreEngine":  # type: ignore[empty-body]
    """Open the store behind *url*, whose scheme is the name of the plugin's entry point.

    Called when a toolbox is built whose profile names the store under `store`, when a tool first uses `rt.store` under a
    profile that names none (`sqlite:`), and when a host calls `toolcharter.open_store`: only in the plugin whose entry
    point bears the name of the scheme, and that plugin is not imported before. Check the URL here, and connect to
    nothing: the first use of the store does that, by `migrate` or `require_current`.

    Args:
        url: As the operator wrote it, with everything behind the scheme; it never comes from a repository or a model.

    Returns:
        A `StoreEngine`; it is closed with the toolbox or by the host.

    Raises:
        ValueError: The URL cannot be used. Its text says why, does not repeat the URL, and stops the start-up with
            the place in the profile.
        Exception: Anything else raised stops the start-up with the distribution's name and version. While calls run
            already, what needs the store is denied with `store_unavailable`.
    """


@hookspec(firstresult=True)
def open_bus(url: str) -> "Bus":  # type: ignore[empty-body]
    """Open the bus behind *url*, whose scheme is the name of the plugin's entry point.

    Called when a host calls `toolcharter.open_bus`, such as the service, its workers and the runner `remote`: only in the
    plugin whose entry point bears the name of the scheme, and that plugin is not imported before. Check the URL here, and
    wait for no connection: a bus that is away now is tried again and again.

    Args:
        url: As the operator wrote it, with everything behind the scheme; it never comes from a repository or a model.

    Returns:
        A `Bus`; the host closes it.

    Raises:
        ValueError: The URL cannot be used. Its text says why, does not repeat the URL, and stops the start-up.
        Exception: Anything else raised stops the start-up with the distribution's name and version.
    """
