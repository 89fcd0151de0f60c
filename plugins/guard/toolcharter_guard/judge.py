"""From an agent's message to its answer: the call passes the gate under the profile, and the agent does the work."""

import asyncio
import json
import os
from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolcharter import Caller, ConfigurationError, Denied, ToolError, scrub_value
from toolcharter.hosts import Host, HostResult
from toolcharter_guard.agents import Agent, Message, Unreadable, answer, read_message, replaced_output
from toolcharter_guard.exact import UnknownForm
from toolcharter_guard.settings import MENTIONS
from toolcharter_guard.tools import OurCall, Place, is_name, our_calls

PROJECT_VARIABLES = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "gemini": "GEMINI_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",  # its user's hooks run in `~/.cursor`
    "copilot": "COPILOT_PROJECT_DIR",
}
"""The variable in which an agent hands its project's folder to hooks."""
CARRIED = "guard_settings"
"""The reason for which a shell line is denied that names what carries the guard."""
UNREADABLE = "unreadable"
"""Stands in events for a tool whose name is none."""
MAX_OPEN = 1000
"""How many calls may be open at once; the oldest is ended then."""


def workspace_of(agent: Agent, given: str | None, environ: Mapping[str, str]) -> Path:
    """The folder that the profile is about: as installed, as the agent says, or the current one.

    The `cwd` of a message is not asked: the agent changes it by its own `cd`.
    """
    named = given or environ.get(PROJECT_VARIABLES.get(agent.name, ""), "") or os.getcwd()  # noqa: PTH109 - text
    return Path(os.path.realpath(named))


def forget_session(agent: Agent, text: bytes, environ: MutableMapping[str, str]) -> None:
    """Take the session's identifier out of the environment, where agents put it too.

    The scrubber takes the value of a variable such as `GEMINI_SESSION_ID` for a secret, and events would name no session.
    """
    with suppress(ValueError, Unreadable):
        session = read_message(agent, json.loads(text)).session
        for name in [name for name, value in environ.items() if value == session]:
            del environ[name]


def judge(agent: Agent, host: Host, workspace: Path, text: str | bytes) -> dict[str, Any]:
    """Answer one message in a process that no later message will reach: what passes has ended, as far as it knows.

    Raises:
        Unreadable: It is not in the form that the agent documents.
    """
    return asyncio.run(Judge(agent, host, workspace).answer(text))


class NotReported(ToolError):
    """Why a permitted call ended without its agent's report, or that the agent reported a failure."""


class _OpenCall(NamedTuple):
    """A permitted call that the agent is making."""

    ended: "asyncio.Future[str]"
    """Set to the call's output when the agent reports its end."""
    task: "asyncio.Task[HostResult]"
    """The call as the gate has it: it ends, with its closing event, after `ended`."""


_Key = tuple[str | None, ...]


