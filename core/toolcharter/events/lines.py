"""Turns the facts about a call into its event lines, by splicing bytes into templates.

Encoding whole dictionaries would cost four times as much per event. Fields that are constant for
a tool, a caller and a profile are encoded once; fields that are constant for a call, once per call.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import count
from time import gmtime, strftime, time_ns
from typing import Any

import orjson

from toolcharter.api.call import Caller, RuleRef
from toolcharter.events.contract import (
    AFTER,
    BEFORE,
    CUT_NOTICE,
    LEVELS,
    MAX_FIELD_CHARS,
    POLICY_BEFORE,
    POLICY_DENY,
    RARE_BASE_FIELDS,
)

MAX_CALLERS = 256
"""How many callers' encoded fields are cached."""
MAX_VERDICTS = 256
"""How many encoded denials are cached."""


class Clock:
    """UTC timestamps with milliseconds. Each part is formatted once, and cached until it changes."""

    def __init__(self) -> None:
        self._second = (-1, b"")
        self._moment = (-1, b"")

    def now(self) -> bytes:
        """Return the current time as `2026-11-21T10:15:37.042Z`."""
        millisecond = time_ns() // 1_000_000
        known, text = self._moment
        if millisecond != known:
            text = self._format(millisecond)
            self._moment = (millisecond, text)  # one assignment, so that threads never see a mixture
        return text

    def _format(self, millisecond: int) -> bytes:
        second, rest = divmod(millisecond, 1000)
        known, text = self._second
        if second != known:
            text = strftime("%Y-%m-%dT%H:%M:%S.", gmtime(second)).encode()
            self._second = (second, text)
        return text + b"%03dZ" % rest


def _head(event: str, level: str) -> bytes:
    return b'{"event":"%s","level":"%s","ts":"' % (event.encode(), level.encode())


_BEFORE = _head(BEFORE, "info")
_POLICY_BEFORE = _head(POLICY_BEFORE, "info")
_POLICY_DENY = _head(POLICY_DENY, "warning")
_AFTER = {outcome: _head(AFTER, level) for outcome, level in LEVELS.items()}
_AFTER_OK = _AFTER["ok"]
_AFTER_DENIED = _AFTER["denied"]
_PLAIN_OK = (
    b',"status":"ok","outcome":"ok","reason":null,"message":null,"rule":null,"stage":null,"elapsed_ms":%r'
    b',"output_chars":%d,"truncated":false,"redactions":0,"fields":{}}\n'
)
_PLAIN_DENIED = (
    b',"status":"error","outcome":"denied"%b,"elapsed_ms":%r'
    b',"output_chars":%d,"truncated":false,"redactions":0,"fields":{}}\n'
)


_NO_CALL = b'"action":null,"plugin":null,"args":null,'


class LineFormat:
    """The format of one profile's event lines; `for_tool` binds a tool and a caller.

    Args:
        profile: The profile's name.
        digest: The profile's digest.
        runner: The profile's runner; None if it names none.
        scrub: Masks secrets in the fields of a caller.
    """

    def __init__(self, profile: str, digest: str, runner: str | None = None, scrub: Callable[[str], str] = str) -> None:
        values = _json(profile), _json(digest), _json(runner)
        self._profile = b',"profile":%s,"profile_digest":%s,"runner":%s,"tool":' % values
        self._scrub = scrub
        self._callers: dict[Caller, bytes] = {}
        self._seq = count(1)
        self._clock = Clock()

    def approval(self, event: str, tail: bytes, fields: Mapping[str, Any]) -> bytes:
        """Return `hook.approval.request` or `hook.approval.decision`, with *fields* in the contract's order."""
        closing = b"," + orjson.dumps(cut(dict(fields)))[1:]
        return b"".join(
            (_head(event, "info"), self._clock.now(), b'","seq":', b"%d" % next(self._seq), tail, closing, b"\n")
        )

    def frame(self, event: str, caller: Caller, fields: Mapping[str, Any]) -> bytes:
        """Return `toolbox.open` or `toolbox.close`, with *fields* in the contract's order."""
        base = b',"call_id":null,"parent_id":null%snull,%s' % (self._caller_fields(caller), _NO_CALL)
        return b"".join(
            (
                _head(event, "info"),
                self._clock.now(),
                b'","seq":%d' % next(self._seq),
                base,
                orjson.dumps(fields)[1:],
                b"\n",
            )
        )

    def for_tool(self, tool: str, plugin: str | None, caller: Caller) -> "ToolLines":
        """Return the format of one tool's events for *caller*."""
        return ToolLines(self._caller_fields(caller) + _json(tool), _json(plugin), self._seq, self._clock)

    def _caller_fields(self, caller: Caller) -> bytes:
        """Return the fields from `session` up to the name of the tool. Cached, because a caller has many tools."""
        known = self._callers.get(caller)
        if known is None:
            names = (caller.session, caller.agent, caller.user, caller.project, caller.group, caller.provider)
            shown = (_json(None if name is None else self._scrub(name)) for name in names)
            known = b',"session":%s,"agent":%s,"user":%s,"project":%s,"group":%s,"provider":%s' % tuple(shown)
            known += b',"depth":%d' % caller.depth + self._profile
            rare = ((field, getattr(caller, field)) for field in RARE_BASE_FIELDS)
            said = (b",%s:%s" % (_json(field), _json(self._scrub(value))) for field, value in rare if value)
            known = b"".join(said) + known
            if len(self._callers) >= MAX_CALLERS:
                self._callers.clear()
            self._callers[caller] = known
        return known


