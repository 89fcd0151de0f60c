"""Calls that need a person, as interrupts of LangGraph."""

import json
import threading
from collections.abc import Mapping
from typing import Any

from langgraph.types import interrupt

from toolcharter import ApprovalAnswer, Caller
from toolcharter.hosts import PendingApproval
from toolcharter_langchain.turns import TURNS, Key

MAX_PENDING = 10_000
"""The maximum number of pending approvals kept. If one is dropped, its call asks again when the graph resumes."""
_ANSWERS = ("allow_once", "allow_always", "deny")


class Approvals:
    """The pending approvals of interrupted calls. A graph that resumes makes the interrupted call again."""

    def __init__(self) -> None:
        self._pending: dict[Key, PendingApproval] = {}
        self._lock = threading.Lock()

    def find_pending(
        self, call_id: str | None, name: str, args: Mapping[str, Any], caller: Caller | None
    ) -> PendingApproval | None:
        """Return the approval for which the call has interrupted its graph; None without one, or if it has expired."""
        with self._lock:
            pending = self._pending.get(_call_key(call_id, name, args, caller))
        return None if pending is None or pending.has_expired else pending

    def ask(
        self,
        call_id: str | None,
        name: str,
        args: Mapping[str, Any],
        caller: Caller | None,
        pending: PendingApproval,
    ) -> ApprovalAnswer | None:
        """Interrupt the graph, or return the answer that it was resumed with.

        Returns:
            None if no person can be asked: outside of a graph, or while another call of the same node waits for its
            answer. Also None if the question has expired and has changed since it was asked.

        Raises:
            GraphInterrupt: The graph stops here. `Command(resume="allow_once")` or `Command(resume="deny")` resumes it.
        """
        key = _call_key(call_id, name, args, caller)
        try:
            answer = self._interrupt_for_answer(key, pending) if TURNS.try_begin(key) else None
        except (KeyError, RuntimeError):  # the call is made outside of a graph
            answer = None
        with self._lock:
            self._pending.pop(key, None)
        return answer

    def _interrupt_for_answer(self, key: Key, pending: PendingApproval) -> ApprovalAnswer | None:
        with self._lock:
            before = self._pending.get(key, pending)
            self._pending[key] = pending
            if len(self._pending) > MAX_PENDING:
                del self._pending[next(iter(self._pending))]
        request = pending.request
        value = interrupt(
            {
                "tool": request.tool,
                "args": dict(request.args),
                "reason": request.reason,
                "message": request.message,
                "answers": ["allow_once", "deny", *(["allow_always"] if request.always else [])],
            }
        )
        TURNS.note_answered()
        return _parse_answer(value) if pending.is_same_question(before) else None


def _parse_answer(value: Any) -> ApprovalAnswer:
    """Turn the value that the graph was resumed with into an answer. An unknown value is a denial."""
    if isinstance(value, ApprovalAnswer):
        return value
    word = value.get("answer") if isinstance(value, dict) else value
    return ApprovalAnswer(word if word in _ANSWERS else "deny")


def _call_key(call_id: str | None, name: str, args: Mapping[str, Any], caller: Caller | None) -> Key:
    return call_id or "", name, json.dumps(args, sort_keys=True, default=repr), caller
