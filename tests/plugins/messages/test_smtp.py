"""The channel `smtp` against a real server: TLS, passwords, refusals, and URLs that cannot be used."""

from collections.abc import Callable

import pytest
from tests.plugins.messages.conftest import PASSWORD, Mailbox
from tests.rows import each_row

from toolcharter import Attachment, Message, NotDelivered, Notification
from toolcharter_messages.mail import MailSender
from toolcharter_messages.server import is_address, parse_server
from toolcharter_messages.smtp import open_channel

pytestmark = pytest.mark.slow


def go_on(_seconds: float) -> bool:
    return False


def a_message(**changes: object) -> Message:
    message = Message("uma@example.org", "Good morning.", {"agent": "ada", "reason": "she asked"}, "call-1-x")
    return message._replace(**changes)  # type: ignore[arg-type]


@each_row("scheme", ["smtp", "smtps"])
def test_a_message_arrives(mailbox: Mailbox, scheme: str) -> None:
    """Over TLS from the first byte on, and over TLS that is asked for."""
    mailbox.handler.mails.clear()
    media = (Attachment("plan.pdf", "application/pdf", b"%PDF-1"),)
    sender = open_channel(mailbox.url(scheme=scheme)).connect()

    sender.send(a_message(media=media), go_on)
    sender.close()

    (mail,) = mailbox.handler.mails
    body, *attached = mail.walk() if not mail.is_multipart() else [*mail.walk()][1:]
    assert (mail["From"], mail["To"], mail["Subject"]) == ("ada@example.org", "uma@example.org", "Message from ada")
    assert (body.get_content().strip(), mail["Auto-Submitted"]) == ("Good morning.", "auto-generated")
    assert [(one.get_filename(), one.get_content()) for one in attached] == [("plan.pdf", b"%PDF-1")]


def test_a_notification_arrives(mailbox: Mailbox) -> None:
    fields = {"tool": "git", "action": "push", "outcome": "denied", "call_id": "c"}

    open_channel(mailbox.url(to="ops@example.org")).connect().send(Notification(fields, "git:*\nX: y", "d"), go_on)

    (mail,) = mailbox.handler.mails
    assert (mail["To"], mail["Subject"]) == ("ops@example.org", "git denied: git:* X: y")
    assert '"match": "git:*\\nX: y"' in mail.get_content()


def test_each_attempt_has_the_same_identifier(mailbox: Mailbox) -> None:
    """A server that is busy is asked again; what it keeps in the end is one mail."""
    waits: list[float] = []
    mailbox.handler.refusals += ["451 busy", "451 busy"]

    def pause(seconds: float) -> bool:
        waits.append(seconds)
        return False

    MailSender(parse_server(mailbox.url()), jitter=lambda: 1.0).send(a_message(), pause)

    assert (len(mailbox.handler.mails), waits) == (1, [1.0, 2.0])


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        ("550 no", "answered 550 (1 attempt)"),
        ("451 busy", "answered 451 (3 attempts)"),
    ],
)
def test_what_is_refused_is_lost_and_told(mailbox: Mailbox, refusal: str, says: str) -> None:
    mailbox.handler.refusals += [refusal] * 3

    with pytest.raises(NotDelivered) as raised:
        open_channel(mailbox.url()).connect().send(a_message(), go_on)

    assert (says in str(raised.value), mailbox.handler.mails) == (True, [])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        pytest.param(lambda box: box.url(password="wrong"), "answered 535", id="another password"),
        pytest.param(lambda box: box.url(ca=""), "its certificate is not trusted", id="nobody vouches for it"),
        pytest.param(
            lambda box: f"smtp://localhost:{box.plain}?from=a@example.org&ca={box.ca}", "it offers no TLS", id="no TLS"
        ),
        pytest.param(lambda box: "smtps://localhost:1?from=a@example.org", "ConnectionRefusedError", id="nobody there"),
    ],
)
def test_what_is_not_safe_is_not_sent(mailbox: Mailbox, make: Callable[[Mailbox], str], says: str) -> None:
    """Neither the password nor anything that the server wrote is in what is told."""
    with pytest.raises(NotDelivered) as raised:
        open_channel(make(mailbox)).connect().send(a_message(), go_on)

    told = str(raised.value)
    assert (says in told, PASSWORD in told, mailbox.handler.mails) == (True, False, [])


def test_an_unknown_address_is_refused(mailbox: Mailbox) -> None:
    with pytest.raises(NotDelivered, match="answered 550 to the address"):
        open_channel(mailbox.url()).connect().send(a_message(to="nobody@example.org"), go_on)


@each_row(
    "to", ["", "uma", "uma@example.org, eve@example.org", "uma@example.org\nBcc: eve@example.org", "<uma@example.org>"]
)
def test_one_address_is_one_address(mailbox: Mailbox, to: str) -> None:
    """What could name two people, or add a header, is no address."""
    with pytest.raises(NotDelivered, match="there is no address to deliver to"):
        open_channel(mailbox.url()).connect().send(a_message(to=to), go_on)


@each_row(
    "url, says",
    [
        ("http://h?from=a@b.org", "not `smtps://HOST"),
        ("smtps://?from=a@b.org", "not `smtps://HOST"),
        ("smtps://h", "`from` is no address"),
        ("smtps://h?from=a", "`from` is no address"),
        ("smtps://h?from=a@b.org&to=x", "`to` is no address"),
        ("smtps://h/path?from=a@b.org", "not `smtps://HOST"),
        ("smtps://h:port?from=a@b.org", "cannot be read"),
        ("smtps://h?from", "cannot be read"),
        ("smtps://h?from=a@b.org&sender=x", "option 'sender'"),
        ("smtps://h?from=a@b.org&tls=none", "only for `smtp:`"),
        ("smtp://h?from=a@b.org&tls=maybe", "`tls` is"),
        ("smtp://h?from=a@b.org&tls=none", "server on this machine"),
        ("smtps://h?from=a@b.org \n", "a blank or a control character"),
    ],
)
def test_urls_that_cannot_be_used(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        open_channel(url)


def test_a_server_on_this_machine_needs_no_tls(mailbox: Mailbox) -> None:
    url = f"smtp://127.0.0.1:{mailbox.plain}?from=a@example.org&tls=none"

    open_channel(url).connect().send(a_message(), go_on)

    assert mailbox.handler.to == [["uma@example.org"]]


def test_addresses() -> None:
    good = ["a@b.org", "a.b+c@x.y.org", "a@localhost"]
    bad = ["", "@", "a@", "@b", "a b@c.org", "ä@b.org", "a@b.org;c@d.org", '"a"@b.org', f"{'a' * 250}@b.org"]

    assert ([is_address(one) for one in good], [is_address(one) for one in bad]) == ([True] * 3, [False] * 9)
