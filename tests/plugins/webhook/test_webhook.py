"""Webhooks: one POST to where the operator said, again if that may help, and no secret in what is told of it."""

import json
import socket
import ssl
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import Any

import pytest
from tests.rows import each_row

from toolcharter import ConfigurationError, NotDelivered, Notification, Toolbox, build_tools
from toolcharter.gate.build.open import open_toolbox, plan_profile
from toolcharter_webhook import WebhookChannel, open_channel
from toolcharter_webhook.endpoint import Endpoint, parse_endpoint
from toolcharter_webhook.sender import WebhookSender, retry_after_s

NOTIFICATION = Notification({"event": "hook.tool.after", "call_id": "c1", "tool": "git"}, "git:push", "c1-1")
PASSWORD = "hunter" + "2"
Answer = Callable[[BaseHTTPRequestHandler], None]


def status(code: int, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()

    return answer


def raw(text: bytes) -> Answer:
    """Write *text* and hang up."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(text)

    return answer


class Server(ThreadingHTTPServer):
    """Answers the n-th request with the n-th answer, and the last one from then on."""

    daemon_threads = True

    def __init__(self) -> None:
        self.answers: list[Answer] = [status(204)]
        self.got: list[tuple[str, dict[str, str], Any]] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((f"{self.command} {self.path}", dict(self.headers), json.loads(body)))
        answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        answer(self)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[], Server]]:
    servers: list[Server] = []

    def start() -> Server:
        servers.append(Server())
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def server(serve) -> Server:
    return serve()


class Pauses:
    """Takes no time, and says how long it should have taken."""

    def __init__(self, *, given_up: bool = False) -> None:
        self.seconds: list[float] = []
        self.given_up = given_up

    def __call__(self, seconds: float) -> bool:
        self.seconds.append(seconds)
        return self.given_up


def send(url: str, pause: Pauses | None = None, notification: Notification = NOTIFICATION, **options: Any) -> str:
    """Deliver one notification; the error's text, or nothing."""
    with closing(WebhookSender(parse_endpoint(url), jitter=lambda: 1.0, **options)) as sender:
        failed: NotDelivered | None = None
        try:
            sender.send(notification, pause or Pauses())
        except NotDelivered as error:
            failed = error
    if failed is None:
        return ""
    assert failed.__context__ is None  # an error of the library would hold the request and its headers
    return str(failed)


def test_what_arrives(server: Server) -> None:
    """One JSON object: the event's fields and which rule asked for it; and nothing about this machine."""
    told = send(f"{server.url}/hook?room=1")

    (request, headers, body), *more = server.got
    assert (told, more, request) == ("", [], "POST /hook?room=1")
    assert headers == {
        "Host": f"127.0.0.1:{server.server_port}",
        "Content-Type": "application/json",
        "User-Agent": f"toolcharter/{version('toolcharter')}",
        "X-Toolcharter-Delivery": "c1-1",
        "Content-Length": headers["Content-Length"],
    }
    assert body == {"event": "hook.tool.after", "call_id": "c1", "tool": "git", "notify": {"match": "git:push"}}


@pytest.mark.parametrize(
    ("written", "header"),
    [
        (f"amy:{PASSWORD}", f"amy:{PASSWORD}"),
        ("a%40b:p%3Aw%2F", "a@b:p:w/"),
        ("amy", "amy:"),
        ("t\u00e9a:x", "t\u00e9a:x"),
    ],
    ids=["both", "escaped", "no password", "not ASCII"],
)
def test_credentials_become_a_header(written: str, header: str) -> None:
    """The URL that is used and shown has none."""
    endpoint = parse_endpoint(f"https://{written}@example.org:8443/hook")

    expected = "Basic " + b64encode(header.encode()).decode()
    assert endpoint == Endpoint("https://example.org:8443/hook", expected, "https://example.org:8443")


def test_credentials_arrive_and_are_told_to_nobody(server: Server, caplog) -> None:
    """Neither the error nor any library's log, at its chattiest, has the password or the path."""
    caplog.set_level("DEBUG")
    server.answers = [status(403)]

    told = send(f"http://amy:{PASSWORD}@127.0.0.1:{server.server_port}/services/T0{PASSWORD}")

    assert server.got[0][1]["Authorization"].startswith("Basic ")
    assert told == f"{server.url}: answered 403 (1 attempt)"
    assert PASSWORD not in told + caplog.text
    assert server.got[0][1]["Authorization"] not in caplog.text


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("https://example.org", Endpoint("https://example.org", None, "https://example.org")),
        ("http://[::1]:80/a?b=c#d", Endpoint("http://[::1]:80/a?b=c", None, "http://[::1]:80")),
        ("HTTP://@Example.org/A", Endpoint("http://example.org/A", None, "http://example.org")),
    ],
)
def test_urls_of_webhooks(url: str, endpoint: Endpoint) -> None:
    """Scheme and host without case; a fragment stays at home."""
    assert parse_endpoint(url) == endpoint


