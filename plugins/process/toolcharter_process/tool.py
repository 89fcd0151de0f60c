"""The tool `background_process`: one function whose actions are all checked before they run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import Field

from toolcharter import ConfigurationError, Fault, Invocation, TerminalSize, ToolRuntime, ToolSpec
from toolcharter_process.actions import ACTIONS, INPUT_ACTIONS, Action, Answer, Request, Signal
from toolcharter_process.policy import ProcessPolicy, ProcessReason
from toolcharter_process.process_table import ProcessTable

Lines = Annotated[int, Field(ge=1, le=10_000)]
Size = Annotated[int, Field(ge=1, le=300)]


def build(workspace: Path, policy: ProcessPolicy, rt: ToolRuntime) -> Callable[..., str]:
    """Make the tool for one workspace and policy."""
    require_runner(policy, rt)
    processes = ProcessTable(workspace, policy, rt)

    def background_process(  # noqa: PLR0913, PLR0917 - one tool with an action instead of ten tools
        action: Action,
        command: str = "",
        handle: str = "",
        text: str = "",
        keys: str | list[str] = "",
        signal: Signal | None = None,
        lines: Lines = 100,
        pattern: str = "",
        watch: str = "",
        rows: Size = 24,
        columns: Size = 80,
    ) -> str:
        """Start a command that keeps running between calls, on its own terminal, and manage it.

        Args:
            action: spawn (command; pattern to watch for from the start; rows, columns); list; status (handle);
                log (handle, lines): what it printed, as plain text; capture (handle): its screen; send_keys
                (handle, keys); write (handle, text); kill (handle; signal, else it is ended); watch (handle; pattern
                for lines, else for its end); unwatch (handle; watch, else all).
            command: A line for bash; each command in it must be allowed by the profile.
            handle: The process's handle, from spawn or list.
            text: What to type; end it with a line break to enter it.
            keys: Names of keys such as Enter, Up, C-c.
            signal: Send this one signal only.
            lines: How many of the last lines to show.
            pattern: A regular expression (RE2) to find in a line. Matches come as `notices` with a later call.
            watch: The watch's name, from watch.
            rows: Height of the terminal.
            columns: Width of the terminal.
        """
        ctx = rt.start("background_process", action=action)
        session = processes.session()
        size = TerminalSize(rows, columns)
        request = Request(session, rt.deadline, command, handle, text, keys, signal, lines, pattern, watch, size)
        work = ACTIONS[action](processes, request)
        ctx.policy_passed()
        answer = _with_notices(work(), processes, session)
        return ctx.ok(answer.text, data=answer.data)

    return background_process


def require_runner(policy: ProcessPolicy, rt: ToolRuntime) -> None:
    """Refuse a policy that the profile's runner cannot support.

    Raises:
        ConfigurationError: The policy keeps processes, but the runner's programs end with the toolbox.
    """
    if policy.on_close == "keep" and not rt.outlives:
        what = f"on_close: keep is not supported by the runner {rt.runner!r}, whose programs end with the toolbox."
        fix = "Write on_close: end, or name a runner such as host or bwrap."
        raise ConfigurationError([Fault(f"profile {rt.profile!r}", "tools.background_process.on_close", what, fix)])


def _with_notices(answer: Answer, processes: ProcessTable, session: str) -> Answer:
    notices, dropped = processes.take_notices(session)
    if not notices:
        return answer
    told = [f"[notice] {one['handle']} {one['watch']} {one['event']}: {one['text']}" for one in notices]
    if dropped:
        told.insert(0, f"[notice] {dropped} earlier notices were dropped")
    data = {**answer.data, "notices": notices, "notices_dropped": dropped}
    return Answer("\n".join((answer.text, *told)), data)


def invocation(args: Mapping[str, Any]) -> Invocation:
    """Return the action, and for `spawn` the command line as it will run."""
    action, command = args["action"], args.get("command")
    return Invocation(action, (command,) if action == "spawn" and command else ())


def advertise(policy: ProcessPolicy, schema: dict[str, Any]) -> dict[str, Any]:
    """Show the model the actions for input only if its profile allows them."""
    usable = [name for name in get_args(Action) if policy.allow_input or name not in INPUT_ACTIONS]
    properties = schema.get("properties", {})
    narrowed = {**properties, "action": {**properties.get("action", {}), "enum": usable}}
    return {**schema, "properties": narrowed}


SPEC = ToolSpec(
    "background_process",
    ProcessPolicy,
    build,
    reasons=ProcessReason,
    capabilities=dict.fromkeys(get_args(Action), frozenset({"fs:read", "proc:exec"})),
    safety="high",
    kind="bash",
    staged=True,
    isolate=True,  # `kill` and `write` wait for programs, and must not block asynchronous callers
    group="runtime",
    aliases=("process",),
    invocation=invocation,
    advertise=advertise,
)
