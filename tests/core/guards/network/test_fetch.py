"""Requests and their redirects, in both ways, against local servers."""

import socket
import traceback
from collections.abc import Callable

import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer

from toolcharter import Denied, HttpLimits, ToolError

PUBLIC = "93.184.216.34"


def failing(fetch, url: str, **given) -> tuple[str, str]:
    """Kind and reason of the failure."""
    try:
        fetch(url, **given)
    except Denied as denied:
        return "denied", denied.reason
    except ToolError as error:
        return "error", error.reason
    return "ok", ""


def test_an_answer_is_given_whole(world: FakeInternet, fetch) -> None:
    """Status, headers and body come as they were sent; the name was looked up once and that address dialled."""
    server = world.put("example.com", answer(b"hello", "404 Not Found", X_Two="first", x_two="second"))

    got = fetch("http://EXAMPLE.com/a?b#c")

    assert (got.url, got.status, got.body, got.truncated) == ("http://example.com/a?b", 404, b"hello", False)
    assert got.headers == {"content-length": "5", "content-type": "text/plain", "x-two": "first"}
    assert (world.looked_up, world.dialled) == (["example.com"], [(PUBLIC, 80)])
    [head] = server.requests
    assert head.startswith(b"GET /a?b HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n")
    assert b"Accept-Encoding: gzip, deflate\r\n" in head
    assert b"User-Agent: toolcharter/" in head


def test_a_body_is_sent(world: FakeInternet, fetch) -> None:
    """A caller's method, headers and content arrive."""
    server = world.put("example.com", answer())

    fetch(
        "http://example.com/", method="POST", headers={"X-Key": "v", "User-Agent": "me", "Accept": "a/b"}, content=b""
    )

    [head] = server.requests
    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert b"Content-Length: 0\r\n" in head
    assert head.count(b"toolcharter") == head.count(b"*/*") == 0


@pytest.mark.parametrize("name", ["Host", "Connection", "Transfer-Encoding", "Proxy-Authorization"])
def test_headers_that_direct_a_message_cannot_be_set(world: FakeInternet, fetch, name: str) -> None:
    """Where a message goes and where it ends is not the caller's to say."""
    assert failing(fetch, "http://example.com/", headers={name: "x"}) == ("error", "invalid_arguments")
    assert world.looked_up == []


def test_a_header_with_a_line_break_is_not_sent(world: FakeInternet, fetch) -> None:
    """No header can smuggle another one."""
    server = world.put("example.com", answer())

    assert failing(fetch, "http://example.com/", headers={"X": "a\r\nHost: b"}) == ("error", "invalid_arguments")
    assert server.requests in ([], [b""])


@pytest.mark.parametrize("value", ["key-of-ours\n", "key-of-ours\0", "a\r\nkey-of-ours: b"])
def test_what_cannot_be_sent_is_not_told(world: FakeInternet, fetch, value: str) -> None:
    """A header that is refused may be a key, read from a file together with the end of its line."""
    world.put("example.com", answer())

    with pytest.raises(ToolError) as caught:
        fetch("http://example.com/", headers={"X-Token": value})

    assert caught.value.message == "The request cannot be sent: its method or a header is not valid in HTTP."
    assert "key-of-ours" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        pytest.param(["127.0.0.1"], "private_address", id="loopback"),
        pytest.param([PUBLIC, "10.0.0.1"], "private_address", id="one of two"),
        pytest.param(["::ffff:10.0.0.1"], "private_address", id="mapped"),
        pytest.param(["fe80::1%2"], "private_address", id="with a zone"),
        pytest.param(["64:ff9b::a00:1"], "private_address", id="NAT64"),
    ],
)
def test_a_name_that_leads_inside_is_denied(world: FakeInternet, fetch, answers: list[str], reason: str) -> None:
    """One private answer among all is enough, and nothing is dialled."""
    world.names["example.com"] = [answers]

    assert failing(fetch, "http://example.com/") == ("denied", reason)
    assert world.connected == [] == world.dialled


