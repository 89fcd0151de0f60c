"""`Tab`: the only page of a browser, and the actions on it. Runs in the browser's own process."""

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
"""The most new windows of one action. If there are more, the page is left, and the rest is not reported."""
MAX_DOCUMENTS = 20
"""The most documents that may replace each other within `DOCUMENTS_S`; an endless chain of navigations loads more."""
DOCUMENTS_S = 10.0
INTERRUPTED_S = 1.0
"""How long to watch for endless navigation after a navigation was interrupted by another, in seconds."""
ELEMENT_S = 5.0
"""How long an element may take to appear and become usable, in seconds."""
SETTLE_S = 5.0
"""How long a parsed document may load pictures and other resources, in seconds."""
LATE_S = 10.0
"""How long a page may take to load after Chromium's error page has interrupted its navigation, in seconds."""
DOWNLOAD_S = 2.0
"""How long the browser may take to report a download after the navigation to it has failed, in seconds."""
Question = dict[str, Any]


class ActionFailed(Exception):
    """An action has failed; *why* is the reason for the tools' process."""

    def __init__(self, why: str, message: str, url: str | None = None) -> None:
        super().__init__(message)
        self.why = why
        self.message = message
        self.url = url


class Tab:
    """The browser's only page: windows that it opens are closed, and downloads are dropped."""

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
        self.abandoned = asyncio.Event()
        """Set when the page has been left for good; `why` has the reason."""
        self.why: ActionFailed | None = None
        context.on("page", self._close_popup)
        page.on("request", self._note_request)
        page.on("requestfailed", self._note_failure)
        page.on("response", self._note_response)
        page.on("download", lambda download: self._downloads.put_nowait(download.url))

    def reset(self, *, is_navigating: bool = False) -> None:
        """Forget the state of earlier actions.

        Args:
            is_navigating: Whether the agent's action itself may navigate. The next document then does not count as the
                page's own navigation.
        """
        if is_navigating:
            self._documents.clear()
        self._failed = self._insecure = None
        self._windows = 0
        self._popups.clear()
        self._downloads = asyncio.Queue()

    async def download(self, url: str) -> tuple[str, str, str]:
        """Return the arguments of `ActionFailed` for a download, by default with *url*.

        Waits until the download has begun, so that it is not attributed to a later action.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(DOWNLOAD_S):
                url = await self._downloads.get()
        return "download_refused", "The page offers a download instead of a page.", url[:2000]

    async def state(self) -> dict[str, Any]:
        """Return the state of the page after an action.

        Raises:
            ActionFailed: The action led to a download, an insecure redirect or a page that did not load.
        """
        if self._downloads.qsize():
            raise ActionFailed(*(await self.download(self.page.url)))
        if self._insecure is not None:
            raise ActionFailed("insecure_redirect", "The page redirects from https to http.", self._insecure)
        if self._failed is not None:
            url, message = self._failed
            raise ActionFailed("page_not_loaded", message, url)
        return {
            "url": self.page.url[:8000],
            "title": (await self.page.title())[:8000],
            "status": self._status,
            "popups": list(self._popups),
        }

    async def settle(self) -> None:
        """Wait until the document is parsed, and then at most `SETTLE_S` for the rest."""
        await self.page.wait_for_load_state("domcontentloaded")
        with suppress(Overtime):
            await self.page.wait_for_load_state("load", timeout=SETTLE_S * 1000)

    def refuse_redirect(self, url: str) -> None:
        """Record that the page's redirect from https to *url* was blocked."""
        self._insecure = url

    def _close_popup(self, page: Page) -> None:
        self._windows += 1
        if self._windows > MAX_POPUPS:
            self._abandon("too_many_windows", f"The page opens more than {MAX_POPUPS} windows.")
        self._start_task(self._close_window(page))

    async def _close_window(self, page: Page) -> None:
        if len(self._popups) < MAX_POPUPS:
            self._popups.append(page.url[:2000])
        with suppress(Error):
            await page.close()

    def _note_request(self, request: Request) -> None:
        if not self._is_document(request) or request.redirected_from is not None:
            return
        self._documents.append(monotonic())
        if len(self._documents) > MAX_DOCUMENTS and self._documents[-1] - self._documents[0] < DOCUMENTS_S:
            self._abandon("endless_navigation", "The page keeps navigating to itself or to other pages.")

    def _abandon(self, why: str, message: str) -> None:
        """Leave the page for an empty page. The waiting call, or else the next question, gets the error."""
        if self.why is None:
            self.why = ActionFailed(why, message)
            self.abandoned.set()
            self._start_task(self._go_blank())

    async def _go_blank(self) -> None:
        with suppress(Error):
            await self.page.goto("about:blank")

    def _start_task(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_document(self, request: Request) -> bool:
        return request.is_navigation_request() and request.frame == self.page.main_frame

    def _note_failure(self, request: Request) -> None:
        # A navigation that was replaced by another navigation or a download has not failed.
        if self._is_document(request) and (request.failure or "") != "net::ERR_ABORTED":
            self._failed = (request.url[:8000], request.failure or "")

    def _note_response(self, response: Response) -> None:
        if self._is_document(response.request):
            self._status = response.status


async def _navigate(page: Page, url: str) -> None:
    try:
        await page.goto(url, wait_until="domcontentloaded")
    except Error as error:
        if 'another navigation to "chrome-error:' not in f"{error}":
            raise
        # Chromium's error page for an earlier failure has come late and interrupted this navigation, which still goes
        # on.
        await page.wait_for_url(
            lambda url: not url.startswith("chrome-error:"), wait_until="domcontentloaded", timeout=LATE_S * 1000
        )


async def open_page(tab: Tab, question: Question) -> dict[str, Any]:
    """Go to `url`, and wait `delay_ms` there."""
    tab.reset(is_navigating=True)
    try:
        await _navigate(tab.page, question["url"])
    except Error as error:
        said = f"{error}".partition("\n")[0][:300]
        if "Download is starting" in said:
            raise ActionFailed(*(await tab.download(question["url"]))) from error
        await tab.state()
        if "interrupted by another navigation" in said:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERRUPTED_S):
                    await tab.abandoned.wait()
        # Pass on only error codes: "interrupted by another navigation to" is followed by text from the page.
        told = said if said.startswith("Page.goto: net::") else "The page did not load, or another page replaced it."
        raise ActionFailed("page_not_loaded", told, question["url"]) from error
    return await _settled_state(tab, question)


