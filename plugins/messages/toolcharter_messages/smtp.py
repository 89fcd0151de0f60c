"""The channel `smtp`: notifications and messages as mail, over TLS.

The operator sets the URL: `smtps://USER:PASSWORD@HOST?from=ME@HOST&to=YOU@HOST`, or `smtp://` for a server that starts
TLS after the greeting (STARTTLS, port 587). The whole URL should be a secret: `url: secret:mail`.
"""

from typing import TYPE_CHECKING, NamedTuple

from toolcharter import Channel, Deliverable, Sender, hookimpl, lazy
from toolcharter_messages.server import Server, parse_server

if TYPE_CHECKING:
    from toolcharter_messages import mail
else:
    mail = lazy("toolcharter_messages.mail")  # ssl and smtplib are needed only for a delivery


class SmtpChannel(NamedTuple):
    """A channel to one server. Each thread that delivers gets its own sender."""

    server: Server

    def connect(self) -> Sender[Deliverable]:
        """Return a sender, which connects when it sends."""
        return mail.MailSender(self.server)


@hookimpl
def open_channel(url: str) -> Channel:
    """Check *url*.

    Raises:
        ValueError: *url* is malformed.
    """
    return SmtpChannel(parse_server(url))
