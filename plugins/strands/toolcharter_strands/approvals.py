"""Calls that need a person, as interrupts of Strands."""

import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import HostResult, PendingApproval

NAME = "toolcharter"
"""The name of the interrupts."""
MAX_WAITING = 10_000
"""The maximum number of pending approvals kept. If one is dropped, its call asks again when the agent resumes."""
_ANSWERS = ("allow_once", "allow_always", "deny")


class Approvals:
    """The pending approvals of interrupted calls. An agent that resumes makes the interrupted call again."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str, str, Caller | None], PendingApproval] = {}
        self._lock = threading.Lock()

    async def call(
        self,
        call_id: str,
        name: str,
        args: Mapping[str, Any],
        caller: Caller | None,
        make: Callable[[], Awaitable[HostResult]],
        interrupt: Callable[[dict[str, Any]], Any],
        answer: Callable[[str, ApprovalAnswer], Awaitable[HostResult]],
    ) -> HostResult:
        """Make a call. If a person has answered its pending approval meanwhile, redeem the approval.

        Args:
            call_id: The agent's identifier of the call.
            name: The tool's name.
            args: The arguments as the model wrote them.
            caller: Who calls: an answer for one caller does not count for another.
            make: Makes the call.
            interrupt: Stops the agent with a question, or returns the response that the agent was resumed with.
            answer: Makes the call of a pending approval with a person's answer.

        Raises:
            InterruptException: The call needs a person. Resume with the response `allow_once` or `deny`.
        """
        key = call_id, name, json.dumps(args, sort_keys=True, default=repr), caller
        with self._lock:
            pending = before = self._waiting.get(key)
        if pending is None or pending.has_expired:
            result = await make()
            pending = result.pending
            if pending is None:
                return result
            with self._lock:
                self._waiting[key] = pending
                if len(self._waiting) > MAX_WAITING:
                    del self._waiting[next(iter(self._waiting))]
        request = pending.request
        answers = ["allow_once", "deny", *(["allow_always"] if request.always else [])]
        question = {"tool": name, "args": dict(request.args), "reason": request.reason, "answers": answers}
        said = interrupt({**question, "message": request.message})
        with self._lock:
            self._waiting.pop(key, None)
        if before is not None and not pending.is_same_question(before):
            return await make()  # The answer was to an expired question that has changed.
        # An unknown answer is a denial.
        return await answer(pending.state, ApprovalAnswer(said if said in _ANSWERS else "deny"))
