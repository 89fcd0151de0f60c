"""The sink against real datagram servers."""

import errno
import json
import os
import socket
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from tests.rows import each_row

import toolcharter_syslog
from toolcharter.loader.load import load_plugins
from toolcharter_syslog import SyslogSink, message, open_sink

EVENT = {"event": "hook.tool.before", "level": "info", "ts": "2025-03-01T12:00:00.123456Z", "tool": "git"}


def _line(**changes: object) -> bytes:
    return json.dumps(EVENT | changes, separators=(",", ":")).encode()


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """A syslog daemon's unix socket, under a short name in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "gethostname", lambda: "my host")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind("log")
        server.settimeout(5)
        yield server


@pytest.fixture
def sink(daemon):
    opened = SyslogSink(socket.AF_UNIX, "log", 1)
    yield opened
    opened.close()


def test_each_event_line_is_one_rfc_5424_message(daemon, sink) -> None:
    """Priority, timestamp, host, application, process and event name stand before the line itself."""
    before, deny = _line(), _line(event="hook.policy.deny", level="warning")

    sink.write(before + b"\n" + deny + b"\n")

    pid = b"%d" % os.getpid()
    assert [daemon.recv(4096), daemon.recv(4096)] == [
        b"<14>1 2025-03-01T12:00:00.123456Z my?host toolcharter " + pid + b" hook.tool.before - " + before,
        b"<12>1 2025-03-01T12:00:00.123456Z my?host toolcharter " + pid + b" hook.policy.deny - " + deny,
    ]


@each_row(
    ("line", "head"),
    [
        pytest.param(
            _line(level="error"), "<131>1 2025-03-01T12:00:00.123456Z h toolcharter {} hook.tool.before", id="error"
        ),
        pytest.param(
            _line(level="loud"), "<134>1 2025-03-01T12:00:00.123456Z h toolcharter {} hook.tool.before", id="level"
        ),
        pytest.param(_line(ts="now"), "<134>1 - h toolcharter {} hook.tool.before", id="timestamp"),
        pytest.param(
            _line(ts="2025-03-01T12:00:00+01:00"),
            "<134>1 2025-03-01T12:00:00+01:00 h toolcharter {} hook.tool.before",
            id="zone",
        ),
        pytest.param(
            _line(event="\u00e9 " * 20), "<134>1 2025-03-01T12:00:00.123456Z h toolcharter {} " + "?" * 32, id="name"
        ),
        pytest.param(b"{", "<134>1 - h toolcharter {} -", id="no-json"),
        pytest.param(b"[]", "<134>1 - h toolcharter {} -", id="no-object"),
        pytest.param(_line(event=""), "<134>1 2025-03-01T12:00:00.123456Z h toolcharter {} -", id="empty"),
    ],
)
def test_a_header_is_well_formed_whatever_the_event_holds(line, head) -> None:
    """Fields that do not fit their place become `-`, `?` or the severity of plain information."""
    assert message(line, 16, "h") == f"{head.format(os.getpid())} - ".encode() + line


def test_udp_servers_are_reached_by_host_and_port() -> None:
    """The URL's query picks the facility."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(5)
        sink = open_sink(f"syslog://127.0.0.1:{server.getsockname()[1]}?facility=local7")
        sink.write(_line() + b"\n")
        sink.close()

        assert server.recv(4096).startswith(b"<190>1 2025-03-01T12:00:00.123456Z ")


def test_a_socket_is_reached_by_its_path(daemon, tmp_path) -> None:
    """Three slashes, for there is no host."""
    sink = open_sink(f"syslog://{tmp_path}/log")
    sink.write(_line() + b"\n")
    sink.close()

    assert daemon.recv(4096).endswith(_line())


def test_without_a_path_the_socket_of_the_system_is_meant(daemon, tmp_path, monkeypatch) -> None:
    """`syslog:` alone is `/dev/log`."""
    default = toolcharter_syslog.DEFAULT_SOCKET
    monkeypatch.setattr(toolcharter_syslog, "DEFAULT_SOCKET", str(tmp_path / "log"))
    sink = open_sink("syslog:")
    sink.write(_line() + b"\n")
    sink.close()

    assert (default, daemon.recv(4096)[-len(_line()) :]) == ("/dev/log", _line())


