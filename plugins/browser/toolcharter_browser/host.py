"""The browser's own process: it runs Chromium by Playwright, and serves the tools' process.

Each question is a line of JSON on standard input, each answer a line on standard output. The process and its browser
end when the input ends. It judges nothing: the tools decide what is permitted before they ask.
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
from toolcharter_browser.names import BLOCKED_HOST
from toolcharter_browser.page import ACTIONS, ActionFailed, Tab

CHROMIUM = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser")
"""The first is Debian's program itself. Debian's script `chromium` adds keys for Google's services and extensions."""
OPENERS = ("xdg-email", "xdg-open")
"""The programs that start the user's mail program or others. Source: Chromium, platform_util_linux.cc."""
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
_STRIPPED = "".join(map(chr, range(33)))
_REMOVED = str.maketrans("", "", "\t\r\n")
MAX_LINE = 1_048_576
"""The longest question, in bytes."""
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
    # Chromium's own requests that no option switches off are sent to a name that does not resolve.
    *(f"--{service}=https://{BLOCKED_HOST}/" for service in SERVICES),
    f"--component-updater=url-source=https://{BLOCKED_HOST}/",
    *(f"--gcm-{service}=https://{BLOCKED_HOST}" for service in ("checkin-url", "mcs-endpoint", "registration-url")),
    # A request that bypasses the proxy cannot resolve any name.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


async def serve(
    settings: dict[str, Any], questions: asyncio.StreamReader, out: BinaryIO, gone: Callable[..., None]
) -> None:
    """Answer questions until the input ends; call *gone* if the browser or its page has crashed."""
    async with AsyncExitStack() as stack:
        try:
            browser = await _launch(stack, settings)
            tab = await _open_tab(browser, settings, gone)
        except (Error, OSError) as error:
            _write_answer(out, {"error": "browser_unavailable", "message": first_line(error)})
            return
        _write_answer(out, {"ok": {}})
        browser.on("disconnected", gone)
        stack.callback(browser.remove_listener, "disconnected", gone)
        async for line in questions:
            _write_answer(out, await _answer(tab, json.loads(line)))


async def _launch(stack: AsyncExitStack, settings: dict[str, Any]) -> Browser:
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
        # By default Playwright lets pages open any number of windows; with the blocker, each needs a click.
        ignore_default_args=["--disable-popup-blocking"],
    )


async def _open_tab(browser: Browser, settings: dict[str, Any], gone: Callable[..., None]) -> Tab:
    context = await browser.new_context(
        accept_downloads=False,
        service_workers="block",
        permissions=[],
        viewport={"width": settings["width"], "height": settings["height"]},
    )
    await context.add_init_script((files("toolcharter_browser") / "before.js").read_text())
    page = await context.new_page()
    page.set_default_timeout(0)  # each question has its own timeout
    page.on("crash", gone)
    tab = Tab(context, page)
    await _refuse_insecure(tab)
    return tab


async def _answer(tab: Tab, question: dict[str, Any]) -> dict[str, Any]:
    try:
        async with asyncio.timeout(question["timeout_s"]):
            return {"ok": await _run_unless_abandoned(tab, ACTIONS[question["do"]](tab, question))}
    except ActionFailed as failed:
        return {"error": failed.why, "message": failed.message, "url": failed.url}
    except TimeoutError:
        return {"error": "timed_out", "message": "the page did not answer in time"}
    except Error:
        # The error's text may come from the page.
        return {"error": "page_not_loaded", "message": "The page has gone or cannot be used."}


async def _run_unless_abandoned(tab: Tab, work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Return the result of *work*.

    Raises:
        ActionFailed: The page has been left for good, before or during the work.
    """
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(tab.abandoned.wait())
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
    """Block the page's redirects from https to http, as `rt.http` does. The browser itself blocks them for frames."""
    channel = await tab.page.context.new_cdp_session(tab.page)

    async def judge(event: dict[str, Any]) -> None:
        url = redirect_target(event)
        with suppress(Error):
            if not url.lower().startswith("http:"):
                await channel.send("Fetch.continueRequest", {"requestId": event["requestId"]})
                return
            tab.refuse_redirect(url[:8000])
            await channel.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "BlockedByClient"})

    channel.on("Fetch.requestPaused", judge)
    secure = {"urlPattern": "https://*", "resourceType": "Document", "requestStage": "Response"}
    await channel.send("Fetch.enable", {"patterns": [secure]})


def redirect_target(event: dict[str, Any]) -> str:
    """Return the URL that the answer to a paused request redirects to, parsed as browsers do; empty if it does not."""
    if event.get("responseStatusCode") not in REDIRECT_STATUSES:
        return ""
    headers = {one["name"].lower(): one["value"] for one in event["responseHeaders"]}
    # Source: WHATWG URL, "basic URL parser": controls and blanks at both ends, and tabs and line breaks anywhere.
    location: str = headers.get("location", "").strip(_STRIPPED).translate(_REMOVED)
    base: str = event["request"]["url"]
    return urljoin(base, location)


def first_line(error: Exception) -> str:
    """Return the message of an error, without the log that Playwright adds."""
    return next(iter(f"{error}".splitlines()), "")[:300]


def _write_answer(out: BinaryIO, answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer).encode() + b"\n")
    out.flush()


async def _run(out: BinaryIO) -> None:
    questions = asyncio.StreamReader(limit=MAX_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(questions), sys.stdin)
    settings = json.loads(await questions.readline())
    await serve(settings, questions, out, _end)


def _end(_: object) -> None:
    """Exit at once, so that the waiting process notices. It removes the browser's folder."""
    os._exit(1)


def _without_openers(folder: Path) -> Path:
    """Make a folder of programs that do nothing, named like those that Chromium starts for URLs such as `mailto:`."""
    (programs := folder / "programs").mkdir()
    for name in OPENERS:
        (programs / name).symlink_to(shutil.which("false") or "/bin/false")
    return programs


@contextmanager
def _isolate_output() -> Generator[BinaryIO]:
    """Yield the output for answers. All other output is discarded, and the browser's files go into a new folder."""
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
    with _isolate_output() as out:
        asyncio.run(_run(out))
