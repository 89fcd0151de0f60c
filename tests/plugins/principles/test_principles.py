"""The check against a real service: one that answers, blocks, hangs, lies, and dies."""

import asyncio
import gzip
import inspect
import json
import secrets
import socket
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.descriptors import open_descriptors
from tests.rows import each_row

import toolcharter_principles
from toolcharter import Caller, ConfigurationError, ToolResult
from toolcharter.testing.readme import documented_defaults, documented_reasons
from toolcharter_principles.check import MAX_ANSWER, MAX_MESSAGE
from toolcharter_principles.policy import PrinciplesPolicy, PrinciplesReason

from .conftest import ALLOWED, BLOCKED, respond_with

CHECK = "toolcharter-principles:toolcharter_principles:principles"
README = Path(inspect.getfile(toolcharter_principles)).parent.parent / "README.md"
READ = {"path": "poem.txt"}


def call(toolbox: Any, way: str) -> ToolResult:
    """A call of `read_file` from code of either kind."""
    if way == "call":
        return toolbox.call("read_file", READ)
    return asyncio.run(toolbox.acall("read_file", READ))


def verdict(result: ToolResult) -> tuple[Any, ...]:
    return result.outcome, result.reason, result.message


each_way = pytest.mark.parametrize("way", ["call", "acall"])


@each_way
def test_what_the_service_allows_passes(way, service, toolbox_for, events) -> None:
    """The tool does its work, and the event knows of no fault."""
    result = call(toolbox_for(service.url), way)

    assert (result.outcome, "Roses are red" in result.text) == ("ok", True)
    assert len(service.asked) == 1
    assert "fault" not in events[-1]


def test_the_service_is_told_all_but_the_arguments(service, toolbox_for) -> None:
    """Action and context are the source's, letter by letter; our own fields stand beside them."""
    toolbox = toolbox_for(service.url, caller=Caller(agent=" a1 ", project="p1"))

    result = toolbox.call("read_file", READ, call_id="c-7")

    assert result.outcome == "ok"
    assert service.asked == [
        {
            "action": "invoke_tool:read_file",
            "params": {},
            "context": {
                "category": "tool_invoke",
                "tool_id": "read_file",
                "permissions": ["fs:read"],
                "safety_level": toolbox["read_file"].safety,
                "agent_id": "a1",
                "project_id": "p1",
            },
            "call_id": "c-7",
            "profile": "asked",
            "dry_run": False,
        }
    ]
    ((method, path, headers),) = service.requests
    assert (method, path, headers["Content-Type"]) == ("POST", "/action", "application/json")
    assert "Authorization" not in headers


def test_the_action_of_a_call_is_told(service, toolbox_for) -> None:
    """Rules of the service may tell actions apart; what the caller does not say is empty, as in the source."""
    service.behave = respond_with(BLOCKED)

    toolbox_for(service.url, action_prefix="use:").call("git", {"action": "log"})

    (asked,) = service.asked
    assert asked["action"] == "use:git"
    assert asked["context"] == {
        "category": "tool_invoke",
        "tool_id": "git",
        "permissions": ["fs:read", "proc:exec"],
        "safety_level": "medium",
        "agent_id": "",
        "project_id": "",
        "action": "log",
    }


@each_way
@pytest.mark.parametrize("advisory", [False, True])
def test_what_the_service_blocks_is_denied(advisory, way, service, toolbox_for, events) -> None:
    """Advisory or not: an objection is an answer, and its reasons reach the model."""
    service.behave = respond_with(BLOCKED)

    result = call(toolbox_for(service.url, advisory=advisory), way)

    assert verdict(result) == ("denied", "blocked_by_principles", "No tools on holidays.")
    assert (events[-1]["stage"], events[-1]["reason"], "fault" in events[-1]) == (
        "check",
        "blocked_by_principles",
        False,
    )


