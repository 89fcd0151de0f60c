"""`rt.http`: the network guard in the hands of a tool, through the real gate."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.core.guards.network.fake_internet import FakeInternet, answer, install_fake_internet

from toolcharter import Caller, Denied, NetworkPolicy, ToolRuntime, ToolSpec, TraceContext, within_trace
from toolcharter.testing.toolboxes import toolbox_of


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInternet]:
    yield from install_fake_internet(monkeypatch)


def get(way: str, *, marked: bool = True) -> ToolSpec[NetworkPolicy]:
    """A tool that fetches a URL in one of the ways there are."""

    def build(workspace: object, policy: NetworkPolicy, rt: ToolRuntime) -> Any:
        async def over(url: str) -> str:
            """Fetch."""
            ctx = rt.start("get", url=url)
            normal = rt.http.check(url, policy)
            if marked:
                ctx.policy_passed()
            return ctx.ok(f"{normal}: {(await WAYS[way](rt, url, policy)).decode()}")

        return over

    return ToolSpec("get", NetworkPolicy, build, staged=True)


async def _fetch(rt: ToolRuntime, url: str, policy: NetworkPolicy) -> bytes:
    return rt.http.fetch(url, policy).body


async def _afetch(rt: ToolRuntime, url: str, policy: NetworkPolicy) -> bytes:
    return (await rt.http.afetch(url, policy)).body


async def _transport(rt: ToolRuntime, url: str, policy: NetworkPolicy) -> bytes:
    with httpx.Client(transport=rt.http.transport(policy)) as client:
        return client.get(url).content  # noqa: ASYNC212 - one way among others


async def _atransport(rt: ToolRuntime, url: str, policy: NetworkPolicy) -> bytes:
    async with httpx.AsyncClient(transport=rt.http.async_transport(policy)) as client:
        return (await client.get(url)).content


WAYS: dict[str, Any] = {"fetch": _fetch, "afetch": _afetch, "transport": _transport, "async_transport": _atransport}


@pytest.mark.parametrize("way", WAYS)
def test_a_request_names_the_trace_of_its_call(world: FakeInternet, tmp_path, way: str) -> None:
    """Where one is known."""
    server = world.put("example.com", answer(b"hello"))
    trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=b")

    with toolbox_of(get(way), workspace=tmp_path, policies={"get": {}}, events=lambda _: None) as toolbox:
        toolbox.call("get", {"url": "http://example.com/"})
        with within_trace(trace):
            toolbox.call("get", {"url": "http://example.com/"})

    [without, within] = [request.lower() for request in server.requests]
    assert b"trace" not in without
    assert (within.count(f"traceparent: {trace.traceparent}\r\n".encode()), within.count(b"tracestate: a=b\r\n")) == (
        1,
        1,
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_tool_reaches_the_network_through_the_gate(world: FakeInternet, tmp_path, way: str) -> None:
    """In a call it fetches; what is refused by text is refused in a dry run, and by look-up in the call."""
    world.put("example.com", answer(b"hello"))
    world.names["inside.example"] = [["10.0.0.1"]]
    toolbox = toolbox_of(get(way), workspace=tmp_path, policies={"get": {}}, events=lambda _: None)

    with toolbox:
        assert toolbox.decide("get", {"url": "http://example.com/"}).outcome == "allow"
        assert toolbox.decide("get", {"url": "http://10.0.0.1/"}).reason == "private_address"
        assert world.looked_up == []
        assert toolbox.call("get", {"url": "http://example.com#x"}).text == "http://example.com/: hello"
        inside = toolbox.call("get", {"url": "http://inside.example/"})
    assert (inside.outcome, inside.reason, inside.text) == (
        "denied",
        "private_address",
        (
            "ERROR: denied_by_policy reason=private_address\n"
            "The name 'inside.example' leads to an address that is not public.\n"
            f"Hint: {inside.hint}"
        ),
    )
    assert world.dialled == [("93.184.216.34", 80)]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_fetched_above_the_mark(world: FakeInternet, tmp_path, way: str) -> None:
    """A tool that would reach the network before its mark has failed, and has reached nothing."""
    toolbox = toolbox_of(get(way, marked=False), workspace=tmp_path, policies={"get": {}}, events=lambda _: None)

    with toolbox:
        decision = toolbox.decide("get", {"url": "http://example.com/"})
    assert (decision.outcome, decision.reason) == ("error", "unexpected_failure")
    assert (world.looked_up, world.dialled) == ([], [])


def test_a_call_that_is_over_reaches_nothing(world: FakeInternet, tmp_path) -> None:
    """`rt.http` is of the present call; kept beyond it, it refuses."""
    kept: list[ToolRuntime] = []

    def build(workspace: object, policy: NetworkPolicy, rt: ToolRuntime) -> Any:
        def get() -> str:
            """Keep the runtime."""
            kept.append(rt)
            return "kept"

        return get

    with toolbox_of(ToolSpec("get", NetworkPolicy, build), workspace=tmp_path, policies={"get": {}}) as toolbox:
        toolbox.for_caller(Caller()).call("get", {})
        http = kept[0].http
        for use in (http.fetch, lambda *given: asyncio.run(http.afetch(*given)), lambda _, p: http.connector(p)):
            with pytest.raises(Exception, match="there is no current call"):
                use("http://example.com/", NetworkPolicy())


def test_a_connector_serves_beyond_its_call(tmp_path) -> None:
    """What a tool keeps, a browser's proxy, goes on connecting, and only to where its policy leads."""
    kept: list[Any] = []

    def build(workspace: object, policy: NetworkPolicy, rt: ToolRuntime) -> Any:
        def get(above: bool) -> str:  # noqa: FBT001 - an argument of a tool
            """Keep what connects."""
            ctx = rt.start("get", above=above)
            if above:
                rt.http.connector(policy)
            ctx.policy_passed()
            kept.append(rt.http.connector(policy, timeout_s=5))
            return ctx.ok("kept")

        return get

    async def said(host: str, port: int) -> bytes:
        reader, writer = await kept[0](host, port)
        writer.close()
        return bytes(await reader.read(5))

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        policies = {"get": {"allowed_private": ["127.0.0.1"], "ports": [port]}}
        spec = ToolSpec("get", NetworkPolicy, build, staged=True)
        with toolbox_of(spec, workspace=tmp_path, policies=policies) as toolbox:
            assert toolbox.call("get", {"above": False}).text == "kept"
            assert toolbox.decide("get", {"above": True}).outcome == "error"
            assert asyncio.run(said("127.0.0.1", port)) == b""
            with pytest.raises(Denied, match="private_address"):
                asyncio.run(said("127.0.0.2", port))


def test_check_gives_the_normal_form(world: FakeInternet, tmp_path) -> None:
    """And says why a URL is refused."""
    from toolcharter.gate.http import GovernedHttp  # noqa: PLC0415 - only here

    http = GovernedHttp(lambda: None, lambda: None, lambda: 0.0)  # type: ignore[arg-type,return-value]

    assert http.check("HTTP://Example.com", NetworkPolicy()) == "http://example.com/"
    with pytest.raises(Denied, match="url_not_understood"):
        http.check("example.com", NetworkPolicy())
