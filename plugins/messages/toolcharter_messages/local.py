"""The channel `local`: one JSON line for each notification and message, in a file or to a socket of the user's own.

`local:` is a file in the user's state folder, `local:/PATH` a file or a socket. It has to belong to the user or to
root, and no other user may write to it. New files are readable only for their owner.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from toolcharter import Channel, Deliverable, Sender, hookimpl, lazy, state_path

if TYPE_CHECKING:
    from toolcharter_messages import lines
else:
    lines = lazy("toolcharter_messages.lines")  # needed only for a delivery

DEFAULT_URL = "messages/messages.jsonl"


class LocalChannel(NamedTuple):
    """A channel to one file or socket."""

    path: Path

    def connect(self) -> Sender[Deliverable]:
        """Return a sender, which opens the path when it sends."""
        return lines.LineSender(self.path)


@hookimpl
def open_channel(url: str) -> Channel:
    """Check *url*: `local:` or `local:/PATH`.

    Raises:
        ValueError: *url* is neither, or the user has no state folder.
    """
    given = url.removeprefix("local:").removeprefix("//")
    if not given:
        path = state_path(DEFAULT_URL, os.environ)
        if path is None:
            raise ValueError("there is no home folder; write `local:/PATH`")
        return LocalChannel(path)
    if not given.startswith("/") or "\0" in given or ".." in given.split("/"):
        raise ValueError("the URL is not `local:` or `local:/PATH`, without `..`")
    return LocalChannel(Path(given))
