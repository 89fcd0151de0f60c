"""`parse_endpoint`: parses the URL of a webhook, and separates the credentials from it."""

from base64 import b64encode
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit


class Endpoint(NamedTuple):
    """A URL without its credentials."""

    url: str
    authorization: str | None
    """The value of the header `Authorization`."""
    origin: str
    """Scheme, host and port: the only part that messages may show, because a path or a query is often a secret."""


def parse_endpoint(url: str) -> Endpoint:
    """Parse the URL of a webhook.

    Raises:
        ValueError: *url* is malformed; the text does not repeat it, since it may hold a password.
    """
    if not url.isprintable() or " " in url or "\\" in url:
        raise ValueError("the URL holds a blank, a control character or a backslash")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # the error's text quotes the unreadable part, which may be a password
        raise ValueError("the URL's host or port cannot be read") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("the URL is not `http://HOST/...` or `https://HOST/...`")
    place = f"[{host}]" if ":" in host else host
    netloc = place if port is None else f"{place}:{port}"
    bare = urlunsplit((parts.scheme, netloc, parts.path, parts.query, ""))
    return Endpoint(bare, _basic_credentials(parts.username, parts.password), f"{parts.scheme}://{netloc}")


def _basic_credentials(user: str | None, password: str | None) -> str | None:
    """Format credentials for the header. Source: RFC 7617, section 2."""
    if not user and not password:
        return None
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return "Basic " + b64encode(pair.encode()).decode()