def test_a_second_look_up_is_not_trusted(world: FakeInternet, fetch) -> None:
    """A resolver that answers differently the second time is not asked a second time."""
    world.put("rebind.example", answer())
    world.names["rebind.example"].append(["127.0.0.1"])

    assert fetch("http://rebind.example/").body == b"hello"
    assert (world.looked_up, world.dialled) == (["rebind.example"], [(PUBLIC, 80)])


def test_a_resolver_that_changes_between_hops_is_judged_on_each(world: FakeInternet, fetch) -> None:
    """The second hop's own look-up leads inside, and that is where it ends."""
    world.put("rebind.example", answer(b"", "302 Found", Location="/again"))
    world.names["rebind.example"].append(["127.0.0.1"])

    assert failing(fetch, "http://rebind.example/") == ("denied", "private_address")
    assert world.dialled == [(PUBLIC, 80)]


def test_a_connection_that_comes_out_elsewhere_is_dropped(world: FakeInternet, fetch) -> None:
    """The peer is asked for after connecting; nothing is said to another one."""
    server = world.put("example.com", answer())
    world.claims[PUBLIC, 80] = ("10.0.0.1", 80)

    assert failing(fetch, "http://example.com/") == ("denied", "private_address")
    assert server.requests in ([], [b""])


def test_each_address_has_its_turn(world: FakeInternet, fetch) -> None:
    """Where one address refuses, the next is dialled; where all do, that is told."""
    world.put("example.com", answer())
    world.names["example.com"] = [["93.184.216.35", PUBLIC]]
    world.names["down.example"] = [["93.184.216.35", "93.184.216.36"]]

    assert fetch("http://example.com/").body == b"hello"
    assert failing(fetch, "http://down.example/") == ("error", "connection_failed")
    assert [address for address, _ in world.dialled] == ["93.184.216.35", PUBLIC, "93.184.216.35", "93.184.216.36"]


@pytest.mark.parametrize(
    ("error", "retryable"),
    [(socket.EAI_NONAME, False), (socket.EAI_AGAIN, True)],
    ids=["no such name", "resolver is ill"],
)
def test_a_name_without_address_is_an_error(world: FakeInternet, fetch, monkeypatch, error: int, retryable) -> None:
    """No answer is no denial; where another try may help, that is said."""

    def unknown(*args: object, **options: object) -> None:
        raise socket.gaierror(error, "")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    with pytest.raises(ToolError, match=r"The name 'nobody\.example' leads to no address\.") as caught:
        fetch("http://nobody.example/")
    assert (caught.value.reason, caught.value.retryable) == ("host_not_found", retryable)


