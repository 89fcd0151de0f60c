"""What an approval is bound to: the call and its digest; and a ledger that redeems each approval at most once.

Pending approvals are in memory: a restart forgets them, and then the person is asked again.
"""

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, Literal, NamedTuple, Protocol

from toolcharter.gate.call import CallContext
from toolcharter.gate.commands import CommandAnalysis
from toolcharter.gate.runners import Runners
from toolcharter.gate.tool import BuiltTool
from toolcharter.policy.rule_input import RuleInput

MAX_PENDING = 1024
"""How many pending approvals a ledger holds; each further one voids the oldest."""


class ApprovalScope(NamedTuple):
    """What the approvals of one toolbox are bound to."""

    profile: str
    """The profile's name."""
    digest: str
    """SHA-256 of the effective profile."""
    workspace: Path
    runners: Runners
    """The runner of its programs."""


class AskedCall(Protocol):
    """The pipeline of a call that a person is asked about: the part of `CallPipeline` that approvals use."""

    @property
    def tool(self) -> BuiltTool:
        """The tool."""
        ...

    def rule_input(self, ctx: CallContext, /) -> tuple[RuleInput, CommandAnalysis]:
        """Return the call as rules see it, and the analysis of its commands."""
        ...

    def confine(self, ctx: CallContext, /) -> None:
        """Refuse the call if its commands do not do on disk what their text says."""

    async def dry_run(self, ctx: CallContext, /) -> CallContext | None:
        """Run the body's own checks; None if the tool is not staged."""
        ...


def call_digest(
    tool: str, args: Mapping[str, Any], workspace: Path, profile_digest: str, commands: Sequence[str] = ()
) -> str:
    """Return the SHA-256 of everything that an approval is bound to, in hexadecimal.

    Args:
        tool: The canonical name.
        args: The validated arguments, JSON types only. The order of keys does not count; `1`, `1.0` and `true` differ.
        workspace: The folder that the call runs in.
        profile_digest: The digest of the profile that decided the call.
        commands: The commands that the call would run, in normal form and in order.

    Raises:
        TypeError: The arguments are no JSON.
        ValueError: The arguments contain a number that JSON does not have.
    """
    return _digest(
        {
            "args": _json(args),
            "commands": list(commands),
            "profile": profile_digest,
            "tool": tool,
            "workspace": str(workspace),
        }
    )


def arguments_digest(args: Mapping[str, Any], commands: Sequence[str] = ()) -> str:
    """Return the SHA-256 of the arguments and the commands only; parameters and errors are those of `call_digest`."""
    return _digest({"args": _json(args), "commands": list(commands)})


def _digest(parts: Mapping[str, Any]) -> str:
    # Not orjson: it writes NaN as null, and rejects the text that a path in other encodings than UTF-8 becomes.
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def _json(value: Any) -> Any:
    """Prepare *value* for `json` without loss. Raises for keys that are no text, which `json` would turn into text."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("the keys of JSON are text")
        return {key: _json(item) for key, item in value.items()}
    return list(map(_json, value)) if isinstance(value, list | tuple) else value


@dataclass(slots=True)
class _Pending:
    digest: str
    expires_at: float
    allowed: bool = False


class Ledger:
    """The approvals that were requested and not redeemed yet. Thread-safe."""

    def __init__(self, *, clock: Callable[[], float] = monotonic, limit: int = MAX_PENDING) -> None:
        self._clock = clock
        self._limit = limit
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()

    def open(self, digest: str, expires_at: float) -> str:
        """Open a pending approval.

        Args:
            digest: The digest of the call, from `call_digest`.
            expires_at: When the approval becomes void, on the ledger's clock.

        Returns:
            An unguessable token for `answer` and `redeem`.
        """
        token = secrets.token_urlsafe(16)
        with self._lock:
            self._pending[token] = _Pending(digest, expires_at)
            if len(self._pending) > self._limit:
                self._make_room()
        return token

    def _make_room(self) -> None:
        now = self._clock()
        for token in [token for token, pending in self._pending.items() if not now < pending.expires_at]:
            del self._pending[token]
        while len(self._pending) > self._limit:
            del self._pending[next(iter(self._pending))]

    def answer(self, token: str, answer: Literal["allow", "deny"]) -> bool:
        """Record an answer. A denial is final: it also revokes an approval that was not redeemed yet.

        Returns:
            Whether the approval was still pending and had not expired.
        """
        with self._lock:
            pending = self._pending.get(token)
            if pending is None:
                return False
            if answer != "allow" or not self._clock() < pending.expires_at:
                del self._pending[token]
                return answer == "deny" and self._clock() < pending.expires_at
            pending.allowed = True
            return True

    def redeem(self, token: str, digest: str) -> bool:
        """Redeem an approval. It is used up, whatever the result.

        Args:
            token: From `open`.
            digest: The digest of the call that is about to run.

        Returns:
            Whether the call may run: it is the approved call, the approval has not expired, and was not redeemed
            before.
        """
        with self._lock:
            pending = self._pending.pop(token, None)
            return (
                pending is not None
                and pending.allowed
                and secrets.compare_digest(pending.digest, digest)
                and self._clock() < pending.expires_at
            )
