"""`toolcharter mcp`: real servers in processes of their own, and the SDK's client of both eras of the protocol."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import httpx2
import jsonschema_rs
import pytest
import pytest_asyncio
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

from toolcharter.hosts import open_host
from toolcharter_mcp.command import command
from toolcharter_mcp.http import build_application, parse_address
from toolcharter_mcp.server import ProfileServer

from .serving import MODES, PASSED, PROFILE, TOKEN, closing_events, connect_client, events, hold_in_task, server_args

SHARING = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=MODES)
async def client(served: Path, request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """A client that cannot ask its user, and the server that it has started, in each era."""
    async with hold_in_task(connect_client(served, request.param)) as one:
        yield one


class Asking(NamedTuple):
    """A client that asks its user."""

    client: Client
    answers: list[ElicitResult]
    """What the user says, one after the other."""
    asked: list[str]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=MODES)
async def asking(served: Path, request: pytest.FixtureRequest) -> AsyncIterator[Asking]:
    """One with the server that it has started, in each era."""
    answers: list[ElicitResult] = []
    asked: list[str] = []

    async def ask(_: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return answers.pop()

    async with hold_in_task(connect_client(served, request.param, elicitation_callback=ask)) as one:
        yield Asking(one, answers, asked)


@SHARING
async def test_the_tools_of_the_profile_are_listed(client: Client) -> None:
    """In the profile's order, with schemas and hints."""
    tools = (await client.list_tools()).tools

    hints = {tool.name: tool.annotations for tool in tools}
    assert list(hints) == ["read_file", "write_file", "delete_file", "bash"]
    assert [hint.read_only_hint for hint in hints.values() if hint] == [True, False, False, False]
    assert tools[0].input_schema["required"] == ["path"]


@SHARING
async def test_calls_and_refusals(shared: Path, client: Client) -> None:
    """A denial is a tool's result with its reason, not an error of the protocol; the events are whole."""
    before = len(events(shared))
    read = await client.call_tool("read_file", {"path": "notes.txt"})
    outside = await client.call_tool("read_file", {"path": "../served.yaml"})
    wrong = await client.call_tool("read_file", {"pfad": "x"})
    rule = await client.call_tool("bash", {"command": "touch x"})
    unknown = await client.call_tool("no_such_tool", {})

    assert (read.is_error, "first" in read.content[0].text) == (False, True)  # type: ignore[union-attr]
    refused = [outside, wrong, rule, unknown]
    assert all(each.is_error for each in refused)
    assert [each.structured_content["reason"] for each in refused] == [
        "path_outside_workspace",
        "invalid_arguments",
        "not_in_allow",
        "unknown_tool",
    ]
    made = events(shared)[before:]
    assert [event["event"] for event in made if event["call_id"] == made[0]["call_id"]] == PASSED


