"""The event sink `syslog:`: each event line as one RFC 5424 message in one datagram.

It neither shortens nor queues lines. If the daemon does not take a line within a second, or the line is larger than a
datagram, the sink raises `OSError`, and the gate counts the line as lost or refuses the call.
"""

import errno
import json
import re
import socket
import threading
from collections.abc import Mapping
from os import getpid
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from toolcharter import Sink, hookimpl

DEFAULT_SOCKET = "/dev/log"
DEFAULT_PORT = 514
TIMEOUT_S = 1.0

# Source: RFC 5424, section 6.2.1, tables 1 and 2.
FACILITIES = {"user": 1, "daemon": 3, "auth": 4, "authpriv": 10} | {f"local{n}": 16 + n for n in range(8)}
SEVERITIES = {"error": 3, "warning": 4, "info": 6}

_GONE = frozenset({errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOENT, errno.ENOTCONN})
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
_UNPRINTABLE = re.compile(r"[^!-~]")


class SyslogSink:
    """Sends event lines to a syslog daemon over a connected datagram socket."""

    def __init__(self, family: int, address: Any, facility: int) -> None:
        self._family = family
        self._address = address
        self._facility = facility
        self._host = _word(socket.gethostname(), 255)
        self._lock = threading.Lock()
        self._socket = self._connect()

    def write(self, lines: bytes) -> None:
        """Send each of *lines* in its own datagram.

        Raises:
            OSError: A line could not be sent; the lines after it were not sent either.
        """
        with self._lock:
            for line in lines.splitlines():
                self._send(message(line, self._facility, self._host))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _send(self, datagram: bytes) -> None:
        try:
            self._socket.send(datagram)
        except OSError as error:
            if error.errno not in _GONE:
                raise
            # Nothing of this line was sent: the daemon was restarted, or refused the previous datagram.
            fresh = self._connect()
            self._socket.close()
            self._socket = fresh
            self._socket.send(datagram)

    def _connect(self) -> socket.socket:
        opened = socket.socket(self._family, socket.SOCK_DGRAM)
        try:
            opened.settimeout(TIMEOUT_S)
            opened.connect(self._address)
        except OSError:
            opened.close()
            raise
        return opened


def message(line: bytes, facility: int, host: str) -> bytes:
    """Put one event line into an RFC 5424 message.

    Args:
        line: One JSON object as the gate writes it, without the line break.
        facility: The number of the facility, 0 to 23.
        host: The HOSTNAME field: 1 to 255 printable ASCII characters without blanks.

    Returns:
        Header, no structured data, and the unchanged line. The line has no byte order mark, because
        readers parse it as JSON; the RFC calls this form MSG-ANY.

    Source: RFC 5424, section 6.
    """
    event = _event(line)
    priority = facility * 8 + SEVERITIES.get(str(event.get("level")), SEVERITIES["info"])
    stamp = str(event.get("ts"))
    timestamp = stamp if _TIMESTAMP.fullmatch(stamp) else "-"
    name = _word(str(event.get("event", "-")), 32)
    return f"<{priority}>1 {timestamp} {host} toolcharter {getpid()} {name} - ".encode() + line


@hookimpl
def open_sink(url: str) -> Sink:
    """Open `syslog:`, `syslog:///SOCKET` or `syslog://HOST:PORT`, each with `?facility=NAME` if wanted."""
    parts = urlsplit(url)
    facility = _facility(parts)
    if parts.username is not None or parts.fragment or (parts.hostname and parts.path.strip("/")):
        raise ValueError("write syslog:, syslog:///SOCKET or syslog://HOST:PORT")
    if not parts.hostname:
        return SyslogSink(socket.AF_UNIX, parts.path or DEFAULT_SOCKET, facility)
    port = DEFAULT_PORT if parts.port is None else parts.port
    family, *_, address = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_DGRAM)[0]
    return SyslogSink(family, address, facility)


def _facility(parts: SplitResult) -> int:
    query = parse_qs(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    names = query.pop("facility", ["user"])
    if query or len(names) > 1 or names[0] not in FACILITIES:
        raise ValueError(f"the only option is facility, one of {', '.join(FACILITIES)}")
    return FACILITIES[names[0]]


def _event(line: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        return {}
    return event if isinstance(event, dict) else {}


def _word(text: str, longest: int) -> str:
    """Return *text* as a field of a header: without blanks and control characters, and not empty."""
    return _UNPRINTABLE.sub("?", text)[:longest] or "-"
