"""Shows the last events of a file and follows it for later ones, through log rotation, one line for each event."""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from toolcharter.cli.event_filters import EventFilter
from toolcharter.events import contract
from toolcharter.events.files import MAX_LINE_BYTES, event_lines, file_size, is_compressed, unreadable

DEFAULT_EVENTS = (*contract.FRAMES, contract.APPROVAL_REQUEST, contract.APPROVAL_DECISION, contract.AFTER)
"""The events shown by default: for each call its approval requests and answers, and its result."""
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "ok": {"fg": "green"},
    "denied": {"fg": "red", "bold": True},
    "error": {"fg": "yellow"},
    "asked": {"fg": "magenta"},
    "answered": {"fg": "magenta"},
}
_BLOCK = 1 << 16
_LONGEST_ARGS = 200

ParseEvent = Callable[[bytes], dict[str, Any] | None]
"""Parses a line. Returns None if it is not an event, or not an event to show."""


def event_parser(matches: EventFilter, *, whole: bool = False) -> ParseEvent:
    """Choose the events that *matches* accepts among `DEFAULT_EVENTS`, or among all events if *whole*."""

    def parse_event(raw: bytes) -> dict[str, Any] | None:
        try:
            event = orjson.loads(raw)
            name = event["event"]
        except (ValueError, KeyError, TypeError):
            return None
        if not isinstance(event, dict) or not (whole or name in DEFAULT_EVENTS):
            return None
        return event if matches(event) and _is_serializable(event) else None

    return parse_event


def _is_serializable(event: Mapping[str, Any]) -> bool:
    """Whether an event is nested no deeper than a gate writes, so that it can be shown."""
    try:
        orjson.dumps(event)
    except TypeError:
        return False
    return True


def last_events(files: Sequence[str], parse_event: ParseEvent, count: int) -> list[dict[str, Any]]:
    """Return the last *count* events in *files* that *parse_event* accepts, the oldest first.

    A plain file is read from its end.
    """
    found: list[dict[str, Any]] = []
    for name in reversed(files):
        missing = count - len(found)
        if missing <= 0:
            break
        if is_compressed(name):
            events = (event for line in event_lines([name]) if (event := parse_event(line.raw)) is not None)
            found[:0] = deque(events, maxlen=missing)
        else:
            with open_file(name) as file:
                found[:0] = last_events_before(file, os.fstat(file.fileno()).st_size, parse_event, missing)
    return found


def last_events_before(file: BinaryIO, end: int, parse_event: ParseEvent, count: int) -> list[dict[str, Any]]:
    """Return the last *count* events before *end* that *parse_event* accepts, the oldest first."""
    events = (event for raw in lines_backwards(file, end) if (event := parse_event(raw)) is not None)
    return list(islice(events, count))[::-1]


def lines_backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """Yield the lines before *end*, the last first, beginning with the text after the last line end.

    A line that is longer than any event is cut.
    """
    rest = b""
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        first, *lines = (file.read(end - start) + rest).split(b"\n")
        yield from reversed(lines)
        rest, end = first[:MAX_LINE_BYTES], start
    yield rest


def open_file(name: str) -> BinaryIO:
    """Open a file for reading.

    Raises:
        ConfigurationError: It cannot be read.
    """
    file_size(name)  # Opening a pipe would wait for its writer.
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise unreadable(name, f"{error.strerror}.") from error


class Follower:
    """Reads the lines appended to a file from now on. If the file is rotated or truncated, it reads the new content."""

    def __init__(self, name: str) -> None:
        self._path = Path(name)
        self._file = open_file(name)
        self._partial_line = b""
        end = os.fstat(self._file.fileno()).st_size
        self._start = end - len(next(lines_backwards(self._file, end)))  # An unfinished line will be read whole.
        self._file.seek(self._start)

    def initial_events(self, parse_event: ParseEvent, count: int) -> list[dict[str, Any]]:
        """Return the last *count* events that the file held at the start."""
        events = last_events_before(self._file, self._start, parse_event, count)
        self._file.seek(self._start)
        return events

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that were appended since the last call."""
        yield from self._read_appended()
        replacement = self._open_replacement()
        if replacement is None:
            if os.fstat(self._file.fileno()).st_size < self._file.tell():  # `copytruncate` does this.
                self._partial_line = b""
                self._file.seek(0)
                yield from self._read_appended()
            return
        yield from self._read_appended()  # Written after the first read and before the renaming.
        if self._partial_line:
            yield self._partial_line
        self.close()
        self._file, self._partial_line = replacement, b""
        yield from self._read_appended()

    def _read_appended(self) -> Iterator[bytes]:
        while raw := self._file.readline(MAX_LINE_BYTES):
            self._partial_line += raw
            if raw.endswith(b"\n") or len(self._partial_line) >= MAX_LINE_BYTES:
                raw, self._partial_line = self._partial_line, b""
                yield raw

    def _open_replacement(self) -> BinaryIO | None:
        """Open the file that now has the name, if it is another one; None as long as there is no regular file."""
        try:
            there = self._path.stat()
            if stat.S_ISREG(there.st_mode) and not os.path.samestat(there, os.fstat(self._file.fileno())):
                return self._path.open("rb")
        except OSError:
            pass
        return None

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def line_parts(event: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the texts of one line about an event, from left to right, each with its style for `click.style`."""
    name = event["event"]
    yield str(event.get("ts")), {"dim": True}
    word = _event_label(event)
    yield f"{word:<8}", _STYLES.get(word, {"dim": True})
    if name in contract.FRAMES:
        yield f"{event.get('profile')} {str(event.get('profile_digest'))[:12]}", {}
        return
    action = event.get("action")
    yield f"{event.get('tool')}:{action}" if action else f"{event.get('tool')}", {"bold": True}
    if name == contract.APPROVAL_DECISION:
        answer = event.get("answer")
        yield f"{answer} by {event.get('approver') or ('nobody' if answer == 'none' else 'unnamed')}", {}
    if reason := event.get("reason"):
        yield str(reason), {"fg": "cyan"}
    if isinstance(rule := event.get("rule"), dict):
        yield f"{rule.get('text')} ({rule.get('source')})", {}
    who = [f"{fact}={event[fact]}" for fact in ("agent", "user", "session") if event.get(fact)]
    if who:
        yield " ".join(who), {"dim": True}
    if isinstance(elapsed_ms := event.get("elapsed_ms"), int | float):
        yield f"{elapsed_ms:.4g} ms", {"dim": True}
    args = orjson.dumps(event.get("args")).decode()
    yield args if len(args) <= _LONGEST_ARGS else args[:_LONGEST_ARGS] + "...", {"dim": True}


def _event_label(event: Mapping[str, Any]) -> str:
    match event["event"]:
        case contract.AFTER:
            return str(event.get("outcome"))
        case contract.APPROVAL_REQUEST:
            return "asked"
        case contract.APPROVAL_DECISION:
            return "answered"
        case other:
            return str(other).removeprefix("hook.").removeprefix("toolbox.")
