"""`Toolbox`: the tools built for one profile and workspace, as one caller may use them."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from toolcharter.errors import did_you_mean
from toolcharter.gate.beginning import begin
from toolcharter.gate.closing import Closer
from toolcharter.gate.lazily import acall, keys_of, notifying
from toolcharter.gate.passage import BuiltTool, Passage
from toolcharter.gate.rehearsal import decide
from toolcharter.gate.shared import Shared
from toolcharter.gate.shown import shown_name, shown_value
from toolcharter.gate.tool import Tool
from toolcharter.policy.evaluate import unknown_tool
from toolcharter.policy.facts import ToolFacts
from toolcharter.spec.call import Caller, Decision, ToolResult
from toolcharter.spec.explanation import Explanation


class Toolbox(Mapping[str, Tool]):
    """A mapping of tool names to the tools that the caller sees, in the profile's order. It never changes.

    A tool of which no call could pass is not among them; taken by its name, it is there to be denied with its reason.
    Any thread or task may use it at any time. Close it, or use it as a context manager.
    """

    def __init__(
        self, shared: Shared, tools: Mapping[str, BuiltTool], names: Mapping[str, str], caller: Caller
    ) -> None:
        self._shared = shared
        self._tools = tools
        self._names = names
        self._caller = caller
        self._passages: dict[str, Passage] = {}

    @property
    def profile(self) -> str:
        """The profile's name."""
        return self._shared.profile

    @property
    def digest(self) -> str:
        """SHA-256 of the effective profile; the same as on every event."""
        return self._shared.digest

    @property
    def files(self) -> tuple[Path, ...]:
        """The profile's file and those that it extends, as they were read."""
        return self._shared.files

    @property
    def built(self) -> Mapping[str, BuiltTool]:
        """All tools with what they are made of, those that the caller does not see among them; for our own commands."""
        return self._tools

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way; for our own commands."""
        return bool(self._shared.live)

    @property
    def has_approver(self) -> bool:
        """Whether there is somebody to ask about calls that wait for a person; for our own commands."""
        return self._shared.has_approver

    @property
    def lost_events(self) -> int:
        """How many event lines some sink did not take."""
        return self._shared.emitter.lost

    @property
    def lost_because(self) -> Exception | None:
        """Why the last of them was lost."""
        return self._shared.emitter.last_error

    @property
    def lost_notifications(self) -> int:
        """How many notifications did not arrive, as far as is known."""
        notifier = self._shared.notifier
        return 0 if notifier is None else notifier.lost

    @property
    def lost_notification_because(self) -> BaseException | None:
        """Why the last of them was lost."""
        notifier = self._shared.notifier
        return None if notifier is None else notifier.last_error

    def __getitem__(self, name: str) -> Tool:
        passage = self._passage(name)
        if passage is None:
            raise KeyError(name)
        return Tool(passage)

    def __iter__(self) -> Iterator[str]:
        return iter(self._visible)

    def __len__(self) -> int:
        return len(self._visible)

    def __contains__(self, name: object) -> bool:
        return name in self._visible

    @cached_property
    def _visible(self) -> tuple[str, ...]:
        """The tools of which some call might pass."""
        shared = self._shared
        hidden = shared.availability.of(self._caller)
        views = {name: shared.policy.for_tool(tool.facts, hidden.get(name)) for name, tool in self._tools.items()}
        return tuple(name for name, view in views.items() if view.concealed is None)

    def for_caller(self, caller: Caller) -> "Toolbox":
        """A cheap view of the same tools for *caller*; closing it closes the toolbox."""
        return Toolbox(self._shared, self._tools, self._names, caller)

    def call(
        self, name: str, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """One governed call; a name the profile does not have is answered too."""
        passage = self._passage(name)
        if passage is None:
            return self._refuse_unknown(name, args, call_id, parent_id)
        return passage.call(args, call_id=call_id, parent_id=parent_id)

    async def acall(
        self, name: str, args: Mapping[str, Any], *, call_id: str | None = None, parent_id: str | None = None
    ) -> ToolResult:
        """One governed call from asynchronous code."""
        passage = self._passage(name)
        if passage is None:
            return self._refuse_unknown(name, args, call_id, parent_id)
        return await acall()(passage, args, call_id=call_id, parent_id=parent_id)

    def decide(self, name: str, args: Mapping[str, Any]) -> Decision:
        """What the call would meet; nothing is executed, counted or logged."""
        self._shared.require_open()
        passage = self._passage(name)
        return self._unknown(name) if passage is None else decide(passage, args)

    async def adecide(self, name: str, args: Mapping[str, Any]) -> Decision:
        """The same from asynchronous code."""
        from toolcharter.gate.rehearsal import adecide  # noqa: PLC0415 - imports asyncio

        self._shared.require_open()
        passage = self._passage(name)
        return self._unknown(name) if passage is None else await adecide(passage, args)

    def explain(self, name: str, args: Mapping[str, Any]) -> Explanation:
        """Why `decide` answers as it does, stage by stage; nothing is executed, counted or logged."""
        from toolcharter.gate.explain import explain  # noqa: PLC0415 - few processes explain anything
        from toolcharter.gate.rehearsal import attempt  # noqa: PLC0415 - as above

        self._shared.require_open()
        passage = self._passage(name)
        if passage is None:
            return self._explain_unknown(name, args)
        return explain(passage, attempt(passage, args), shown_name(name), args)

    async def aexplain(self, name: str, args: Mapping[str, Any]) -> Explanation:
        """The same from asynchronous code."""
        from toolcharter.gate.explain import explain  # noqa: PLC0415 - few processes explain anything
        from toolcharter.gate.rehearsal import aattempt  # noqa: PLC0415 - as above

        self._shared.require_open()
        passage = self._passage(name)
        if passage is None:
            return self._explain_unknown(name, args)
        return explain(passage, await aattempt(passage, args), shown_name(name), args)

    def forget_results(self, *call_ids: str) -> None:
        """Tell that the model no longer sees the results of these calls, or of all calls of the session, if none is named.

        What `skip_duplicate` refuses because its result is "further up" may then be called again.
        """
        memory = self._shared.memory
        if memory is not None:
            memory.forget(keys_of()(self._caller).session, call_ids)

    def close(self) -> None:
        """Let calls under way end, close what tools hold, and flush the sinks.

        Raises:
            ExceptionGroup: What tools raised while they closed; everything is closed all the same.
        """
        errors = self.close_shared()
        if errors:
            raise ExceptionGroup("tools raised while the toolbox closed", errors)

    def close_shared(self) -> list[Exception]:
        """`close`, which returns what tools raised; for our own commands."""
        return self._shared.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def aclose(self) -> None:
        """`close` from asynchronous code, whose calls under way go on meanwhile."""
        import asyncio  # noqa: PLC0415 - its users have it already

        await asyncio.to_thread(self.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<Toolbox {self.profile!r}: {', '.join(self._visible)}>"

    def _passage(self, name: str) -> Passage | None:
        if not isinstance(name, str):
            return None
        passage = self._passages.get(name)
        if passage is None:
            # Kept under the canonical name only: the spellings of a name without case are many.
            canonical = self._names.get(name.lower(), "")
            passage = self._passages.get(canonical)
            if passage is None and canonical in self._tools:
                passage = self._passages[canonical] = Passage(self._shared, self._tools[canonical], self._caller)
        return passage

    def _unknown(self, name: str) -> Decision:
        shown = shown_name(name)
        return unknown_tool(shown, did_you_mean(shown, self._visible) or None)

    def _explain_unknown(self, name: str, args: Mapping[str, Any]) -> Explanation:
        from toolcharter.gate.explain import explain_unknown  # noqa: PLC0415 - few processes explain anything

        return explain_unknown(self._shared, shown_name(name), args, self._unknown(name), self._tools)

    def _refuse_unknown(
        self, name: str, args: Mapping[str, Any], call_id: str | None, parent_id: str | None
    ) -> ToolResult:
        shared = self._shared
        shared.require_open()
        ctx = begin(shown_name(name), self._caller, 0.0, call_id, parent_id)
        lines = shared.lines.for_tool(ctx.tool, None, self._caller)
        ctx.tail = lines.tail(ctx.call_id, ctx.parent_id, None, shown_value(args, shared.args_detail))
        decision = self._unknown(name)
        ctx.refuse(decision.stage, decision.reason or "", decision.message, hint=decision.hint)
        notify = None if shared.notifier is None else notifying()(shared.notifier, ToolFacts(ctx.tool))
        return Closer(shared, lines, notify=notify).close(ctx)