@pytest.mark.parametrize(
    ("reasons", "message"),
    [
        pytest.param(["One.", "Two."], "One.; Two.", id="several"),
        pytest.param([" a\n\tb "], "a b", id="blanks"),
        pytest.param([""], "The service gives no reason.", id="empty"),
        pytest.param(["x" * MAX_MESSAGE], "x" * MAX_MESSAGE, id="as long as may be"),
        pytest.param(["x" * (MAX_MESSAGE + 1)], "x" * MAX_MESSAGE + " ...", id="longer"),
    ],
)
def test_reasons_are_shown_on_one_line(reasons, message, service, toolbox_for) -> None:
    """Whatever the service has to say, the model is told in a bounded sentence."""
    service.behave = respond_with({"reasons": reasons})

    assert verdict(call(toolbox_for(service.url), "call")) == ("denied", "blocked_by_principles", message)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({**ALLOWED, "reasons": ["No."]}, id="with a result"),
        pytest.param({"result": 5, "reasons": ["No."]}, id="with a wrong result"),
        pytest.param({"allowed": True, "reasons": ["No."]}, id="with an unknown field"),
    ],
)
def test_an_objection_counts_whatever_stands_beside_it(answer, service, toolbox_for) -> None:
    """Advisory excuses what cannot be understood; this can be."""
    service.behave = respond_with(answer)

    assert verdict(call(toolbox_for(service.url, advisory=True), "call")) == ("denied", "blocked_by_principles", "No.")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({**ALLOWED, "reasons": []}, id="no reasons"),
        pytest.param({**ALLOWED, "reasons": None}, id="null"),
        pytest.param(json.dumps(ALLOWED).ljust(MAX_ANSWER).encode(), id="as long as may be"),
    ],
)
def test_an_answer_without_reasons_allows(answer, service, toolbox_for) -> None:
    """Go leaves empty fields out, other services do not."""
    service.behave = respond_with(answer)

    assert call(toolbox_for(service.url), "call").outcome == "ok"


def dies(request: BaseHTTPRequestHandler) -> None:
    """Close the connection without a word."""
    request.connection.shutdown(socket.SHUT_RDWR)
    request.close_connection = True


def dies_while_answering(request: BaseHTTPRequestHandler) -> None:
    """Promise more than comes; what has come would allow the call."""
    body = json.dumps(ALLOWED).encode()
    request.send_response(200)
    request.send_header("Content-Length", str(len(body) + 1))
    request.end_headers()
    request.wfile.write(body)
    dies(request)


