"""The approver against a real service: one that answers, takes its time, hangs, lies, and dies."""

import asyncio
import gzip
import hmac
import inspect
import json
import secrets
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.descriptors import open_descriptors
from tests.rows import each_row

import toolcharter_approver
from toolcharter import Caller, ConfigurationError, ToolResult
from toolcharter.testing.readme import documented_defaults, documented_reasons
from toolcharter_approver.http_approver import MAX_ANSWER_BYTES
from toolcharter_approver.policy import ApproverPolicy
from toolcharter_approver.wire import MAX_MESSAGE, MAX_NAME, SIGNATURE

from .conftest import ANSWER_LATER, Service, answer_with, respond_with

README = Path(inspect.getfile(toolcharter_approver)).parent.parent / "README.md"
READ = {"path": "poem.txt"}
NOBODY = ("denied", "approval_unavailable", "There is no one to ask.")


def call(toolbox: Any, way: str = "call") -> ToolResult:
    """A call of `read_file` from code of either kind."""
    if way == "call":
        return toolbox.call("read_file", READ)
    return asyncio.run(toolbox.acall("read_file", READ))


def verdict(result: ToolResult) -> tuple[Any, ...]:
    return result.outcome, result.reason, result.message


def raised(error: str) -> tuple[str, str, str]:
    return "denied", "approval_unavailable", f"The approver raised {error}."


each_way = pytest.mark.parametrize("way", ["call", "acall"])


@each_way
def test_a_call_that_is_approved_runs(way, service, toolbox_for, events) -> None:
    """The answer stands in the events, with the name of who gave it."""
    service.behave = answer_with(approver="ann", message="Go on.")

    result = call(toolbox_for(service.url), way)

    assert (result.outcome, "Roses are red" in result.text) == ("ok", True)
    decision = next(event for event in events if event["event"] == "hook.approval.decision")
    assert (decision["approver"], decision["answer"], decision["reason"]) == ("ann", "allow_once", None)
    assert service.methods == [("POST", "/")]


@each_way
def test_a_call_that_is_denied_does_not_run(way, service, toolbox_for) -> None:
    """The person's words reach the model in one bounded line."""
    service.behave = answer_with("deny", approver="ann", message=f" Not\n{'x' * MAX_MESSAGE}")

    result = call(toolbox_for(service.url), way)

    assert verdict(result) == ("denied", "approval_denied", f"Not {'x' * (MAX_MESSAGE - 4)} ...")


def test_the_service_is_sent_the_whole_question(service, toolbox_for, tmp_path) -> None:
    """Every field of the request, so that whoever decides sees what the terminal would show."""
    toolbox = toolbox_for(service.url + "/approvals", caller=Caller(agent="a1", user="u1"))

    result = toolbox.call("read_file", READ, call_id="c-7")

    assert result.outcome == "ok"
    (asked,) = service.asked
    assert (len(asked.pop("digest")), len(asked.pop("nonce")), len(asked.pop("always_until"))) == (64, 32, 20)
    nobody: dict[str, str | None] = dict.fromkeys(
        ("provider", "group", "session", "project", "channel", "chat", "peer", "agent_type", "delegation")
    )
    nobody |= {"tenant": ""}
    caller = {"agent": "a1", "user": "u1", **nobody, "depth": 0}
    assert asked == {
        "tool": "read_file",
        "action": None,
        "args": READ,
        "commands": [],
        "workspace": str((tmp_path / "workspace").resolve()),
        "profile": "asking",
        "caller": caller,
        "call_id": "c-7",
        "reason": "not_in_allow",
        "message": "A person has to agree: no rule of the profile allows it.",
        "always": True,
        "why_not_always": None,
        "timeout_s": 60.0,
    }
    ((method, path, headers),) = service.requests
    assert (method, path, headers["Content-Type"]) == ("POST", "/approvals", "application/json")
    assert "Authorization" not in headers


