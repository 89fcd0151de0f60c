"""`Channel`: delivers notifications and messages to one URL; a plugin implements it."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

Pause = Callable[[float], bool]
"""Waits for a number of seconds. Returns True, possibly earlier, if the sender must give up."""

T_contra = TypeVar("T_contra", contravariant=True)


class Notification(NamedTuple):
    """A message about one call."""

    fields: Mapping[str, Any]
    """The fields of the event that closes the call, scrubbed of secrets."""
    match: str
    """The text of the rule that matches the call."""
    delivery: str
    """An identifier of this notification, the same for each attempt to deliver it."""

    def payload(self) -> dict[str, Any]:
        """Return the content to deliver."""
        return {**self.fields, "notify": {"match": self.match}}


class Attachment(NamedTuple):
    """A file that goes with a message."""

    name: str
    """Without a folder."""
    content_type: str
    """Such as `image/png`."""
    content: bytes


class Message(NamedTuple):
    """A message from an agent to a person or conversation."""

    to: str
    """The recipient, as the channel names people and conversations; empty for the URL's default recipient."""
    text: str
    """Scrubbed of secrets."""
    fields: Mapping[str, Any]
    """The origin: `agent`, `user`, `session` and `reason`, as far as they are known."""
    delivery: str
    """An identifier of this message, the same for each attempt to deliver it."""
    media: tuple[Attachment, ...] = ()

    def payload(self) -> dict[str, Any]:
        """Return the content to deliver, for channels that carry JSON."""
        media = [
            {"name": one.name, "content_type": one.content_type, "base64": b64encode(one.content).decode()}
            for one in self.media
        ]
        return {**self.fields, "message": {"to": self.to, "text": self.text, "media": media}}


Deliverable = Notification | Message
"""An item that a channel delivers; both types have a `delivery` and a `payload()`."""


class ChannelUrl(NamedTuple):
    """A channel on which a tool may deliver messages, according to its policy."""

    deliver: str
    """`log`, or the name of a plugin's entry point that implements `open_channel`."""
    url: str = ""
    """The URL for that plugin; or `secret:NAME`, if the caller's tenant keeps the URL as a secret."""


class Sender(Protocol[T_contra]):
    """Delivers items for one thread; that thread opens it, and no other thread uses it."""

    def send(self, item: T_contra, pause: Pause, /) -> None:
        """Deliver *item*.

        Raises:
            NotDelivered: The item could not be delivered. The text must contain no credentials and no path of a URL.
                Anything raised counts as one loss. The gate never retries, so a sender makes its own retries and waits
                between them with *pause*.
        """
        ...

    def close(self) -> None:
        """Release the connection; called by the same thread."""
        ...


class Channel(Protocol):
    """The destination for one URL. It holds no connection and no thread, so that a forked child may use it."""

    def connect(self) -> Sender[Deliverable]:
        """Open a sender for the calling thread; called when that thread has an item to deliver.

        Raises:
            Exception: If the item is a notification, it is lost, and the next notification tries again. If it is a
                message, the tool that sends it fails.
        """
        ...
