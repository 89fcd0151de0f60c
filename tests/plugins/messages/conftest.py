"""A server of SMTP that speaks TLS, asks for a password and keeps what it gets; toolboxes with the tool `message`."""

import asyncio
import json
import ssl
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from secrets import token_hex
from socket import AF_INET
from typing import Any, NamedTuple

import pytest
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, Session

from toolcharter import Approver, Caller, Toolbox, build_tools

PASSWORD = token_hex(12)
UMA = Caller(agent="ada", user="uma", session="s1", channel="chat", chat="42")


class Handler:
    """Keeps mails; refuses the first ones with the answers that a test puts into `refusals`."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.to: list[list[str]] = []
        self.refusals: list[str] = []

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        if self.refusals:
            return self.refusals.pop(0)
        assert isinstance(envelope.content, bytes)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        self.to.append([str(one) for one in envelope.rcpt_tos])
        return "250 kept"

    async def handle_RCPT(  # noqa: N802 - as above
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address.startswith("nobody"):
            return "550 unknown"
        envelope.rcpt_tos.append(address)
        return "250 ok"


class Mailbox(NamedTuple):
    """Two ways to one handler."""

    handler: Handler
    starttls: int
    """The port where TLS is asked for."""
    implicit: int
    """The port where TLS is from the first byte on."""
    plain: int
    """The port that has no TLS."""
    ca: Path

    def url(self, *, scheme: str = "smtps", user: str = "ada", password: str = PASSWORD, **options: str) -> str:
        """The URL of the server; *options* replace those of a good one."""
        port = self.implicit if scheme == "smtps" else self.starttls
        given = {"from": "ada@example.org", "ca": str(self.ca), **options}
        words = "&".join(f"{name}={value}" for name, value in given.items() if value)
        return f"{scheme}://{user}:{password}@localhost:{port}?{words}"


def _authenticated(_server: SMTP, _session: Session, _envelope: Envelope, _way: str, data: Any) -> AuthResult:
    return AuthResult(handled=False, success=(data.login, data.password) == (b"ada", PASSWORD.encode()))


@pytest.fixture(scope="module")
def mail_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Mailbox]:
    """One handler behind three servers, in the event loop of a thread."""
    folder, authority = tmp_path_factory.mktemp("mail"), trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    handler, ports, is_up = Handler(), list[int](), threading.Event()

    async def serve() -> None:
        loop, down = asyncio.get_running_loop(), asyncio.Event()
        ends.append(lambda: loop.call_soon_threadsafe(down.set))
        common: dict[str, Any] = {"hostname": "localhost", "loop": loop, "authenticator": _authenticated}
        starttls: dict[str, Any] = {"tls_context": context, "require_starttls": True, "auth_required": True}
        implicit: dict[str, Any] = {"auth_require_tls": False}  # it has TLS, and does not count it
        servers = [
            await loop.create_server(partial(SMTP, handler, **common, **starttls), "localhost", 0, family=AF_INET),
            await loop.create_server(
                partial(SMTP, handler, **common, **implicit), "localhost", 0, family=AF_INET, ssl=context
            ),
            await loop.create_server(partial(SMTP, handler, loop=loop), "localhost", 0, family=AF_INET),
        ]
        ports.extend(server.sockets[0].getsockname()[1] for server in servers)
        is_up.set()
        await down.wait()
        for server in servers:
            server.close()

    ends: list[Callable[[], object]] = []
    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert is_up.wait(60)
    yield Mailbox(handler, ports[0], ports[1], ports[2], folder / "ca.pem")
    ends[0]()
    thread.join(60)


@pytest.fixture
def mailbox(mail_server: Mailbox) -> Mailbox:
    """The server, empty."""
    for kept in (mail_server.handler.mails, mail_server.handler.to, mail_server.handler.refusals):
        kept.clear()
    return mail_server


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def box(workspace: Path, tmp_path: Path) -> Iterator[Callable[..., Toolbox]]:
    """Builds a toolbox with the tool `message`."""
    with ExitStack() as stack:

        def build(channels: dict[str, Any], approver: Approver | None = None, **changes: Any) -> Toolbox:
            profile = {"profile": "test", "tools": {"message": {"channels": channels, **changes}}}
            (tmp_path / "test.yaml").write_text(json.dumps(profile))
            opened = build_tools(
                tmp_path / "test.yaml", workspace=workspace, caller=UMA, events=lambda _: None, approver=approver
            )
            return stack.enter_context(opened)

        yield build
