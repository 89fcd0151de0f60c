"""Watches: notify a session of matching lines in a program's output, or of its end."""

import codecs
import re
from collections import deque
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from toolcharter import ToolError, scrub_text
from toolcharter_process.policy import ProcessReason
from toolcharter_process.screen import strip_controls

MAX_LINE_CHARS = 4000
"""A longer line is split."""
MAX_SHOWN_CHARS = 500
MAX_PATTERN_CHARS = 1000
_END = re.compile(r"[\w+/=.-]+\Z")
"""The word before the place where a line is split: it may continue behind it."""
_LAST_WORD = re.compile(r"[\w+/=.-]{12,}\Z")
"""The last word of an incomplete line, which may be half a secret."""
MAX_NOTICES = 100


Notice = dict[str, str]
"""A notice of a watch: `handle`; `watch`; `event`, which is `match` or `exit`; `text`, which is the line, or how the
process ended."""


class Notices:
    """The latest notices that one session has not taken yet, and how many older ones were dropped."""

    reports_ends = False
    """Whether there is a notice of a process's end even if no watch waits for it."""

    def __init__(self) -> None:
        self._waiting: deque[Notice] = deque(maxlen=MAX_NOTICES)
        self.dropped = 0

    def add(self, notice: Notice) -> None:
        """Keep *notice* for the session's next call."""
        self.dropped += len(self._waiting) == MAX_NOTICES
        self._waiting.append(notice)

    def extend(self, notices: Iterable[Notice], dropped: int) -> None:
        """Add notices that a supervisor has kept so far."""
        for notice in notices:
            self.add(notice)
        self.dropped += dropped

    def take(self) -> tuple[list[Notice], int]:
        """Remove and return all notices, and how many were dropped."""
        taken = [self._waiting.popleft() for _ in range(len(self._waiting))]
        dropped, self.dropped = self.dropped, 0
        return taken, dropped


class _Watch:
    def __init__(self, name: str, pattern: str) -> None:
        self.name = name
        self.pattern = pattern
        self.finds = compile_pattern(pattern)
        self.last_line = -1
        """The number of the line that matched last, so that an incomplete line causes only one notice."""


class Watches:
    """The watches on one process. Used by one thread at a time."""

    def __init__(self, handle: str, notices: Notices) -> None:
        self._handle = handle
        self._notices = notices
        self._watches: dict[str, _Watch] = {}
        self._made = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._line = 0

    def add(self, pattern: str) -> str:
        """Watch for lines that match *pattern* (RE2), or for the end if it is empty; return the watch's name.

        Raises:
            ToolError: `invalid_pattern`.
        """
        watch = _Watch(f"w{self._made + 1}", pattern)
        self._made += 1
        self._watches[watch.name] = watch
        return watch.name

    def remove(self, name: str) -> bool:
        """Remove a watch, and return whether it existed."""
        return self._watches.pop(name, None) is not None

    def clear(self) -> None:
        """Remove all watches."""
        self._watches.clear()

    def describe(self) -> list[dict[str, str]]:
        """Return each watch with its pattern."""
        return [{"watch": one.name, "pattern": one.pattern} for one in self._watches.values()]

    def feed(self, output: bytes) -> None:
        """Match more output. An incomplete line is matched, too: a prompt never becomes complete."""
        *lines, self._rest = (self._rest + self._decoder.decode(output)).split("\n")
        while len(self._rest) > MAX_LINE_CHARS:
            word = _END.search(self._rest, 0, MAX_LINE_CHARS)
            end = word.start() if word and word.start() else MAX_LINE_CHARS
            lines.append(self._rest[:end])
            self._rest = self._rest[end:]
        for line in lines:
            self._match_line(line)
            self._line += 1
        if self._rest:
            self._match_line(self._rest, is_whole=False)

    def end(self, how: str) -> None:
        """Add the notices of the process's end."""
        watching = [watch for watch in self._watches.values() if watch.finds is None]
        if not watching and self._notices.reports_ends:
            watching = [_Watch("end", "")]
        for watch in watching:
            self._notify(watch, "exit", how)

    def _match_line(self, line: str, *, is_whole: bool = True) -> None:
        waiting = [one for one in self._watches.values() if one.finds is not None and one.last_line != self._line]
        if not waiting:
            return
        text = strip_controls(line)
        for watch in waiting:
            if watch.finds is not None and watch.finds.search(text):
                watch.last_line = self._line
                self._notify(watch, "match", text if is_whole else _LAST_WORD.sub("...", text))

    def _notify(self, watch: _Watch, event: str, text: str) -> None:
        shown = scrub_text(text)[0][:MAX_SHOWN_CHARS]  # scrubbed before the cut: half a secret cannot be recognized
        self._notices.add({"handle": self._handle, "watch": watch.name, "event": event, "text": shown})


def compile_pattern(pattern: str) -> Any:
    """Compile the *pattern* of a watch; None if it is empty, which means the process's end.

    Raises:
        ToolError: `invalid_pattern`.
    """
    if not pattern:
        return None
    re2 = import_module("re2")  # imported on first use: few sessions use watches
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ToolError(f"A pattern has at most {MAX_PATTERN_CHARS} characters.", reason=ProcessReason.INVALID_PATTERN)
    options = re2.Options()
    options.log_errors = False  # the errors would go to standard error, among the events
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise ToolError(f"{pattern!r} is no RE2 pattern: {error}", reason=ProcessReason.INVALID_PATTERN) from error
