"""Answer an agent's messages: each call passes the gate under the profile, and the agent does the work."""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter import Caller, ConfigurationError, Denied, ToolError, scrub_value
from toolcharter.hosts import Host, HostResult
from toolcharter_guard.agents import Agent, Message, UnreadableMessage, format_answer, format_replacement, parse_message
from toolcharter_guard.exact import UnreadableArguments
from toolcharter_guard.settings import MENTION_FINDER
from toolcharter_guard.tools import AgentContext, OurCall, is_name, map_call

PROJECT_VARIABLES = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "gemini": "GEMINI_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",  # its user's hooks run in `~/.cursor`
    "copilot": "COPILOT_PROJECT_DIR",
}
"""The variable in which an agent passes its project's folder to hooks."""
GUARD_SETTINGS = "guard_settings"
"""The reason of a denial for a shell line that mentions a file which the guard depends on."""
UNREADABLE_TOOL = "unreadable"
"""The tool's name in events if the agent's name for it is not valid."""
MAX_OPEN_CALLS = 1000
"""How many calls may be open at once. If there are more, the oldest is ended."""


def find_workspace(agent: Agent, given: str | None, environ: Mapping[str, str]) -> Path:
    """Return the profile's workspace: the *given* folder, or else the agent's variable, or else the current folder.

    The `cwd` of a message is not used: the agent changes it by its own `cd`.
    """
    named = given or environ.get(PROJECT_VARIABLES.get(agent.name, ""), "") or os.getcwd()  # noqa: PTH109 - text
    return Path(os.path.realpath(named))


def forget_session(agent: Agent, text: bytes, environ: MutableMapping[str, str]) -> None:
    """Remove variables with the session's identifier from *environ*.

    Some agents set `GEMINI_SESSION_ID` or the like. The scrubber would take its value for a secret and mask the session
    in events.
    """
    with suppress(ValueError, UnreadableMessage):
        session = parse_message(agent, json.loads(text)).session
        for name in [name for name, value in environ.items() if value == session]:
            del environ[name]


def judge_message(agent: Agent, host: Host, workspace: Path, text: str | bytes) -> dict[str, Any]:
    """Answer one message in a process that gets no other message. A permitted call counts as ended at once.

    Raises:
        UnreadableMessage: The message is not in the form that the agent documents.
    """
    return asyncio.run(Judge(agent, host, workspace).answer(text))


class NotReported(ToolError):
    """A permitted call failed, or ended without a report of its agent; the message says why."""


class _OpenCall(NamedTuple):
    """A permitted call that the agent is making."""

    ended: "asyncio.Future[str]"
    """Gets the call's output when the agent reports the call's end."""
    task: "asyncio.Task[HostResult]"
    """The call in the gate. It ends after `ended`, with its closing event."""


_Key = tuple[str | None, ...]