class Judge:
    """Answers the messages of one agent.

    Args:
        agent: Whose.
        host: What judges.
        workspace: The folder that the profile is about.
        remembers: A permitted call stays open until the agent reports its end; else it ends at once.
    """

    def __init__(self, agent: Agent, host: Host, workspace: Path, *, remembers: bool = False) -> None:
        self._agent = agent
        self._host = host
        self._workspace = workspace
        self._remembers = remembers
        self._open: dict[_Key, list[_OpenCall]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether the agent is making a call, as far as it has reported."""
        return bool(self._open)

    async def answer(self, text: str | bytes) -> dict[str, Any]:
        """Answer one message.

        Raises:
            Unreadable: It is not in the form that the agent documents.
        """
        try:
            message = read_message(self._agent, json.loads(text))
        except (ValueError, RecursionError):
            raise Unreadable("the message is no JSON") from None
        return await self._after(message) if message.is_after else await self._before(message)

    async def end(self) -> None:
        """End the calls that are open: no report can reach them any more."""
        for key in list(self._open):
            await _end(self._open.pop(key), NotReported("the guard ended before the agent reported the call's end"))

    async def _before(self, message: Message) -> dict[str, Any]:
        try:
            place = Place(self._workspace, Path(message.cwd) if message.cwd else self._workspace)
            calls = our_calls(self._agent.table, message.tool, message.args, place, self._host.has)
        except UnknownForm as error:
            reason = f"toolcharter cannot read this call of {message.tool[:80]!r}, so it is denied: {error}."
            await self._recorded(message, reason)
            return answer(self._agent, "deny", reason)
        permitted, asked = list[_OpenCall](), list[HostResult]()
        for call in calls:
            opened = await self._opened(call, message)
            if not isinstance(opened, HostResult):
                permitted.append(opened)
            elif opened.pending is not None:  # a later part may be denied, and no yes of a person covers that
                asked.append(opened)
            elif opened.is_error:
                await _end(permitted, NotReported("another part of the call was denied"))
                return answer(self._agent, "deny", _reason(opened))
        if asked:
            await _end(permitted, NotReported("another part of the call needs a person"))
            return answer(self._agent, "ask", " ".join(dict.fromkeys(map(_reason, asked))))
        if permitted:
            key = _key(message)
            replaced = [*self._open.pop(key, ()), *permitted]
            if len(self._open) >= MAX_OPEN:
                oldest = next(iter(self._open))
                await _end(self._open.pop(oldest), NotReported("the agent has not reported the call's end"))
            self._open[key] = replaced
        return answer(self._agent, "allow", "")

    async def _recorded(self, message: Message, reason: str) -> None:
        """Leave the events of a call whose arguments cannot be read; nobody is asked about it."""
        name = message.tool if is_name(message.tool) else UNREADABLE
        args: dict[str, Any] = dict(message.args) if isinstance(message.args, Mapping) else {"arguments": message.args}
        await self._host.arefuse(name, args, reason, call_id=message.call_id, caller=self._caller(message))

    def _caller(self, message: Message) -> Caller:
        return Caller(agent=self._agent.name, session=message.session, provider=message.model)

    async def _opened(self, call: OurCall, message: Message) -> _OpenCall | HostResult:
        """The call once the agent may make it; its result if that is denied, or not waited for."""
        loop = asyncio.get_running_loop()
        decided: asyncio.Future[None] = loop.create_future()
        ended: asyncio.Future[str] = loop.create_future()

        named = MENTIONS(str(call.args["command"])) if call.tool == "bash" else None

        async def hand_over(_: dict[str, Any]) -> str:
            if named is not None:
                raise Denied(CARRIED, f"The line names {named!r}, which carries the guard; a person changes that.")
            if not self._remembers:
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

    async def _after(self, message: Message) -> dict[str, Any]:
        """End the call, and scrub its output where the agent lets a hook replace it."""
        opened = self._open.pop(_key(message), [])
        output = message.output
        text = output if isinstance(output, str) else json.dumps(output)
        await _end(opened, text if message.error is None else NotReported(f"{self._agent.title}: {message.error}"))
        clean, found = scrub_value(output)
        return replaced_output(self._agent, message.tool, clean) if found else {}


async def _end(calls: Iterable[_OpenCall], outcome: str | NotReported) -> None:
    for call in calls:
        if not call.ended.done():
            if isinstance(outcome, str):
                call.ended.set_result(outcome)
            else:
                call.ended.set_exception(outcome)
        await asyncio.wait([call.task])


def _key(message: Message) -> _Key:
    """What both messages of a call have in common; some agents number their calls, some do not."""
    args = json.dumps(message.args, sort_keys=True)
    return message.session, message.subagent, message.call_id, message.tool, args


def _reason(result: HostResult) -> str:
    """What the agent's model reads: the reason as a word, the sentence, what to do instead."""
    if result.pending is not None:
        return f"toolcharter asks: {result.pending.request.message or result.pending.request.reason}"
    said = result.result
    parts = (f"toolcharter: {said.reason}.", said.message or "", said.hint or "")
    return " ".join(part for part in parts if part)


def refusal(error: ConfigurationError | Unreadable) -> str:
    """What stands on standard error when nothing can be judged; the exit status 2 blocks the call in every agent."""
    return f"toolcharter denies the call, because it cannot judge it: {error}"
