"""A profile's tools as those of `llm`, and as a toolbox for its command line.

    llm -T 'Toolcharter("reviewer")' 'What is in notes.txt?'

Source: llm 0.36, "Tools" and "Plugin hooks".
"""

import atexit
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import llm

from toolcharter import ApprovalAnswer, Caller, TerminalApprover
from toolcharter.hosts import Host, HostResult, PendingApproval, open_host

Ask = Callable[[PendingApproval], ApprovalAnswer]
"""Asks a person about a call that needs one, and returns the answer."""
AsyncAsk = Callable[[PendingApproval], Awaitable[ApprovalAnswer]]


def llm_tools(host: Host, *, caller: Caller | None = None, ask: Ask | None = None) -> list[llm.Tool]:
    """Return the tools of *host* for `model.chain(..., tools=...)`.

    Args:
        host: The host of the profile.
        caller: Who calls, if it is not the host's own caller.
        ask: Asks a person about a call that needs one. Without it the model reads that no one could be asked.
    """
    return _make_tools(host, caller, lambda name: _make_implementation(host, name, caller, ask))


def allm_tools(host: Host, *, caller: Caller | None = None, ask: AsyncAsk | None = None) -> list[llm.Tool]:
    """Return the tools for an asynchronous model. Calls of a turn run at once; cancelling the chain ends them."""
    return _make_tools(host, caller, lambda name: _make_async_implementation(host, name, caller, ask))


def _make_tools(
    host: Host, caller: Caller | None, make_implementation: Callable[[str], Callable[..., Any]]
) -> list[llm.Tool]:
    return [
        llm.Tool(tool.name, tool.description, tool.parameters, make_implementation(tool.name), "toolcharter")
        for tool in host.tools(caller)
    ]


def _make_implementation(host: Host, name: str, caller: Caller | None, ask: Ask | None) -> Callable[..., str]:
    def call(llm_tool_call: llm.ToolCall, **arguments: Any) -> str:
        result: HostResult = host.call(name, arguments, call_id=llm_tool_call.tool_call_id, caller=caller)
        if result.pending is not None and ask is not None:
            result = host.answer(result.pending.state, ask(result.pending))
        return result.text

    return call


def _make_async_implementation(
    host: Host, name: str, caller: Caller | None, ask: AsyncAsk | None
) -> Callable[..., Awaitable[str]]:
    async def call(llm_tool_call: llm.ToolCall, **arguments: Any) -> str:
        result: HostResult = await host.acall(name, arguments, call_id=llm_tool_call.tool_call_id, caller=caller)
        if result.pending is not None and ask is not None:
            result = await host.aanswer(result.pending.state, await ask(result.pending))
        return result.text

    return call


class Toolcharter(llm.Toolbox):  # type: ignore[no-untyped-call] # its `__init_subclass__`
    """The tools of a profile: `llm -T 'Toolcharter("reviewer")'`.

    If standard input is a terminal, its user is asked about calls that need a person.

    Args:
        profile: A profile's name or path.
        workspace: The folder that the tools may touch.
        events: Where events go, such as `file:events.jsonl`; by default where the profile says.
    """

    def __init__(self, profile: str, workspace: str = ".", events: str = "") -> None:
        approver = TerminalApprover() if sys.stdin.isatty() else None
        sinks = [events] if events else []
        self._host = open_host(profile, workspace=Path(workspace).resolve(), events=sinks, approver=approver)
        atexit.register(self._host.close)

    def tools(self) -> Iterable[llm.Tool]:
        """Return the profile's tools. The class has no other tools."""
        return llm_tools(self._host)


@llm.hookimpl
def register_tools(register: Callable[..., None]) -> None:
    """Make `Toolcharter` known to `llm`."""
    register(Toolcharter)
