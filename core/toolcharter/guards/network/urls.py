"""Parse URLs in one strict form. Pure, and linear in the length of the text.

A URL whose scheme, host or port would have to be repaired is refused: this check and the program
that connects could repair it differently. The part after the host does not decide where the
request goes. In it, non-ASCII letters, a `%` that begins no escape and characters that a request
cannot contain are percent-encoded.
"""

import re
from typing import NamedTuple
from urllib.parse import quote

from toolcharter.api.reasons import GuardReason
from toolcharter.errors import Denied
from toolcharter.guards.network.hosts import Host, parse_host, parse_ipv6, unclear_url

MAX_URL = 8_192
"""In characters: about as long as servers accept. Source: RFC 9110, section 4.1, recommends 8000."""
DEFAULT_PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?=:)")
_PARTS = re.compile(r"//([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_IPV6 = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::(.*))?")
# Source: WHATWG URL, percent-encode sets of path and query (it leaves `%` as it is); RFC 3987 for non-ASCII letters.
_BAD_ESCAPE = r"%(?![0-9A-Fa-f]{2})"
_NOT_IN_PATH = re.compile(rf'["<>^`{{}}]|{_BAD_ESCAPE}|[^\x00-\x7f]+')
_NOT_IN_QUERY = re.compile(rf'["<>`]|{_BAD_ESCAPE}|[^\x00-\x7f]+')
MAX_PORT = 65_535


class Url(NamedTuple):
    """A parsed URL, which every program reads in the same way."""

    scheme: str
    """`http` or `https`."""
    host: Host
    port: int
    target: str
    """Path and query, escaped; begins with `/`."""

    @property
    def authority(self) -> str:
        """Host and port as in the `Host` header: without the port if it is the scheme's default."""
        host = f"[{self.host}]" if self.host_text.count(":") else self.host_text
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def host_text(self) -> str:
        """The host without brackets."""
        return str(self.host)

    @property
    def origin(self) -> str:
        """Scheme, host and port. Nothing confidential is passed from one origin to another."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return self.origin + self.target


def parse_url(text: str) -> Url:
    """Parse an absolute URL.

    Raises:
        Denied: `url_not_understood`, `scheme_not_allowed`, `credentials_in_url`.
    """
    _check_characters(text)
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise unclear_url("The URL does not begin with http:// or https://.")
    if scheme[0].lower() not in DEFAULT_PORTS:
        raise Denied(GuardReason.SCHEME_NOT_ALLOWED, f"{scheme[0][:32]!r} is not http or https.")
    return _parse_rest(scheme[0].lower(), text[scheme.end() + 1 :])


def resolve_reference(base: Url, text: str) -> Url:
    """Return the target of a redirect from *base* to *text*. Source: RFC 3986, section 5.2.

    Raises:
        Denied: As `parse_url`.
    """
    _check_characters(text)
    if _SCHEME.match(text):
        return parse_url(text)
    if text.startswith("//"):
        return _parse_rest(base.scheme, text)
    path, mark, query = text.partition("#")[0].partition("?")
    old_path, _, old_query = base.target.partition("?")
    if not path:
        path = old_path
        mark, query = (mark, query) if mark else ("?" * ("?" in base.target), old_query)
    elif not path.startswith("/"):
        path = old_path[: old_path.rfind("/") + 1] + path
    return base._replace(target=_target(path, mark + query))


def _check_characters(text: str) -> None:
    if len(text) > MAX_URL:
        raise unclear_url(f"The URL is longer than {MAX_URL} characters.")
    if not text.isprintable() or " " in text or "\\" in text:
        raise unclear_url("The URL contains a blank, a backslash, a control character or an invisible character.")


def _parse_rest(scheme: str, text: str) -> Url:
    parts = _PARTS.fullmatch(text)
    if parts is None or not parts[1]:
        raise unclear_url(f"After {scheme!r} there must be :// and a host.")
    host, port = _parse_authority(parts[1])
    return Url(scheme, host, DEFAULT_PORTS[scheme] if port is None else port, _target(parts[2], parts[3] or ""))


def _parse_authority(text: str) -> tuple[Host, int | None]:
    if "@" in text:
        # Not shown: it may be a password.
        raise Denied(GuardReason.CREDENTIALS_IN_URL, "The URL names a user before its host; leave that out.")
    if bracketed := _IPV6.fullmatch(text):
        return parse_ipv6(bracketed[1]), _parse_port(bracketed[2])
    host, colon, port = text.partition(":")
    return parse_host(host), _parse_port(port if colon else None)


def _parse_port(text: str | None) -> int | None:
    if text is None:
        return None
    if not _PORT.fullmatch(text) or int(text) > MAX_PORT:
        raise unclear_url(f"{text!r} is no port.")
    return int(text)


def _target(path: str, query: str) -> str:
    """Return path and query as they are sent: percent-encoded, without `.` and `..`."""
    return _NOT_IN_PATH.sub(_escaped, _without_dots(path)) + _NOT_IN_QUERY.sub(_escaped, query)


def _escaped(found: re.Match[str]) -> str:
    return quote(found[0], safe="")


def _without_dots(path: str) -> str:
    """Source: RFC 3986, section 5.2.4."""
    kept: list[str] = []
    segments = path.split("/")[1:] or [""]
    for segment in segments:
        if segment == ".." and kept:
            kept.pop()
        if segment not in {".", ".."}:
            kept.append(segment)
    if segments[-1] in {".", ".."}:
        kept.append("")
    return "/" + "/".join(kept)
