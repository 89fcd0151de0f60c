"""`Host`: a profile's tools for a framework, a server or an agent."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from toolcharter.api.approval import Answer, ApprovalAnswer, Approver
from toolcharter.api.call import Caller, Decision, ToolResult
from toolcharter.api.words import Kind
from toolcharter.errors import ToolboxClosed
from toolcharter.events.sinks import SinkLike
from toolcharter.gate.live import LiveToolbox, open_live
from toolcharter.gate.toolbox import Toolbox
from toolcharter.hosts.foreign import AsyncBody, Body, ForeignTools
from toolcharter.hosts.formats import Format, HostTool, formatted
from toolcharter.hosts.pending import AskedQuestions, PendingApprovals, Question, collect_questions
from toolcharter.hosts.results import HostResult, described, structured_value

if TYPE_CHECKING:
    from toolcharter.api.explanation import Explanation

MAX_CALLERS = 256
"""For how many callers the pipelines of foreign tools are cached."""


def open_host(
    profile: str | Path,
    *,
    workspace: str | Path,
    caller: Caller | None = None,
    events: SinkLike | Iterable[SinkLike] = (),
    approver: Approver | None = None,
    state_key: bytes | None = None,
    believed: Iterable[Path] = (),
) -> "Host":
    """Build the tools of *profile* for a host.

    Args:
        profile: As for `build_tools`.
        workspace: The folder that the tools may touch.
        caller: Who calls, unless a call names another caller.
        events: As for `build_tools`.
        approver: Answers for calls that need a person's approval. By default the extension of the profile that
            implements `answer_approval`; if there is none, such a call returns with a `PendingApproval`, which
            `Host.answer` redeems.
        state_key: Signs the states of pending approvals: 32 random bytes that several processes may share.
        believed: Files and folders that the host itself executes or trusts, such as its settings, whether they exist or
            not. They are in the inventory, and no tool can change them (`protected_path`).

    Raises:
        ConfigurationError: It lists every fault of the profile and the installation; nothing is built.
    """
    pending = PendingApprovals(state_key)
    live = open_live(
        profile,
        workspace=workspace,
        caller=caller,
        events=events,
        approver=approver,
        last_approver=pending,
        believed=believed,
    )
    return Host(live, pending, caller or Caller())


class Host:
    """The tools of one profile, by name, for any number of callers. Safe for many threads and tasks. Must be closed."""

    def __init__(self, toolbox: LiveToolbox, pending: PendingApprovals, caller: Caller) -> None:
        self._live = toolbox
        self._pending = pending
        self._caller = caller
        self._foreign: dict[Caller, tuple[Toolbox, ForeignTools]] = {}

    @classmethod
    def over(cls, toolbox: LiveToolbox, *, caller: Caller | None = None, state_key: bytes | None = None) -> Self:
        """Make a host of a toolbox that is already open. The toolbox's own approver answers its approvals.

        Args:
            toolbox: Closing the host closes it.
            caller: As for `open_host`.
            state_key: As for `open_host`.
        """
        return cls(toolbox, PendingApprovals(state_key), caller or Caller())

    @property
    def profile(self) -> str:
        """The profile's name."""
        return self._live.current.profile

    @property
    def digest(self) -> str:
        """SHA-256 of the effective profile, as on every event."""
        return self._live.current.digest

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the profile was read from, its own file first, without those of ceilings."""
        return self._live.current.files

    def tools(self, caller: Caller | None = None) -> list[HostTool]:
        """Return the tools that *caller* sees, always in the profile's order."""
        return [described(tool) for tool in self._view_for(caller).values()]

    def has(self, name: str) -> bool:
        """Whether *name* is the name or an alias of one of the profile's tools, ignoring case."""
        return self._live.current.built_tool(name) is not None

    def schemas(self, form: Format, *, caller: Caller | None = None, strict: bool = False) -> list[dict[str, Any]]:
        """Return the tools that *caller* sees in the format of a model's API; see `formatted`."""
        return formatted(self.tools(caller), form, strict=strict)

    def call(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        parent_id: str | None = None,
        caller: Caller | None = None,
    ) -> HostResult:
        """Call a tool through the gate.

        Args:
            name: As the model wrote it. A name that the profile does not have is denied with `unknown_tool`.
            args: As the model wrote them.
            call_id: The host's own identifier of the call.
            parent_id: The identifier of the call that made this one.
            caller: Who calls; by default the host's own caller.
        """
        with collect_questions() as asked:
            result = self._call_current(caller, lambda box: box.call(name, args, call_id=call_id, parent_id=parent_id))
        return self._to_host_result(result, asked, name, args, caller)

    async def acall(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        call_id: str | None = None,
        parent_id: str | None = None,
        caller: Caller | None = None,
    ) -> HostResult:
        """Call a tool through the gate from asynchronous code. A synchronous body runs in a thread of its own.

        Cancelling the task ends the call, which still writes its closing events.
        """
        while True:
            present = self._live.current
            try:
                with collect_questions() as asked:
                    result = await self._call_in_thread(caller, name, args, call_id, parent_id)
                return self._to_host_result(result, asked, name, args, caller)
            except ToolboxClosed:
                if self._live.is_closed or self._live.current is present:
                    raise

    def govern(
        self,
        name: str,
        args: Mapping[str, Any],
        body: Body,
        *,
        parameters: Mapping[str, Any] | None = None,
        kind: Kind = "custom",
        call_id: str | None = None,
        parent_id: str | None = None,
        caller: Caller | None = None,
    ) -> HostResult:
        """Call a tool of the host's own through the gate: all stages, with *body* in place of a tool's function.

        If the profile has a tool of this name, the tool's schema, rules and own checks apply, and *body* replaces only
        its work. Any other tool declares no capabilities, so in the default mode the profile must allow it by name
        (`missing_ok: [NAME]` and a rule such as `allow: ["custom:NAME"]`).

        Args:
            name: The tool's name: letters, digits, `_` and `-`.
            args: As the model wrote them.
            body: Takes the validated arguments. It runs in a thread of its own, and is abandoned at its deadline.
            parameters: JSON Schema of the arguments; by default any are accepted. Ignored for a tool of the profile.
            kind: `custom` or `mcp`.
            call_id: As for `call`.
            parent_id: As for `call`.
            caller: As for `call`.

        Raises:
            SpecError: *name* is not valid as a tool's name, or *parameters* is no schema.
        """
        with collect_questions() as asked:
            result = self._call_current(
                caller,
                lambda _: self._foreign_tools(caller).call(
                    name, args, body, parameters, kind, call_id=call_id, parent_id=parent_id
                ),
            )
        return self._to_host_result(result, asked, name, args, caller, kind)

    async def agovern(
        self,
        name: str,
        args: Mapping[str, Any],
        body: AsyncBody,
        *,
        parameters: Mapping[str, Any] | None = None,
        kind: Kind = "custom",
        call_id: str | None = None,
        parent_id: str | None = None,
        caller: Caller | None = None,
    ) -> HostResult:
        """`govern` from asynchronous code. The body is asynchronous, and is cancelled at its deadline."""
        while True:
            present = self._live.current
            try:
                foreign, ids = self._foreign_tools(caller), {"call_id": call_id, "parent_id": parent_id}
                with collect_questions() as asked:
                    result = await foreign.acall(name, args, body, parameters, kind, **ids)
                return self._to_host_result(result, asked, name, args, caller, kind)
            except ToolboxClosed:
                if self._live.is_closed or self._live.current is present:
                    raise

    async def arefuse(
        self,
        name: str,
        args: Mapping[str, Any],
        why: str,
        *,
        call_id: str | None = None,
        caller: Caller | None = None,
    ) -> HostResult:
        """Record a call that the host itself refuses with `invalid_arguments`, because it cannot parse the call.

        Writes the call's events, but evaluates no rule and asks no person. *why* is for the model; see `govern`.
        """
        result = await self._foreign_tools(caller).arefuse(name, args, why, call_id=call_id)
        return self._to_host_result(result, {}, name, args, caller, "custom")

    async def adecide(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        parameters: Mapping[str, Any] | None = None,
        kind: Kind | None = None,
        caller: Caller | None = None,
    ) -> Decision:
        """Return what the gate would decide about a call. Runs, counts and logs nothing.

        Args:
            name: As for `call`.
            args: As for `call`.
            parameters: As for `govern`.
            kind: `custom` or `mcp` for a tool of the host's own, which `govern` would call.
            caller: As for `call`.
        """
        toolbox = self._view_for(caller)
        if kind is None or toolbox.built_tool(name) is not None:
            return await toolbox.adecide(name, args)
        return await self._foreign_tools(caller).adecide(name, args, parameters, kind)

    async def aexplain(self, name: str, args: Mapping[str, Any], *, caller: Caller | None = None) -> "Explanation":
        """Explain the decision about a call, stage by stage. Runs, counts and logs nothing."""
        return await self._view_for(caller).aexplain(name, args)

    def answer(
        self,
        state: str,
        answer: ApprovalAnswer | Answer,
        *,
        of: tuple[str, Mapping[str, Any]] | None = None,
        body: Body | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> HostResult:
        """Make the call of a pending approval again, with a person's answer. All rules are evaluated again.

        If the tool, the arguments, the workspace, the profile or the reason for asking differ from what the person was
        shown, the answer does not count, and the result is another pending approval.

        Args:
            state: The state of the `PendingApproval`.
            answer: The person's answer.
            of: Name and arguments of the call, if the client sends them again: they must be those of the state.
            body: The body for `govern`, for a tool of the host's own.
            parameters: As for `govern`.

        Raises:
            StateRejected: *state* is another host's, expired, already answered or for another call, or *body* is missing.
        """
        question, call_id = self._redeem_and_grant(state, answer, of, has_body=body is not None)
        tool, args, caller = question.tool, question.args, question.caller
        try:
            if body is None or question.kind is None:
                return self.call(tool, args, call_id=call_id, caller=caller)
            kind = question.kind
            return self.govern(tool, args, body, parameters=parameters, kind=kind, call_id=call_id, caller=caller)
        finally:
            self._pending.forget(question, call_id)

    async def aanswer(
        self,
        state: str,
        answer: ApprovalAnswer | Answer,
        *,
        of: tuple[str, Mapping[str, Any]] | None = None,
        body: AsyncBody | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> HostResult:
        """`answer` from asynchronous code."""
        question, call_id = self._redeem_and_grant(state, answer, of, has_body=body is not None)
        tool, args, caller = question.tool, question.args, question.caller
        try:
            if body is None or question.kind is None:
                return await self.acall(tool, args, call_id=call_id, caller=caller)
            kind = question.kind
            return await self.agovern(
                tool, args, body, parameters=parameters, kind=kind, call_id=call_id, caller=caller
            )
        finally:
            self._pending.forget(question, call_id)

    def subscribe(self, subscriber: Callable[["Host"], None]) -> Callable[[], None]:
        """Call *subscriber* after each reload that has changed the tools. Returns a function that unsubscribes it."""
        return self._live.subscribe(lambda _: subscriber(self))

    def close(self) -> None:
        """Wait for calls under way, close the tools' resources, and flush the sinks.

        Raises:
            ExceptionGroup: The exceptions of tools that failed to close. Everything else is closed nevertheless.
        """
        self._live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _view_for(self, caller: Caller | None) -> Toolbox:
        toolbox = self._live.current
        return toolbox if caller is None or caller == self._caller else toolbox.for_caller(caller)

    async def _call_in_thread(
        self, caller: Caller | None, name: str, args: Mapping[str, Any], call_id: str | None, parent_id: str | None
    ) -> ToolResult:
        """Call a tool. A synchronous body does not block the event loop, and is abandoned if the task is cancelled."""
        foreign = self._foreign_tools(caller)
        pipeline = foreign.isolated_pipeline(name)
        if pipeline is None:
            return await foreign.toolbox.acall(name, args, call_id=call_id, parent_id=parent_id)
        return await pipeline.acall(args, call_id=call_id, parent_id=parent_id)

    def _call_current(self, caller: Caller | None, call: Callable[[Toolbox], ToolResult]) -> ToolResult:
        while True:
            present = self._live.current
            try:
                return call(self._view_for(caller))
            except ToolboxClosed:
                if self._live.is_closed or self._live.current is present:
                    raise

    def _foreign_tools(self, caller: Caller | None) -> ForeignTools:
        """Return the current tools of *caller*, with cached pipelines."""
        present, who = self._live.current, caller or self._caller
        known = self._foreign.get(who)
        if known is None or known[0] is not present:
            if len(self._foreign) >= MAX_CALLERS:
                self._foreign.clear()
            known = self._foreign[who] = (present, ForeignTools(self._view_for(caller)))
        return known[1]

    def _to_host_result(
        self,
        result: ToolResult,
        asked: AskedQuestions,
        name: str,
        args: Mapping[str, Any],
        caller: Caller | None,
        kind: Kind | None = None,
    ) -> HostResult:
        pending = self._pending.pending(asked.get(result.call_id), name, args, caller or self._caller, kind)
        return HostResult(result.text, structured_value(result), result.outcome != "ok", result, pending)

    def _redeem_and_grant(
        self,
        state: str,
        answer: ApprovalAnswer | Answer,
        of: tuple[str, Mapping[str, Any]] | None,
        *,
        has_body: bool,
    ) -> tuple[Question, str]:
        given = answer if isinstance(answer, ApprovalAnswer) else ApprovalAnswer(answer)
        question, call_id = self._pending.redeem(state, of, has_body=has_body), uuid4().hex
        self._pending.grant(question, call_id, given)
        return question, call_id
