"""Calls over HTTP, by real tools: what is answered, and what is refused before a tool hears of it."""

import json
import socket
from pathlib import Path

import httpx
import pytest
from tests.plugins.service.serving import leaving, until_event

from toolcharter import ToolResult
from toolcharter_service.http.models import CallAnswer

pytestmark = pytest.mark.slow
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def workspace(place: Path, url: str) -> Path:
    """What the tools of the served profile may touch."""
    del url
    folder = place / "profile0"
    (folder / "notes.txt").write_text("Buy milk.\n")
    return folder


def test_one_evaluator_lists_decides_explains_and_calls(url: str, workspace: Path) -> None:
    """A denial is a result, with the same reason everywhere; what is called leaves its events."""
    allowed = {"tool": "read_file", "args": {"path": "notes.txt"}}
    denied = {"tool": "bash", "args": {"command": "ls"}}

    called = [httpx.post(f"{url}/v1/calls", json=one, timeout=60) for one in (allowed, denied)]
    decided = [httpx.post(f"{url}/v1/decide", json=one, timeout=60).json() for one in (allowed, denied)]
    explained = httpx.post(f"{url}/v1/explain", json=denied, timeout=60).json()
    listed = httpx.get(f"{url}/v1/tools", timeout=60).json()

    assert [one.status_code for one in called] == [200, 200]
    results = [one.json() for one in called]
    assert [(one["outcome"], one["reason"]) for one in results] == [("ok", None), ("denied", "not_in_allow")]
    assert results[0]["data"]["content"] == "Buy milk.\n"
    assert [(one["outcome"], one["reason"]) for one in decided] == [("allow", None), ("deny", "not_in_allow")]
    assert explained["decision"] == decided[1]
    assert [tool["name"] for tool in listed["tools"]] == [
        "read_file",
        "write_file",
        "list_files",
        "text_search",
        "bash",
    ]
    written = [json.loads(line) for line in (workspace.parent / "events.jsonl").read_text().splitlines()]
    ended = {event["call_id"]: event["reason"] for event in written if event["event"] == "hook.tool.after"}
    assert [ended[one["call_id"]] for one in results] == [None, "not_in_allow"]


def test_an_answer_has_the_fields_of_a_result() -> None:
    """The document of the interface says what the gate gives."""
    assert list(CallAnswer.model_fields) == list(ToolResult.__dataclass_fields__)


def test_answers_in_development_warn(url: str) -> None:
    """Each of them, errors too."""
    answers = [
        httpx.get(f"{url}/healthz", timeout=60),
        httpx.get(f"{url}/nowhere", timeout=60),
        httpx.post(f"{url}/v1/calls", content="x", timeout=60),
    ]

    assert all("serve --dev" in answer.headers["x-toolcharter-warning"] for answer in answers)


