"""The hooks of toolcharter: when each runs, which arguments it gets, and what a failure does.

A plugin implements a hook by marking a module-level function of the same name with `hookimpl`;
the object that an extension builds may implement `discover_tools`, `check_call`, `open_sink`, `open_channel`,
`answer_approval`, `open_runner`, `read_roots`, `route_path` and `run_agent` as methods. If it has a method `close`,
the toolbox calls that when it closes.

Implementations are resolved when a toolbox is built, and the gate then calls them directly, without pluggy. So an
implementation takes only arguments of its hook, all or some of them, gives them no defaults, and is no wrapper. A
misspelt hook, or one whose arguments do not fit, stops the start-up; the fault names the distribution.
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
        this module, under exactly these names. The gate drops specs that the profile does not list.

    Raises:
        Exception: Anything raised stops the start-up with the name and version of the
            distribution: a profile must never run with fewer guards than it was written for.
    """


@hookspec
def register_extensions() -> "Sequence[ExtensionSpec[Any]]":  # type: ignore[empty-body]
    """Offer the extensions this distribution provides, each with its typed policy.

    Called when a toolbox is built whose profile names one of the distribution's entry points
    under `extensions`, after the module's import. The object that an extension builds may implement
    some of the other hooks, such as `check_call`, as methods.

    Returns:
        A list with one spec for each entry point that names this module. An entry point that exists only because the
        module itself implements `open_sink`, `open_channel`, `open_store` or `open_bus` needs no spec.

    Raises:
        Exception: Anything raised stops the start-up with the distribution's name and version.
    """


@hookspec
def register_programs() -> Sequence[Path]:  # type: ignore[empty-body]
    """Describe the options and operands of programs, so that allow rules cover a program's ordinary use and no more.

    Called when a toolbox is built, after the import of the plugin.

    Returns:
        Paths of TOML files in the plugin, one file for each program or small family of programs. The page on the shell
        guard describes their format. The files are read when the toolbox is built.

    Raises:
        Exception: Anything raised, a file that cannot be read, and a program that already has a table stop the
            start-up with the distribution's name and version.
    """


@hookspec(firstresult=True)
def discover_tools(profile: "ProfileView", workspace: Path | None, rt: "DiscoveryRuntime | None") -> "Discovery":  # type: ignore[empty-body]
    """Find tools that no entry point names: tools that a profile declares, that lie in folders, or that servers offer.

    As a function of the module it is called for each extension that the profile lists: when a toolbox is built, after
    the policies were validated, and again when a `LiveToolbox` reloads. There it only reads files; it starts no program
    and changes nothing.

    As a method of the object that an extension builds it is called once the rest of the toolbox is built, and again at
    each reload. There it may start programs and ask servers, through *rt* only. It must answer at once with the tools
    it has. To find more, it continues in threads of its own, which its object's `close` ends, and calls `rt.announce()`
    when there are more. A `LiveToolbox` then calls it again and notifies its hosts; a toolbox that never changes waits
    for the `wait_s` of the answer.

    Args:
        profile: The profile's name and folder, the tools that it lists, and the extension's policy.
        workspace: Real path of the workspace; None if a profile is examined without one.
        rt: What the method may use. None for the module's function, and while a profile is only checked or tried, so
            that nothing is started.

    Returns:
        A `Discovery`. Its specs are of kind `cli`, `custom` or `mcp` and have a `fingerprint`. A discovered tool never
        replaces a tool of a plugin, whether the profile lists that tool or not. Aliases must be free, as names must.

    Raises:
        Exception: Anything raised stops the start-up: a `ConfigurationError` with its own faults (those with a path and
            no place get the place in the profile), anything else with the distribution's name and version. At a reload,
            the session keeps the tools it had.
    """


@hookspec
def check_call(call: "Call") -> "Deny | Ask | Awaitable[Deny | Ask | None] | None":
    """Examine one call before it runs, and pass it, deny it or require a person's approval.

    Called for every call that policy lets through, after its arguments were validated and
    before its body is entered. Checks run in the order of their plugins' names. The first
    `Deny` ends the call; an `Ask` counts only if no check denies.

    Args:
        call: The call with canonical names and complete arguments. Do not count, remember
            or notify anything while `call.dry_run` is true.

    Returns:
        None to let the call pass, or a `Deny` or `Ask`. A synchronous check must do no I/O. An
        asynchronous check may take 10 seconds, or the `timeout_s` of its extension's
        `CheckPolicy`, but never longer than the call's deadline.

    Raises:
        Exception: `Denied` denies the call, as a `Deny` does. Anything else raised, a timeout, or an answer of another
            type denies the call with `check_failed`. If the extension has a `CheckPolicy` and the profile sets its
            `advisory: true`, such a failure is recorded on the event and the call continues. A denial by an advisory
            check still denies.
    """


