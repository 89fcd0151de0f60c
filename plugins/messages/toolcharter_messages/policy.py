"""The policy of `message`, and the reasons for a refusal."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field

from toolcharter import ChannelUrl, ToolPolicy

Count = Annotated[int, Field(ge=1)]


class ChannelPolicy(ToolPolicy):
    """One channel."""

    deliver: str = "log"
    """`log`, or a plugin that delivers: `smtp`, `local`, `webhook`."""
    url: str = ""
    """The URL for that plugin, or `secret:NAME` for a secret of the caller's tenant."""
    targets: tuple[str, ...] = ()
    """Globs for the chats that may get messages, in addition to the current chat."""
    unattended: bool = False
    """Whether messages to these chats are sent without asking a person."""

    def allows_target(self, target: str) -> bool:
        """Return whether messages to *target* are allowed."""
        return any(fnmatchcase(target, one) for one in self.targets)


class MessagePolicy(ToolPolicy):
    """How far one profile lets `message` go."""

    channels: Mapping[str, ChannelPolicy] = {}
    """The channels, by the names that callers and calls use; none by default."""
    max_chars: Count = 10_000
    """How long a text may be, in characters."""
    max_files: Annotated[int, Field(ge=0)] = 5
    """How many files one message may take."""
    max_file_bytes: Count = 10_000_000
    """How large each file may be, in bytes."""
    protected: tuple[str, ...] = (".git", ".env", ".env.*", ".toolcharter")
    """Globs for names, without case: a file is not sent if any part of its path matches."""

    def delivers_on(self) -> Iterable[ChannelUrl]:
        """Return the channels, so that their plugins are loaded."""
        return [ChannelUrl(one.deliver, one.url) for one in self.channels.values()]


class MessageReason(StrEnum):
    """Why `message` denies a call (the first group), fails (the second group) or asks a person (the last reason)."""

    CHANNEL_NOT_ALLOWED = "channel_not_allowed"
    TARGET_NOT_ALLOWED = "target_not_allowed"
    FORWARD_NEEDED = "forward_needed"
    HOLDS_A_SECRET = "holds_a_secret"  # noqa: S105 - a reason

    NO_CHAT = "no_chat"
    TEXT_IS_THE_REPLY = "text_is_the_reply"
    NOTHING_TO_SEND = "nothing_to_send"
    MESSAGE_TOO_LONG = "message_too_long"
    TOO_MANY_FILES = "too_many_files"
    FILE_TOO_LARGE = "file_too_large"
    NOT_DELIVERED = "not_delivered"

    ANOTHER_CHAT = "another_chat"


Action = Literal["send"]
