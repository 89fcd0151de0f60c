"""`canvas` through the gate: what a person sees without a browser, and what its page tries in a real one."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.plugins.browser.conftest import Call, Hasten, Site, calling
from tests.rows import each_row

from toolcharter import Caller, Toolbox, ToolResult
from toolcharter_browser.canvas_document import document

ALL = ["present", "hide", "navigate", "eval", "snapshot", "a2ui_push", "a2ui_reset"]
SHOWN = [
    {"surfaceUpdate": {"surfaceId": "s", "components": [
        {"id": "root", "component": {"Column": {"children": {"explicitList": ["t", "v", "root"]}}}},
        {"id": "t", "component": {"Text": {"usageHint": "h1", "text": {"literalString": "Hi <script>alert(1)</script>"}}}},
        {"id": "v", "component": {"Text": {"text": {"path": "/user/name"}}}},
    ]}},
    {"dataModelUpdate": {"surfaceId": "s", "path": "user", "contents": [
        {"key": "name", "valueString": "<img src=x onerror=alert(1)>"}]}},
    {"beginRendering": {"surfaceId": "s", "root": "root"}},
]  # fmt: skip
Box = Callable[..., Toolbox]


class Service(BaseHTTPRequestHandler):
    """What a page would like to reach: it approves whatever is posted, and knows its people by a cookie."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Services)
        self.server.asked.append((self.command, self.path))
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.do_GET()

    def do_OPTIONS(self) -> None:
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class Services(ThreadingHTTPServer):
    """Notes what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Service)
        self.asked: list[tuple[str, str]] = []


@pytest.fixture(scope="module")
def service() -> Iterator[Services]:
    with Services() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def call(open_box: Box) -> Call:
    """The tool, with all that it can do and a little room; its browser goes on from test to test."""
    return calling(open_box(canvas={"allowed_actions": ALL, "max_canvases": 3, "max_content_bytes": 20_000}))


def outcome(result: ToolResult) -> tuple[str, str | None]:
    return result.outcome, result.reason


def pushed(call: Call, *lines: object, **more: Any) -> ToolResult:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return call("canvas", action="a2ui_push", jsonl=text, **more)


def asked(url: str, *, host: str | None = None, method: str = "GET") -> tuple[int, dict[str, str], str]:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request(method, parts.path, headers={"Host": host or parts.netloc, "Cookie": "session=1"})
    answer = connection.getresponse()
    return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()


def test_a_page_has_a_place_of_its_own_that_nobody_guesses(call: Call) -> None:
    """Another port, a long random path, no cookie, no origin; when it is hidden, nothing is there."""
    result = call("canvas", action="present", html="<h1>Hello</h1>", session="a")
    url = result.data["url"]
    status, headers, body = asked(url)
    assert (status, "&lt;h1&gt;Hello&lt;/h1&gt;" in body) == (200, True)
    assert len(urlsplit(url).path) > 40
    assert "sandbox allow-scripts" in headers["content-security-policy"]
    assert "allow-same-origin" not in headers["content-security-policy"] + body
    assert {"set-cookie", "access-control-allow-origin"}.isdisjoint(headers)
    for other in (url[:-1], url + "/", url.rpartition("/")[0] + "/", url + "/../" + url.rpartition("/")[2]):
        assert asked(other)[0] == 404
    assert asked(url, host="attacker.example")[0] == 404
    assert asked(url, method="POST")[0] == 501
    again = call("canvas", action="present", html="<p>New", session="a").data["url"]
    assert (again, "New" in asked(url)[2]) == (url, True)
    assert call("canvas", action="hide", session="a").outcome == "ok"
    assert asked(url)[0] == 404
    assert outcome(call("canvas", action="hide", session="a")) == ("error", "no_canvas")


def test_what_is_presented_does_not_leave_its_frame() -> None:
    """Whatever it closes and opens is an attribute's text."""
    page = document('"></iframe><script>top.x = 1</script><iframe srcdoc="', is_static=False)
    assert page.count("<script") == 0
    assert page.count("<iframe") == 1