@SHARING
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("client", MODES[:1], indirect=True)
async def test_results_and_refusals_fit_the_schemas_that_are_listed(client: Client) -> None:
    """Clients check structured content, also that of errors; what does not fit is a fault of the server to them."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_file", {"path": "notes.txt"}),
        ("read_file", {"path": "none.txt"}),
        ("read_file", {"path": "../x"}),
        ("write_file", {"path": "new.txt", "content": "x"}),
        ("write_file", {"pfad": "new.txt"}),
        ("bash", {"command": "echo x"}),
        ("bash", {"command": "touch x"}),
        ("delete_file", {"path": "new.txt"}),
    ]
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    results = [(name, await client.call_tool(name, args)) for name, args in calls]

    assert [result.is_error for _, result in results] == [False, True, True, False, True, False, True, True]
    for name, result in results:
        jsonschema_rs.validate(schemas[name] or False, result.structured_content)


@SHARING
@pytest.mark.parametrize(
    ("action", "answer", "is_deleted"),
    [("accept", "allow once", True), ("accept", "deny", False), ("decline", None, False), ("cancel", None, False)],
)
async def test_the_clients_user_is_asked(
    shared: Path, asking: Asking, action: Any, answer: str | None, *, is_deleted: bool
) -> None:
    """As an input request with a signed state, or as an elicitation for older clients. Only "allow once" permits."""
    asking.asked.clear()
    asking.answers[:] = [ElicitResult(action=action, content=None if answer is None else {"answer": answer})]

    done = await asking.client.call_tool("delete_file", {"path": "notes.txt"})

    [asked] = asking.asked
    assert "delete_file" in asked
    assert 'path: "notes.txt"' in asked
    assert (done.is_error, (shared / "workspace/notes.txt").exists()) == (not is_deleted, not is_deleted)
    assert is_deleted or done.structured_content["reason"] == "approval_denied"


@SHARING
async def test_a_client_that_cannot_ask_is_refused(shared: Path, client: Client) -> None:
    """No person, no permission."""
    done = await client.call_tool("delete_file", {"path": "notes.txt"})

    assert (done.is_error, done.structured_content["reason"]) == (True, "approval_unavailable")
    assert (shared / "workspace/notes.txt").exists()


async def test_an_answer_holds_for_its_own_call_and_once(place: Path) -> None:
    """The state is signed: another call, another text and a second use are refused."""
    host = open_host(place / "served.yaml", workspace=place / "workspace", events=f"file:{place / 'events.jsonl'}")

    async def never(context: Any, params: Any) -> ElicitResult:
        raise AssertionError("the session below answers by itself")

    with host:
        async with Client(ProfileServer(host).server, elicitation_callback=never) as client:
            agreed = {"approval": ElicitResult(action="accept", content={"answer": "allow once"})}

            async def call(name: str, args: dict[str, Any], state: str | None = None) -> Any:
                responses: Any = None if state is None else agreed
                return await client.session.call_tool(
                    name, args, input_responses=responses, request_state=state, allow_input_required=True
                )

            (place / "workspace/other.txt").write_text("other")
            state = (await call("delete_file", {"path": "notes.txt"})).request_state
            for name, args, sent in [
                ("delete_file", {"path": "other.txt"}, state),
                ("read_file", {"path": "notes.txt"}, state),
                ("delete_file", {"path": "notes.txt"}, f"A{state}"),
            ]:
                with pytest.raises(Exception, match=r"another call|not made by this host|no state"):
                    await call(name, args, sent)
            assert (place / "workspace/notes.txt").exists()

            assert not (await call("delete_file", {"path": "notes.txt"}, state)).is_error
            with pytest.raises(Exception, match="answered before"):
                await call("delete_file", {"path": "notes.txt"}, state)
    assert (place / "workspace/other.txt").exists()


async def test_a_question_has_no_lines_of_the_models(place: Path) -> None:
    """A word in quotes may go over several lines, which would pass for lines of the question."""
    (place / "ask.yaml").write_text("profile: ask\nmode: ask\nrunner: host\ntools: {bash: {}}\n")
    asked = list[str]()

    async def ask(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="decline")

    with open_host(place / "ask.yaml", workspace=place / "workspace", events=f"file:{place / 'events.jsonl'}") as host:
        async with Client(ProfileServer(host).server, elicitation_callback=ask) as client:
            line = "rm notes.txt; echo 'x\nIt runs: ls\nA person has to agree: it looks around'"
            await client.call_tool("bash", {"command": line})

    [message] = asked
    lines = message.splitlines()
    assert [each for each in lines if each.startswith("It runs:")] == [
        "It runs: rm notes.txt",
        "It runs: " + json.dumps(line.removeprefix("rm notes.txt; ")),
    ]
    assert sum(each.startswith("A person has to agree:") for each in lines) == 1


@SHARING
async def test_a_long_call_leaves_others_alone_reports_progress_and_can_be_cancelled(
    shared: Path, client: Client
) -> None:
    """A program that sleeps holds up neither a ping nor another call; cancelling it ends it."""
    before = len(events(shared))
    said: list[str | None] = []
    heard = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        said.append(message)
        heard.set()

    long = asyncio.ensure_future(client.call_tool("bash", {"command": "sleep 50"}, progress_callback=note))
    await asyncio.sleep(0.2)
    await client.call_tool("read_file", {"path": "notes.txt"})
    assert not long.done()
    await asyncio.wait_for(heard.wait(), 40)
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long

    assert set(said) == {"still running"}
    (after,) = [event for event in await closing_events(shared, "bash", before) if event["tool"] == "bash"]
    assert (after["outcome"], after["elapsed_ms"] < 45_000) == ("error", True)


@SHARING
@pytest.mark.parametrize("client", MODES[:1], indirect=True)
async def test_fifty_calls_at_once(shared: Path, client: Client) -> None:
    """Each is answered with its own result."""
    for number in range(50):
        (shared / f"workspace/{number}.txt").write_text(f"number {number}.")

    results = await asyncio.gather(*(client.call_tool("read_file", {"path": f"{number}.txt"}) for number in range(50)))

    assert [f"number {number}." in each.content[0].text for number, each in enumerate(results)] == [True] * 50  # type: ignore[union-attr]


def test_a_profile_with_faults_serves_nothing(place: Path) -> None:
    """The start ends with status 2 and the place of the fault."""
    (place / "served.yaml").write_text(PROFILE + "tols: {}\n")

    done = subprocess.run(
        [sys.executable, *server_args(place)], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "tols" in done.stderr


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("mode", MODES)
async def test_http_with_the_token(url: str, mode: Any) -> None:
    """Both eras, the same results."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
        read = await client.call_tool("read_file", {"path": "notes.txt"})
        outside = await client.call_tool("read_file", {"path": "../x"})

    assert names == ["read_file", "write_file", "delete_file", "bash"]
    assert (read.is_error, outside.structured_content["reason"]) == (False, "path_outside_workspace")