@each_row(
    ("url", "message"),
    [
        ("", "the URL is not `http://HOST/...` or `https://HOST/...`"),
        ("ftp://example.org/", "the URL is not `http://HOST/...` or `https://HOST/...`"),
        ("https:///hook", "the URL is not `http://HOST/...` or `https://HOST/...`"),
        (f"https://amy:{PASSWORD}/x@example.org/", "the URL's host or port cannot be read"),
        (f"https://[{PASSWORD}/", "the URL's host or port cannot be read"),
        ("https://example.org:99999/", "the URL's host or port cannot be read"),
        ("https://example.org/a b", "the URL holds a blank, a control character or a backslash"),
        ("https://example.org/\r\nX: y", "the URL holds a blank, a control character or a backslash"),
        ("https://example.org\\@elsewhere.org/", "the URL holds a blank, a control character or a backslash"),
    ],
)
def test_what_is_no_url_of_a_webhook(url: str, message: str) -> None:
    """Refused before anything is sent, in words that do not repeat it."""
    with pytest.raises(ValueError, match=r"^the URL") as caught:
        parse_endpoint(url)

    assert (str(caught.value), caught.value.__cause__) == (message, None)


@pytest.mark.parametrize(
    "trouble", [status(500), status(503), status(429), raw(b""), raw(b"HTTP/1.1 2"), raw(b"no\r\n")]
)
def test_a_passing_trouble_is_tried_again(trouble: Answer, server: Server) -> None:
    """Two attempts fail and the third arrives, with growing waits and one delivery number."""
    server.answers = [trouble, trouble, status(200)]
    pauses = Pauses()

    told = send(server.url, pauses)

    assert (told, pauses.seconds) == ("", [0.5, 1.0])
    assert [headers["X-Toolcharter-Delivery"] for _, headers, _ in server.got] == ["c1-1"] * 3


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (status(500), "answered 500"),
        (status(429), "answered 429"),
        (raw(b"HTTP/1.1 200"), "RemoteProtocolError"),
        (raw(b"HTTP/1.1 500 hunter2\r\nno header\r\n\r\n"), "RemoteProtocolError"),
    ],
)
def test_a_lasting_trouble_is_given_up(answer: Answer, why: str, server: Server) -> None:
    """After three attempts; nothing that the other side wrote is told."""
    server.answers = [answer]

    told = send(server.url)

    assert (told, len(server.got)) == (f"{server.url}: {why} (3 attempts)", 3)


@pytest.mark.parametrize("code", [400, 401, 404, 410, 451])
def test_a_refusal_is_final(code: int, server: Server) -> None:
    """The same request would be refused again."""
    server.answers = [status(code)]

    told = send(server.url)

    assert (told, len(server.got)) == (f"{server.url}: answered {code} (1 attempt)", 1)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(code: int, server: Server, serve) -> None:
    """Whoever is asked says where things lie, but not where a call's arguments go."""
    canary = serve()
    server.answers = [status(code, Location=f"{canary.url}/")]

    told = send(server.url)

    assert told == f"{server.url}: answered {code}, and redirects are not followed (1 attempt)"
    assert (len(server.got), canary.got) == (1, [])


def test_the_environment_names_no_proxy_and_no_password(server: Server, serve, tmp_path, monkeypatch) -> None:
    """Neither proxy variables nor `.netrc` are the operator's word on this URL; cookies are not kept either."""
    canary = serve()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, canary.url)
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login amy password {PASSWORD}\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server.answers = [status(500, Set_Cookie="a=b"), status(200)]

    told = send(server.url)

    assert (told, len(server.got), canary.got) == ("", 2, [])
    assert [{"Cookie", "Authorization"} & set(headers) for _, headers, _ in server.got] == [set(), set()]