def test_secrets_are_not_sent(service, toolbox_for, tmp_path) -> None:
    """What leaves the machine is scrubbed; what would run is not."""
    secret = "ghp_" + "".join(secrets.choice("abcdefghijkABCDEFGHIJK0123456789") for _ in range(36))

    toolbox = toolbox_for(service.url)
    (tmp_path / "workspace" / f"{secret}.txt").write_text("found\n")

    result = toolbox.call("read_file", {"path": f"{secret}.txt"})

    assert (result.outcome, "found" in result.text) == ("ok", True)
    assert (secret.encode() in service.bodies[0], service.asked[0]["always"]) == (False, False)
    assert service.asked[0]["args"] == {"path": "[40 characters masked].txt"}


@each_way
def test_an_answer_may_take_its_time(way, service, toolbox_for) -> None:
    """Whoever asks a person says 202, and is looked at until the answer is there."""
    service.behave = ANSWER_LATER
    service.looks = [respond_with(b"", 202), respond_with(b"", 202, Location="http://example.org/"), answer_with()]

    result = call(toolbox_for(service.url), way)

    assert result.outcome == "ok"
    assert service.methods == [("POST", "/"), *[("GET", "/approvals/17")] * 3]


@pytest.mark.parametrize("location", ["{}/a?b=c", "a", "/a", "//{.host}/a"])
def test_the_place_of_an_answer_is_at_the_service(location, service, toolbox_for) -> None:
    """Absolute or relative, as HTTP has it. Source: RFC 9110, section 10.2.2."""
    host = service.url.removeprefix("http://")
    service.behave = respond_with(b"", 202, Location=location.replace("{.host}", host).format(service.url))
    service.looks = [answer_with()]

    assert call(toolbox_for(service.url + "/v1/ask")).outcome == "ok"


@pytest.mark.parametrize(
    "location",
    [
        "",
        "x" * 2049,
        "http://example.org/a",
        "{}0/a",
        "https:/a",
        "//example.org/a",
        "file:///etc/passwd",
        "http://me@{.host}/a",
        "/a#b",
        "http://[",
        "http://{.host}:x/",
    ],
)
def test_another_place_is_not_looked_at(location, service, start, toolbox_for) -> None:
    """The profile names who decides; a token goes nowhere else."""
    host = service.url.removeprefix("http://")
    service.behave = respond_with(b"", 202, Location=location.replace("{.host}", host).format(service.url))

    assert verdict(call(toolbox_for(service.url))) == raised("BadAnswer")
    assert service.methods == [("POST", "/")]


def test_allow_always_is_kept(service, toolbox_for, state) -> None:
    """The next call is not asked about; the file says who agreed."""
    service.behave = answer_with("allow_always", approver="ann")

    toolbox = toolbox_for(service.url)
    outcomes = [call(toolbox).outcome for _ in range(2)]

    assert (outcomes, len(service.asked)) == (["ok", "ok"], 1)
    assert 'by: "ann"' in (state / "toolcharter/approvals/asking.yaml").read_text()


@pytest.mark.parametrize(
    ("approver", "reason"), [("ann", None), ("bob", "approval_denied"), (None, "approval_denied")], ids=str
)
def test_the_profile_says_who_may_answer(approver, reason, service, toolbox_for) -> None:
    """The service tells who has clicked; it does not decide whether that counts."""
    service.behave = answer_with(approver=approver)

    assert call(toolbox_for(service.url, approvals={"approvers": ["ann"]})).reason == reason


@each_way
def test_nobody_is_there_if_the_service_says_so(way, service, toolbox_for) -> None:
    """At once, or after somebody was looked for."""
    toolbox = toolbox_for(service.url)
    nobody = service.behave = respond_with({"error": "nobody"}, 404)
    at_once = verdict(call(toolbox, way))
    service.behave, service.looks = ANSWER_LATER, [nobody]

    assert (at_once, verdict(call(toolbox, way))) == (NOBODY, NOBODY)


