"""`MailSender`: sends one mail for each notification and message, with up to `ATTEMPTS` attempts."""

import json
import smtplib
import ssl
from collections.abc import Callable
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from hashlib import sha256
from random import random
from typing import NamedTuple

from toolcharter import Deliverable, Message, NotDelivered, Pause
from toolcharter_messages.server import Server, is_address

TIMEOUT_S = 10.0
"""How long to wait for each answer of the server, in seconds."""
ATTEMPTS = 3
BACKOFF_S = 1.0
"""The longest wait before the second attempt, in seconds; it doubles with each attempt."""
MAX_SUBJECT = 120
_PERMANENT = 500


class _FailedAttempt(NamedTuple):
    """An attempt that did not deliver."""

    why: str
    final: bool


class MailSender:
    """Delivers to one server. Each mail has its own connection."""

    def __init__(self, server: Server, *, timeout_s: float = TIMEOUT_S, jitter: Callable[[], float] = random) -> None:
        self._server = server
        self._timeout_s = timeout_s
        self._jitter = jitter

    def send(self, item: Deliverable, pause: Pause) -> None:
        """Deliver *item*, with up to `ATTEMPTS` attempts.

        Raises:
            NotDelivered: The server refused the mail, or could not be reached safely, or *pause* returned true.
        """
        to = (item.to if isinstance(item, Message) else "") or self._server.to
        if not is_address(to):
            raise NotDelivered("there is no address to deliver to")
        mail, attempt = _mail(item, self._server, to), 1
        while (failed := self._attempt(mail, to)) is not None:
            longest = BACKOFF_S * 2.0 ** (attempt - 1)
            if failed.final or attempt == ATTEMPTS or pause(longest * (1 + self._jitter()) / 2):
                tries = "1 attempt" if attempt == 1 else f"{attempt} attempts"
                raise NotDelivered(f"{self._server.host}:{self._server.port}: {failed.why} ({tries})")
            attempt += 1

    def _attempt(self, mail: EmailMessage, to: str) -> _FailedAttempt | None:
        """Make one attempt. The server's text is never shown: it may repeat parts of the mail."""
        connection: smtplib.SMTP | None = None
        try:
            connection = self._connect()
            connection.send_message(mail, self._server.sender, [to])
        except smtplib.SMTPNotSupportedError:
            return _FailedAttempt("it offers no TLS, or no known way to sign in", final=True)
        except smtplib.SMTPRecipientsRefused as error:
            (status, _), *_ = error.recipients.values()
            return _FailedAttempt(f"answered {status} to the address", final=status >= _PERMANENT)
        except smtplib.SMTPResponseException as error:
            return _FailedAttempt(f"answered {error.smtp_code}", final=error.smtp_code >= _PERMANENT)
        except ssl.SSLCertVerificationError:
            return _FailedAttempt("its certificate is not trusted", final=True)
        except (OSError, smtplib.SMTPException) as error:
            return _FailedAttempt(type(error).__name__, final=False)
        finally:
            if connection is not None:
                with suppress(OSError, smtplib.SMTPException):
                    connection.quit()
        return None

    def _connect(self) -> smtplib.SMTP:
        server = self._server
        context = ssl.create_default_context(cafile=server.ca or None)
        if server.tls == "implicit":
            connection: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, timeout=self._timeout_s, context=context
            )
        else:
            connection = smtplib.SMTP(server.host, server.port, timeout=self._timeout_s)
        try:
            if server.tls == "starttls":
                connection.starttls(context=context)
            if server.user:
                connection.login(server.user, server.password)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Do nothing: no connection stays open."""


def _mail(item: Deliverable, server: Server, to: str) -> EmailMessage:
    mail = EmailMessage(policy=SMTP)
    mail["From"], mail["To"], mail["Date"] = server.sender, to, formatdate(usegmt=True)
    # The same for each attempt: if a mail arrived but the answer was lost, the recipient can recognize the second copy.
    mail["Message-ID"] = f"<{sha256(item.delivery.encode()).hexdigest()[:32]}@{server.sender.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"
    if isinstance(item, Message):
        text = item.text or "(see the attachment)"
        mail["Subject"] = _subject(f"Message from {item.fields.get('agent') or 'an agent'}")
    else:
        told = item.fields.get
        text = json.dumps(item.payload(), indent=2, default=str)
        mail["Subject"] = _subject(f"{told('tool')} {told('outcome')}: {item.match}")
    mail.set_content(text)
    for one in item.media if isinstance(item, Message) else ():
        kind, _, subtype = one.content_type.partition("/")
        mail.add_attachment(one.content, maintype=kind, subtype=subtype or "octet-stream", filename=one.name)
    return mail


def _subject(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)[:MAX_SUBJECT]