def test_an_answer_counts_with_its_head(server: Server) -> None:
    """The other side has accepted it: a body that breaks off, or never ends, changes nothing."""
    server.answers = [raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")]

    told = send(server.url)

    assert (told, len(server.got)) == ("", 1)


def test_a_server_that_hangs(server: Server) -> None:
    """Each attempt has its time."""
    go = threading.Event()

    def hang(_: BaseHTTPRequestHandler) -> None:
        go.wait(20)

    server.answers = [hang]

    told = send(server.url, timeout_s=0.05)
    go.set()

    assert told == f"{server.url}: ReadTimeout (3 attempts)"


def test_nobody_listens() -> None:
    """A failure to connect is told in the system's words."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]

    told = send(f"http://127.0.0.1:{port}/hook")

    assert told == f"http://127.0.0.1:{port}: ConnectError: [Errno 111] Connection refused (3 attempts)"


@pytest.mark.needs_program("openssl")
def test_certificates_are_verified(server: Server, tmp_path, monkeypatch) -> None:
    """A certificate that nobody vouches for ends the matter before anything is sent; `SSL_CERT_FILE` vouches."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    asked = ["-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=hook", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *asked, "-keyout", key, "-out", certificate], capture_output=True, check=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = f"https://127.0.0.1:{server.server_port}"

    refused, got = send(url), [*server.got]
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    taken = send(url)

    assert refused.startswith(f"{url}: ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED]")
    assert (got, taken, len(server.got)) == ([], "", 1)


def test_the_lane_is_given_up_between_two_attempts(server: Server) -> None:
    """There is no second attempt."""
    server.answers = [status(500)]
    pauses = Pauses(given_up=True)

    told = send(server.url, pauses)

    assert (told, pauses.seconds, len(server.got)) == (f"{server.url}: answered 500 (1 attempt)", [0.5], 1)


@pytest.mark.parametrize(
    ("asked", "waits"), [("7", [7.0, 7.0]), ("0", [0.5, 1.0]), ("86400", [30.0, 30.0]), ("soon", [0.5, 1.0])]
)
def test_an_answer_says_when_to_come_back(asked: str, waits: list[float], server: Server) -> None:
    """`Retry-After` makes waits longer, up to a bound, and never shorter."""
    server.answers = [status(429, Retry_After=asked)]
    pauses = Pauses()

    send(server.url, pauses)

    assert pauses.seconds == waits


DATE = "Sat, 21 Nov 2026 10:15:37 GMT"


@each_row(
    ("headers", "seconds"),
    [
        ({}, 0.0),
        ({"retry-after": " 12 "}, 12.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "9" * 400}, 30.0),
        ({"retry-after": "\u00b2"}, 0.0),
        ({"retry-after": "Sat, 21 Nov 2026 10:15:50 GMT", "date": DATE}, 13.0),
        ({"retry-after": "Sat, 21 Nov 2026 10:15:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Sun, 22 Nov 2026 10:15:00 GMT", "date": DATE}, 30.0),
        ({"retry-after": "Sun, 22 Nov 99999999999999999999 10:15:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Sun, 22 Nov 2026 10:15:00 -0000", "date": DATE}, 0.0),
        ({"retry-after": DATE}, 0.0),
    ],
)
def test_the_forms_of_retry_after(headers: dict[str, str], seconds: float) -> None:
    """Seconds, or a date by the answer's own clock; what cannot be read asks for nothing."""
    assert retry_after_s(headers) == seconds


def test_waits_differ_from_sender_to_sender(server: Server) -> None:
    """Between half and all of the backoff."""
    with closing(WebhookSender(parse_endpoint(server.url), jitter=lambda: 0.0)) as sender:
        server.answers = [status(500)]
        pauses = Pauses()

        with pytest.raises(NotDelivered):
            sender.send(NOTIFICATION, pauses)

    assert pauses.seconds == [0.25, 0.5]