@each_way
def test_nobody_is_there_if_the_service_is_not(way, toolbox_for) -> None:
    """A refused connection is an answer, too."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{other.getsockname()[1]}"

        assert verdict(call(toolbox_for(url), way)) == NOBODY


def dies(request: BaseHTTPRequestHandler, _asked: Any) -> None:
    request.connection.shutdown(socket.SHUT_RDWR)


def dies_while_answering(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    body = json.dumps({"digest": asked["digest"], "answer": "allow_once"}).encode()
    respond_with(body, Content_Length=str(len(body) + 1))(request, asked)
    request.close_connection = True


def speaks_another_protocol(request: BaseHTTPRequestHandler, _asked: Any) -> None:
    request.wfile.write(b"220 mail.example.org ESMTP\r\n")
    request.close_connection = True


def lists(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    respond_with([{"digest": asked["digest"], "answer": "allow_once"}])(request, asked)


def repeats_a_field(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    text = f'{{"digest": "{asked["digest"]}", "answer": "deny", "answer": "allow_once"}}'
    respond_with(text.encode())(request, asked)


def compresses(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    body = gzip.compress(json.dumps({"digest": asked["digest"], "answer": "allow_once"}).encode())
    respond_with(body, Content_Encoding="gzip")(request, asked)


def of_length(length: int) -> Any:
    def behave(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        respond_with(json.dumps({"digest": asked["digest"], "answer": "allow_once"}).ljust(length).encode())(
            request, asked
        )

    return behave


NO_ANSWERS = [
    pytest.param(dies, "RemoteProtocolError", id="dies"),
    pytest.param(dies_while_answering, "RemoteProtocolError", id="dies while answering"),
    pytest.param(speaks_another_protocol, "RemoteProtocolError", id="another protocol"),
    pytest.param(respond_with(b"", 204), "BadAnswer", id="204"),
    pytest.param(respond_with({"error": "nobody"}, 500), "BadAnswer", id="500"),
    pytest.param(respond_with(b"<html>Not found</html>", 404), "BadAnswer", id="404 of something else"),
    pytest.param(respond_with({"error": "nobody", "digest": 1}, 404), "BadAnswer", id="404 with more"),
    pytest.param(respond_with(b"[" * 60_000, 404), "BadAnswer", id="404, deep"),
    pytest.param(respond_with(b""), "JSONDecodeError", id="nothing"),
    pytest.param(respond_with(b"OK"), "JSONDecodeError", id="no JSON"),
    pytest.param(respond_with(b'{"answer": "\xff"}'), "UnicodeDecodeError", id="no text"),
    pytest.param(respond_with(b"[" * 60_000), "RecursionError", id="deep"),
    pytest.param(respond_with({}), "BadAnswer", id="empty object"),
    pytest.param(respond_with(b"true"), "BadAnswer", id="true"),
    pytest.param(lists, "BadAnswer", id="list"),
    pytest.param(repeats_a_field, "BadAnswer", id="twice"),
    pytest.param(compresses, "UnicodeDecodeError", id="compressed"),
    pytest.param(of_length(MAX_ANSWER_BYTES + 1), "BadAnswer", id="too long"),
    pytest.param(respond_with({"answer": "allow_once"}), "BadAnswer", id="no digest"),
    pytest.param(answer_with(digest="0" * 64), "BadAnswer", id="another call's digest"),
    pytest.param(answer_with(digest=None), "BadAnswer", id="digest is null"),
    pytest.param(answer_with("allow"), "BadAnswer", id="another word"),
    pytest.param(answer_with("ALLOW_ONCE"), "BadAnswer", id="shouted"),
    pytest.param(answer_with(answer=True), "BadAnswer", id="answer is true"),
    pytest.param(answer_with(answer=["allow_once"]), "BadAnswer", id="answer is a list"),
    pytest.param(answer_with(answer=None), "BadAnswer", id="answer is null"),
    pytest.param(answer_with(allow=True), "BadAnswer", id="unknown field"),
    pytest.param(answer_with(approver=7), "BadAnswer", id="approver is a number"),
    pytest.param(answer_with(approver=""), "BadAnswer", id="approver is empty"),
    pytest.param(answer_with(approver="a\nb"), "BadAnswer", id="approver in two lines"),
    pytest.param(answer_with(approver="x" * (MAX_NAME + 1)), "BadAnswer", id="approver is too long"),
    pytest.param(answer_with(message=["no"]), "BadAnswer", id="message is a list"),
]


@each_way
@pytest.mark.parametrize(("behave", "error"), NO_ANSWERS)
def test_a_service_that_lies_or_dies_approves_nothing(behave, error, way, service, toolbox_for, events) -> None:
    """Only a well-formed yes to this very question is a yes."""
    service.behave = behave

    result = call(toolbox_for(service.url), way)

    assert verdict(result) == raised(error)
    assert (events[-1]["stage"], len(service.requests)) == ("approval", 1)


@pytest.mark.parametrize(("behave", "error"), NO_ANSWERS)
def test_one_that_is_polled_approves_nothing_either(behave, error, service, toolbox_for) -> None:
    """The same answers behind a 202; whoever was asked there is told that nobody waits any more."""
    service.behave, service.looks = ANSWER_LATER, [behave]

    result = call(toolbox_for(service.url))

    assert verdict(result) == raised(error)


@pytest.mark.parametrize("behave", [of_length(MAX_ANSWER_BYTES), answer_with(approver="x" * MAX_NAME, message="")])
def test_answers_at_the_limit_count(behave, service, toolbox_for) -> None:
    """As long as may be."""
    service.behave = behave

    assert call(toolbox_for(service.url)).outcome == "ok"


@each_way
@pytest.mark.parametrize("how", ["hang", "drip"])
@pytest.mark.parametrize("polled", [False, True], ids=["at once", "polled"])
def test_a_silent_service_has_its_time(polled, how, way, service, toolbox_for) -> None:
    """All of question and answer together has `timeout_s`, however the time is spent."""
    silent = getattr(service, how)
    service.behave, service.looks = (ANSWER_LATER, [silent]) if polled else (silent, [])

    result = call(toolbox_for(service.url, approvals={"timeout_s": 0.5}), way)

    assert verdict(result) == ("denied", "approval_timeout", "No answer came within 0.5 s.")


@each_way
def test_a_question_whose_time_is_up_is_taken_back(way, service, toolbox_for, monkeypatch) -> None:
    """With the token: whoever clicks later can be told that nobody waits. From a loop that ends, too."""
    monkeypatch.setenv("BOT_TOKEN", "t0ken")
    service.behave, service.looks = ANSWER_LATER, [respond_with(b"", 202)]

    # On a busy machine the time may be up before the service has said where to look: then there is nothing to take back.
    for timeout_s in (0.3, 3, 30):
        result = call(toolbox_for(service.url, token_env="BOT_TOKEN", approvals={"timeout_s": timeout_s}), way)
        assert result.reason == "approval_timeout"
        if service.withdrawn.wait(10 * timeout_s):
            break

    assert ("DELETE", "/approvals/17", "Bearer t0ken") in [
        (method, path, headers["Authorization"]) for method, path, headers in service.requests
    ]


async def test_a_question_of_a_cancelled_call_is_taken_back(service, toolbox_for, events) -> None:
    """Nobody waits for an answer that could reach nobody."""
    looked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def look(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(looked.set)
        respond_with(b"", 202)(request, asked)

    service.behave, service.looks = ANSWER_LATER, [look]
    task = asyncio.create_task(toolbox_for(service.url).acall("read_file", READ))
    await looked.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert events[-1]["reason"] == "cancelled"
    assert await asyncio.to_thread(service.withdrawn.wait, 60)


def test_a_question_that_cannot_be_taken_back_is_left_alone(start, toolbox_for) -> None:
    """Its service has gone; the call has ended long before."""
    service = start()
    silent = threading.Event()

    def end(request: BaseHTTPRequestHandler, _asked: Any) -> None:
        threading.Thread(target=service.close).start()
        silent.wait(0.2)
        dies(request, _asked)

    service.behave, service.looks = ANSWER_LATER, [end]

    assert call(toolbox_for(service.url)).reason == "approval_unavailable"
    for thread in [thread for thread in threading.enumerate() if thread.name == "toolcharter-withdraw"]:
        thread.join()
    assert ("DELETE", "/approvals/17") not in service.methods


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("polled", [False, True], ids=["at once", "polled"])
def test_redirects_are_not_followed(polled, status, service, start, toolbox_for) -> None:
    """The profile names who decides, and nobody else is asked, let alone sent the token."""
    canary = start()
    elsewhere = respond_with(b"", status, Location=f"{canary.url}/approvals")
    service.behave, service.looks = (ANSWER_LATER, [elsewhere]) if polled else (elsewhere, [])

    result = call(toolbox_for(service.url))

    assert (verdict(result), canary.requests) == (raised("BadAnswer"), [])


def test_proxies_of_the_environment_are_not_used(service, start, toolbox_for, monkeypatch) -> None:
    """Who sets a variable must not become the one who answers."""
    canary = start()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, canary.url)

    assert (call(toolbox_for(service.url)).outcome, canary.requests) == ("ok", [])


def test_a_dry_run_asks_nobody(service, toolbox_for, events) -> None:
    """A decision says that somebody would be asked."""
    decision = toolbox_for(service.url).decide("read_file", READ)

    assert (decision.outcome, service.requests, events) == ("ask", [], [])


def test_the_callers_own_approver_goes_first(service, toolbox_for, tmp_path, events) -> None:
    """`build_tools(approver=...)` replaces the service."""
    from toolcharter import build_tools  # noqa: PLC0415 - beside the fixture that builds all others

    toolbox_for(service.url)
    with build_tools(
        tmp_path / "asking.yaml",
        workspace=tmp_path / "workspace",
        events=events.append,
        approver=lambda _request: "allow_once",
    ) as toolbox:
        assert (call(toolbox).outcome, service.requests) == ("ok", [])


class Signing:
    """A service that shares a secret with the plugin, written from the README."""

    def __init__(self, service: Service, secret: str) -> None:
        self.service = service
        self.secret = secret.encode()

    def sign(self, content: bytes) -> str:
        return "sha256=" + hmac.digest(self.secret, content, "sha256").hex()

    def answer(self, request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        assert self.service.requests[0][2][SIGNATURE] == self.sign(self.service.bodies[-1])
        body = json.dumps({"digest": asked["digest"], "answer": "allow_once"}).encode()
        signature = self.sign(asked["nonce"].encode() + b"." + body)
        respond_with(body, 200, **{SIGNATURE: signature})(request, asked)


@pytest.fixture
def secret(monkeypatch) -> str:
    secret = secrets.token_hex()
    monkeypatch.setenv("BOT_SECRET", secret)
    return secret


@pytest.mark.parametrize("polled", [False, True], ids=["at once", "polled"])
def test_a_signed_answer_counts(polled, secret, service, toolbox_for) -> None:
    """Question and answer are signed with the secret of the environment."""
    answer = Signing(service, secret).answer
    service.behave, service.looks = (ANSWER_LATER, [answer]) if polled else (answer, [])

    assert call(toolbox_for(service.url, secret_env="BOT_SECRET")).outcome == "ok"


def test_a_recorded_answer_does_not_count_again(secret, service, toolbox_for) -> None:
    """Neither for the same call: each question has a nonce of its own."""
    toolbox = toolbox_for(service.url, secret_env="BOT_SECRET")
    recorded: list[tuple[bytes, str]] = []

    def answer(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        body = json.dumps({"digest": asked["digest"], "answer": "allow_once"}).encode()
        recorded.append((body, Signing(service, secret).sign(asked["nonce"].encode() + b"." + body)))
        respond_with(recorded[0][0], 200, **{SIGNATURE: recorded[0][1]})(request, asked)

    service.behave = answer
    first, second = call(toolbox), call(toolbox)

    assert first.outcome == "ok"
    assert service.asked[0]["digest"] == service.asked[1]["digest"]
    assert verdict(second) == raised("BadAnswer")


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(lambda _sign, _nonce, _body: {SIGNATURE: None}, id="none"),
        pytest.param(lambda _sign, _nonce, _body: {SIGNATURE: ""}, id="empty"),
        pytest.param(lambda _sign, _nonce, _body: {SIGNATURE: "sha256=" + "0" * 64}, id="zeros"),
        pytest.param(lambda _sign, _nonce, _body: {SIGNATURE: "sha256=\u00fc"}, id="no ASCII"),
        pytest.param(lambda sign, _nonce, body: {SIGNATURE: sign(body)}, id="without the nonce"),
        pytest.param(lambda sign, nonce, body: {SIGNATURE: sign(nonce + b"." + body + b" ")}, id="of another body"),
        pytest.param(lambda sign, nonce, body: {SIGNATURE: sign(nonce + b"." + body)[7:]}, id="without its name"),
    ],
)
def test_a_forged_signature_approves_nothing(forged, secret, service, toolbox_for) -> None:
    """Nor does one that is missing: who asks for signatures gets them."""
    sign = Signing(service, secret).sign

    def answer(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        body = json.dumps({"digest": asked["digest"], "answer": "allow_once"}).encode()
        respond_with(body, 200, **forged(sign, asked["nonce"].encode(), body))(request, asked)

    service.behave = answer

    assert verdict(call(toolbox_for(service.url, secret_env="BOT_SECRET"))) == raised("BadAnswer")


def test_a_reflected_question_is_no_answer(secret, service, toolbox_for) -> None:
    """Its signature is genuine, and of a question."""

    def reflect(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        respond_with(service.bodies[-1], 200, **{SIGNATURE: service.requests[-1][2][SIGNATURE]})(request, asked)

    service.behave = reflect

    assert verdict(call(toolbox_for(service.url, secret_env="BOT_SECRET"))) == raised("BadAnswer")


def test_the_token_of_the_environment_is_sent(service, toolbox_for, monkeypatch) -> None:
    """With the question and with every look; the token itself stands in no file."""
    token = secrets.token_hex()
    monkeypatch.setenv("BOT_TOKEN", f" {token}\n")
    service.behave, service.looks = ANSWER_LATER, [respond_with(b"", 202), answer_with()]

    assert call(toolbox_for(service.url, token_env="BOT_TOKEN")).outcome == "ok"
    assert [headers["Authorization"] for _, _, headers in service.requests] == [f"Bearer {token}"] * 3


@pytest.mark.parametrize("value", [None, "", " ", "two words", "\u00fc"])
@pytest.mark.parametrize(("setting", "what"), [("token_env", "token"), ("secret_env", "secret")])
def test_a_token_or_secret_that_is_missing_stops_the_start(setting, what, value, toolbox_for, monkeypatch) -> None:
    """Better no toolbox than one whose questions anybody could answer."""
    monkeypatch.delenv("BOT_VALUE", raising=False)
    if value is not None:
        monkeypatch.setenv("BOT_VALUE", value)

    with pytest.raises(ConfigurationError) as refused:
        toolbox_for("http://127.0.0.1:9", **{setting: "BOT_VALUE"})

    assert str(refused.value) == (
        "toolcharter-approver 0.1.0: building the extension 'approver' failed: "
        f"ValueError: the environment variable 'BOT_VALUE' holds no {what}\n"
        "Correct its settings in the profile, or take it out."
    )


HERE = "http://localhost"


@each_row(
    ("settings", "place"),
    [
        ({}, ("url",)),
        ({"url": "bot.example.org"}, ("url",)),
        ({"url": "ftp://bot.example.org"}, ("url",)),
        ({"url": "https://"}, ("url",)),
        ({"url": "https://:80"}, ("url",)),
        ({"url": "https://example.org:0"}, ("url",)),
        ({"url": "https://example.org:99999"}, ("url",)),
        ({"url": "https://exam ple.org"}, ("url",)),
        ({"url": "https://example.org/\n"}, ("url",)),
        ({"url": "https://me:pass@example.org"}, ("url",)),
        ({"url": "https://@example.org"}, ("url",)),
        ({"url": "https://example.org/?a=b"}, ("url",)),
        ({"url": "https://example.org/#a"}, ("url",)),
        ({"url": "unix:"}, ("url",)),
        ({"url": "unix:approver.sock"}, ("url",)),
        ({"url": "unix:/run/a\n"}, ("url",)),
        ({"url": "http://example.org"}, ()),
        ({"url": "http://127.0.0.1:8080"}, ()),
        ({"url": HERE, "token_env": "BOT_TOKEN"}, ()),
        ({"url": "https://bot.example.org/approvals"}, ()),
        ({"url": "https://bot.example.org", "ca_file": "/a"}, ()),
        ({"url": "https://bot.example.org", "client_cert": "/a", "client_key": "/b"}, ()),
        ({"url": "https://bot.example.org", "client_cert": "/a", "ca_file": "/b"}, ()),
        ({"url": HERE, "client_cert": "/a", "client_key": "/b", "ca_file": "/c"}, ()),
        ({"url": HERE, "secret_env": "A", "ca_file": "/c"}, ()),
        ({"url": HERE, "secret_env": "A", "secret_file": "/a"}, ()),
        ({"url": HERE, "secret_file": "a"}, ("secret_file",)),
        ({"url": HERE, "ca_file": "../a"}, ("ca_file",)),
        ({"url": HERE, "token_env": "not a name"}, ("token_env",)),
        ({"url": HERE, "secret_env": "1"}, ("secret_env",)),
        ({"url": HERE, "poll_interval_s": 0.04}, ("poll_interval_s",)),
        ({"url": HERE, "poll_interval_s": 61}, ("poll_interval_s",)),
        ({"url": HERE, "advisory": True}, ("advisory",)),
    ],
    ids=str,
)
def test_settings_that_make_no_sense_are_refused(settings, place) -> None:
    """A profile that names no service, a secret, or a service that proves nothing is told so when it is read."""
    with pytest.raises(ValueError, match="validation error") as refused:
        ApproverPolicy.from_profile(settings)

    assert [fault["loc"] for fault in refused.value.errors()] == [place]  # type: ignore[attr-defined]


@each_row(
    "settings",
    [
        {"url": "http://[::1]:8080/ask", "secret_env": "BOT_SECRET"},
        {"url": "http://bot:8080", "secret_file": "~/.config/bot/secret"},
        {"url": "https://bot.example.org/approvals", "secret_env": "BOT_SECRET", "ca_file": "/a"},
        {"url": "https://bot.example.org", "client_cert": "/a", "client_key": "/b", "ca_file": "/c"},
        {"url": "unix:/run/user/1000/approver.sock"},
    ],
    ids=str,
)
def test_settings_that_make_sense_are_taken(settings) -> None:
    """A secret, certificates of both sides, or a socket of the user's own."""
    assert ApproverPolicy.from_profile(settings).url == settings["url"]


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
def test_a_certificate_that_nobody_vouches_for_is_refused(certificate, start, toolbox_for) -> None:
    """Whoever answers in the service's place is not asked; that is no "nobody is there"."""
    service = start(certificate)

    assert verdict(call(toolbox_for(service.url))) == raised("ConnectError")
    assert service.requests == []


