"""The samples of URLs for web fetch, and those of sample set 001 and 004, through `call` and `decide` of the real tools.

Names and public addresses lead to local servers. An audit hook sees every connection of the process: those that are
denied make none to an address that is not public, and none at all where the URL alone tells.
"""

import json
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.core.guards.network.conftest import certified  # noqa: F401 - a fixture
from tests.core.guards.network.fake_internet import FakeInternet, Reply, answer, install_fake_internet
from tests.samples import row_params, sample_rows

from toolcharter import Toolbox, build_tools
from toolcharter.guards.network.checks import matches_host

ROWS = sample_rows("security/ssrf")
URL_SAFETY = sample_rows("seeds/001-url-safety")
MCP_NET = sample_rows("seeds/004-mcp-net")
TEXTUAL = {
    *("loopback", "numeric_form", "numeric_overflow", "private", "metadata", "ipv6_embedded", "internal_name"),
    *("userinfo", "userinfo_public", "encoding", "malformed", "scheme", "port_or_proxy"),
}
"""Classes whose rows are denied by their text alone: already by `decide`."""
PUBLIC = "93.184.216.34"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    yield from install_fake_internet(monkeypatch)


@pytest.fixture
def toolbox(tmp_path: Path) -> Iterator[Callable[..., Toolbox]]:
    """A toolbox of the three tools, all under one policy."""
    opened: list[Toolbox] = []

    def build(**policy: Any) -> Toolbox:
        policy = {"timeout_s": 60.0, **policy}
        profile = tmp_path / "profile.yaml"
        tools = dict.fromkeys(("web", "http_get", "html_scraper"), policy)
        profile.write_text(json.dumps({"profile": "cases", "tools": tools}))
        opened.append(build_tools(profile, workspace=tmp_path, events=lambda _: None))
        return opened[-1]

    yield build
    for one in opened:
        one.close()


def calls_for(url: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("web", {"action": "fetch", "url": url}),
        ("http_get", {"url": url}),
        ("html_scraper", {"url": url, "selectors": ["p"]}),
    ]


def populate(world: FakeInternet, row: dict[str, Any], tls: Callable[[str], ssl.SSLContext]) -> None:
    """What the row says there is: names, and a server at the public address under every one of them."""
    for name, answers in row.get("resolver", {}).items():
        world.names[name] = [answers]
    if "*" in world.names:
        world.names = dict.fromkeys((row["whatwg_host"], "*"), world.names["*"])
    reply = SERVERS.get(row.get("server", ""), hops(row.get("chain", [])))
    if "server" in row:
        world.names["slow.example.test"] = [[PUBLIC]]
    secure = row["url"].startswith("https:")
    for address in {PUBLIC, row["whatwg_host"]}:
        world.routes[address, 80] = world.serve(reply)
        for port in (443, 8443) if secure else ():
            world.routes[address, port] = world.serve(reply, tls(row["whatwg_host"]))


def hops(chain: list[str]) -> Reply:
    """Answers each URL of a row's chain with the redirect that follows it there."""
    targets = {chain[at].split("/", 3)[-1]: (chain[at + 1], chain[at + 2]) for at in range(0, len(chain) - 2, 2)}

    def reply(connection: Any, head: bytes) -> None:
        path = head.split()[1].decode()[1:]
        if path in targets:
            status, target = targets[path]
            connection.sendall(answer(b"", f"{status} Moved", Location=target))
        else:
            connection.sendall(answer(b"<p>public", Content_Type="text/html"))

    return reply


def _endless(connection: Any, head: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 10737418240\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65_536)


def _headers(connection: Any, head: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n")


SERVERS: dict[str, Reply] = {
    "10 GiB body": _endless,
    "100 000 headers": _headers,
    "Content-Length smaller than the body": lambda connection, head: connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello, and more"
    ),
}