@hookspec(firstresult=True)
def answer_approval(
    request: "ApprovalRequest",
) -> "ApprovalAnswer | Answer | Awaitable[ApprovalAnswer | Answer | None] | None":
    """Ask a person about one call, and return their answer.

    Called for each call that needs a person's approval, because policy or a check requires it: after a dry run
    of the tool's own checks, and before the tool acts. Only the object of an extension that the profile lists may
    implement it, and only one of these objects. An approver passed as `build_tools(approver=...)` takes precedence.

    Args:
        request: The whole call, scrubbed of secrets, with the digest that an answer is bound to.

    Returns:
        An `ApprovalAnswer`, one of its three words, or None if no person can be asked. A synchronous
        implementation runs in a thread of its own, an asynchronous one is awaited; neither may take
        longer than `request.timeout_s`.

    Raises:
        Exception: Anything raised, or an answer of another type, denies the call with `approval_unavailable`; a
            timeout denies it with `approval_timeout`. `ApprovalHandedOn` means that another process continues the call.
    """


@hookspec
def register_commands() -> Sequence["click.Command"]:  # type: ignore[empty-body]
    """Offer the commands that this distribution adds to `toolcharter`.

    Called when the user runs one of these commands, after the import of the module that its entry point in the group
    `toolcharter.commands` names; `toolcharter --help` lists the entry points and imports nothing. An entry point with a
    dot in its name adds a subcommand, also to a command of another plugin: `mcp.wrap` is `toolcharter mcp wrap`.

    Returns:
        A list with one click command for each entry point that names this module, under exactly these names.

    Raises:
        Exception: Anything raised ends the command with status 2 and the name and version of the distribution.
            No other command is affected.
    """


@hookspec(firstresult=True)
def open_runner(scope: "RunnerScope") -> "ProgramRunner":  # type: ignore[empty-body]
    """Open the runner that runs the programs of one toolbox.

    Called when the first program is to run, at most once for each toolbox, and only for the object of the
    extension that the profile's `runner` names.

    Args:
        scope: The workspace, and the paths in it that no program may write to. The harness has chosen both.

    Returns:
        A `ProgramRunner`; the toolbox closes it when it closes.

    Raises:
        Exception: `Denied` with `sandbox_unavailable` denies the call, and the next call tries again. Anything else
            raised does the same, with its type in the message. The gate never falls back to the host.
    """


@hookspec
def read_roots() -> Sequence[Path]:  # type: ignore[empty-body]
    """Return folders outside the workspace that every tool of the profile that reads files may also read.

    Called when a toolbox is built, for the object of each extension that implements it. The operator chooses the
    folders in the extension's policy; they never come from a repository or a model. Nothing in them can be written.

    Returns:
        Absolute paths of folders. Programs see these folders only if their runner shows them.

    Raises:
        Exception: Anything raised, and a relative path, stops the start-up with the distribution's name and version.
    """


@hookspec(firstresult=True)
def route_path(path: str, caller: "Caller", rt: "ToolRuntime") -> "VirtualFile | VirtualFolder | None":
    """Return the virtual file or folder at a path of the workspace whose content an extension keeps outside the disk.

    Called whenever a tool opens a path through `rt.paths`, before the gate looks at the disk. It is called for the
    object of each extension that the profile lists, in the order of the profile; the first `VirtualFile` counts. The
    path guard has checked the path by then, and checks changes as it does on the disk. Programs see only the disk.
    Decide from the path's text alone and return at once, because the hook is also called for every name of a listing.
    Look-ups belong into the methods of the object that it returns.

    Args:
        path: Relative to the workspace, with `/`, without `.`, `..` and links; `.` is the workspace.
        caller: Who makes the call.
        rt: The runtime that a tool of the extension's distribution would have within this call: `rt.store` is the
            distribution's, and nothing can be written before the mark of the calling tool. Its `paths` are those of the
            disk.

    Returns:
        A `VirtualFile` for a path that the extension owns, whether the file exists or not; a `VirtualFolder` for each
        folder that may contain such paths; None for all other paths, which are the disk's.

    Raises:
        Exception: `Denied` and `ToolError` end the call with their reasons. Anything else that the hook or a method of
            its answer raises, and an answer of another type, is an error with `route_failed`. The gate never falls back
            to the disk.
    """


