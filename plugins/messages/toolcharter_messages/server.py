"""Parses the operator's URL of a mail server."""

from email.errors import HeaderParseError, MessageError
from email.headerregistry import Address
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

PORTS = {"smtp": 587, "smtps": 465}
_OPTIONS = frozenset({"from", "to", "tls", "ca"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Server(NamedTuple):
    """A mail server, with the sender's account and addresses."""

    host: str
    port: int
    tls: str
    """`implicit`, `starttls` or `none`."""
    user: str
    password: str
    sender: str
    to: str
    """The address for messages without a recipient; empty if each message has to name one."""
    ca: str
    """A file with the certificates of trusted authorities; empty for the system's."""


def parse_server(url: str) -> Server:
    """Parse the URL of a server.

    Raises:
        ValueError: *url* is malformed; the text does not repeat it, since it may hold a password.
    """
    if not url.isprintable() or " " in url:
        raise ValueError("the URL holds a blank or a control character")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        options = dict(parse_qsl(parts.query, strict_parsing=True, keep_blank_values=True))
    except ValueError:  # the error's text quotes the unreadable part, which may be a password
        raise ValueError("the URL's host, port or options cannot be read") from None
    if parts.scheme not in PORTS or not host or parts.path not in {"", "/"}:
        raise ValueError("the URL is not `smtps://HOST?from=ADDRESS` or `smtp://HOST?from=ADDRESS`")
    if unknown := options.keys() - _OPTIONS:
        raise ValueError(f"the URL's option {min(unknown)!r} is none of {', '.join(sorted(_OPTIONS))}")
    tls = "implicit" if parts.scheme == "smtps" else options.get("tls", "starttls")
    if tls not in {"implicit", "starttls", "none"} or (parts.scheme == "smtps" and "tls" in options):
        raise ValueError("`tls` is `starttls`, by default, or `none`, and only for `smtp:`")
    if tls == "none" and host not in _LOOPBACK:
        raise ValueError("`tls=none` is for a server on this machine")
    sender, to = options.get("from", ""), options.get("to", "")
    for name, address in (("from", sender), ("to", to)):
        if (address or name == "from") and not is_address(address):
            raise ValueError(f"`{name}` is no address such as `me@example.org`")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return Server(host, port or PORTS[parts.scheme], tls, user, password, sender, to, options.get("ca", ""))


def is_address(text: str) -> bool:
    """Return whether *text* is one address in ASCII, without a display name.

    Source: RFC 5321, sections 4.1.2 and 4.5.3.1.
    """
    if not text.isascii() or not text.isprintable() or len(text) > 254 or any(sign in text for sign in ' ,;<>"()\\'):  # noqa: PLR2004 - the RFC's
        return False
    try:
        address = Address(addr_spec=text)
    except (HeaderParseError, MessageError, ValueError, IndexError):
        return False
    return bool(address.username and address.domain)
