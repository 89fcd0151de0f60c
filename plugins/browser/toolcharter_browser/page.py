"""`Tab`: the one page of a browser, and what can be done with it. Runs in the browser's own process."""

import asyncio
import base64
import json
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from time import monotonic
from typing import Any

from playwright.async_api import BrowserContext, Error, Locator, Page, Request, Response
from playwright.async_api import TimeoutError as Overtime

from toolcharter_browser.frames import text_of

MAX_POPUPS = 10
"""Of one action; of more, none is told, and the page is left."""
MAX_DOCUMENTS = 20
"""Documents that may take each other's place within `DOCUMENTS_S`: a page that loads itself anew for ever loads more."""
DOCUMENTS_S = 10.0
INTERRUPTED_S = 1.0
"""How long a page whose place another has taken is watched for doing so for ever, in seconds."""
ELEMENT_S = 5.0
"""How long an element may take to appear and become usable, in seconds."""
SETTLE_S = 5.0
"""How long a document that is there may go on loading pictures and the like, in seconds."""
LATE_S = 10.0
"""How long a page may take to come after one that was in its way, in seconds."""
DOWNLOAD_S = 2.0
"""How long the browser may take to tell of a download after the navigation to it has failed, in seconds."""
Question = dict[str, Any]


class Failed(Exception):
    """An action that could not be done; *why* is a word for the other process."""

    def __init__(self, why: str, message: str, url: str | None = None) -> None:
        super().__init__(message)
        self.why = why
        self.message = message
        self.url = url


class Tab:
    """A page that stays alone: what it opens is closed, what it downloads is dropped."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.page = page
        self._status: int | None = None
        self._failed: tuple[str, str] | None = None
        self._insecure: str | None = None
        self._popups: list[str] = []
        self._downloads: asyncio.Queue[str] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._documents: deque[float] = deque(maxlen=MAX_DOCUMENTS + 1)
        self._windows = 0
        self.left = asyncio.Event()
        """The page was left for good; `why` says for what."""
        self.why: Failed | None = None
        context.on("page", self._close_popup)
        page.on("request", self._note_request)
        page.on("requestfailed", self._note_failure)
        page.on("response", self._note_response)
        page.on("download", lambda download: self._downloads.put_nowait(download.url))

    def begin(self, *, moves: bool = False) -> None:
        """Forget what belongs to earlier actions.

        Args:
            moves: The agent itself goes on with this action, so that the next document is none that a page asked for.
        """
        if moves:
            self._documents.clear()
        self._failed = self._insecure = None
        self._windows = 0
        self._popups.clear()
        self._downloads = asyncio.Queue()

    async def download(self, url: str) -> tuple[str, str, str]:
        """What to say of a download that begins, once it has, so that no later action is taken to have begun it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(DOWNLOAD_S):
                url = await self._downloads.get()
        return "download_refused", "The page offers a download instead of a page.", url[:2000]

    async def state(self) -> dict[str, Any]:
        """How the page is after an action.

        Raises:
            Failed: The action led to where no page is.
        """
        if self._downloads.qsize():
            raise Failed(*(await self.download(self.page.url)))
        if self._insecure is not None:
            raise Failed("insecure_redirect", "The page redirects from https to http.", self._insecure)
        if self._failed is not None:
            url, message = self._failed
            raise Failed("page_not_loaded", message, url)
        return {
            "url": self.page.url[:8000],
            "title": (await self.page.title())[:8000],
            "status": self._status,
            "popups": list(self._popups),
        }

    async def settle(self) -> None:
        """Wait until the document is there, and for a while for the rest."""
        await self.page.wait_for_load_state("domcontentloaded")
        with suppress(Overtime):
            await self.page.wait_for_load_state("load", timeout=SETTLE_S * 1000)

    def refuse_redirect(self, url: str) -> None:
        """Note that the page's redirect from https to *url* was not followed."""
        self._insecure = url

    def _close_popup(self, page: Page) -> None:
        self._windows += 1
        if self._windows > MAX_POPUPS:
            self._leave("too_many_windows", f"The page opens more than {MAX_POPUPS} windows.")
        self._begin(self._closed(page))

    async def _closed(self, page: Page) -> None:
        if len(self._popups) < MAX_POPUPS:
            self._popups.append(page.url[:2000])
        with suppress(Error):
            await page.close()

    def _note_request(self, request: Request) -> None:
        if not self._is_document(request) or request.redirected_from is not None:
            return
        self._documents.append(monotonic())
        if len(self._documents) > MAX_DOCUMENTS and self._documents[-1] - self._documents[0] < DOCUMENTS_S:
            self._leave("endless_navigation", "The page goes on to itself, or to others, without end.")

    def _leave(self, why: str, message: str) -> None:
        """Leave the page for an empty one; the waiting call gets an error now, or with its next question."""
        if self.why is None:
            self.why = Failed(why, message)
            self.left.set()
            self._begin(self._left())

    async def _left(self) -> None:
        with suppress(Error):
            await self.page.goto("about:blank")

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_document(self, request: Request) -> bool:
        return request.is_navigation_request() and request.frame == self.page.main_frame

    def _note_failure(self, request: Request) -> None:
        # A navigation that another one, or a download, has taken the place of is no failure.
        if self._is_document(request) and (request.failure or "") != "net::ERR_ABORTED":
            self._failed = (request.url[:8000], request.failure or "")

    def _note_response(self, response: Response) -> None:
        if self._is_document(response.request):
            self._status = response.status


