"""`Channel`: the way on which a plugin delivers notifications to one URL."""

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
    """Where notifications of one URL go. It holds no connection and no thread, so that a fork's child may use it."""

    def connect(self) -> Sender[Notification]:
        """Make what a thread delivers with; called in that thread, when it has something to deliver.

        Raises:
            Exception: Anything raised counts as the loss of one notification; the next one tries again.
        """
        ...
