"""Calls that need a person, as interrupts of Strands."""

import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import HostResult, PendingApproval

NAME = "toolcharter"
"""Of the interrupts."""
MAX_WAITING = 10_000
"""How many calls that wait for a person are remembered; a forgotten one asks anew when its agent goes on, and gets the same answer."""
_ANSWERS = ("allow_once", "allow_always", "deny")


class Approvals:
    """The pending approvals of interrupted calls. An agent that goes on makes the interrupted call from its beginning."""

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
        """Make a call, or the call of a pending approval that a person has answered meanwhile.

        Args:
            call_id: The agent's.
            name: The tool's.
            args: As the model wrote them.
            caller: Who calls: one caller's answer makes no call of another's.
            make: Makes the call.
            interrupt: Stops the agent with a question, or returns what it went on with.
            answer: Makes the call of a pending approval with a person's answer.

        Raises:
            InterruptException: It needs a person. Go on with the response `allow_once` or `deny`.
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
            return await make()  # The answer is to another question, which has expired.
        # Anything but a plain yes is a no.
        return await answer(pending.state, ApprovalAnswer(said if said in _ANSWERS else "deny"))