def test_an_empty_answer_is_an_error(world: FakeInternet, fetch, monkeypatch) -> None:
    """A resolver that finds nothing and says nothing is answered as well."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: [])

    assert failing(fetch, "http://nobody.example/") == ("error", "host_not_found")


def test_a_public_number_is_dialled_without_a_look_up(world: FakeInternet, fetch) -> None:
    """An address in the URL needs no resolver."""
    world.put("unused", answer())

    assert fetch(f"http://{PUBLIC}/").body == b"hello"
    assert world.looked_up == []


def test_a_policy_opens_a_named_private_address(world: FakeInternet, fetch) -> None:
    """What `allowed_private` names is reached, and nothing beside it."""
    server = world.serve(answer())
    policy = {"allowed_private": ("127.0.0.1", "intranet.local"), "ports": (server.port,)}
    world.names["intranet.local"] = [["127.0.0.1"]]

    assert fetch(f"http://127.0.0.1:{server.port}/", policy=policy).body == b"hello"
    assert fetch(f"http://intranet.local:{server.port}/", policy=policy).body == b"hello"
    assert failing(fetch, f"http://127.0.0.2:{server.port}/", policy=policy) == ("denied", "private_address")


def test_redirects_are_followed_and_told(world: FakeInternet, fetch) -> None:
    """Relative, absolute and to another host; each hop has a look-up of its own."""
    steps = {b"/a": "b?x=http://127.0.0.1/", b"/b": "//other.example/c", b"/c": "http://example.com/d%C3%A9/\u00e9"}

    def reply(connection: socket.socket, head: bytes) -> None:
        path = head.split()[1].partition(b"?")[0]
        moved = answer(b"", "302 Found", Location=steps[path]) if path in steps else answer(b"end")
        connection.sendall(moved)

    world.put("example.com", reply)
    world.names["other.example"] = [[PUBLIC]]

    got = fetch("http://example.com/a")

    assert (got.body, got.url) == (b"end", "http://example.com/d%C3%A9/%C3%A9")
    assert got.redirects == (
        "http://example.com/a",
        "http://example.com/b?x=http://127.0.0.1/",
        "http://other.example/c",
    )
    assert world.looked_up == ["example.com", "example.com", "other.example", "example.com"]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        pytest.param("http://127.0.0.1/", "private_address", id="loopback"),
        pytest.param("http://[::1]/", "private_address", id="IPv6"),
        pytest.param("//localhost/", "private_address", id="name"),
        pytest.param("http://inside.example/", "private_address", id="name that leads inside"),
        pytest.param("file:///etc/passwd", "scheme_not_allowed", id="scheme"),
        pytest.param("http://u:p@example.com/", "credentials_in_url", id="credentials"),
        pytest.param("http://2130706433/", "url_not_understood", id="number"),
        pytest.param("/a b", "url_not_understood", id="blank"),
        pytest.param("http://example.com:25/", "port_not_allowed", id="port"),
        pytest.param("http://blocked.example/", "domain_not_allowed", id="domain"),
    ],
)
def test_a_redirect_to_where_nobody_may_go_is_denied(world: FakeInternet, fetch, target: str, reason: str) -> None:
    """A redirect is judged as the first URL was; only the first host is dialled."""
    world.put("example.com", answer(b"", "302 Found", Location=target))
    world.names["inside.example"] = [["10.0.0.1"]]

    denied = failing(fetch, "http://example.com/", policy={"denied_domains": ("blocked.example",)})

    assert denied == ("denied", reason)
    assert world.dialled == [(PUBLIC, 80)]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_every_kind_of_redirect_is_judged(world: FakeInternet, fetch, status: int) -> None:
    """None is a way around; the message names the host that sent it, and why it is refused."""
    world.put("example.com", answer(b"", f"{status} Moved", Location="http://127.0.0.1/"))

    with pytest.raises(Denied) as caught:
        fetch("http://example.com/")
    assert caught.value.message == ("A redirect from 'example.com' is refused. The address is not public.")


@pytest.mark.parametrize("target", ["http://obey!me/", "obey:me", "http://obey.local/", "/obey\\me"])
def test_a_refused_redirect_is_told_in_our_words(world: FakeInternet, fetch, target: str) -> None:
    """What a server wrote into it does not reach a model as part of a denial."""
    world.put("example.com", answer(b"", "302 Found", Location=target))

    with pytest.raises(Denied) as caught:
        fetch("http://example.com/")
    assert "obey" not in f"{caught.value.message}{caught.value.hint}"


def test_a_redirect_in_latin_1_is_read_as_such(world: FakeInternet, fetch) -> None:
    """Bytes that are no UTF-8 are letters all the same."""
    moved = b"HTTP/1.1 302 Found\r\nLocation: /\xe9\r\nContent-Length: 0\r\n\r\n"
    server = world.put("example.com", lambda to, head: to.sendall(answer() if b"%" in head else moved))

    assert fetch("http://example.com/").url == "http://example.com/%C3%A9"
    assert len(server.requests) == 2


def test_a_redirect_from_https_to_http_is_denied(world: FakeInternet, fetch, certified) -> None:
    """What was asked for in secret is not asked for in the open."""
    moved = answer(b"", "302 Found", Location="http://example.com/")
    world.put("example.com", moved, port=443, tls=certified("example.com"))

    assert failing(fetch, "https://example.com/") == ("denied", "insecure_redirect")
    assert world.dialled == [(PUBLIC, 443)]


def test_a_redirect_without_a_target_is_an_answer(world: FakeInternet, fetch) -> None:
    """As is one that lists choices."""
    world.put("example.com", answer(b"", "302 Found"))

    assert fetch("http://example.com/").status == 302


def test_redirects_come_to_an_end(world: FakeInternet, fetch) -> None:
    """A server that sends one in circles is left after the limit."""
    server = world.put("example.com", answer(b"", "302 Found", Location="/again"))

    assert failing(fetch, "http://example.com/", limits=HttpLimits(max_redirects=3)) == ("error", "too_many_redirects")
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("status", "method", "content"),
    [("302 x", b"GET", b""), ("303 x", b"GET", b""), ("307 x", b"POST", b""), ("308 x", b"POST", b"")],
)
def test_nothing_confidential_crosses_to_another_origin(
    world: FakeInternet, fetch, status: str, method: bytes, content: bytes
) -> None:
    """Another host gets no credential, no header of the caller's own, no cookie and no content."""
    world.put("example.com", answer(b"", status, Location="http://other.example/", Set_Cookie="a=b"))
    other = world.put("other.example", answer(), address="93.184.216.40")
    own = {"Authorization": "Basic x", "Cookie": "c=d", "X-Token": "t", "Accept-Language": "de", "Content-Type": "a/b"}

    fetch("http://example.com/", method="POST", headers=own, content=b"body")

    [head] = other.requests
    assert head.startswith(method + b" / HTTP/1.1\r\n")
    assert b"accept-language: de\r\n" in head
    for word in (b"authorization", b"cookie", b"x-token", b"content-type", b"body"):
        assert word not in head.lower()