@each_row(
    "args, reason",
    [
        ({"action": "present"}, "missing_argument"),
        ({"action": "eval"}, "missing_argument"),
        ({"action": "snapshot"}, "no_canvas"),
        ({"action": "eval", "script": "1"}, "no_canvas"),
        ({"action": "a2ui_reset"}, "no_canvas"),
        ({"action": "present", "html": "x" * 20_001}, "too_large"),
        ({"action": "a2ui_push", "jsonl": "x" * 20_001}, "too_large"),
    ],
)
def test_what_cannot_be_done(call: Call, args: dict[str, Any], reason: str) -> None:
    assert outcome(call("canvas", session="nobody", **args)) == ("error", reason)


@each_row(
    "args, reason",
    [
        ({"action": "eval", "script": "1"}, "action_not_allowed"),
        ({"action": "navigate", "url": "https://example.org/"}, "action_not_allowed"),
    ],
)
def test_by_default_no_script_and_no_network(open_box: Box, args: dict[str, Any], reason: str) -> None:
    assert outcome(calling(open_box())("canvas", **args)) == ("denied", reason)


@each_row(
    "url, reason",
    [
        ("http://127.0.0.1/", "private_address"),
        ("http://169.254.169.254/latest", "private_address"),
        ("https://example.org/", "domain_not_allowed"),
        ("file:///etc/passwd", "scheme_not_allowed"),
    ],
)
def test_navigate_goes_where_the_policy_says(call: Call, url: str, reason: str) -> None:
    assert outcome(call("canvas", action="navigate", url=url)) == ("denied", reason)


def test_a_private_address_is_none_that_a_domain_lets_through(open_box: Box) -> None:
    call = calling(open_box(canvas={"allowed_actions": ALL, "allowed_domains": ["*"]}))
    assert outcome(call("canvas", action="navigate", url="http://127.0.0.1/")) == ("denied", "private_address")


def test_there_are_not_more_canvases_than_the_policy_says(open_box: Box) -> None:
    call = calling(open_box(canvas={"max_canvases": 1}))
    assert call("canvas", action="present", html="x", session="one").outcome == "ok"
    assert outcome(call("canvas", action="present", html="x", session="two")) == ("denied", "too_many_canvases")
    assert outcome(pushed(call, *SHOWN, session="two")) == ("denied", "too_many_canvases")


def test_a_canvas_is_its_sessions_alone(open_box: Box) -> None:
    """Neither another user, nor another agent, nor another tenant has it, whatever their session is called."""
    box = open_box()
    mine = Caller(session="s", user="uma", agent="ada")
    assert box.for_caller(mine).call("canvas", {"action": "present", "html": "x"}).outcome == "ok"
    for other in (
        Caller(session="s", user="eve", agent="ada"),
        Caller(session="s", user="uma", agent="eva"),
        Caller(session="s", user="uma", agent="ada", tenant="t"),
        Caller(user="uma", agent="ada"),
    ):
        assert box.for_caller(other).call("canvas", {"action": "hide"}).reason == "no_canvas"


def test_a2ui_is_shown_as_text(call: Call) -> None:
    """Marks of HTML in it are text, values of the data model too, and a circle of components ends."""
    result = pushed(call, *SHOWN, "", session="b")
    assert result.data["messages"] == 3
    _, _, page = asked(result.data["url"])
    assert 'sandbox=""' in page
    assert "<script" not in page
    assert "&lt;h1&gt;Hi &amp;lt;script&amp;gt;" in page
    assert "&amp;lt;img src=x" in page
    assert call("canvas", action="a2ui_reset", session="b").outcome == "ok"
    assert "Hi" not in asked(result.data["url"])[2]
    call("canvas", action="hide", session="b")


@each_row(
    "line, said",
    [
        ("{", "Line 2 is not JSON"),
        ("[" * 5000, "Line 2"),
        ('{"unknown": {}}', "Line 2 is not a message"),
        ("[]", "Line 2 is not a message"),
        ({"deleteSurface": {"surfaceId": "s"}, "beginRendering": {"surfaceId": "s", "root": "r"}}, "Line 2"),
        ({"deleteSurface": {"surfaceId": "s", "more": 1}}, "Line 2"),
        ({"deleteSurface": {"surfaceId": 7}}, "Line 2"),
        ({"surfaceUpdate": {"surfaceId": "s", "components": [{"id": "a", "component": {"Script": {}}}]}}, "Line 2"),
        ({"surfaceUpdate": {"surfaceId": "s", "components": [{"id": "a", "component": {}}]}}, "Line 2"),
        ({"dataModelUpdate": {"surfaceId": "s", "contents": [{"key": "a", "valueCode": "x"}]}}, "Line 2"),
        ({"beginRendering": {"surfaceId": "s", "root": "r", "styles": {"css": "x"}}}, "Line 2"),
    ],
)
def test_a_line_that_is_no_message_is_named_and_none_is_taken(call: Call, line: object, said: str) -> None:
    result = pushed(call, {"deleteSurface": {"surfaceId": "s"}}, line, session="c")
    assert (outcome(result), said in (result.message or "")) == (("error", "invalid_a2ui"), True)
    assert call("canvas", action="hide", session="c").reason == "no_canvas"


