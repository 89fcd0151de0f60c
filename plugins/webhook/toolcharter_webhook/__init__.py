"""The notification channel `webhook`: posts one JSON object to a URL that the operator has set.

It follows no redirect, keeps no cookie, ignores proxy variables, and reads only the head of the answer. It may reach
private addresses: the URL comes from a profile or from an administrator, never from a model or a repository.
"""

from typing import TYPE_CHECKING, NamedTuple

from toolcharter import Channel, Deliverable, Sender, hookimpl, lazy
from toolcharter_webhook.endpoint import Endpoint, parse_endpoint

if TYPE_CHECKING:
    from toolcharter_webhook import sender
else:
    sender = lazy("toolcharter_webhook.sender")  # importing httpx takes 0.1 s; only the thread that delivers does it


class WebhookChannel(NamedTuple):
    """A channel to one URL. Each thread that delivers gets its own sender."""

    endpoint: Endpoint

    def connect(self) -> Sender[Deliverable]:
        """Return a sender, which connects when it sends."""
        return sender.WebhookSender(self.endpoint)


@hookimpl
def open_channel(url: str) -> Channel:
    """Check *url*, which is `http://` or `https://`, perhaps with credentials.

    Raises:
        ValueError: *url* is malformed.
    """
    return WebhookChannel(parse_endpoint(url))
