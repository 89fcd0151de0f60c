"""The notification channel `webhook`: one JSON object to a URL of the operator's, with an HTTP POST.

No redirect is followed, no cookie kept, no proxy variable obeyed, and of the answer only its head is read. Private
addresses are reached: the URL comes from a profile or from an administrator, never from a model or a repository.
"""

from typing import TYPE_CHECKING, NamedTuple

from toolcharter import Channel, Deliverable, Sender, hookimpl, lazy
from toolcharter_webhook.endpoint import Endpoint, parse_endpoint

if TYPE_CHECKING:
    from toolcharter_webhook import sender
else:
    sender = lazy("toolcharter_webhook.sender")  # httpx takes 0.1 s, which only the thread that delivers pays


class WebhookChannel(NamedTuple):
    """The way to one URL. Each thread that delivers gets a sender of its own."""

    endpoint: Endpoint

    def connect(self) -> Sender[Deliverable]:
        """A sender; it connects when it sends."""
        return sender.WebhookSender(self.endpoint)


@hookimpl
def open_channel(url: str) -> Channel:
    """Check *url*, which is `http://` or `https://`, perhaps with credentials."""
    return WebhookChannel(parse_endpoint(url))