@pytest.mark.needs_program("openssl")
def test_a_certificate_that_the_system_trusts_is_taken(certificate, start, toolbox_for, monkeypatch) -> None:
    """An administrator adds the house's own to the system's, or names it to OpenSSL; taking back heeds it as well."""
    service = start(certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    toolbox = toolbox_for(service.url)
    approved = call(toolbox).outcome
    service.behave, service.looks = ANSWER_LATER, [respond_with(b"", 500)]

    assert (approved, call(toolbox).reason) == ("ok", "approval_unavailable")
    assert service.withdrawn.wait(60)


def test_a_service_that_speaks_no_tls_is_refused(service, toolbox_for) -> None:
    """`https:` is never less than that."""
    assert verdict(call(toolbox_for(service.url.replace("http:", "https:")))) == raised("ConnectError")
    assert service.asked == []


async def test_many_calls_at_once_are_asked_one_by_one(service, toolbox_for) -> None:
    """Each call gets the answer to its own question, in one loop and across threads."""

    def behave(request: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        answer_with("deny" if int(asked["call_id"]) % 2 else "allow_once")(request, asked)

    service.behave = behave
    toolbox = toolbox_for(service.url)

    async with asyncio.TaskGroup() as tasks:
        inside = [tasks.create_task(toolbox.acall("read_file", READ, call_id=str(n))) for n in range(8)]
        beside = [
            tasks.create_task(asyncio.to_thread(toolbox.call, "read_file", READ, call_id=str(n))) for n in range(8)
        ]

    for tasks_of_one_kind in (inside, beside):
        assert [task.result().outcome for task in tasks_of_one_kind] == ["ok", "denied"] * 4


def test_no_question_leaves_a_connection_behind(service, toolbox_for) -> None:
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
    code = "import sys, toolcharter_approver; print('httpx' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_the_readme_names_every_field_and_reason() -> None:
    """Page and code agree, both ways, defaults included."""
    text = README.read_text()
    defaults = documented_defaults(text)

    assert set(defaults) == set(ApproverPolicy.model_fields)
    assert documented_reasons(text) == {"approval_denied", "approval_timeout", "approval_unavailable"}
    assert defaults["poll_interval_s"] == ["`2`"]
