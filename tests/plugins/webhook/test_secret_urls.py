"""`secret:NAME` where a profile names a URL: of a webhook, and of the Redis that counts calls. Real servers, a real store."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.core.guards.rates.conftest import RedisServer, running_redis

from toolcharter import CORE_RECORDS, Caller, ConfigurationError, SecretRecord, build_tools, open_live, open_store

pytestmark = pytest.mark.slow
PROFILE = """
profile: told
tools: {list_files: {}}
store: "sqlite:"
limits: {calls_per_hour: 2, store: "secret:counts"}
notify: [{match: list_files, deliver: webhook, url: "secret:hook"}]
"""
SOON_S = 60.0


class Hook(ThreadingHTTPServer):
    """Keeps the credentials and the tool of what it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        self.told: list[tuple[str | None, str]] = []
        self.heard = threading.Semaphore(0)
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append((self.headers["Authorization"], body["tool"]))
        self.send_response(204)
        self.end_headers()
        self.server.heard.release()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    """A server that listens."""
    server = Hook()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def counts(program: Callable[[str], str]) -> Iterator[RedisServer]:
    """A Redis of this test's own."""
    with running_redis(program("redis-server")) as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, beside it a profile and what the store needs."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("TOOLCHARTER_STORE_KEY", "ab" * 32)
    (tmp_path / "p.yaml").write_text(PROFILE)
    (tmp_path / "ws").mkdir()
    return tmp_path


def keep(tenant: str = "", **secrets: str) -> None:
    """Put secrets into the store."""
    with open_store() as store:
        for name, value in secrets.items():
            store.bound(tenant, CORE_RECORDS).put(SecretRecord(name=name, value=value))


def url_of(hook: Hook) -> str:
    """With credentials, which are put together here."""
    return f"http://ann:{'p' * 8}@127.0.0.1:{hook.server_port}/"


def test_a_webhook_and_a_redis_are_found_by_their_secrets(place: Path, hook: Hook, counts: RedisServer) -> None:
    """The call is told with the credentials of the secret's URL, and counted in the Redis that the other one names."""
    keep(hook=url_of(hook), counts=counts.url)
    with build_tools(place / "p.yaml", workspace=place / "ws") as box:
        outcomes = [box.call("list_files", {}).reason for _ in range(3)]
        assert hook.heard.acquire(timeout=SOON_S)
    with counts.client() as client:
        assert list(client.scan_iter("toolcharter:rates:*"))

    assert outcomes[:2] == [None, None]
    assert outcomes[2] == "rate_limited"
    assert hook.told[0] == ("Basic YW5uOnBwcHBwcHBw", "list_files")


async def test_asynchronous_calls_find_it_too(place: Path, hook: Hook, counts: RedisServer) -> None:
    """Without waiting for the store in the loop."""
    keep(hook=url_of(hook), counts=counts.url)
    box = build_tools(place / "p.yaml", workspace=place / "ws")
    outcomes = [(await box.acall("list_files", {})).reason for _ in range(3)]
    await asyncio.to_thread(box.close)
    assert outcomes == [None, None, "rate_limited"]


def test_a_secret_is_that_of_the_toolboxs_tenant(place: Path, hook: Hook, counts: RedisServer) -> None:
    """Another tenant's does not count."""
    keep("acme", hook=url_of(hook), counts=counts.url)
    with open_live(place / "p.yaml", workspace=place / "ws", caller=Caller(tenant="acme")) as box:
        assert box.call("list_files", {}).outcome == "ok"
        assert hook.heard.acquire(timeout=SOON_S)


def test_a_secret_that_there_is_not_lets_no_call_in_until_it_is_kept(
    place: Path, hook: Hook, counts: RedisServer
) -> None:
    """Calls that cannot be counted are refused; it needs no new start."""
    with build_tools(place / "p.yaml", workspace=place / "ws") as box:
        refused = box.call("list_files", {})
        keep(counts="http://no-redis", hook=url_of(hook))
        wrong = box.call("list_files", {})
        with open_store() as store:
            store.bound("", CORE_RECORDS).put(SecretRecord(name="counts", value=counts.url))
        good = box.call("list_files", {})

    assert [(one.outcome, "does not answer" in one.text) for one in (refused, wrong)] == [("denied", True)] * 2
    assert good.outcome == "ok"
    assert "no-redis" not in wrong.text


@pytest.mark.parametrize(
    "line", ['limits: {store: "secret:a b"}', 'notify: [{match: "*", deliver: webhook, url: "secret:"}]']
)
def test_what_names_no_secret_is_told_when_the_profile_is_read(place: Path, line: str) -> None:
    """With its place."""
    (place / "p.yaml").write_text(f"profile: told\ntools: {{list_files: {{}}}}\n{line}\n")
    with pytest.raises(ConfigurationError, match=r"p\.yaml:3:"):
        build_tools(place / "p.yaml", workspace=place / "ws")
