"""The browser's own process, run within the test's: questions in, answers out."""

import asyncio
import io
import json
import os
import socket
import ssl
import sys
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate
from playwright.async_api import Error
from tests.core.guards.network.fake_internet import Server, answer
from tests.plugins.browser.conftest import Site
from tests.rows import each_row

from toolcharter import NetworkPolicy
from toolcharter.guards.network.client import Client
from toolcharter_browser import frames, host, page
from toolcharter_browser.proxy import Proxy

SIZE = {"width": 300, "height": 200}
GIVEN = {"selector": "", "label": "", "text": "", "submit": False, "delay_ms": 0, "max_chars": 40, "timeout_s": 20}


@pytest.fixture
def proxy(site: Site) -> Iterator[Proxy]:
    policy = NetworkPolicy(allowed_private=("127.0.0.1",), ports=(site.server_port,))
    made = Proxy(Client().connector(policy, 15.0), 10**8)
    yield made
    made.close()


async def served(port: int, *questions: dict[str, Any]) -> tuple[list[dict[str, Any]], list[object]]:
    """The answers, and what was told of a crash."""
    reader, out, gone = asyncio.StreamReader(), io.BytesIO(), []
    for question in questions:
        reader.feed_data(json.dumps({**GIVEN, **question}).encode() + b"\n")
    reader.feed_eof()
    await host.serve({"port": port, **SIZE}, reader, out, lambda told: gone.append(told))  # noqa: PLW0108 - it is given attributes
    return [json.loads(line) for line in out.getvalue().splitlines()], gone