async def click(tab: Tab, question: Question) -> dict[str, Any]:
    """Click the element that `selector` or `label` matches."""
    tab.reset(is_navigating=True)
    page, label = tab.page, question["label"]
    named = page.get_by_role("link", name=label).or_(page.get_by_role("button", name=label))
    found = (
        named.or_(page.get_by_text(label)).or_(page.get_by_label(label)) if label else _locate_selector(tab, question)
    )
    await _try_action(found.filter(visible=True).first.click(timeout=ELEMENT_S * 1000), question)
    return await _settled_state(tab, question)


async def type_text(tab: Tab, question: Question) -> dict[str, Any]:
    """Fill the field that `selector` or `label` matches with `text`; `submit` presses Enter."""
    tab.reset(is_navigating=True)
    page, label = tab.page, question["label"]
    named = page.get_by_label(label).or_(page.get_by_placeholder(label)) if label else _locate_selector(tab, question)
    field = named.filter(visible=True).first
    await _try_action(field.fill(question["text"], timeout=ELEMENT_S * 1000), question)
    if question["submit"]:
        await _try_action(field.press("Enter", timeout=ELEMENT_S * 1000), question)
    return await _settled_state(tab, question)


async def read(tab: Tab, question: Question) -> dict[str, Any]:
    """Return the page as text."""
    tab.reset()
    most = question["max_chars"]
    found = await text_of(tab.page, most)
    if found is None:
        raise ActionFailed("page_not_loaded", "The page cannot be read.")
    return {**await tab.state(), "text": found.text, "truncated": found.truncated}


async def screenshot(tab: Tab, question: Question) -> dict[str, Any]:
    """Return the visible part of the page as a PNG in base64."""
    tab.reset()
    await asyncio.sleep(question["delay_ms"] / 1000)
    image = await tab.page.screenshot(type="png", timeout=0)
    if len(image) > question["max_image_bytes"]:
        raise ActionFailed("image_too_large", f"The picture has {len(image)} bytes.")
    return {**await tab.state(), "image": base64.b64encode(image).decode()}


async def show(tab: Tab, question: Question) -> dict[str, Any]:
    """Show `document`, a document in base64, in place of the current page."""
    tab.reset(is_navigating=True)
    await tab.page.goto(f"data:text/html;base64,{question['document']}", wait_until="domcontentloaded")
    return await _settled_state(tab, question)


async def evaluate(tab: Tab, question: Question) -> dict[str, Any]:
    """Evaluate `script` in the page, or in the frame that `show` has put into it.

    Returns the value as JSON, cut to `max_chars`.
    """
    tab.reset()
    main, most = tab.page.main_frame, question["max_chars"]
    frame = next(iter(main.child_frames), main) if question["is_framed"] else main
    try:
        value = await frame.evaluate(question["script"])
    except Error as error:
        raise ActionFailed("script_failed", f"{error}".partition("\n")[0][:300]) from error
    text = json.dumps(value, default=str, ensure_ascii=False)
    return {**await tab.state(), "value": text[:most], "truncated": len(text) > most}


ACTIONS: dict[str, Callable[[Tab, Question], Awaitable[dict[str, Any]]]] = {
    "open": open_page,
    "click": click,
    "type": type_text,
    "read": read,
    "screenshot": screenshot,
    "show": show,
    "eval": evaluate,
}


async def _settled_state(tab: Tab, question: Question) -> dict[str, Any]:
    await asyncio.sleep(question["delay_ms"] / 1000)
    await tab.settle()
    return await tab.state()


def _locate_selector(tab: Tab, question: Question) -> Locator:
    return tab.page.locator(f"css={question['selector']}")


async def _try_action(action: Awaitable[None], question: Question) -> None:
    try:
        await action
    except Error as error:
        named = question["selector"] or question["label"]
        why = "in time" if isinstance(error, Overtime) else f"({f'{error}'.partition(chr(10))[0][:200]})"
        raise ActionFailed("element_not_found", f"Nothing on the page can be used as {named[:200]!r} {why}.") from error
