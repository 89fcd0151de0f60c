"""Calls that need a person, as deferred calls of Pydantic AI."""

import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_ai import ApprovalRequired, RunContext

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import HostResult, PendingApproval

MAX_WAITING = 10_000
"""The maximum number of pending approvals kept. If one is dropped, its call asks again; the same approval counts."""


class Approvals:
    """The pending approvals of deferred calls, for the run that continues with the answers."""

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
        """Make a call. If a person has granted its pending approval meanwhile, redeem the approval.

        Raises:
            ApprovalRequired: The call needs a person. `DeferredToolRequests` shows the metadata.
        """
        key = ctx.tool_call_id or "", name, json.dumps(args, sort_keys=True, default=repr), caller
        with self._lock:
            pending = before = self._waiting.pop(key, None) if ctx.tool_call_approved else None
        if pending is None or pending.has_expired:
            result = await make()
            pending = result.pending
            # An approval of an expired question counts only if the question has not changed.
            if pending is None or (before is not None and not pending.is_same_question(before)):
                return result
        # The application says that a person has approved this very call; the rules are evaluated again.
        if ctx.tool_call_approved:
            return await answer(pending.state, ApprovalAnswer("allow_once"))
        with self._lock:
            self._waiting[key] = pending
            if len(self._waiting) > MAX_WAITING:
                del self._waiting[next(iter(self._waiting))]
        request = pending.request
        raise ApprovalRequired({"tool": name, "reason": request.reason, "message": request.message})