@pytest.mark.needs_program("chromium", package="chromium")
async def test_questions_are_answered_one_by_one(site: Site, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in its turn, failures too; after the last the browser is closed, which is no crash."""
    # Long enough for a machine that does other things: one question here waits for an element that never comes.
    monkeypatch.setattr(page, "ELEMENT_S", 10.0)
    monkeypatch.setattr(page, "SETTLE_S", 0.5)
    monkeypatch.setattr(page, "MAX_POPUPS", 1)
    windows = "<button onclick=\"window.open('/next');window.open('/next')\">window</button>"
    windows += "<a href=/file>file</a><a href=http://127.0.0.2/>away</a>"
    site.pages["/forged"] = (
        "text/html",
        b"<script>Object.defineProperty(document, 'body', {get() { throw 'do it' }})</script>",
    )
    site.pages["/all"] = ("text/html", f"<title>All</title>{windows}<img src=/slow>".encode())
    url = site.url
    answers, gone = await served(
        proxy.port,
        {"do": "open", "url": f"{url}/all"},
        *[{"do": "click", "label": "window", "delay_ms": 2000}] * 2,
        {"do": "click", "label": "file", "delay_ms": 2000},
        {"do": "click", "label": "away", "delay_ms": 2000},
        {"do": "open", "url": f"{url}/file"},
        {"do": "open", "url": "http://127.0.0.2/"},
        {"do": "open", "url": f"{url}/"},
        {"do": "click", "selector": "#no"},
        {"do": "type", "label": "Your name", "text": "Ann"},
        {"do": "read"},
        {"do": "screenshot", "max_image_bytes": 10},
        {"do": "screenshot", "max_image_bytes": 10**6},
        {"do": "type", "selector": "input", "text": "Ann", "submit": True},
        {"do": "read", "timeout_s": 0},
        {"do": "open", "url": f"{url}/nothing"},
        {"do": "open", "url": f"{url}/forged"},
        {"do": "read"},
    )

    assert gone == []
    assert [answer.get("error", "ok") for answer in answers] == [
        *("ok", "ok", "ok", "ok"),
        *("download_refused", "page_not_loaded", "download_refused", "page_not_loaded", "ok"),
        *("element_not_found", "ok", "ok", "image_too_large", "ok", "ok", "timed_out"),
        *("page_not_loaded", "ok", "page_not_loaded"),
    ]
    assert answers[5]["url"] == answers[7]["url"] == "http://127.0.0.2/"
    assert "do it" not in f"{answers}"
    assert answers[2]["ok"]["popups"] == [f"{url}/next"]
    assert answers[11]["ok"]["truncated"]
    assert len(answers[11]["ok"]["text"]) == 40
    assert answers[14]["ok"]["url"] == f"{url}/said?who=Ann"


async def test_without_chromium_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what it looked for, and where."""
    monkeypatch.setattr(host, "CHROMIUM", ("no-such-program-1", "no-such-program-2"))
    monkeypatch.setenv("PATH", "/nonexistent")

    answers, _ = await served(1)

    message = "there is no program 'no-such-program-2' on /nonexistent"
    assert answers == [{"error": "browser_unavailable", "message": message}]


async def test_a_chromium_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line."""
    monkeypatch.setattr(host, "CHROMIUM", ("false",))

    answers, _ = await served(1)

    assert [answer["error"] for answer in answers] == ["browser_unavailable"]
    assert "\n" not in answers[0]["message"]


@pytest.mark.needs_program("chromium", package="chromium")
async def test_a_page_starts_no_program(
    proxy: Proxy, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chromium hands `mailto:` to the user's mail program, unasked, and with a file to attach if the page names one."""
    started = tmp_path / "started"
    for name in host.OPENERS:
        (tmp_path / name).write_text(f"#!/bin/sh\necho $0 >> {started}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("PATH", f"{host._without_openers(tmp_path)}:{os.environ['PATH']}")
    site.pages["/mail"] = (
        "text/html",
        b"<title>m</title><script>setTimeout(() => { location = 'mailto:a@b.c?attach=/x' }, 300)</script>",
    )

    answers, _ = await served(
        proxy.port, {**GIVEN, "do": "open", "url": f"{site.url}/mail", "delay_ms": 1500}, {**GIVEN, "do": "read"}
    )

    assert answers[1]["ok"]["title"] == "m"
    assert not started.exists()


@pytest.mark.needs_program("chromium", package="chromium")
async def test_a_page_that_is_read_with_its_own_functions_keeps_the_limits(proxy: Proxy, site: Site) -> None:
    """What it puts in the place of the browser's can lie, but say no more than any page, and nothing but text."""
    for name, body in (("long", "'ab '.repeat(50000)"), ("thing", "({a: 1})")):
        page_text = f"<p>x<script>String.prototype.slice = () => {body}</script>"
        site.pages[f"/{name}"] = ("text/html", page_text.encode())
    read = {"do": "read"}

    answers, _ = await served(
        proxy.port, {"do": "open", "url": f"{site.url}/long"}, read, {"do": "open", "url": f"{site.url}/thing"}, read
    )

    assert (len(answers[2]["ok"]["text"]), answers[2]["ok"]["truncated"]) == (40, True)
    assert answers[4]["error"] == "page_not_loaded"


@pytest.mark.needs_program("chromium", package="chromium")
async def test_a_page_that_opens_window_after_window_is_left(
    site: Site, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For some seconds after a click Chromium bears it; whoever asks next hears of it, too."""
    monkeypatch.setattr(page, "MAX_POPUPS", 2)
    flood = "setInterval(() => { for (let i = 0; i < 40; i++) window.open('/next'); }, 50)"
    site.pages["/windows"] = ("text/html", f"<button>Go</button><script>{flood}</script>".encode())

    answers, _ = await served(
        proxy.port,
        {"do": "open", "url": f"{site.url}/windows"},
        {"do": "click", "label": "Go", "delay_ms": 3000},
        {"do": "read"},
    )

    assert [one.get("error", "ok") for one in answers[1:]] == ["ok", "too_many_windows", "too_many_windows"]
    assert answers[3]["message"] == "The page opens more than 2 windows."


@pytest.mark.needs_program("chromium", package="chromium")
async def test_frames_are_read_in_bounds(site: Site, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """In number, in characters and in time; what is left out makes the text a part of the page's."""
    monkeypatch.setattr(frames, "MAX_FRAMES", 1)
    empty, full = "<iframe srcdoc=''></iframe>", "<iframe srcdoc='<p>some words that are many'></iframe>"
    hidden = "<iframe srcdoc='<p>hidden' style='display:none'></iframe>"
    lying = "<iframe srcdoc='<script>String.prototype.slice = () => ({})</script>'></iframe>"
    pages = (full, full * 2, hidden, empty, lying)
    for number, inner in enumerate(pages):
        site.pages[f"/frames{number}"] = ("text/html", f"<p>outside{inner}".encode())
    asked: list[dict[str, Any]] = []
    for number in range(len(pages)):
        asked += [{"do": "open", "url": f"{site.url}/frames{number}"}, {"do": "read", "max_chars": 80}]
    asked.insert(2, {"do": "read", "max_chars": 70})

    answers, _ = await served(proxy.port, *asked)

    read = [(one["ok"]["text"], one["ok"]["truncated"]) for one in answers if "text" in one["ok"]]
    framed = "outside\n\n[frame about:srcdoc]\n{}\n[end of frame]"
    assert read == [
        (framed.format("some words that are man"[:21].rstrip()), True),
        (framed.format("some words "), True),
        (framed.format("some words that are m"), True),
        *[("outside", False)] * 3,
    ]
    assert all(len(text) <= 80 for text, _ in read)


async def test_a_frame_that_does_not_answer_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is read without it, and said to be in part."""
    monkeypatch.setattr(frames, "FRAMES_S", 0.01)

    class Stuck:
        url = "http://x/"

        @property
        def child_frames(self) -> "list[Stuck]":
            return [Stuck()]

        async def frame_element(self) -> None:
            await asyncio.sleep(20)

        async def evaluate(self, *_: object) -> dict[str, object]:
            return {"text": "outside", "truncated": False}

    class Tabless:
        main_frame = Stuck()

    stuck: Any = Tabless()

    assert await frames.text_of(stuck, 100) == ("outside", True)


async def test_no_half_of_a_secret_is_read() -> None:
    """The scrubber behind the tool would not know it for one."""
    text = "key " + "ghp_" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4FgH7k"

    class Page:
        class main_frame:  # noqa: N801 - as Playwright names it
            child_frames = ()

            @staticmethod
            async def evaluate(_: str, most: int) -> dict[str, object]:
                return {"text": text[:most], "truncated": most < len(text)}

    page: Any = Page()

    assert await frames.text_of(page, 30) == ("key ", True)
    assert await frames.text_of(page, 44) == (text, False)


@pytest.mark.needs_program("chromium", package="chromium")
async def test_a_page_that_loads_itself_is_left_for_good(
    site: Site, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few times it may, and is no such page then."""
    monkeypatch.setattr(page, "MAX_DOCUMENTS", 4)
    for name, times in (("few", 3), ("many", 9)):
        script = f"const n = +location.hash.slice(1); if (n < {times}) {{ location.hash = n + 1; location.reload(); }}"
        site.pages[f"/{name}"] = ("text/html", f"<title>{name}</title><script>{script}</script>".encode())

    answers, _ = await served(
        proxy.port,
        {"do": "open", "url": f"{site.url}/few", "delay_ms": 500},
        {"do": "read"},
        {"do": "open", "url": f"{site.url}/many", "delay_ms": 500},
        {"do": "read"},
    )

    assert answers[2]["ok"]["title"] == "few"
    assert [one["error"] for one in answers[3:]] == ["endless_navigation"] * 2


async def test_a_page_is_left_once() -> None:
    """For what came first."""
    gone: list[str] = []

    class Kept:
        main_frame = None

        def on(self, *_: object) -> None:
            """Nothing happens here."""

        async def goto(self, url: str) -> None:
            gone.append(url)

    kept: Any = Kept()
    tab = page.Tab(kept, kept)
    tab._abandon("first", "one")
    tab._abandon("second", "two")
    await asyncio.gather(*tab._tasks)

    assert tab.why is not None
    assert (tab.why.why, gone) == ("first", ["about:blank"])


@pytest.fixture
def secure(monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """Servers under TLS that this browser takes at their word; it asks them for what each test sets."""
    authority = trustme.CA()
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    issued = authority.issue_cert("127.0.0.1")
    issued.configure_cert(made)
    key = load_pem_x509_certificate(issued.cert_chain_pems[0].bytes()).public_key()
    known = sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
    listed = f"--ignore-certificate-errors-spki-list={b64encode(known).decode()}"
    monkeypatch.setattr(host, "ARGUMENTS", (*host.ARGUMENTS, listed))
    return made


@pytest.mark.needs_program("chromium", package="chromium")
async def test_a_redirect_from_https_to_http_is_refused(
    site: Site, secure: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `web` refuses it: at once or after another one, and nothing is asked of the host that it leads to."""
    moved = {b"/down": f"{site.url}/next", b"/twice": "/down", b"/up": "/safe"}

    def reply(connection: socket.socket, head: bytes) -> None:
        if not head:  # Chromium may open a connection ahead and never ask anything on it.
            return
        path = head.split()[1]
        moves = {"Location": moved[path]} if path in moved else {"Content_Type": "text/html"}
        connection.sendall(answer(b"<title>Safe</title>", "302 Found" if path in moved else "200 OK", **moves))

    server = Server(reply, secure)
    policy = NetworkPolicy(allowed_private=("127.0.0.1",), ports=(site.server_port, server.port))
    proxy = Proxy(Client().connector(policy, 15.0), 10**8)
    url = f"https://127.0.0.1:{server.port}"
    site.moved["/rise"] = f"{url}/safe"
    asked = site.asked.count("/next")

    answers, _ = await served(
        proxy.port,
        *({"do": "open", "url": one} for one in (f"{url}/down", f"{url}/twice", f"{url}/up", f"{site.url}/rise")),
    )
    proxy.close()
    server.close()

    assert [one.get("error", "ok") for one in answers[1:]] == ["insecure_redirect", "insecure_redirect", "ok", "ok"]
    assert answers[1]["url"] == answers[2]["url"] == f"{site.url}/next"
    assert {one["ok"]["url"] for one in answers[3:]} == {f"{url}/safe"}
    assert site.asked.count("/next") == asked


@each_row(
    ("status", "location", "target"),
    [
        (302, "http://b.example/", "http://b.example/"),
        (301, "/c", "https://a.example/c"),
        (307, "HTTP://b.example/", "HTTP://b.example/"),
        (308, "ht\ttp://b.example/", "http://b.example/"),
        (303, " \x01http://b.example/ ", "http://b.example/"),
        (302, "http:b.example", "http:b.example"),
        (302, "//b.example/", "https://b.example/"),
        (200, "http://b.example/", ""),
        (304, "http://b.example/", ""),
        (302, None, "https://a.example/"),
    ],
)
def test_a_redirect_is_read_as_browsers_read_it(status: int, location: str | None, target: str) -> None:
    """However it is written: what is taken away by them is no way around."""
    headers = [] if location is None else [{"name": "LOCATION", "value": location}]
    event = {"request": {"url": "https://a.example/"}, "responseStatusCode": status, "responseHeaders": headers}

    assert host.redirect_target(event) == target


def test_whatever_else_prints_is_not_heard(
    capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard output is kept for answers, standard error for nothing; what is written goes to the folder."""
    for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "PATH"):
        monkeypatch.setenv(name, "before")
    monkeypatch.setattr(host, "CHROMIUM", ("no-such-program-1", "no-such-program-2"))
    theirs, ours = os.pipe()
    os.write(ours, b'{"port": 1, "width": 300, "height": 200}\n')
    os.close(ours)
    kept = os.dup(1), os.dup(2)
    with os.fdopen(theirs) as questions:
        monkeypatch.setattr(sys, "stdin", questions)
        host.main()
        os.write(1, b"lost")
        os.write(2, b"lost")
    for number, descriptor in enumerate(kept, 1):
        os.dup2(descriptor, number)
        os.close(descriptor)

    printed = capfdbinary.readouterr()
    assert (json.loads(printed.out)["error"], printed.err) == ("browser_unavailable", b"")
    assert not Path(os.environ["HOME"]).exists()
    assert os.environ["PATH"] == f"{os.environ['HOME']}/programs:before"


def test_a_crash_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with a status that tells."""
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)

    host._end(None)

    assert ended == [1]


async def test_a_page_that_tells_of_an_earlier_failure_may_come_late() -> None:
    """It is passed over: the page that was wanted is waited for. Another one that comes in between is an error."""
    told: list[object] = []

    class Late:
        async def goto(self, url: str, **_: Any) -> None:
            raise Error(f'interrupted by another navigation to "{url}"')

        async def wait_for_url(self, matches: Any, **_: Any) -> None:
            told.extend(map(matches, ("chrome-error://x/", "http://x/")))

    late: Any = Late()
    with pytest.raises(Error, match="interrupted"):
        await page._navigate(late, "http://x/")
    assert told == []
    await page._navigate(late, "chrome-error://x/")
    assert told == [False, True]


async def test_what_a_page_names_is_not_repeated_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that takes the place of another one tells its URL by that."""

    class ReplacedTab:
        page: Any
        abandoned = asyncio.Event()

        def reset(self, **_: Any) -> None:
            """There is nothing to forget."""

        async def state(self) -> None:
            """Nothing else has failed."""

        async def goto(self, url: str, **_: Any) -> None:
            raise Error(f'Page.goto: Navigation to "{url}" is interrupted by another navigation to "http://obey/net::"')

    monkeypatch.setattr(page, "INTERRUPTED_S", 0.01)
    tab: Any = ReplacedTab()
    tab.page = tab
    with pytest.raises(page.ActionFailed) as caught:
        await page.open_page(tab, {"url": "http://x/"})

    assert caught.value.message == "The page did not load, or another page replaced it."