def test_the_port_is_514_unless_given(monkeypatch) -> None:
    """Source: RFC 5426, section 3.3. Connecting a datagram socket sends nothing."""
    lookup = Mock(wraps=socket.getaddrinfo)
    monkeypatch.setattr(socket, "getaddrinfo", lookup)

    open_sink("syslog://127.0.0.1").close()

    assert lookup.mock_calls == [call("127.0.0.1", 514, type=socket.SOCK_DGRAM)]


def test_a_restarted_daemon_gets_the_line(daemon, sink) -> None:
    """The sink connects again, once."""
    daemon.close()
    Path("log").unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as restarted:
        restarted.bind("log")
        restarted.settimeout(5)
        sink.write(_line() + b"\n")

        assert restarted.recv(4096).endswith(_line())


def test_a_daemon_that_is_gone_is_an_error(daemon, sink) -> None:
    """Nothing is queued: the gate has to know."""
    daemon.close()
    Path("log").unlink()

    for _attempt in range(2):
        with pytest.raises(FileNotFoundError):
            sink.write(_line() + b"\n")


def test_a_daemon_that_comes_back_later_gets_the_next_line(daemon, sink) -> None:
    """A failed attempt to connect again is not the last one."""
    daemon.close()
    Path("log").unlink()
    with pytest.raises(FileNotFoundError):
        sink.write(_line() + b"\n")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as restarted:
        restarted.bind("log")
        restarted.settimeout(5)
        sink.write(_line(tool="later") + b"\n")

        assert restarted.recv(4096).endswith(_line(tool="later"))


def test_a_line_larger_than_a_datagram_is_an_error(daemon, sink) -> None:
    """Nothing is shortened behind the gate's back."""
    with pytest.raises(OSError, match=os.strerror(errno.EMSGSIZE)):
        sink.write(_line(tool="x" * 10_000_000) + b"\n")


def test_a_daemon_that_takes_nothing_is_an_error(daemon, sink, monkeypatch) -> None:
    """A full queue holds a call for a second at most."""
    monkeypatch.setattr(toolcharter_syslog, "TIMEOUT_S", 0.01)
    opened = SyslogSink(socket.AF_UNIX, "log", 1)

    with pytest.raises(TimeoutError):
        opened.write((_line() + b"\n") * 100_000)
    opened.close()


@each_row(
    ("url", "message"),
    [
        pytest.param("syslog:?facility=kern", "the only option is facility, one of user, ", id="facility"),
        pytest.param("syslog:?facility=user&facility=auth", "the only option is facility, one of user, ", id="twice"),
        pytest.param("syslog:?tag=x", "the only option is facility, one of user, ", id="option"),
        pytest.param("syslog://me@host", "write syslog:, syslog:///SOCKET or syslog://HOST:PORT", id="user"),
        pytest.param("syslog://host/path", "write syslog:, syslog:///SOCKET or syslog://HOST:PORT", id="host-and-path"),
        pytest.param("syslog:#x", "write syslog:, syslog:///SOCKET or syslog://HOST:PORT", id="fragment"),
    ],
)
def test_a_url_that_is_not_understood_is_refused(url, message) -> None:
    """A misspelt option must not send events elsewhere."""
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(")):
        open_sink(url)


def test_the_loader_finds_the_sink_by_the_scheme(daemon, tmp_path) -> None:
    """The entry point's name is the scheme; a profile needs no tool of this plugin."""
    loaded = load_plugins({}, sinks=["syslog"])

    sink = loaded.open_sink(f"syslog://{tmp_path}/log")
    sink.write(_line() + b"\n")
    sink.close()

    assert (list(loaded.openers), list(loaded.distributions)) == (["syslog"], ["toolcharter-syslog"])
    assert daemon.recv(4096).endswith(_line())


def test_a_socket_that_does_not_exist_stops_the_start(tmp_path) -> None:
    """A wrong URL is told when the sink is opened, not at the first event."""
    with pytest.raises(FileNotFoundError):
        open_sink(f"syslog://{tmp_path}/absent")