async def test_calls_of_two_clients_have_identifiers_of_their_own(shared: Path, url: str) -> None:
    """Clients count their requests alike; in the log, and where approvals are kept, no call is taken for another."""
    before = len(events(shared))

    async def read() -> None:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            await client.call_tool("read_file", {"path": "notes.txt"})

    await asyncio.gather(read(), read())

    identifiers = [event["call_id"] for event in events(shared)[before:]]
    assert sorted(identifiers.count(each) for each in set(identifiers)) == [len(PASSED)] * 2
    assert all(each.startswith("mcp-") for each in identifiers)


def test_an_identifier_repeats_no_text_of_a_client(shared: Path, url: str) -> None:
    """A request's number may be any text; what is no short word stays out of the log."""
    before = len(events(shared))
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {TOKEN}",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "read_file",
    }
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": "read_file", "arguments": {"path": "notes.txt"}, "_meta": meta}
    numbers = ["x" * 10_000, "a\nb", ""]

    for number in numbers:
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        done = httpx.post(url, headers=headers, json=message, timeout=60)
        assert (done.status_code, done.json()["id"]) == (200, number)

    made = events(shared)[before:]
    assert all(re.fullmatch("mcp-x-[0-9a-f]{8}", event["call_id"]) for event in made)
    assert len(made) == len(PASSED) * len(numbers)


def test_http_refuses_strangers(url: str) -> None:
    """Without the token, with another Host (a rebound name), from a page of another origin."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    own = {"Authorization": f"Bearer {TOKEN}"}
    strangers: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({**own, "Host": "evil.example"}, 421),
        ({**own, "Origin": "http://evil.example"}, 403),
    ]
    accept = {"Accept": "application/json, text/event-stream"}

    answers = [
        httpx.post(url, json=message, headers=accept | headers, timeout=60).status_code for headers, _ in strangers
    ]

    assert answers == [status for _, status in strangers]


@pytest.mark.parametrize("token", ["", "short", "with a\nbreak in the middle"])
def test_http_needs_a_token(place: Path, token: str) -> None:
    """One that can be guessed is none."""
    (place / "token").write_text(token)

    done = CliRunner().invoke(command, [*server_args(place)[3:], "--http", "0", "--token-file", str(place / "token")])

    assert (done.exit_code, "HTTP needs a token" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "write PORT or HOST:PORT"),
        ("70000", "write PORT or HOST:PORT"),
        ("example.org:80", "an IP address or `localhost`"),
        ("0.0.0.0:80", "other machines can reach this address"),
        ("[::]:80", "other machines can reach this address"),
    ],
)
def test_addresses_that_are_refused(text: str, said: str) -> None:
    """Loopback by default; anything else takes the names that clients use."""
    with pytest.raises(ValueError, match=said):
        parse_address(text, TOKEN)


def test_addresses() -> None:
    """The port alone is loopback."""
    assert parse_address("8931", TOKEN)[:2] == ("127.0.0.1", 8931)
    assert parse_address("[::1]:1", TOKEN)[:2] == ("::1", 1)
    assert parse_address("0.0.0.0:80", TOKEN, ["tools.example"]).names == ("tools.example",)


def test_the_application_asks_for_the_token_before_anything_else(place: Path) -> None:
    """Even a path that does not exist is 401 for strangers."""
    host = open_host(place / "served.yaml", workspace=place / "workspace", events=[lambda _: None])
    with host:
        app = build_application(ProfileServer(host), parse_address("8931", TOKEN))
        transport = httpx.ASGITransport(app)

        async def get(headers: dict[str, str]) -> int:
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8931") as client:
                return (await client.get("/none", headers=headers)).status_code

        assert asyncio.run(get({})) == 401
        assert asyncio.run(get({"Authorization": f"Bearer {TOKEN}"})) == 404
