"""A profile's tools as LangChain's."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import PrivateAttr

from toolcharter import Caller
from toolcharter.hosts import Host, HostResult
from toolcharter_langchain.approvals import Approvals

_CALL_ID: ContextVar[str | None] = ContextVar("call_id", default=None)


def langchain_tools(host: Host, *, caller: Callable[[], Caller | None] | None = None) -> list[BaseTool]:
    """Return the tools of *host* for `create_agent(model, tools)` or a `ToolNode`.

    Args:
        host: The host of the profile.
        caller: Returns who calls; it is asked at each call. By default the host's own caller. LangChain's context
            variables hold the configuration of the run.
    """
    approvals = Approvals()
    return [
        ProfileTool.of(host, tool.name, tool.description, tool.parameters, caller, approvals) for tool in host.tools()
    ]


class ProfileTool(BaseTool):
    """One tool of a profile. Its result is a `ToolMessage` if the call has an identifier, else text.

    The message of a refused call has the status `error`, and the reason in its `artifact`.
    """

    _host: Host = PrivateAttr()
    _caller: Callable[[], Caller | None] | None = PrivateAttr(default=None)
    _approvals: Approvals = PrivateAttr()

    @classmethod
    def of(
        cls,
        host: Host,
        name: str,
        description: str,
        parameters: dict[str, Any],
        caller: Callable[[], Caller | None] | None,
        approvals: Approvals,
    ) -> "ProfileTool":
        """Make the tool *name* of *host*."""
        tool = cls(name=name, description=description, args_schema=parameters)
        tool._host, tool._caller, tool._approvals = host, caller, approvals
        return tool

    def run(self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **more: Any) -> Any:
        """Run the tool as LangChain does, but keep the call's identifier, which LangChain does not pass to the body."""
        token = _CALL_ID.set(tool_call_id)
        try:
            return super().run(tool_input, *args, tool_call_id=tool_call_id, **more)
        finally:
            _CALL_ID.reset(token)

    async def arun(self, tool_input: Any, *args: Any, tool_call_id: str | None = None, **more: Any) -> Any:
        """Run the tool as LangChain does, but keep the call's identifier, which LangChain does not pass to the body."""
        token = _CALL_ID.set(tool_call_id)
        try:
            return await super().arun(tool_input, *args, tool_call_id=tool_call_id, **more)
        finally:
            _CALL_ID.reset(token)

    def _run(self, /, *_: Any, **arguments: Any) -> Any:
        call_id, caller = _CALL_ID.get(), self._caller and self._caller()
        make = partial(self._host.call, self.name, arguments, call_id=call_id, caller=caller)
        pending = self._approvals.find_pending(call_id, self.name, arguments, caller)
        result = make() if pending is None else None
        if pending := pending or (result and result.pending):
            answer = self._approvals.ask(call_id, self.name, arguments, caller, pending)
            if answer is not None:
                result = self._host.answer(pending.state, answer)
        return to_message(result or make(), self.name, call_id)

    async def _arun(self, /, *_: Any, **arguments: Any) -> Any:
        call_id, caller = _CALL_ID.get(), self._caller and self._caller()
        make = partial(self._host.acall, self.name, arguments, call_id=call_id, caller=caller)
        pending = self._approvals.find_pending(call_id, self.name, arguments, caller)
        result = await make() if pending is None else None
        if pending := pending or (result and result.pending):
            answer = self._approvals.ask(call_id, self.name, arguments, caller, pending)
            if answer is not None:
                result = await self._host.aanswer(pending.state, answer)
        return to_message(result or await make(), self.name, call_id)


def to_message(result: HostResult, name: str, call_id: str | None) -> ToolMessage | str:
    """Return *result* in LangChain's form: the message that answers the call, or text if the call has no identifier."""
    if call_id is None:
        return result.text
    status = "error" if result.is_error else "success"
    return ToolMessage(result.text, tool_call_id=call_id, name=name, status=status, artifact=result.structured)
