"""Approvals that a host answers later: each question becomes a signed state, and a state can be redeemed once."""

import hashlib
import hmac
import json
import secrets
import threading
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any, NamedTuple

from toolcharter.api.approval import ApprovalAnswer, ApprovalRequest
from toolcharter.api.call import Caller, Delegation
from toolcharter.api.words import Kind
from toolcharter.errors import ToolcharterError

MAX_AGE_S = 3600.0
"""How long a state can be redeemed, in seconds."""
MAX_REDEEMED = 100_000
"""How many redeemed states are remembered; each is forgotten once it has expired."""

AskedQuestions = dict[str, ApprovalRequest]
"""The questions of one call of a host, by the identifiers of the gate's calls in it."""
_CURRENT_QUESTIONS: ContextVar[AskedQuestions | None] = ContextVar("asked", default=None)
"""The questions of the current call. Kept per context, because a host may give two calls the same identifier."""


class StateRejected(ToolcharterError):
    """The state of a pending approval was not made by this host, has expired, or was redeemed before."""


class PendingApproval(NamedTuple):
    """A call that waits for a person's approval, and the state that redeems it."""

    state: str
    """Pass it to `Host.answer`. It is signed, so that a client can store it, but cannot change it."""
    request: ApprovalRequest
    expires_at: float
    """Seconds since the epoch."""

    @property
    def has_expired(self) -> bool:
        """Whether an answer would be too late, so that the call must be made again."""
        return self.expires_at < time.time()

    def is_same_question(self, other: "PendingApproval") -> bool:
        """Whether *other* is the same question: about the same call, with the same reason and message."""
        return _question_digest(self.request) == _question_digest(other.request)


class Question(NamedTuple):
    """The content of a state."""

    tool: str
    args: Mapping[str, Any]
    caller: Caller
    kind: Kind | None
    """`custom` or `mcp` for a host's own tool, whose body must be passed again; else None."""
    digest: str
    """From `_question_digest`. It is bound to tool, arguments, workspace, profile, and why a person was asked."""
    nonce: str
    expires_at: float


class PendingApprovals:
    """The approver of a host that answers later: it records each question for the call that asks it.

    Args:
        key: Signs states. Servers that redeem each other's states must share it; by default each process has its own.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._granted: dict[tuple[str, str], ApprovalAnswer] = {}
        self._redeemed: dict[str, float] = {}
        self._lock = threading.Lock()

    def __call__(self, request: ApprovalRequest) -> ApprovalAnswer | None:
        """Return the answer that was granted for exactly this call. Otherwise record the question, and return None."""
        with self._lock:
            answer = self._granted.pop((request.call_id, _question_digest(request)), None)
        asked = _CURRENT_QUESTIONS.get()
        if answer is None and asked is not None:
            asked[request.call_id] = request
        return answer

    def pending(
        self, request: ApprovalRequest | None, tool: str, args: Mapping[str, Any], caller: Caller, kind: Kind | None
    ) -> PendingApproval | None:
        """Return the pending approval for the question *request* of a call; None if no person was asked."""
        if request is None:
            return None
        expires_at = time.time() + MAX_AGE_S
        nonce = secrets.token_urlsafe(16)
        question = Question(tool, args, caller, kind, _question_digest(request), nonce, expires_at)
        return PendingApproval(self._sign_question(question), request, expires_at)

    def redeem(self, state: str, of: tuple[str, Mapping[str, Any]] | None, *, has_body: bool) -> Question:
        """Verify *state* and redeem it.

        Raises:
            StateRejected: It was not made with this key, is for another call, has expired or was redeemed before, or a
                body is missing.
        """
        question = self._verify_state(state)
        if question.kind is not None and not has_body:
            raise StateRejected(f"{question.tool!r} is a tool of the host's own: pass its body with the answer.")
        if of is not None and of != (question.tool, question.args):
            raise StateRejected("The approval is for another call.")
        now = time.time()
        if question.expires_at < now:
            raise StateRejected("The approval has expired; make the call again.")
        with self._lock:
            if question.nonce in self._redeemed:
                raise StateRejected("The approval has been answered before; make the call again.")
            if len(self._redeemed) >= MAX_REDEEMED:
                self._redeemed = {nonce: until for nonce, until in self._redeemed.items() if until >= now}
                if len(self._redeemed) >= MAX_REDEEMED:
                    raise StateRejected("Too many approvals were answered in the last hour; make the call again later.")
            self._redeemed[question.nonce] = question.expires_at
        return question

    def grant(self, question: Question, call_id: str, answer: ApprovalAnswer) -> None:
        """Grant *answer* to the call *call_id*, which the host makes again, if its question has the same digest."""
        with self._lock:
            self._granted[call_id, question.digest] = answer

    def forget(self, question: Question, call_id: str) -> None:
        """Revoke an answer of `grant` that the call has not used."""
        with self._lock:
            self._granted.pop((call_id, question.digest), None)

    def _sign_question(self, question: Question) -> str:
        body = json.dumps({**question._asdict(), "caller": asdict(question.caller)}, separators=(",", ":")).encode()
        return self._encode_signed(body)

    def _encode_signed(self, body: bytes) -> str:
        return f"{_encode_base64(body)}.{_encode_base64(self._signature(body))}"

    def _verify_state(self, state: str) -> Question:
        try:
            body = urlsafe_b64decode(state.partition(".")[0])
        except ValueError:
            raise StateRejected("This is no state of a pending approval.") from None
        # Compare the texts, because decoding ignores characters that are no Base64: one state would have many forms.
        if not hmac.compare_digest(state.encode(errors="replace"), self._encode_signed(body).encode()):
            raise StateRejected("The state was not made by this host, or was changed.")
        said: dict[str, Any] = json.loads(body)
        said["caller"] = _parse_caller(said["caller"])
        return Question(**said)

    def _signature(self, body: bytes) -> bytes:
        return hmac.digest(self._key, body, hashlib.sha256)


@contextmanager
def collect_questions() -> Generator[AskedQuestions]:
    """Collect the questions of the call in the `with` block: of this task or thread, and of threads that it starts."""
    asked: AskedQuestions = {}
    token = _CURRENT_QUESTIONS.set(asked)
    try:
        yield asked
    finally:
        _CURRENT_QUESTIONS.reset(token)


def _parse_caller(said: Mapping[str, Any]) -> Caller:
    """Return the caller that a state names, with its delegation if another agent has started it."""
    given = said["delegation"]
    if given is None:
        return Caller(**said)
    top, tools, may_ask = given
    known: dict[str, Any] = {**said, "delegation": Delegation(_parse_caller(top), tuple(tools), may_ask)}
    return Caller(**known)


def _question_digest(request: ApprovalRequest) -> str:
    """Return the SHA-256 of a question and its reason: a check may later ask another question about the same call."""
    asked = json.dumps((request.digest, request.reason, request.message))
    return hashlib.sha256(asked.encode()).hexdigest()


def _encode_base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode()
