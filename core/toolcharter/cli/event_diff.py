"""Decides recorded calls again by two profiles, and counts the decisions that differ. No tool runs.

A call is not decided if its event does not hold the arguments unchanged: a rule may depend on the text that was masked,
cut or left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from toolcharter.api.call import Caller, Decision
from toolcharter.cli.event_filters import ALL_EVENTS, EventFilter
from toolcharter.cli.event_stats import require_texts
from toolcharter.events import contract
from toolcharter.events.files import EventLine
from toolcharter.gate.toolbox import Toolbox
from toolcharter.guards.secrets import MASK

MOST_CHANGES = 1000
"""The most different changes that are listed. Later ones are only counted, all together."""
MOST_TOOLBOXES = 1000
"""The most pairs of profile and digest in a file whose workspace is remembered."""
MAX_CACHED = 4096
"""The most decisions that are cached: agents repeat themselves."""
MAX_CACHED_BYTES = 1024
"""Calls with longer arguments are not cached, which bounds the memory."""
_LONGEST_FACT = 200
"""The length at which events cut a caller's facts without a notice, in characters."""
_OTHER_CALLS = ("(others)", "")
_FACTS = ("agent", "provider", "group", "session", "user", "project")
_READ_PREFIXES = tuple(b'{"event":"%s"' % name.encode() for name in (contract.BEFORE, contract.TOOLBOX_OPEN))
_SHAPE_ONLY = re.compile(r"(?:str|list)\[\d+\]|null|int|float|bool")


class Change(NamedTuple):
    """The two decisions about the same call, where they differ."""

    tool: str
    action: str | None
    was: str
    was_reason: str | None
    was_rule: str | None
    becomes: str
    becomes_reason: str | None
    becomes_rule: str | None


class EventDiff:
    """Takes lines one by one, and decides each call at its first event.

    A call belongs to the last `toolbox.open` before it that has its profile and digest.

    Args:
        toolboxes: Returns the toolboxes of the old and the new profile for the workspace in which the calls were made;
            the workspace is None if no line names it.
        matches: Returns whether to decide a call, given its first event; by default all are decided.
    """

    def __init__(
        self, toolboxes: Callable[[str | None], tuple[Toolbox, Toolbox]], matches: EventFilter = ALL_EVENTS
    ) -> None:
        self._matches = matches
        self.calls = 0
        self.unreadable = 0
        self._changes = Counter[Change]()
        self._examples: dict[Change, str] = {}
        self._undecidable = Counter[tuple[str, str]]()
        self._left_out = 0
        self._toolboxes = toolboxes
        self._workspaces: dict[tuple[str | None, str | None], str | None] = {}
        self._decide = lru_cache(maxsize=MAX_CACHED)(self._decide_uncached)

    def add(self, line: EventLine) -> None:
        """Decide the call whose first event is *line*, by both profiles. Other events are skipped."""
        if line.raw.startswith(b'{"event":') and not line.raw.startswith(_READ_PREFIXES):
            return
        try:
            event = orjson.loads(line.raw)
            if event["event"] == contract.BEFORE:
                if self._matches(event):
                    self._add_call(event, line)
            elif event["event"] == contract.TOOLBOX_OPEN:
                self._add_toolbox(event)
        except (ValueError, KeyError, TypeError, RecursionError):
            self.unreadable += 1

    def _add_toolbox(self, event: Mapping[str, Any]) -> None:
        profile_key, workspace = (event["profile"], event["profile_digest"]), event["workspace"]
        require_texts(*profile_key, workspace)
        self._workspaces.pop(profile_key, None)
        if len(self._workspaces) >= MOST_TOOLBOXES:
            self._workspaces.pop(next(iter(self._workspaces)))
        self._workspaces[profile_key] = workspace

    def _add_call(self, event: Mapping[str, Any], line: EventLine) -> None:
        tool, action, depth = event["tool"], event["action"], event["depth"]
        facts = {fact: event[fact] for fact in _FACTS}
        facts |= {fact: event[fact] for fact in contract.RARE_BASE_FIELDS if fact in event}
        require_texts(tool, action, *facts.values())
        if tool is None or not isinstance(depth, int):
            raise TypeError
        why, raw = why_undecidable(event), orjson.dumps(event["args"])
        self.calls += 1
        if why is not None:
            key = (tool, why)
            self._undecidable[
                key if key in self._undecidable or len(self._undecidable) < MOST_CHANGES else _OTHER_CALLS
            ] += 1
            return
        profile_key = event.get("profile"), event.get("profile_digest")
        require_texts(*profile_key)
        decide = self._decide if len(raw) <= MAX_CACHED_BYTES else self._decide_uncached
        was, becomes = decide(self._workspaces.get(profile_key), Caller(**facts, depth=depth), tool, raw)
        if (was.outcome, was.reason) == (becomes.outcome, becomes.reason):
            return
        change = Change(tool, action, *_decision_facts(was), *_decision_facts(becomes))
        if change in self._changes or len(self._changes) < MOST_CHANGES:
            self._changes[change] += 1
            self._examples.setdefault(change, f"{line.file}:{line.number}")
        else:
            self._left_out += 1

    def _decide_uncached(
        self, workspace: str | None, caller: Caller, tool: str, raw: bytes
    ) -> tuple[Decision, Decision]:
        old, new = self._toolboxes(workspace)
        return old.for_caller(caller).decide(tool, orjson.loads(raw)), new.for_caller(caller).decide(
            tool, orjson.loads(raw)
        )

    def summary(self) -> dict[str, Any]:
        """Return the results as JSON values, the most frequent changes first."""
        changed = self._changes.total() + self._left_out
        return {
            "calls": self.calls,
            "same": self.calls - changed - self._undecidable.total(),
            "changed": changed,
            "undecidable": self._undecidable.total(),
            "unreadable_lines": self.unreadable,
            "changes": [
                {"count": count, **change._asdict(), "first": self._examples[change]}
                for change, count in self._changes.most_common()
            ],
            "more_changes": self._left_out,
            "not_decided": [
                {"count": count, "tool": tool, "why": why} for (tool, why), count in self._undecidable.most_common()
            ],
        }


def why_undecidable(event: Mapping[str, Any]) -> str | None:
    """Return why a recorded call cannot be decided again: `left_out`, `shape`, `masked` or `cut`; None if it can."""
    args = event["args"]
    if not isinstance(args, dict):
        return "left_out"
    texts, values = list(_all_texts(args)), list(_leaf_values(args))
    if values and all(isinstance(value, str) and _SHAPE_ONLY.fullmatch(value) for value in values):
        return "shape"
    facts = [event[fact] for fact in _FACTS] + [event.get(fact) for fact in contract.RARE_BASE_FIELDS]
    named = (event["tool"], event["action"], *facts)
    texts += [text for text in named if isinstance(text, str)]
    if any(MASK in text for text in texts):
        return "masked"
    is_cut = any(text.endswith(contract.CUT_NOTICE) for text in texts)
    return "cut" if is_cut or any(len(fact or "") >= _LONGEST_FACT for fact in facts) else None


def _decision_facts(decision: Decision) -> tuple[str, str | None, str | None]:
    rule = decision.rule
    return decision.outcome, decision.reason, None if rule is None else f"{rule.text} ({rule.source})"


def _all_texts(value: Any) -> Iterator[str]:
    """Yield all texts in *value*, including keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _all_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _all_texts(item)


def _leaf_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaf_values(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaf_values(item)
    else:
        yield value
