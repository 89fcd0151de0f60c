"""The channel `local`: one JSON line for each notification and message, in a file or to a socket of the user's own.

`local:` is a file in the user's state folder, `local:/PATH` a file or a socket. It has to be the user's, and nobody else may write
there; files are written for their owner alone.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolcharter import Channel, Deliverable, Sender, hookimpl, lazy, state_path

if TYPE_CHECKING:
    from toolcharter_messages import lines
else:
    lines = lazy("toolcharter_messages.lines")  # only what delivers needs it

DEFAULT = "messages/messages.jsonl"


class LocalChannel(NamedTuple):
    """The way to one file or socket."""

    path: Path

    def connect(self) -> Sender[Deliverable]:
        """A sender; it opens the path when it sends."""
        return lines.LineSender(self.path)


@hookimpl
def open_channel(url: str) -> Channel:
    """Check *url*: `local:` or `local:/PATH`.

    Raises:
        ValueError: It is neither, or the user has no folder for state.
    """
    given = url.removeprefix("local:").removeprefix("//")
    if not given:
        path = state_path(DEFAULT, os.environ)
        if path is None:
            raise ValueError("there is no home folder; write `local:/PATH`")
        return LocalChannel(path)
    if not given.startswith("/") or "\0" in given or ".." in given.split("/"):
        raise ValueError("the URL is not `local:` or `local:/PATH`, without `..`")
    return LocalChannel(Path(given))