class ToolLines:
    """The event lines of one tool and one caller, with their constant fields encoded."""

    __slots__ = ("_caller_fields", "_clock", "_plugin", "_seq")

    def __init__(self, who: bytes, plugin: bytes, seq: "count[int]", clock: Clock) -> None:
        self._caller_fields = who + b',"action":'
        self._plugin = b',"plugin":' + plugin + b',"args":'
        self._seq = seq
        self._clock = clock

    def tail(self, call_id: str, parent_id: str | None, action: str | None, args: bytes) -> bytes:
        """Return the base fields of one call after `seq`, which are the same for all of its events."""
        parent = b"null" if parent_id is None else _json(parent_id)
        doing = b"null" if action is None else _json(action)
        return b"".join(
            (b',"call_id":', _json(call_id), b',"parent_id":', parent, self._caller_fields, doing, self._plugin, args)
        )

    def before(self, tail: bytes) -> bytes:
        """Return `hook.tool.before` alone, the only event before the outcome of a malformed call."""
        return b"".join((_BEFORE, self._clock.now(), b'","seq":', b"%d" % next(self._seq), tail, b"}\n"))

    def first_half(self, tail: bytes) -> bytes:
        """Return `hook.tool.before` and `hook.policy.before`."""
        now = self._clock.now() + b'","seq":'
        first, second = b"%d" % next(self._seq), b"%d" % next(self._seq)
        return b"".join((_BEFORE, now, first, tail, b"}\n", _POLICY_BEFORE, now, second, tail, b"}\n"))

    def deny(self, tail: bytes, verdict: bytes) -> bytes:
        """Return `hook.policy.deny`; *verdict* is from `verdict_fields`."""
        return b"".join((_POLICY_DENY, self._clock.now(), b'","seq":', b"%d" % next(self._seq), tail, verdict, b"}\n"))

    def after_ok(self, tail: bytes, elapsed_ms: float, output_chars: int) -> bytes:
        """Return `hook.tool.after` of a call that is ok and sets no unusual field."""
        closing = _PLAIN_OK % (elapsed_ms, output_chars)
        return b"".join((_AFTER_OK, self._clock.now(), b'","seq":', b"%d" % next(self._seq), tail, closing))

    def after_denied(self, tail: bytes, verdict: bytes, elapsed_ms: float, output_chars: int) -> bytes:
        """Return `hook.tool.after` of a denied call that sets no unusual field; *verdict* is from `verdict_fields`."""
        closing = _PLAIN_DENIED % (verdict, elapsed_ms, output_chars)
        return b"".join((_AFTER_DENIED, self._clock.now(), b'","seq":', b"%d" % next(self._seq), tail, closing))

    def after(self, tail: bytes, outcome: str, fields: Mapping[str, Any]) -> bytes:
        """Return `hook.tool.after`, with the contract's fields after `outcome` in *fields*, in its order."""
        status = b"ok" if outcome == "ok" else b"error"
        closing = b',"status":"%s","outcome":"%s",' % (status, outcome.encode()) + orjson.dumps(fields)[1:]
        return b"".join(
            (_AFTER[outcome], self._clock.now(), b'","seq":', b"%d" % next(self._seq), tail, closing, b"\n")
        )


def verdict_fields(reason: str, message: str | None, rule: RuleRef | None, stage: str | None) -> bytes:
    """Return the encoded fields that `hook.policy.deny` adds. Cached, because a denied call is often tried again."""
    return _verdict(reason, cut(message), rule, stage)


@lru_cache(maxsize=MAX_VERDICTS)
def _verdict(reason: str, message: str | None, rule: RuleRef | None, stage: str | None) -> bytes:
    return b"," + orjson.dumps({"reason": reason, "message": message, "rule": rule_field(rule), "stage": stage})[1:-1]


def rule_field(rule: RuleRef | None) -> dict[str, str] | None:
    """Return a rule as events show it."""
    return None if rule is None else {"text": rule.text, "source": rule.source}


def cut(value: Any) -> Any:
    """Truncate every string in *value*, a JSON value, to the contract's limit."""
    if isinstance(value, str):
        return value if len(value) <= MAX_FIELD_CHARS else value[:MAX_FIELD_CHARS] + CUT_NOTICE
    if isinstance(value, dict):
        return {cut(key): cut(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cut(item) for item in value]
    return value


def shape(value: Any) -> Any:
    """Replace values by their types and lengths, for a profile that says `events: {args: shape}`."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return f"list[{len(value)}]"
    return f"str[{len(value)}]" if isinstance(value, str) else "null" if value is None else type(value).__name__


def _json(value: str | None) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, which UTF-8 cannot carry
        return orjson.dumps((value or "").encode("utf-8", "backslashreplace").decode())
