"""The browser's own process, run within the test's: questions in, answers out."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Error
from tests.plugins.browser.conftest import Site

from toolcharter import NetworkPolicy
from toolcharter.guards.network.client import Client
from toolcharter_browser import host, page
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
    monkeypatch.setattr(page, "ELEMENT_S", 3.0)
    monkeypatch.setattr(page, "SETTLE_S", 0.1)
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
        *[{"do": "click", "label": "window", "delay_ms": 400}] * 2,
        {"do": "click", "label": "file", "delay_ms": 200},
        {"do": "click", "label": "away", "delay_ms": 200},
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
        await page._go(late, "http://x/")
    assert told == []
    await page._go(late, "chrome-error://x/")
    assert told == [False, True]


async def test_what_a_page_names_is_not_repeated_in_an_error() -> None:
    """A page that takes the place of another one tells its URL by that."""

    class Taken:
        page: Any

        def begin(self) -> None:
            """There is nothing to forget."""

        async def state(self) -> None:
            """Nothing else has failed."""

        async def goto(self, url: str, **_: Any) -> None:
            raise Error(f'Page.goto: Navigation to "{url}" is interrupted by another navigation to "http://obey/net::"')

    taken: Any = Taken()
    taken.page = taken
    with pytest.raises(page.Failed) as caught:
        await page.open_page(taken, {"url": "http://x/"})

    assert caught.value.message == "The page did not come, or another took its place."