def speaks_another_protocol(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
    dies(request)


NO_ANSWERS = [
    pytest.param(dies, "RemoteProtocolError", id="dies"),
    pytest.param(dies_while_answering, "RemoteProtocolError", id="dies while answering"),
    pytest.param(speaks_another_protocol, "RemoteProtocolError", id="another protocol"),
    pytest.param(respond_with(ALLOWED, 500), "BadAnswer", id="500"),
    pytest.param(respond_with(ALLOWED, 201), "BadAnswer", id="201"),
    pytest.param(respond_with(BLOCKED, 403), "BadAnswer", id="403"),
    pytest.param(respond_with(b""), "JSONDecodeError", id="nothing"),
    pytest.param(respond_with(b"<html>OK</html>"), "JSONDecodeError", id="no JSON"),
    pytest.param(respond_with(b'{"result": "x"} {"reasons": ["no"]}'), "JSONDecodeError", id="two objects"),
    pytest.param(respond_with(b'{"result": "\xff"}'), "UnicodeDecodeError", id="no text"),
    pytest.param(respond_with(b"[" * 60_000), "RecursionError", id="deep"),
    pytest.param(respond_with(b'{"reasons": ["no"], "result": "x", "reasons": []}'), "BadAnswer", id="twice"),
    pytest.param(respond_with({}), "BadAnswer", id="empty object"),
    pytest.param(respond_with([ALLOWED]), "BadAnswer", id="list"),
    pytest.param(respond_with(b"true"), "BadAnswer", id="true"),
    pytest.param(respond_with(None), "BadAnswer", id="null"),
    pytest.param(respond_with({"result": ""}), "BadAnswer", id="empty result"),
    pytest.param(respond_with({"result": True}), "BadAnswer", id="result is true"),
    pytest.param(respond_with({"reasons": []}), "BadAnswer", id="no result"),
    pytest.param(respond_with({**ALLOWED, "reasons": "no"}), "BadAnswer", id="reasons are text"),
    pytest.param(respond_with({**ALLOWED, "reasons": {}}), "BadAnswer", id="reasons are an object"),
    pytest.param(respond_with({**ALLOWED, "reasons": False}), "BadAnswer", id="reasons are false"),
    pytest.param(respond_with({**ALLOWED, "reasons": [7]}), "BadAnswer", id="reasons are numbers"),
    pytest.param(respond_with({**ALLOWED, "blocked": True}), "BadAnswer", id="unknown field"),
    pytest.param(respond_with({"blocked": False, "reason": ""}), "BadAnswer", id="another service's"),
    pytest.param(respond_with(json.dumps(ALLOWED).ljust(MAX_ANSWER + 1).encode()), "BadAnswer", id="huge"),
    pytest.param(
        respond_with(gzip.compress(json.dumps(ALLOWED).encode()), Content_Encoding="gzip"),
        "UnicodeDecodeError",
        id="compressed",
    ),
]


@each_way
@pytest.mark.parametrize(("behave", "error"), NO_ANSWERS)
def test_a_service_that_lies_or_dies_denies(behave, error, way, service, toolbox_for, events) -> None:
    """Only a well-formed yes is a yes."""
    service.behave = behave

    result = call(toolbox_for(service.url), way)

    assert verdict(result) == ("denied", "check_failed", f"The check of {CHECK!r} raised {error}.")
    assert (events[-1]["stage"], "fault" in events[-1]) == ("check", False)


@each_way
@pytest.mark.parametrize(("behave", "error"), NO_ANSWERS)
def test_an_advisory_service_that_lies_or_dies_is_noted(behave, error, way, service, toolbox_for, events) -> None:
    """The call goes on without its blessing, and the event tells."""
    service.behave = behave

    result = call(toolbox_for(service.url, advisory=True), way)

    assert result.outcome == "ok"
    assert events[-1]["fault"] == ["advisory_check_failed"]


@each_way
@pytest.mark.parametrize("how", ["hang", "drip"])
@pytest.mark.parametrize(
    ("advisory", "outcome", "reason"), [(False, "denied", "check_failed"), (True, "ok", None)], ids=["", "advisory"]
)
def test_a_silent_service_has_its_time(advisory, outcome, reason, how, way, service, toolbox_for) -> None:
    """All of question and answer together has `timeout_s`, however the time is spent."""
    service.behave = getattr(service, how)

    result = call(toolbox_for(service.url, advisory=advisory, timeout_s=0.2), way)

    assert (result.outcome, result.reason) == (outcome, reason)


@each_way
def test_a_service_that_is_not_there_denies(way, toolbox_for) -> None:
    """A refused connection is no yes."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{other.getsockname()[1]}"

        result = call(toolbox_for(url), way)

    assert verdict(result) == ("denied", "check_failed", f"The check of {CHECK!r} raised ConnectError.")


def test_a_service_that_speaks_no_tls_denies(service, toolbox_for) -> None:
    """`https:` is never less than that."""
    result = call(toolbox_for(service.url.replace("http:", "https:")), "call")

    assert (result.outcome, result.reason) == ("denied", "check_failed")
    assert service.asked == []


@pytest.fixture
def certificate(tmp_path) -> Path:
    """A certificate for this machine, signed by itself, with its key."""
    file = tmp_path / "certificate.pem"
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    command = ["openssl", *request.split(), "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file, "-out", "-"]
    signed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with file.open("a") as key:
        key.write(signed)
    return file


@pytest.mark.needs_program("openssl")
@pytest.mark.parametrize("advisory", [False, True])
def test_a_certificate_that_nobody_vouches_for_is_refused(advisory, certificate, start, toolbox_for) -> None:
    """Whoever answers in the service's place is not asked."""
    service = start(certificate)

    result = call(toolbox_for(service.url, advisory=advisory), "call")

    wanted = ("ok", None) if advisory else ("denied", "check_failed")
    assert (result.outcome, result.reason, service.requests) == (*wanted, [])


@pytest.mark.needs_program("openssl")
def test_a_certificate_that_the_system_trusts_is_taken(certificate, start, toolbox_for, monkeypatch) -> None:
    """An administrator adds the house's own to the system's, or names it to OpenSSL."""
    service = start(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    result = call(toolbox_for(service.url), "call")

    assert (result.outcome, len(service.asked)) == ("ok", 1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status, service, start, toolbox_for) -> None:
    """The profile names who decides, and nobody else is asked, let alone sent the token."""
    canary = start()
    service.behave = respond_with(ALLOWED, status, Location=f"{canary.url}/action")

    result = call(toolbox_for(service.url), "call")

    assert verdict(result) == ("denied", "check_failed", f"The check of {CHECK!r} raised BadAnswer.")
    assert canary.requests == []


def test_proxies_of_the_environment_are_not_used(service, start, toolbox_for, monkeypatch) -> None:
    """Who sets a variable must not become the one who answers."""
    canary = start()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, canary.url)

    result = call(toolbox_for(service.url), "call")

    assert (result.outcome, len(service.asked), canary.requests) == ("ok", 1, [])


def test_a_dry_run_asks_too(service, toolbox_for, events) -> None:
    """A decision is what a call would meet; the service is told that it is only asked."""
    service.behave = respond_with(BLOCKED)

    decision = toolbox_for(service.url).decide("read_file", READ)

    assert (decision.outcome, decision.stage, decision.reason) == ("deny", "check", "blocked_by_principles")
    assert [asked["dry_run"] for asked in service.asked] == [True]
    assert events == []


def test_what_the_profile_refuses_is_not_asked(service, toolbox_for) -> None:
    """Nobody outside learns of calls that do not exist or make no sense."""
    toolbox = toolbox_for(service.url)

    results = [toolbox.call("nope", {}), toolbox.call("read_file", {})]

    assert [result.reason for result in results] == ["unknown_tool", "invalid_arguments"]
    assert service.asked == []


async def test_many_calls_at_once_are_asked_one_by_one(service, toolbox_for) -> None:
    """Each call gets the answer to its own question, in one loop and across threads."""

    def behave(request: BaseHTTPRequestHandler) -> None:
        odd = int(service.asked[-1]["call_id"]) % 2
        respond_with(BLOCKED if odd else ALLOWED)(request)

    service.behave = behave
    toolbox = toolbox_for(service.url)

    async with asyncio.TaskGroup() as tasks:
        inside = [tasks.create_task(toolbox.acall("read_file", READ, call_id=str(n))) for n in range(0, 10, 2)]
        beside = [
            tasks.create_task(asyncio.to_thread(toolbox.call, "read_file", READ, call_id=str(n)))
            for n in range(10, 20, 2)
        ]
    outcomes = [task.result().outcome for task in (*inside, *beside)]
    blocked = [(await toolbox.acall("read_file", READ, call_id="1")).reason]

    assert outcomes == ["ok"] * 10
    assert blocked == ["blocked_by_principles"]


@pytest.mark.parametrize(
    ("behind", "path"),
    [("", "/action"), ("/", "/action"), ("/v1/principles", "/v1/principles"), ("/v1/", "/v1/")],
)
def test_a_path_is_taken_as_it_is(behind, path, service, toolbox_for) -> None:
    """The source gives the address of the service alone; other services live below a path."""
    result = call(toolbox_for(service.url + behind), "call")

    assert (result.outcome, service.requests[0][1]) == ("ok", path)


def test_the_token_of_the_environment_is_sent(service, toolbox_for, monkeypatch) -> None:
    """The profile names the variable; the token itself stands in no file."""
    token = secrets.token_hex()
    monkeypatch.setenv("PRINCIPLES_TOKEN", f" {token}\n")

    result = call(toolbox_for(service.url, token_env="PRINCIPLES_TOKEN"), "call")

    assert result.outcome == "ok"
    assert service.requests[0][2]["Authorization"] == f"Bearer {token}"


@pytest.mark.parametrize("value", [None, "", " ", "two words", "\u00fc"])
def test_a_token_that_is_missing_stops_the_start(value, toolbox_for, monkeypatch) -> None:
    """Better no toolbox than one that denies every call for a reason nobody sees."""
    monkeypatch.delenv("PRINCIPLES_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("PRINCIPLES_TOKEN", value)

    with pytest.raises(ConfigurationError) as raised:
        toolbox_for("http://127.0.0.1:9", token_env="PRINCIPLES_TOKEN")

    assert str(raised.value) == (
        "toolcharter-principles 0.1.0: building the extension 'principles' failed: "
        "ValueError: the environment variable 'PRINCIPLES_TOKEN' holds no token\n"
        "Correct its settings in the profile, or take it out."
    )


@each_row(
    ("settings", "field"),
    [
        ({}, "url"),
        ({"url": "principles.example.org"}, "url"),
        ({"url": "ftp://principles.example.org"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://:80"}, "url"),
        ({"url": "http://example.org:0"}, "url"),
        ({"url": "http://example.org:99999"}, "url"),
        ({"url": "http://exam ple.org"}, "url"),
        ({"url": "http://example.org/\n"}, "url"),
        ({"url": "http://me:pass@example.org"}, "url"),
        ({"url": "http://@example.org"}, "url"),
        ({"url": "http://example.org/?a=b"}, "url"),
        ({"url": "http://example.org/#a"}, "url"),
        ({"url": "http://example.org", "token_env": "not a name"}, "token_env"),
        ({"url": "http://example.org", "timeout_s": 121}, "timeout_s"),
        ({"url": "http://example.org", "fail_open": True}, "fail_open"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings, field) -> None:
    """A profile that names no service, or a secret, is told so when it is read."""
    with pytest.raises(ValueError, match="validation error") as raised:
        PrinciplesPolicy.from_profile(settings)

    assert [fault["loc"][0] for fault in raised.value.errors()] == [field]  # type: ignore[attr-defined]


def test_no_call_leaves_a_connection_behind(service, toolbox_for) -> None:
    """Loops come and go; what one of them left open would be nobody's."""
    toolbox = toolbox_for(service.url)

    for _ in range(3):
        assert call(toolbox, "acall").outcome == "ok"
    before = len(open_descriptors())
    for _ in range(20):
        assert call(toolbox, "acall").outcome == "ok"

    assert len(open_descriptors()) <= before + 2


def test_a_listing_needs_no_client() -> None:
    """Importing the plugin does not import httpx, which takes longer than all the rest."""
    code = "import sys, toolcharter_principles; print('httpx' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_the_readme_names_every_field_and_reason() -> None:
    """Page and code agree, both ways, defaults included."""
    text = README.read_text()
    defaults = documented_defaults(text)

    assert set(defaults) == set(PrinciplesPolicy.model_fields)
    assert documented_reasons(text) == {*PrinciplesReason, "check_failed"}
    assert (defaults["timeout_s"], defaults["advisory"], defaults["action_prefix"]) == (
        ["`10`"],
        ["`false`"],
        ['`"invoke_tool:"`'],
    )
