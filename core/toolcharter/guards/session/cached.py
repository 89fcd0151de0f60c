"""`cached_reads`: a repeated read is answered from a cache, for a short time, and only if nothing can have changed.

A read is a call whose capabilities only read the workspace or the network. All sessions of a toolbox share one cache,
since a write of one session affects the others, but each answer is returned only to the caller that received it. Every
call that may have effects empties the cache when it begins and when it ends. While such a call runs, no answer is
returned or stored.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from time import monotonic
from typing import NamedTuple

from toolcharter._fork import renew_in_child
from toolcharter.api.call import Call, Caller, ToolResult
from toolcharter.guards.session.state import digest_call

MAX_ANSWERS = 256
"""How many answers are kept. The oldest are dropped first."""
MAX_CHARS = 100_000
"""Longer answers are not kept."""
READS = frozenset({"fs:read", "net:read"})
_HARMLESS = READS | {"text"}

Key = tuple[Caller, bytes]


class _CachedResult(NamedTuple):
    result: ToolResult
    until: float


class CachedReads:
    """The cache of one toolbox. Thread-safe."""

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._kept: OrderedDict[Key, _CachedResult] = OrderedDict()
        self._reading: dict[int, tuple[Call, int]] = {}
        """The running reads by the `id` of the call, each with the age in which it began."""
        self._acting: dict[int, Call] = {}
        self._age = 0
        """How often something may have changed: incremented when a call with effects begins or ends."""
        self._lock = Lock()
        renew_in_child(self)

    def renew(self) -> None:
        """Reset the cache in a forked child: the running calls are the parent's."""
        self._lock = Lock()
        self._acting.clear()
        self._reading.clear()
        self._kept.clear()

    def find(self, session: str, call: Call) -> ToolResult | None:
        """Return the cached answer of the same read, if it is still valid."""
        if not is_read(call):
            return None
        key = _key(session, call)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or self._acting:
                return None
            if self._clock() >= kept.until:
                del self._kept[key]
                return None
            return kept.result

    def entered(self, call: Call, *, has_effects: bool) -> None:
        """Note that a call enters its tool."""
        with self._lock:
            if has_effects:
                self._acting[id(call)] = call
                self._forget()
            elif is_read(call):
                self._reading[id(call)] = call, self._age

    def ended(self, session: str, call: Call, result: ToolResult) -> None:
        """Note that a call has ended. A call that did not enter its tool is ignored."""
        with self._lock:
            if self._acting.pop(id(call), None) is not None:
                self._forget()
                return
            _, began = self._reading.pop(id(call), (call, -1))
            if began != self._age or self._acting or result.outcome != "ok" or len(result.text) > MAX_CHARS:
                return
            key = _key(session, call)
            self._kept.pop(key, None)
            self._kept[key] = _CachedResult(replace(result), self._clock() + self._seconds)
            if len(self._kept) > MAX_ANSWERS:
                self._kept.popitem(last=False)

    def _forget(self) -> None:
        self._age += 1
        self._kept.clear()


def is_read(call: Call) -> bool:
    """Whether *call* only reads: the workspace or the network, which other calls of this toolbox could change."""
    words = call.capabilities
    return call.kind == "builtin" and words is not None and bool(words & READS) and words <= _HARMLESS


def _key(session: str, call: Call) -> Key:
    return call.caller, digest_call(f"{session}\0{call.tool}", call.action, call.args)