@hookspec(firstresult=True)
def run_agent(task: "AgentTask") -> "AgentResult | Awaitable[AgentResult]":  # type: ignore[empty-body]
    """Run an agent that a tool has started: ask its model and make the calls that the model requests, until it answers.

    Called for each agent, in a thread of its own. Only the object of an extension that the profile lists may implement
    it, and only one of these objects. An asynchronous implementation runs on an event loop of its own.

    Args:
        task: The agent, its tools, and its limits.

    Returns:
        The agent's last answer, with the tokens and iterations that it used.

    Raises:
        Exception: The agent has failed: with the reason of a `ToolError` or `Denied`, with `tool_error` for anything
            else.
    """


@hookspec(firstresult=True)
def open_sink(url: str) -> "Sink | None":
    """Open an event sink for *url*, whose scheme is the name of the plugin's entry point.

    Called when a toolbox is built with that sink, once for each toolbox, and only in the plugin whose
    entry point has the name of the scheme. That plugin is imported only then.

    Args:
        url: The whole URL as the user wrote it: `syslog://127.0.0.1:514`.

    Returns:
        An object with `write` and `close`, ready for its first `write`.

    Raises:
        Exception: Anything raised stops the start-up with the distribution's name and version.
    """


@hookspec(firstresult=True)
def open_channel(url: str) -> "Channel":  # type: ignore[empty-body]
    """Open the channel that delivers the notifications and messages for *url*.

    Called when a toolbox is built whose profile or ceilings have a `notify` entry that names the plugin's
    entry point under `deliver`, or that has a tool whose policy names it in `delivers_on`: once for each URL, and in no
    other plugin. The plugin is imported only then. Called again when a tool delivers a message. Validate the URL here,
    but do not connect: the threads that deliver connect later.

    Args:
        url: As the operator wrote it under `url`; it never comes from a repository or a model.

    Returns:
        A `Channel`, whose `connect` returns a sender for one thread.

    Raises:
        ValueError: The URL cannot be used. The exception's text must say why and must not repeat the URL. It stops the
            start-up, with the entry's place in the profile; no other channel is used instead.
        Exception: Anything else raised stops the start-up with the distribution's name and version, and
            the entry's place.
    """


@hookspec(firstresult=True)
def open_store(url: str) -> "StoreEngine":  # type: ignore[empty-body]
    """Open the store behind *url*, whose scheme is the name of the plugin's entry point.

    Called when a toolbox is built whose profile names the store under `store`, when a tool first uses `rt.store` under a
    profile that names no store (`sqlite:` then), and when a host calls `toolcharter.open_store`. Called only in the
    plugin whose entry point has the name of the scheme; that plugin is imported only then. Validate the URL here, but
    do not
    connect: the first use of the store does that, by `migrate` or `require_current`.

    Args:
        url: The whole URL as the operator wrote it; it never comes from a repository or a model.

    Returns:
        A `StoreEngine`. The toolbox closes it when it closes, or the host does.

    Raises:
        ValueError: The URL cannot be used. The exception's text must say why and must not repeat the URL. It stops the
            start-up, with the place in the profile.
        Exception: Anything else raised stops the start-up with the distribution's name and version. If calls are
            already running, a call that needs the store is denied with `store_unavailable`.
    """


@hookspec(firstresult=True)
def open_bus(url: str) -> "Bus":  # type: ignore[empty-body]
    """Open the bus behind *url*, whose scheme is the name of the plugin's entry point.

    Called when a host, such as the service, its workers or the runner `remote`, calls `toolcharter.open_bus`. Called
    only in the plugin whose entry point has the name of the scheme; that plugin is imported only then. Validate the URL
    here, but do not wait for a connection: the bus must retry until its server can be reached.

    Args:
        url: The whole URL as the operator wrote it; it never comes from a repository or a model.

    Returns:
        A `Bus`; the host closes it.

    Raises:
        ValueError: The URL cannot be used. The exception's text must say why and must not repeat the URL. It stops the
            start-up.
        Exception: Anything else raised stops the start-up with the distribution's name and version.
    """