def test_a2ui_has_bounds(open_box: Box) -> None:
    """Of a line, of lines, of all that a session has, and of what is shown of components that hold each other."""
    call = calling(open_box(canvas={"max_line_bytes": 200, "max_lines": 30}))
    line = {"deleteSurface": {"surfaceId": "s"}}
    assert "Line 2 has more" in (pushed(call, line, "x" * 201).message or "")
    assert "There are more than 30 lines" in (pushed(call, *[line] * 31).message or "")
    assert pushed(call, *[line] * 30).outcome == "ok"
    assert outcome(pushed(call, line)) == ("error", "too_large")
    call("canvas", action="a2ui_reset")
    for level in range(12):
        doubled = {"Row": {"children": {"explicitList": [f"c{level + 1}"] * 9}}}
        part = {"surfaceUpdate": {"surfaceId": "s", "components": [{"id": f"c{level}", "component": doubled}]}}
        assert pushed(call, part).outcome == "ok"
    result = pushed(call, {"beginRendering": {"surfaceId": "s", "root": "c0"}})
    assert len(asked(result.data["url"])[2]) < 200_000


def test_a_page_that_html_makes_too_large_is_refused(open_box: Box) -> None:
    call = calling(open_box(canvas={"max_content_bytes": 500_000}))
    assert outcome(call("canvas", action="present", html='"' * 400_000)) == ("error", "too_large")