DEEP = b'{"tool":"read_file","args":' + b'{"a":' * 31 + b"1" + b"}" * 31 + b"}"
DEEPER = DEEP.replace(b":1}", b":[]}")
REFUSED = [
    pytest.param(b"", JSON, 400, "invalid_request", "body: it is missing.", id="nothing"),
    pytest.param(
        b"{", JSON, 400, "invalid_json", "The body is no JSON: unexpected end of data at line 1, column 2.", id="cut"
    ),
    pytest.param(b'{"tool":"a","tool":"b"}', JSON, 400, "duplicate_key", "tool: the key occurs twice.", id="twice"),
    pytest.param(
        b'{"tool":"a","args":{"l":[{"x":1,"\\u0078":2}]}}',
        JSON,
        400,
        "duplicate_key",
        "args.l.0.x: the key occurs twice.",
        id="twice, one of them escaped",
    ),
    pytest.param(
        b'{"tool":"a","extra":1}', JSON, 400, "invalid_request", "extra: Extra inputs are not permitted.", id="unknown"
    ),
    pytest.param(
        b'{"tool":1}', JSON, 400, "invalid_request", "tool: Input should be a valid string.", id="another type"
    ),
    pytest.param(DEEPER, JSON, 400, "too_deep", f"args{'.a' * 31}: it is more than 32 levels deep.", id="too deep"),
    pytest.param(
        b"a=b",
        {"Content-Type": "application/x-www-form-urlencoded"},
        415,
        "unsupported_media_type",
        "content-type: send application/json in UTF-8.",
        id="a form",
    ),
    pytest.param(
        b"{}",
        {"Content-Type": "application/json; charset=latin-1"},
        415,
        "unsupported_media_type",
        "content-type: send application/json in UTF-8.",
        id="another charset",
    ),
    pytest.param(
        b"{}",
        {"Content-Type": "application/json; version=1; charset=utf-16"},
        415,
        "unsupported_media_type",
        "content-type: send application/json in UTF-8.",
        id="another charset behind another parameter",
    ),
    pytest.param(
        b"{}",
        {**JSON, "Content-Encoding": "gzip"},
        415,
        "unsupported_media_type",
        "content-encoding: send the body without an encoding.",
        id="packed",
    ),
    pytest.param(
        b'{"tool":"a"}',
        {**JSON, "Idempotency-Key": "two words"},
        400,
        "invalid_request",
        "idempotency-key: write 1 to 255 printable characters of ASCII.",
        id="no key",
    ),
    pytest.param(
        b'{"tool":"a"}', {**JSON, "X-Agent-ID": "nobody"}, 404, "unknown_agent", "There is no such agent.", id="agent"
    ),
]


@pytest.mark.parametrize(("body", "headers", "status", "reason", "error"), REFUSED)
def test_a_malformed_request_is_refused_with_its_place(
    url: str, body: bytes, headers: dict[str, str], status: int, reason: str, error: str
) -> None:
    """In one form, and nothing runs."""
    answer = httpx.post(f"{url}/v1/calls", content=body, headers=headers, timeout=60)

    assert (answer.status_code, answer.json()) == (status, {"error": error, "reason": reason, "call_id": None})


def test_a_body_at_the_limits_is_taken(url: str) -> None:
    """32 levels, and 1 MiB; a byte more is too many, however it is sent."""
    size = (1 << 20) - len(b'{"tool":"x","args":{"a":""}}')
    large = b'{"tool":"x","args":{"a":"%s"}}' % (b"y" * size)

    def chunks() -> object:
        yield large
        yield b" "

    answers = [
        httpx.post(f"{url}/v1/calls", content=DEEP, headers=JSON, timeout=60),
        httpx.post(f"{url}/v1/calls", content=large, headers=JSON, timeout=60),
        httpx.post(f"{url}/v1/calls", content=large + b" ", headers=JSON, timeout=60),
        httpx.post(f"{url}/v1/calls", content=chunks(), headers=JSON, timeout=60),  # type: ignore[arg-type]
    ]

    assert [one.status_code for one in answers] == [200, 200, 413, 413]


