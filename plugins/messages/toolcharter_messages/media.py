"""`MEDIA:PATH` in a message: files of the workspace that are sent with it."""

import re
from mimetypes import guess_type
from pathlib import PurePosixPath
from typing import NamedTuple

from toolcharter import Attachment, Denied, Paths, ToolError, scrub_text
from toolcharter_messages.policy import MessagePolicy, MessageReason

_MEDIA = re.compile(r"MEDIA:(?:\"(?P<quoted>[^\"\n]+)\"|(?P<plain>\S+))")


class MessageParts(NamedTuple):
    """A message without its `MEDIA:` words, and the paths in these words."""

    text: str
    paths: tuple[str, ...]


def split_media(message: str) -> MessageParts:
    """Parse *message*; a path with blanks has to be quoted."""
    paths = [found["quoted"] or found["plain"] for found in _MEDIA.finditer(message)]
    kept = (_MEDIA.sub("", line).rstrip() for line in message.splitlines() if not _is_media_alone(line))
    return MessageParts("\n".join(kept).strip(), tuple(dict.fromkeys(paths)))


def _is_media_alone(line: str) -> bool:
    return bool(_MEDIA.search(line)) and not _MEDIA.sub("", line).strip()


def read_media(paths: Paths, names: tuple[str, ...], policy: MessagePolicy) -> tuple[Attachment, ...]:
    """Read the files to send.

    Raises:
        Denied: `holds_a_secret`; or as `rt.paths`.
        ToolError: `too_many_files`, `file_too_large`; or as `rt.paths`.
    """
    if len(names) > policy.max_files:
        what = f"A message takes {policy.max_files} files at most."
        raise ToolError(what, reason=MessageReason.TOO_MANY_FILES)
    found = []
    for name in names:
        with paths.open_file(name) as file:
            content = file.read(policy.max_file_bytes + 1)
        if len(content) > policy.max_file_bytes:
            what = f"{file.path!r} has more than {policy.max_file_bytes} bytes."
            raise ToolError(what, reason=MessageReason.FILE_TOO_LARGE)
        if scrub_text(content.decode("latin-1"))[1]:
            raise Denied(MessageReason.HOLDS_A_SECRET, f"{file.path!r} holds what looks like a secret.")
        kind = guess_type(file.path)[0] or "application/octet-stream"
        found.append(Attachment(PurePosixPath(file.path).name, kind, content))
    return tuple(found)