class Judge:
    """Answers the messages of one agent.

    Args:
        agent: The agent.
        host: The host that judges its calls.
        workspace: The profile's workspace.
        remembers: If true, a permitted call stays open until the agent reports its end; else it ends at once.
    """

    def __init__(self, agent: Agent, host: Host, workspace: Path, *, keeps_open: bool = False) -> None:
        self._agent = agent
        self._host = host
        self._workspace = workspace
        self._keeps_open = keeps_open
        self._open_calls: dict[_Key, list[_OpenCall]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a permitted call is open: the agent has not reported its end."""
        return bool(self._open_calls)

    async def answer(self, text: str | bytes) -> dict[str, Any]:
        """Answer one message.

        Raises:
            UnreadableMessage: The message is not in the form that the agent documents.
        """
        try:
            message = parse_message(self._agent, json.loads(text))
        except (ValueError, RecursionError):
            raise UnreadableMessage("the message is not JSON") from None
        return await self._after_call(message) if message.is_after else await self._before_call(message)

    async def end(self) -> None:
        """End the open calls: no report can reach them any more."""
        for key in list(self._open_calls):
            await _end_calls(
                self._open_calls.pop(key), NotReported("the guard ended before the agent reported the call's end")
            )

    async def _before_call(self, message: Message) -> dict[str, Any]:
        try:
            context = AgentContext(self._workspace, Path(message.cwd) if message.cwd else self._workspace)
            calls = map_call(self._agent.table, message.tool, message.args, context, self._host.has)
        except UnreadableArguments as error:
            reason = f"toolcharter cannot read this call of {message.tool[:80]!r}, so it is denied: {error}."
            await self._record_denial(message, reason)
            return format_answer(self._agent, "deny", reason)
        permitted, asked = list[_OpenCall](), list[HostResult]()
        for call in calls:
            opened = await self._open_call(call, message)
            if not isinstance(opened, HostResult):
                permitted.append(opened)
            elif opened.pending is not None:  # a later part may still be denied, whatever a person answers
                asked.append(opened)
            elif opened.is_error:
                await _end_calls(permitted, NotReported("another part of the call was denied"))
                return format_answer(self._agent, "deny", _reason_text(opened))
        if asked:
            await _end_calls(permitted, NotReported("another part of the call needs a person"))
            return format_answer(self._agent, "ask", " ".join(dict.fromkeys(map(_reason_text, asked))))
        if permitted:
            key = _call_key(message)
            replaced = [*self._open_calls.pop(key, ()), *permitted]
            if len(self._open_calls) >= MAX_OPEN_CALLS:
                oldest = next(iter(self._open_calls))
                await _end_calls(self._open_calls.pop(oldest), NotReported("the agent has not reported the call's end"))
            self._open_calls[key] = replaced
        return format_answer(self._agent, "allow", "")

    async def _record_denial(self, message: Message, reason: str) -> None:
        """Record a call whose arguments cannot be read as denied. No person is asked about it."""
        name = message.tool if is_name(message.tool) else UNREADABLE_TOOL
        args: dict[str, Any] = dict(message.args) if isinstance(message.args, Mapping) else {"arguments": message.args}
        await self._host.arefuse(name, args, reason, call_id=message.call_id, caller=self._caller(message))

    def _caller(self, message: Message) -> Caller:
        return Caller(agent=self._agent.name, session=message.session, provider=message.model)

    async def _open_call(self, call: OurCall, message: Message) -> _OpenCall | HostResult:
        """The open call, if the agent may make it; its result, if the call is denied or `keeps_open` is false."""
        loop = asyncio.get_running_loop()
        decided: asyncio.Future[None] = loop.create_future()
        ended: asyncio.Future[str] = loop.create_future()

        named = MENTION_FINDER(str(call.args["command"])) if call.tool == "bash" else None

        async def hand_over(_: dict[str, Any]) -> str:
            if named is not None:
                raise Denied(
                    GUARD_SETTINGS, f"The line names {named!r}, which the guard depends on; a person changes that."
                )
            if not self._keeps_open:
                return f"Permitted; {self._agent.title} does it."
            decided.set_result(None)
            return await ended

        caller = self._caller(message)
        task = loop.create_task(
            self._host.agovern(call.tool, call.args, hand_over, kind=call.kind, call_id=message.call_id, caller=caller)
        )
        task.add_done_callback(lambda _: None if decided.done() else decided.set_result(None))
        await decided
        return task.result() if task.done() else _OpenCall(ended, task)

    async def _after_call(self, message: Message) -> dict[str, Any]:
        """End the call, and scrub its output if the agent's hooks can replace it."""
        opened = self._open_calls.pop(_call_key(message), [])
        output = message.output
        text = output if isinstance(output, str) else json.dumps(output)
        await _end_calls(
            opened, text if message.error is None else NotReported(f"{self._agent.title}: {message.error}")
        )
        clean, found = scrub_value(output)
        return format_replacement(self._agent, message.tool, clean) if found else {}


async def _end_calls(calls: Iterable[_OpenCall], outcome: str | NotReported) -> None:
    for call in calls:
        if not call.ended.done():
            if isinstance(outcome, str):
                call.ended.set_result(outcome)
            else:
                call.ended.set_exception(outcome)
        await asyncio.wait([call.task])


def _call_key(message: Message) -> _Key:
    """What both messages of a call have in common. Not all agents give their calls an identifier."""
    args = json.dumps(message.args, sort_keys=True)
    return message.session, message.subagent, message.call_id, message.tool, args


def _reason_text(result: HostResult) -> str:
    """The text for the agent's model: the reason, the message and the hint."""
    if result.pending is not None:
        return f"toolcharter asks: {result.pending.request.message or result.pending.request.reason}"
    outcome = result.result
    parts = (f"toolcharter: {outcome.reason}.", outcome.message or "", outcome.hint or "")
    return " ".join(part for part in parts if part)


def refusal_text(error: ConfigurationError | UnreadableMessage) -> str:
    """Return the text for standard error if the call cannot be judged. The exit status 2 blocks it in every agent."""
    return f"toolcharter denies the call, because it cannot judge it: {error}"