@pytest.mark.parametrize("row", row_params(ROWS))
def test_sample(row: dict[str, Any], world: FakeInternet, toolbox, certified) -> None:  # noqa: F811 - the fixture
    """Denied rows reach nothing but public addresses, allowed ones are fetched, slow ones are bounded."""
    populate(world, row, certified)
    box = toolbox()
    for tool, args in calls_for(row["url"]):
        decision = box.decide(tool, args)
        result = box.call(tool, args)
        if row["expect"] == "deny":
            assert result.outcome != "ok"
            assert (decision.outcome == "deny") == (row["cls"] in TEXTUAL)
            assert {address for address, _ in world.dialled} <= {PUBLIC}
        elif row["expect"] == "allow":
            assert (decision.outcome, result.outcome) == ("allow", "ok")
        else:
            assert bounded(result)
        if row["expect"] == "deny" and row["cls"] != "redirect":
            assert (world.dialled, world.connected) == ([], [])
        if row["cls"] in TEXTUAL:
            assert world.looked_up == []


def bounded(result: Any) -> bool:
    """Whether an answer without bounds came to a bounded end."""
    if result.outcome == "ok":
        return len(result.text) < 60_000 and "and more" not in result.text
    return result.reason in {"timed_out", "response_too_large", "invalid_response"}


def test_every_tier_and_class_is_there(record_property) -> None:
    """The counts, for the report of the run."""
    counts = Counter((row["tier"], row["expect"]) for row in ROWS)
    for (tier, expect), count in sorted(counts.items()):
        record_property(f"{tier} {expect}", count)

    assert {row["tier"] for row in ROWS} == {"core", "plus"}
    assert sum(counts.values()) == len(ROWS)


BLOCKED = ["malware.com", "*.malware.com", "*.tk", "*.ml", "*.ga", "*.cf"]
"""Sample set 001's lists, as domains: its lists of words are none of ours."""


@pytest.mark.parametrize("row", row_params(URL_SAFETY))
def test_url_safety(row: dict[str, Any], world: FakeInternet, toolbox) -> None:
    """Sample set 001's check of URLs: what it should refuse is refused, what it should allow is reached."""
    url, wanted = row["input"]["url"], {**row["expect"], **row.get("unified", {})}
    box = toolbox(denied_domains=BLOCKED)

    decision = box.decide("http_get", {"url": url})

    assert (decision.outcome == "allow") == wanted["allowed"]
    if not wanted["allowed"]:
        assert box.call("http_get", {"url": url}).outcome == "denied"
        assert (world.looked_up, world.dialled, world.connected) == ([], [], [])


ADDRESSES = [
    row
    for row in MCP_NET
    if str(row["input"].get("url", "")) and row["case"].startswith(("address check", "server URL"))
]
PATTERNS = [row for row in MCP_NET if row["case"] == "domain pattern"]


@pytest.mark.parametrize("row", row_params(ADDRESSES))
def test_addresses(row: dict[str, Any], world: FakeInternet, toolbox) -> None:
    """Sample set 004's check of addresses, and the address that it pins."""
    wanted = {**row["expect"], **row.get("unified", {})}
    allowed = wanted.get("allowed", wanted.get("valid"))
    world.put("unused.example", answer())
    box = toolbox()

    decision = box.decide("web", {"url": row["input"]["url"]})
    result = box.call("web", {"url": row["input"]["url"]})

    assert (decision.outcome == "allow", result.outcome == "ok") == (allowed, allowed)
    assert world.dialled == ([(wanted["pinned_ip"], 80)] if "pinned_ip" in wanted else [])


@pytest.mark.parametrize("row", row_params(PATTERNS))
def test_domain_patterns(row: dict[str, Any]) -> None:
    """Sample set 004's patterns of domains match as they do there."""
    given = row["input"]

    assert matches_host([given["pattern"]], given["host"]) == {**row["expect"], **row.get("unified", {})}["match"]


def test_a_policy_of_blocked_domains(world: FakeInternet, toolbox) -> None:
    """Sample set 004's `allow_all` with a list of blocked domains is our default with `denied_domains`."""
    rows = [row for row in MCP_NET if row["case"].startswith("fetch policy")]
    assert [len(row["expect"]["blocked"]) for row in rows] != []
    for row in rows:
        box = toolbox(denied_domains=row["expect"]["blocked"])
        for name in row["expect"]["blocked"]:
            assert box.decide("web", {"url": f"https://{name}/"}).reason == "domain_not_allowed"