def _raw(url: str, request: bytes) -> bytes:
    """What comes back for bytes that no client would send."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(b"Content-Length: 2\r\nContent-Length: 3\r\n", id="two lengths"),
        pytest.param(b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", id="length and chunks"),
        pytest.param(b"X-Agent-ID: reviewer\r\nX-Agent-ID: root\r\nContent-Length: 2\r\n", id="two agents"),
        pytest.param(b"Content-Type: text/plain\r\nContent-Length: 2\r\n", id="two types"),
        pytest.param(b"Content-Length: +2\r\n", id="a signed length"),
        pytest.param(b"X-Project-ID: " + b"p" * 70_000 + b"\r\nContent-Length: 2\r\n", id="a giant header"),
        pytest.param(b"X Y: 1\r\nContent-Length: 2\r\n", id="no header"),
    ],
)
def test_what_two_servers_might_read_differently_is_refused(url: str, headers: bytes) -> None:
    """By a status of 4xx, in our form, and the connection is not used for what comes behind it."""
    head = b"POST /v1/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

    answer = _raw(url, head + headers + b"\r\n{}" + smuggled)

    assert answer.startswith(b"HTTP/1.1 4")
    assert b'{"status":"ok"}' not in answer.partition(b"\r\n\r\n")[2].partition(b"HTTP/1.1")[0]


def test_a_slash_in_a_parameter_names_no_other_route(url: str) -> None:
    """Decoded or not, it is no identifier of a call."""
    paths = ["/v1/calls/..%2Fhealthz", "/v1/calls/a%2fb", "/v1/calls/%2e%2e/healthz", "/v1/calls/", "/v1//calls"]

    assert [httpx.get(f"{url}{path}", timeout=60).status_code for path in paths] == [404] * len(paths)


def test_a_client_that_leaves_ends_its_call(url: str, place: Path) -> None:
    """Its closing event comes long before the body would have ended."""
    with leaving(url, {"tool": "bash", "args": {"command": "sleep 600"}}):
        until_event(place, "hook.tool.before", "sleep 600")

    assert until_event(place, "hook.tool.after", "sleep 600")["reason"] == "cancelled"


def test_a_tool_is_called_for_a_chat(url: str, workspace: Path) -> None:
    """A dry run decides; a denial is 403, an unknown tool 404, wrong arguments 400."""
    del workspace
    chat = {"agentId": "reviewer", "channel": "telegram", "chatId": "42", "peerKind": "group"}
    read = {"tool": "read_file", "args": {"path": "notes.txt"}, **chat}

    done = httpx.post(f"{url}/v1/tools/invoke", json=read, timeout=60).json()
    dry = httpx.post(f"{url}/v1/tools/invoke", json={**read, "dryRun": True}, timeout=60).json()
    others = [
        httpx.post(f"{url}/v1/tools/invoke", json=body, timeout=60)
        for body in (
            {"tool": "bash", "args": {"command": "ls"}},
            {"tool": "nothing"},
            {"tool": "read_file", "args": {"path": 1}},
        )
    ]

    assert (done["result"]["output"], done["result"]["metadata"]["isError"]) == ("Buy milk.\n", False)
    assert (dry["result"], dry["decision"]["outcome"]) == (None, "allow")
    assert [(one.status_code, one.json()["reason"]) for one in others] == [
        (403, "not_in_allow"),
        (404, "unknown_tool"),
        (400, "invalid_arguments"),
    ]


def test_metrics_count_what_is_called(url: str, workspace: Path) -> None:
    """With the names of the plugin `prometheus`."""
    del workspace
    httpx.post(f"{url}/v1/calls", json={"tool": "read_file", "args": {"path": "notes.txt"}}, timeout=60)
    httpx.post(f"{url}/v1/calls", json={"tool": "bash", "args": {"command": "ls"}}, timeout=60)

    lines = httpx.get(f"{url}/metrics", timeout=60).text.splitlines()

    about = 'profile="served",tool="read_file"'
    assert any(line.startswith(f'toolcharter_calls_total{{{about},outcome="ok"') for line in lines)
    assert any(line.startswith(f"toolcharter_call_duration_seconds_count{{{about}") for line in lines)
    assert any('reason="not_in_allow",stage="mode"' in line for line in lines)


def test_every_route_answers_problems_as_documented(url: str) -> None:
    """No route is left out of the document, and each names the statuses that it may answer with."""
    document = httpx.get(f"{url}/openapi.json", timeout=60).json()

    ours = {path: set(ways) for path, ways in document["paths"].items()}
    assert ours["/v1/calls"] == {"post"}
    assert ours["/v1/calls/{call_id}/cancel"] == {"post"}
    answered = document["paths"]["/v1/calls"]["post"]["responses"]
    assert set(answered) >= {"200", "202", "400", "401", "403", "404", "409", "413", "415", "422", "429", "503"}


def test_a_body_of_two_lengths_ends_the_connection(url: str) -> None:
    """What follows might be a request for who has read the other length: nobody answers it. Source: RFC 9112, section 6.1."""
    host, _, port = url.removeprefix("http://").partition(":")
    head = f"POST /v1/decide HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    framing = "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    smuggled = f"GET /v1/tools HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
    received = b""
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall((head + framing + smuggled).encode())
        while more := connection.recv(65_536):
            received += more

    assert (received.count(b"HTTP/1.1 "), b"duplicate_header" in received) == (1, True), received