async def _go(page: Page, url: str) -> None:
    try:
        await page.goto(url, wait_until="domcontentloaded")
    except Error as error:
        if 'another navigation to "chrome-error:' not in f"{error}":
            raise
        # Chromium's own page about an earlier failure has come late, and in between; ours is still to come.
        await page.wait_for_url(
            lambda url: not url.startswith("chrome-error:"), wait_until="domcontentloaded", timeout=LATE_S * 1000
        )


async def open_page(tab: Tab, question: Question) -> dict[str, Any]:
    """Go to `url`, and wait `delay_ms` there."""
    tab.begin(moves=True)
    try:
        await _go(tab.page, question["url"])
    except Error as error:
        said = f"{error}".partition("\n")[0][:300]
        if "Download is starting" in said:
            raise Failed(*(await tab.download(question["url"]))) from error
        await tab.state()
        if "interrupted by another navigation" in said:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERRUPTED_S):
                    await tab.left.wait()
        # Only codes are repeated: "interrupted by another navigation to" goes on in the page's words.
        told = said if said.startswith("Page.goto: net::") else "The page did not come, or another took its place."
        raise Failed("page_not_loaded", told, question["url"]) from error
    return await _after(tab, question)


async def click(tab: Tab, question: Question) -> dict[str, Any]:
    """Click what `selector` or `label` names."""
    tab.begin(moves=True)
    page, label = tab.page, question["label"]
    named = page.get_by_role("link", name=label).or_(page.get_by_role("button", name=label))
    found = named.or_(page.get_by_text(label)).or_(page.get_by_label(label)) if label else _css(tab, question)
    await _use(found.filter(visible=True).first.click(timeout=ELEMENT_S * 1000), question)
    return await _after(tab, question)


async def type_text(tab: Tab, question: Question) -> dict[str, Any]:
    """Fill the field that `selector` or `label` names with `text`; `submit` presses Enter."""
    tab.begin(moves=True)
    page, label = tab.page, question["label"]
    named = page.get_by_label(label).or_(page.get_by_placeholder(label)) if label else _css(tab, question)
    field = named.filter(visible=True).first
    await _use(field.fill(question["text"], timeout=ELEMENT_S * 1000), question)
    if question["submit"]:
        await _use(field.press("Enter", timeout=ELEMENT_S * 1000), question)
    return await _after(tab, question)


async def read(tab: Tab, question: Question) -> dict[str, Any]:
    """The page as text."""
    tab.begin()
    most = question["max_chars"]
    found = await text_of(tab.page, most)
    if found is None:
        raise Failed("page_not_loaded", "The page does not let itself be read.")
    return {**await tab.state(), "text": found.text, "truncated": found.truncated}


async def screenshot(tab: Tab, question: Question) -> dict[str, Any]:
    """What is seen of the page, as PNG in base64."""
    tab.begin()
    await asyncio.sleep(question["delay_ms"] / 1000)
    image = await tab.page.screenshot(type="png", timeout=0)
    if len(image) > question["max_image_bytes"]:
        raise Failed("image_too_large", f"The picture has {len(image)} bytes.")
    return {**await tab.state(), "image": base64.b64encode(image).decode()}


async def show(tab: Tab, question: Question) -> dict[str, Any]:
    """Show a document of our own, `document` in base64, in the place of whatever is there."""
    tab.begin(moves=True)
    await tab.page.goto(f"data:text/html;base64,{question['document']}", wait_until="domcontentloaded")
    return await _after(tab, question)


async def evaluate(tab: Tab, question: Question) -> dict[str, Any]:
    """What `script` comes to in the page, or in the frame that `show` has put into it, as JSON of at most `max_chars`."""
    tab.begin()
    main, most = tab.page.main_frame, question["max_chars"]
    frame = next(iter(main.child_frames), main) if question["is_framed"] else main
    try:
        value = await frame.evaluate(question["script"])
    except Error as error:
        raise Failed("script_failed", f"{error}".partition("\n")[0][:300]) from error
    text = json.dumps(value, default=str, ensure_ascii=False)
    return {**await tab.state(), "value": text[:most], "truncated": len(text) > most}


MOVES: dict[str, Callable[[Tab, Question], Awaitable[dict[str, Any]]]] = {
    "open": open_page,
    "click": click,
    "type": type_text,
    "read": read,
    "screenshot": screenshot,
    "show": show,
    "eval": evaluate,
}


async def _after(tab: Tab, question: Question) -> dict[str, Any]:
    await asyncio.sleep(question["delay_ms"] / 1000)
    await tab.settle()
    return await tab.state()


def _css(tab: Tab, question: Question) -> Locator:
    return tab.page.locator(f"css={question['selector']}")


async def _use(action: Awaitable[None], question: Question) -> None:
    try:
        await action
    except Error as error:
        named = question["selector"] or question["label"]
        why = "in time" if isinstance(error, Overtime) else f"({f'{error}'.partition(chr(10))[0][:200]})"
        raise Failed("element_not_found", f"Nothing on the page can be used as {named[:200]!r} {why}.") from error
