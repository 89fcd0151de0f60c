"""Calls that need a person, as deferred calls of Pydantic AI."""

import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import HostResult, PendingApproval

MAX_WAITING = 10_000
"""How many calls that wait for a person are remembered; a forgotten one asks anew, and is answered with the same yes."""


class Approvals:
    """The pending approvals of deferred calls, for the run that goes on with the answers."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str, str, Caller | None], PendingApproval] = {}
        self._lock = threading.Lock()

    async def call(
        self,
        ctx: RunContext[Any],
        name: str,
        args: Mapping[str, Any],
        caller: Caller | None,
        make: Callable[[], Awaitable[HostResult]],
        answer: Callable[[str, ApprovalAnswer], Awaitable[HostResult]],
    ) -> HostResult:
        """Make a call, or the call of a pending approval that a person has granted meanwhile.

        Raises:
            ApprovalRequired: It needs a person. `DeferredToolRequests` shows the metadata.
        """
        key = ctx.tool_call_id or "", name, json.dumps(args, sort_keys=True, default=repr), caller
        with self._lock:
            pending = before = self._waiting.pop(key, None) if ctx.tool_call_approved else None
        if pending is None or pending.has_expired:
            result = await make()
            pending = result.pending
            # A yes to a question that has expired counts only if the question would be the same now.
            if pending is None or (before is not None and not pending.is_same_question(before)):
                return result
        # Whoever runs the agent has a person's yes for this very call; each rule is asked again.
        if ctx.tool_call_approved:
            return await answer(pending.state, ApprovalAnswer("allow_once"))
        with self._lock:
            self._waiting[key] = pending
            if len(self._waiting) > MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]
        request = pending.request
        raise ApprovalRequired({"tool": name, "reason": request.reason, "message": request.message})
