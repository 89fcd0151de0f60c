"""What an approval is of: the call that a person is asked about, its digest, and a ledger that uses each approval once.

Pending approvals live in memory: a restart forgets them, and the calls have to be asked about again.
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
"""How many approvals a ledger holds; one more voids the oldest."""


class Scope(NamedTuple):
    """What the approvals of one toolbox are bound to."""

    profile: str
    """The name of its profile."""
    digest: str
    """SHA-256 of the effective profile."""
    workspace: Path
    runners: Runners
    """Where its programs run."""


class AskedCall(Protocol):
    """The tool and the caller of a call that a person is asked about: a `CallPipeline`."""

    @property
    def tool(self) -> BuiltTool:
        """The tool."""
        ...

    def rule_input(self, ctx: CallContext, /) -> tuple[RuleInput, CommandAnalysis]:
        """The call as rules see it, and what is understood of its commands."""
        ...

    def confine(self, ctx: CallContext, /) -> None:
        """Refuse the call if its commands lead elsewhere than they seem to."""

    async def dry_run(self, ctx: CallContext, /) -> CallContext | None:
        """What the body itself checks; None if it is not staged."""
        ...


def digest_of(
    tool: str, args: Mapping[str, Any], workspace: Path, profile_digest: str, commands: Sequence[str] = ()
) -> str:
    """SHA-256 of all that an approval is of, in hexadecimal.

    Args:
        tool: The canonical name.
        args: The validated arguments, JSON types only. The order of keys does not count; `1`, `1.0` and `true` differ.
        workspace: The folder that the call runs in.
        profile_digest: Of the profile that the call was decided by.
        commands: What the call would run, in normal form and in order.

    Raises:
        TypeError: The arguments are no JSON.
        ValueError: They hold a number that JSON does not have.
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


def digest_of_arguments(args: Mapping[str, Any], commands: Sequence[str] = ()) -> str:
    """SHA-256 of the arguments and the commands alone; the parameters and errors of `digest_of`."""
    return _digest({"args": _json(args), "commands": list(commands)})


def _digest(parts: Mapping[str, Any]) -> str:
    # Not orjson: it writes NaN as null, and refuses what a path that is no UTF-8 turns into.
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def _json(value: Any) -> Any:
    """*value* as `json` writes it without loss: it would make text of keys, so that `{1: 0}` were `{"1": 0}`."""
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
    """Approvals that were asked for and not used yet. Any thread may use it at any time."""

    def __init__(self, *, clock: Callable[[], float] = monotonic, limit: int = MAX_PENDING) -> None:
        self._clock = clock
        self._limit = limit
        self._pending: dict[str, _Pending] = {}
        self._lock = threading.Lock()

    def open(self, digest: str, expires_at: float) -> str:
        """Begin to wait for an answer.

        Args:
            digest: What is asked about, from `digest_of`.
            expires_at: When the approval is void, a moment of the ledger's clock.

        Returns:
            A token that cannot be guessed, for `answer` and `redeem`.
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
        """Record an answer. A denial is final: it also takes back what was allowed and not used.

        Returns:
            Whether anybody still waits for it.
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
        """Use an approval up, whatever comes of it.

        Args:
            token: From `open`.
            digest: Of the call that is about to run.

        Returns:
            Whether that call may run: it is the one asked about, was allowed, in time, and never before.
        """
        with self._lock:
            pending = self._pending.pop(token, None)
            return (
                pending is not None
                and pending.allowed
                and secrets.compare_digest(pending.digest, digest)
                and self._clock() < pending.expires_at
            )