def test_the_same_origin_keeps_what_the_caller_sent(world: FakeInternet, fetch) -> None:
    """A redirect within one origin is the same request again."""

    def reply(connection: socket.socket, head: bytes) -> None:
        first = head.startswith(b"POST /a")
        connection.sendall(answer(b"", "307 x", Location="/b") if first else answer())

    server = world.put("example.com", reply)

    fetch("http://example.com/a", method="POST", headers={"X-Token": "t"}, content=b"body")

    assert b"x-token: t\r\n" in server.requests[1]
    assert b"Content-Length: 4\r\n" in server.requests[1]


def test_proxy_variables_are_not_obeyed(world: FakeInternet, fetch, monkeypatch) -> None:
    """Whoever sets a variable does not choose where requests go."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    world.put("example.com", answer())

    assert fetch("http://example.com/").body == b"hello"
    assert world.dialled == [(PUBLIC, 80)]


def test_tls_is_verified_for_the_name(world: FakeInternet, fetch, certified: Callable[[str], object]) -> None:
    """The address is dialled, the name is what the certificate must be for."""
    world.put("example.com", answer(), port=443, tls=certified("example.com"))
    world.put("other.example", answer(), port=443, tls=certified("example.com"), address="93.184.216.40")

    assert fetch("https://example.com/").body == b"hello"
    assert failing(fetch, "https://other.example/") == ("error", "tls_failure")


def test_tls_by_a_stranger_is_refused(world: FakeInternet, fetch, certified, monkeypatch) -> None:
    """A certificate that nobody vouches for ends the request."""
    context = certified("example.com")
    monkeypatch.delenv("SSL_CERT_FILE")
    world.put("example.com", answer(), port=443, tls=context)

    with pytest.raises(ToolError, match=r"'example\.com' is not trusted: ") as caught:
        fetch("https://example.com/")
    assert caught.value.reason == "tls_failure"


def test_what_speaks_no_tls_is_refused(world: FakeInternet, fetch) -> None:
    """A server that answers a handshake with something else."""
    world.put("example.com", b"HTTP/1.1 400 Bad Request\r\n\r\n", port=443)

    assert failing(fetch, "https://example.com/") == ("error", "tls_failure")