def test_without_a_browser_a_canvas_is_shown_all_the_same(
    open_box: Box, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`eval` and `snapshot` are not available; the rest works."""
    monkeypatch.setattr("toolcharter_browser.session.MAIN", _without_chromium(tmp_path))
    call = calling(open_box(canvas={"allowed_actions": ALL}))
    assert call("canvas", action="present", html="x").outcome == "ok"
    result = call("canvas", action="eval", script="1")
    assert outcome(result) == ("denied", "not_available"), result.text
    assert outcome(call("canvas", action="snapshot")) == ("denied", "not_available")
    assert pushed(call, *SHOWN).outcome == "ok"
    assert call("canvas", action="hide").outcome == "ok"


def _without_chromium(folder: Path) -> str:
    return f"from toolcharter_browser import host; host.CHROMIUM = ({str(folder / 'none')!r},) * 2; host.main()"


@pytest.fixture(scope="module")
def page(call: Call) -> Callable[[str], ToolResult]:
    """Runs a script in a page of the first session, which stays presented."""
    html = "<h1>Mine</h1><script>window.mine = 7</script>"
    assert call("canvas", action="present", html=html, session="p").outcome == "ok"
    return lambda script: call("canvas", action="eval", script=script, session="p")


TRY = """(async () => {{ try {{ const got = await (async () => {{ {0} }})(); return 'did ' + got; }} catch (e) {{ return 'no'; }} }})()"""


@pytest.mark.needs_program("chromium", package="chromium")
def test_a_script_runs_in_the_page(page: Callable[[str], ToolResult], call: Call, workspace: Path) -> None:
    """It sees what the page has; what it gives is told as data; a picture of it is a file."""
    assert json.loads(page("window.mine + 1").data["value"]) == 8
    assert json.loads(page("document.querySelector('h1').textContent").data["value"]) == "Mine"
    assert outcome(page("throw new Error('x')")) == ("error", "script_failed")
    assert page("'x'.repeat(30000)").data["truncated"] is True
    result = call("canvas", action="snapshot", path="seen.png", session="p")
    assert result.text == "MEDIA:seen.png"
    assert (workspace / "seen.png").read_bytes().startswith(b"\x89PNG")
    assert outcome(call("canvas", action="snapshot", path="../seen.png", session="p"))[0] == "denied"


@pytest.mark.needs_program("chromium", package="chromium")
def test_a_page_reaches_nothing(open_box: Box, service: Services, hasten: Hasten) -> None:
    """Neither cookies and storage, nor the service, nor the metadata address, nor the document around it.

    The browser itself may reach the service here, as that of a person may: what keeps the page from it is its frame alone.
    """
    reach = {"allowed_domains": ["*"], "allowed_private": ["127.0.0.1"], "ports": [service.server_port]}
    call = calling(open_box(canvas={"allowed_actions": ALL, **reach}))
    url = f"http://127.0.0.1:{service.server_port}"
    base = f'<base href="{url}/"><link rel="stylesheet" href="css">'
    more = (
        f'<link rel="prefetch" href="{url}/p"><a href="{url}/a" ping="{url}/ping">x</a><script src="{url}/js"></script>'
    )

    def page(script: str) -> ToolResult:
        return call("canvas", action="eval", script=script)

    assert call("canvas", action="present", html=base + more).outcome == "ok"
    attempts = [
        "return document.cookie",
        "return localStorage.length",
        "return (await indexedDB.databases()).length",
        f"return (await fetch('{url}/v1/approvals')).status",
        f"return (await fetch('{url}/v1/approvals', {{method: 'POST', mode: 'no-cors', credentials: 'include'}})).type",
        "return (await fetch('http://169.254.169.254/latest/meta-data/')).status",
        f"await new Promise((ok, no) => {{ const i = new Image(); i.onload = ok; i.onerror = no; i.src = '{url}/i'; }})",
        f"if (!navigator.sendBeacon('{url}/beacon')) throw 1; await new Promise(ok => setTimeout(ok, 200)); throw 1",
        f"const w = new WebSocket('ws://127.0.0.1:{service.server_port}/'); await new Promise((ok, no) => {{ w.onopen = ok; w.onerror = no; }})",
        f"await import('{url}/module.js')",
        f"new Worker('{url}/worker.js'); await new Promise(ok => setTimeout(ok, 200)); throw 1",
        f"if (!window.open('{url}/window')) throw 1",
        "return top.document.title",
        "return parent.document.body.innerHTML.length",
        f"top.location = '{url}/top'; return 1",
        "return new RTCPeerConnection() && 1",
    ]
    tried = [json.loads(page(TRY.format(attempt)).data["value"]) for attempt in attempts]
    assert tried == ["no"] * len(attempts)
    assert json.loads(page(TRY.format("return await Promise.resolve(1)")).data["value"]) == "did 1"
    form = f"const f = document.createElement('form'); f.method = 'post'; f.action = '{url}/form'; document.body.append(f); f.submit()"
    page(f"{{ {form} }}; 1")
    page(
        f"document.body.insertAdjacentHTML('beforeend', '<iframe src=\"{url}/frame\"></iframe><object data=\"{url}/o\"></object>'); 1"
    )
    page("document.querySelector('a').click(); 1")
    hasten(3.0)
    for led_away in (
        f"<meta http-equiv=refresh content='0;url={url}/refresh'>",
        f"<script>location = '{url}/self'</script>",
    ):
        call("canvas", action="present", html=led_away)
        call("canvas", action="snapshot")  # what leads itself away may take long to be seen
    assert service.asked == []
    assert call("canvas", action="navigate", url=f"{url}/control").outcome == "ok"
    assert ("GET", "/control") in service.asked


@pytest.mark.needs_program("chromium", package="chromium")
def test_a_page_of_the_web_is_shown_where_the_policy_says(open_box: Box, site: Site, hasten: Hasten) -> None:
    """It is opened through the guard; what is presented afterwards takes its place, in its frame again."""
    reach = {"allowed_domains": ["127.0.0.1"], "allowed_private": ["127.0.0.1"], "ports": [site.server_port]}
    call = calling(open_box(canvas={"allowed_actions": ALL, **reach}))
    assert "Title, as the page gives it: 'Start'" in call("canvas", action="navigate", url=site.url).text
    assert json.loads(call("canvas", action="eval", script="document.title").data["value"]) == "Start"
    assert outcome(call("canvas", action="navigate", url=f"{site.url}/file")) == ("error", "page_failed")
    call("canvas", action="present", html="<h1>Back</h1>")
    assert json.loads(call("canvas", action="eval", script="document.body.innerText").data["value"]) == "Back"
    hasten(5.0)
    assert outcome(call("canvas", action="eval", script="while (true);"))[1] == "timed_out"
