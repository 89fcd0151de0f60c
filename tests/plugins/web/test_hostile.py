"""A hundred pages and selectors that are made to stop whoever reads them, through the real gate."""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.core.guards.network.fake_internet import FakeInternet

from toolcharter import Toolbox, build_tools

LIMIT_S = 0.4
"""Of each hostile call."""
SILENCE_S = 30.0
"""Longer than any call of the others may take on a busy machine; a parser that holds the lock takes far longer."""


def _nested(tag: str, depth: int) -> str:
    return f"<{tag}>" * depth + "x" + f"</{tag}>" * depth


PAGES: dict[str, str] = {
    "deep": _nested("div", 75),
    "deeper": _nested("div", 5000),
    "siblings": "<i></i>" + "<b></b>" * 700,
    "many siblings": "<i></i>" + "<b></b>" * 15_000,
    "deep siblings": ("<div>" + "<b></b>" * 20) * 70,
    "classes": f'<div class="{" ".join(f"a{n}" for n in range(20_000))}">' * 60,
    "numbers of lists": "".join(f'<ol start="{"9" * 4000}">' + "<li>x" * 20 for _ in range(200)),
    "a long number": f'<ol start="{"9" * 400_000}"><li>x<li>x<li>x</ol>',
    "wide cells": "<table>" + '<tr><td colspan="1000">x</td></tr>' * 8000 + "</table>",
    "a wide cell": '<table><tr><th colspan="999999999">x</th></tr></table>',
    "tables in tables": "<table><tr><td>" * 20_000,
    "attributes": "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">x</p>",
    "attributes without values": "<p" + " /a" * 300_000 + ">",
    "a long reference": "&#" + "9" * 900_000 + ";",
    "references": "&amp" * 240_000,
    "a long name": f"<{'a' * 900_000}>",
    "misnested": "<b><i><u><a><p>" * 60_000,
    "formatting": "".join(f"<b c={n}>" for n in range(5000)) + "<p>x" * 50_000,
    "quotes": "<blockquote>" * 75 + "x\n" * 200_000,
    "lists": "<ul><li>" * 75 + "x\n" * 100_000,
    "forms": "<select><option>" * 60_000,
    "blanks": "<pre>" + " \n" * 450_000,
    "comments": "<!--" * 200_000,
    "brackets": "<" * 900_000,
}
SELECTORS: dict[str, str] = {
    "descendants": "p" + " div" * 30,
    "many descendants": " ".join(["div"] * 70),
    "stars": "p" + " *" * 100,
    "siblings": "u" + "~b" * 30,
    "three siblings": "u~b~b~b",
    "siblings below": "u~b" + " div~b" * 20,
}
CASES = [
    *(("web", name, None) for name in PAGES),
    *(
        ("html_scraper", page, selector)
        for page in (
            "deep",
            "siblings",
            "many siblings",
            "deep siblings",
            "classes",
            "formatting",
            "misnested",
            "quotes",
        )
        for selector in SELECTORS
    ),
    *(("html_scraper", page, "descendants") for page in PAGES),
]


@pytest.fixture
def toolbox(tmp_path: Any, world: FakeInternet) -> Iterator[Toolbox]:
    """Both tools that read pages, and one that others call; each page under a path of its own host."""
    profile = tmp_path / "profile.yaml"
    profile.write_text(
        f"profile: test\ntools: {{web: {{}}, html_scraper: {{}}, http_get: {{}}}}\nlimits: {{timeout_s: {LIMIT_S}, tools: {{http_get: {{timeout_s: 60}}}}}}\n"
    )
    for number, page in enumerate(PAGES.values()):
        body = page.encode()[:1_000_000]
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        world.put(f"page{number}.example.com", head.encode() + body, address=f"93.184.216.{number + 1}")
    with build_tools(profile, workspace=tmp_path, events=lambda _: None) as toolbox:
        yield toolbox


def hostile(toolbox: Toolbox, case: tuple[str, str, str | None]) -> Callable[[], Any]:
    """The call of one case."""
    tool, page, selector = case
    url = f"http://page{list(PAGES).index(page)}.example.com/"
    args: dict[str, Any] = {"url": url} if selector is None else {"url": url, "selectors": [SELECTORS[selector]]}
    return lambda: toolbox.call(tool, args)


class Others:
    """Another caller, who makes one call after another; *longest* is the longest time between two, in seconds."""

    def __init__(self, toolbox: Toolbox) -> None:
        self.calls = 0
        self.longest = 0.0
        self._toolbox = toolbox
        self._ended = threading.Event()

    @contextmanager
    def at_work(self) -> Generator[None]:
        thread = threading.Thread(target=self._work)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()

    def _work(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(0.01):
            assert self._toolbox.call("http_get", {"url": "http://127.0.0.1/"}).reason == "private_address"
            now = time.monotonic()
            self.longest, last = max(self.longest, now - last), now
            self.calls += 1


def test_there_are_about_a_hundred() -> None:
    """The list is as long as its name says."""
    assert len(CASES) == 96


@pytest.mark.parametrize("part", range(4))
def test_hostile_pages_and_selectors_stop_nobody(toolbox: Toolbox, part: int) -> None:
    """Each call ends with an answer or with its limit, never stuck, and other calls go on throughout."""
    others = Others(toolbox)
    with others.at_work():
        for case in CASES[part::4]:
            before = others.calls
            got = hostile(toolbox, case)()

            assert got.outcome == "ok" or got.reason in {"timed_out", "tool_error"}, case
            until = time.monotonic() + SILENCE_S
            while others.calls == before and time.monotonic() < until:
                time.sleep(0.01)
            assert others.calls > before, case

    assert others.longest < SILENCE_S


def test_a_selector_that_takes_for_ever_is_ended(toolbox: Toolbox) -> None:
    """It neither outlives its call nor makes the tool unusable, however often it comes."""
    case = ("html_scraper", "deep", "descendants")

    assert [hostile(toolbox, case)().reason for _ in range(4)] == ["timed_out"] * 4
    until = time.monotonic() + 10 * SILENCE_S
    # A busy machine may need more than the second that a call has until the next reader has started.
    while (
        got := toolbox.call("html_scraper", {"url": "http://page0.example.com/", "selectors": ["p"]})
    ).outcome != "ok":
        assert got.reason == "timed_out"
        assert time.monotonic() < until


@pytest.mark.parametrize("case", [("html_scraper", "deep", "descendants"), ("web", "numbers of lists", None)])
def test_ctrl_c_ends_a_hostile_call(tmp_path: Any, toolbox: Toolbox, case: tuple[str, str, str | None]) -> None:
    """Ctrl-C reaches a caller whose page is being read, though the call has all the time there is."""
    profile = tmp_path / "patient.yaml"
    profile.write_text("profile: test\ntools: {web: {}, html_scraper: {}}\nlimits: {timeout_s: 3600}\n")
    with build_tools(profile, workspace=tmp_path, events=lambda _: None) as patient:
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            [hostile(patient, case)() for _ in range(1000)]
