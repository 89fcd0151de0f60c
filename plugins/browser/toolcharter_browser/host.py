"""The browser's own process: Playwright and Chromium on one side, the tools' process on the other.

One line of JSON on standard input asks for one thing, one on standard output answers. The process ends with its input,
and its browser with it. It judges nothing: what may be done is decided before it is asked.
"""

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin

from playwright.async_api import Browser, Error, async_playwright

from toolcharter_browser.folders import Folder
from toolcharter_browser.names import OWN
from toolcharter_browser.page import MOVES, Failed, Tab

CHROMIUM = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser")
"""The first is Debian's program itself; its script of the second name adds keys for Google's services and extensions."""
OPENERS = ("xdg-email", "xdg-open")
"""What starts the user's mail program or another one. Source: Chromium, platform_util_linux.cc."""
MOVED = frozenset({301, 302, 303, 307, 308})
_EDGES = "".join(map(chr, range(33)))
_NOWHERE = str.maketrans("", "", "\t\r\n")
MAX_LINE = 1_048_576
"""Bytes of one question."""
SERVICES = ("apps-gallery-update-url", "autofill-server-url", "gaia-url", "google-apis-url", "variations-server-url")
ARGUMENTS = (
    "--allow-browser-signin=false",
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--no-first-run",
    "--no-pings",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # What it would ask for of its own accord, and could not be told to leave, it asks where nobody answers.
    *(f"--{service}=https://{OWN}/" for service in SERVICES),
    f"--component-updater=url-source=https://{OWN}/",
    *(f"--gcm-{service}=https://{OWN}" for service in ("checkin-url", "mcs-endpoint", "registration-url")),
    # Whatever forgets the proxy reaches no name.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


async def serve(
    settings: dict[str, Any], questions: asyncio.StreamReader, out: BinaryIO, gone: Callable[..., None]
) -> None:
    """Answer until there are no more questions; call *gone* when the browser or its page has crashed."""
    async with AsyncExitStack() as stack:
        try:
            browser = await _launched(stack, settings)
            tab = await _tab(browser, settings, gone)
        except (Error, OSError) as error:
            _say(out, {"error": "browser_unavailable", "message": first_line(error)})
            return
        _say(out, {"ok": {}})
        browser.on("disconnected", gone)
        stack.callback(browser.remove_listener, "disconnected", gone)
        async for line in questions:
            _say(out, await _answer(tab, json.loads(line)))


async def _launched(stack: AsyncExitStack, settings: dict[str, Any]) -> Browser:
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        raise FileNotFoundError(f"there is no program {CHROMIUM[1]!r} on {os.environ.get('PATH')}")
    playwright = await stack.enter_async_context(async_playwright())
    return await playwright.chromium.launch(
        executable_path=program,
        args=ARGUMENTS,
        # Chromium's own sandbox does not work for root.
        chromium_sandbox=os.geteuid() != 0,
        proxy={"server": f"socks5://127.0.0.1:{settings['port']}", "bypass": "<-loopback>"},
        handle_sigint=False,
        # Else Playwright lets every page open as many windows as it likes; so it takes a click for each.
        ignore_default_args=["--disable-popup-blocking"],
    )


async def _tab(browser: Browser, settings: dict[str, Any], gone: Callable[..., None]) -> Tab:
    context = await browser.new_context(
        accept_downloads=False,
        service_workers="block",
        permissions=[],
        viewport={"width": settings["width"], "height": settings["height"]},
    )
    await context.add_init_script((files("toolcharter_browser") / "before.js").read_text())
    page = await context.new_page()
    page.set_default_timeout(0)  # each question brings its own
    page.on("crash", gone)
    tab = Tab(context, page)
    await _refuse_insecure(tab)
    return tab


async def _answer(tab: Tab, question: dict[str, Any]) -> dict[str, Any]:
    try:
        async with asyncio.timeout(question["timeout_s"]):
            return {"ok": await _unless_left(tab, MOVES[question["do"]](tab, question))}
    except Failed as failed:
        return {"error": failed.why, "message": failed.message, "url": failed.url}
    except TimeoutError:
        return {"error": "timed_out", "message": "the page did not answer in time"}
    except Error:
        # What it says may be the page's word.
        return {"error": "page_not_loaded", "message": "The page went away, or it cannot be used."}


async def _unless_left(tab: Tab, work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """What *work* answers.

    Raises:
        Failed: The page was left meanwhile, or before.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(tab.left.wait())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if tab.why is not None:
            raise tab.why
        return await working
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _refuse_insecure(tab: Tab) -> None:
    """Have the page follow no redirect from https to http, as `rt.http` follows none; frames may have none anyway."""
    channel = await tab.page.context.new_cdp_session(tab.page)

    async def judge(event: dict[str, Any]) -> None:
        url = moved_to(event)
        with suppress(Error):
            if not url.lower().startswith("http:"):
                await channel.send("Fetch.continueRequest", {"requestId": event["requestId"]})
                return
            tab.refuse_redirect(url[:8000])
            await channel.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "BlockedByClient"})

    channel.on("Fetch.requestPaused", judge)
    secure = {"urlPattern": "https://*", "resourceType": "Document", "requestStage": "Response"}
    await channel.send("Fetch.enable", {"patterns": [secure]})


def moved_to(event: dict[str, Any]) -> str:
    """Where the answer of a paused request redirects to, read as browsers read it; empty if it does not."""
    if event.get("responseStatusCode") not in MOVED:
        return ""
    headers = {one["name"].lower(): one["value"] for one in event["responseHeaders"]}
    # Source: WHATWG URL, "basic URL parser": controls and blanks at both ends, and tabs and line breaks anywhere.
    location: str = headers.get("location", "").strip(_EDGES).translate(_NOWHERE)
    base: str = event["request"]["url"]
    return urljoin(base, location)


def first_line(error: Exception) -> str:
    """What an error says, without the log that Playwright adds."""
    return next(iter(f"{error}".splitlines()), "")[:300]


def _say(out: BinaryIO, answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer).encode() + b"\n")
    out.flush()


async def _run(out: BinaryIO) -> None:
    questions = asyncio.StreamReader(limit=MAX_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    settings = json.loads(await questions.readline())
    await serve(settings, questions, out, _end)


def _end(_: object) -> None:
    """Answer the waiting process at once; it removes what is left of the browser."""
    os._exit(1)


def _without_openers(folder: Path) -> Path:
    """A folder of programs that do nothing, by the names that Chromium calls with a page's URLs, unasked (`mailto:`)."""
    (programs := folder / "programs").mkdir()
    for name in OPENERS:
        (programs / name).symlink_to(shutil.which("false") or "/bin/false")
    return programs


@contextmanager
def _alone() -> Generator[BinaryIO]:
    """Where answers go; nothing else can be printed there, and nothing written outside a folder of our own."""
    folder = Folder()
    os.environ.update(dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), str(folder.path)))
    os.environ["PATH"] = f"{_without_openers(folder.path)}:{os.environ.get('PATH', os.defpath)}"
    try:
        with os.fdopen(os.dup(1), "wb") as out, Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            yield out
    finally:
        folder.close()
        shutil.rmtree(folder.path, ignore_errors=True)


def main() -> None:
    """Serve the process that has started this one."""
    with _alone() as out:
        asyncio.run(_run(out))