def test_a_call_whose_id_no_header_can_bear(server: Server) -> None:
    """A call cannot keep its notification from arriving by what it is called or what it holds."""
    strange = Notification({"call_id": "a\r\nb: \ud800\u00e9", "args": {"x": {1}}}, "*", "a\r\nb: \ud800\u00e9-1")

    told = send(server.url, notification=strange)

    (_, headers, body), *_ = server.got
    assert (told, headers["X-Toolcharter-Delivery"]) == ("", "a%0D%0Ab%3A%20%5Cud800%C3%A9-1")
    assert body == {"call_id": "a\r\nb: \ud800\u00e9", "args": {"x": "{1}"}, "notify": {"match": "*"}}


def test_the_hook_checks_the_url_and_sends_nothing(server: Server) -> None:
    """The channel holds no connection; each thread that delivers gets a sender of its own."""
    channel = open_channel(server.url)
    with pytest.raises(ValueError, match="the URL is not"):
        open_channel(f"ftp://amy:{PASSWORD}@h/")
    before = [*server.got]

    with closing(channel.connect()) as one, closing(channel.connect()) as two:
        one.send(NOTIFICATION, Pauses())

    assert (channel, before, one is two) == (WebhookChannel(Endpoint(server.url, None, server.url)), [], False)
    assert [request for request, _, _ in server.got] == ["POST /"]


def test_httpx_waits_for_the_first_delivery() -> None:
    """It takes a tenth of a second, which no start of a toolbox pays."""
    code = "import sys, toolcharter_webhook as w; w.open_channel('https://h/'); print('httpx' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


PROFILE = """profile: told
description: d
tools: {git: {}}
notify: [git, {match: git, deliver: webhook, url: %r}]
"""


@pytest.fixture
def build(tmp_path, monkeypatch) -> Callable[..., Toolbox]:
    """Builds a profile that notifies a URL; only the plugins of these distributions are there."""

    def build_it(url: str, *plugins: str) -> Toolbox:
        (tmp_path / "told.yaml").write_text(PROFILE % url)
        monkeypatch.setenv("TOOLCHARTER_PLUGINS", ",".join(plugins))
        return build_tools(tmp_path / "told.yaml", workspace=tmp_path, events=[])

    return build_it


def test_a_call_is_told(build, server: Server) -> None:
    """From the profile to the receiver, through the loader."""
    with build(f"{server.url}/hook", "toolcharter-git", "toolcharter-webhook") as toolbox:
        toolbox.call("git", {"action": "none such"})

    ((request, _, body),) = server.got
    assert (request, body["tool"], body["notify"], toolbox.lost_notifications) == (
        "POST /hook",
        "git",
        {"match": "git"},
        0,
    )
    assert body["outcome"] == "error"


def test_a_url_that_cannot_be_used_stops_the_start(build, tmp_path) -> None:
    """With its place in the profile, and without what it holds."""
    with pytest.raises(ConfigurationError) as caught:
        build(f"http://amy:{PASSWORD}@h:x/", "toolcharter-git", "toolcharter-webhook")

    assert str(caught.value) == (
        f"{tmp_path}/told.yaml:4:15: notify.url: the URL's host or port cannot be read.\n"
        "Write a URL such as `https://example.org/hook`."
    )


def test_the_administrators_file_may_ask_for_it(tmp_path, monkeypatch, server: Server) -> None:
    """Where it holds only in a workspace that comes later, its plugin is loaded then, and is part of the digest."""
    (tmp_path / "plain.yaml").write_text("profile: plain\ndescription: d\ntools: {git: {}}\n")
    plan = plan_profile(tmp_path / "plain.yaml")
    admin = tmp_path / "admin.yaml"
    admin.write_text(f"notify: [{{match: git, deliver: webhook, url: '{server.url}/admin'}}]\n")
    monkeypatch.setenv("TOOLCHARTER_ADMIN_POLICY", str(admin))

    with open_toolbox(plan, workspace=tmp_path, caller=None, sinks=()) as toolbox:
        toolbox.call("git", {"action": "none such"})
    with build_tools(tmp_path / "plain.yaml", workspace=tmp_path, events=[]) as built:
        built.call("git", {"action": "none such"})

    assert [request for request, _, _ in server.got] == ["POST /admin"] * 2
    assert plan.loaded.distributions.keys() == {"toolcharter-git"}
    assert plan.for_workspace(tmp_path).loaded.distributions.keys() == {"toolcharter-git", "toolcharter-webhook"}
