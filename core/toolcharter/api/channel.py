"""`Channel`: the way on which a plugin delivers notifications and messages to one URL."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

Pause = Callable[[float], bool]
"""Waits that many seconds; true, perhaps earlier, if the sender has to give up."""

T_contra = TypeVar("T_contra", contravariant=True)


class Notification(NamedTuple):
    """A message about one call."""

    fields: Mapping[str, Any]
    """Of the event that closes the call, scrubbed of secrets."""
    match: str
    """The text of the rule that matches the call."""
    delivery: str
    """The same for each attempt, and for no other notification."""

    def payload(self) -> dict[str, Any]:
        """What is delivered."""
        return {**self.fields, "notify": {"match": self.match}}


class Attachment(NamedTuple):
    """A file that goes with a message."""

    name: str
    """Without a folder."""
    content_type: str
    """Such as `image/png`."""
    content: bytes


class Message(NamedTuple):
    """What an agent writes to somebody."""

    to: str
    """Whom, as the channel names people and conversations; empty for whoever the URL is for."""
    text: str
    """Scrubbed of secrets."""
    fields: Mapping[str, Any]
    """Who writes: `agent`, `user`, `session`, `reason`; those that are known."""
    delivery: str
    """The same for each attempt, and for no other message."""
    media: tuple[Attachment, ...] = ()

    def payload(self) -> dict[str, Any]:
        """What is delivered by channels that carry JSON."""
        media = [
            {"name": one.name, "content_type": one.content_type, "base64": b64encode(one.content).decode()}
            for one in self.media
        ]
        return {**self.fields, "message": {"to": self.to, "text": self.text, "media": media}}


Deliverable = Notification | Message
"""What channels deliver; both have a `delivery` and a `payload()`."""


class ChannelUrl(NamedTuple):
    """Where a tool may deliver messages, as its policy says."""

    deliver: str
    """`log`, or the name of a plugin's entry point that implements `open_channel`."""
    url: str = ""
    """For that plugin; or `secret:NAME` for a URL that the caller's tenant keeps."""


class Sender(Protocol[T_contra]):
    """What one thread delivers with; the thread opens it, and no other thread uses it."""

    def send(self, item: T_contra, pause: Pause, /) -> None:
        """Deliver *item*, or raise why not.

        Raises:
            NotDelivered: With a text that names no credentials and no path of a URL. Anything raised counts as one
                loss; the gate never tries again, so that a sender makes its own attempts and waits with *pause*.
        """
        ...

    def close(self) -> None:
        """Release its connection; called by the same thread."""
        ...


class Channel(Protocol):
    """Where what is for one URL goes. It holds no connection and no thread, so that a fork's child may use it."""

    def connect(self) -> Sender[Deliverable]:
        """Make what a thread delivers with; called in that thread, when it has something to deliver.

        Raises:
            Exception: Anything raised counts as the loss of one notification, the next one tries again, and as an error
                of the tool that would send a message.
        """
        ...
