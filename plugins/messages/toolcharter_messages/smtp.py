"""The channel `smtp`: notifications and messages as mail, over TLS.

The URL is the operator's: `smtps://USER:PASSWORD@HOST?from=ME@HOST&to=YOU@HOST`, or `smtp://` for a server that is asked for TLS
after the greeting (STARTTLS, port 587). Best it is a secret as a whole: `url: secret:mail`.
"""

from typing import TYPE_CHECKING, NamedTuple

from toolcharter import Channel, Deliverable, Sender, hookimpl, lazy
from toolcharter_messages.server import Server, parse_server

if TYPE_CHECKING:
    from toolcharter_messages import mail
else:
    mail = lazy("toolcharter_messages.mail")  # only what delivers needs ssl and smtplib


class SmtpChannel(NamedTuple):
    """The way to one server. Each thread that delivers gets a sender of its own."""

    server: Server

    def connect(self) -> Sender[Deliverable]:
        """A sender; it connects when it sends."""
        return mail.MailSender(self.server)


@hookimpl
def open_channel(url: str) -> Channel:
    """Check *url*."""
    return SmtpChannel(parse_server(url))
