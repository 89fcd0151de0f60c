"""A service with people who sign in, and a real browser that looks at it."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher
from playwright.sync_api import Browser, Dialog, Locator, Page, sync_playwright
from tests.core.guards.store.memory_engine import MemoryEngine
from tests.plugins.service.serving import configured, serving

from toolcharter import StoreHandle
from toolcharter_service.auth.passwords import Passwords
from toolcharter_service.auth.principal import Role
from toolcharter_service.auth.records import UserRecord
from toolcharter_service.http.app import create_app
from toolcharter_service.service import DISTRIBUTION, Service

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
HASHER = PasswordHasher(time_cost=1, memory_cost=1_024, parallelism=1)
PROFILE = """
profile: watched
description: Asks before each line of a shell.
runner: host
mode: ask
tools: {read_file: {}, list_files: {}, bash: {}}
approvals: {timeout_s: 60}
extensions: {registry: {extend: true}}
allow: ["custom:*", "list_files", "read_file"]
"""


class MonitoredService:
    """The service, its store, and people with one password."""

    def __init__(self, place: Path, ending: ExitStack) -> None:
        self.stores = StoreHandle(MemoryEngine)
        self.password = secrets.token_urlsafe(12)
        self.service = Service(configured(place, {"bot": PROFILE}, auth={"passwords": True}), stores=self.stores)
        app = create_app(self.service)
        app.state.auth.passwords = Passwords(HASHER)
        for name, roles in {"ada": (Role.ADMIN,), "ann": (Role.APPROVER,), "vera": (Role.VIEWER,)}.items():
            record = UserRecord(
                tenant="acme", name=name, roles=roles, password=HASHER.hash(self.password), created=0, created_by="test"
            )
            self.stores.bound("", DISTRIBUTION).put(record)
        self.url = ending.enter_context(serving(app))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MonitoredService]:
    with ExitStack() as ending:
        yield MonitoredService(tmp_path_factory.mktemp("watched"), ending)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


class BrowserUser:
    """One person's browser: all is done by keyboard, and what the page complains of is noted."""

    def __init__(self, watched: MonitoredService, page: Page) -> None:
        self.watched, self.page = watched, page
        self.complaints: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append("a dialog")
        dialog.dismiss()

    def sign_in(self, name: str) -> None:
        self.page.goto(f"{self.watched.url}/monitor")
        self.page.get_by_label("User").focus()
        self.page.keyboard.type(name)
        self.page.keyboard.press("Tab")
        self.page.keyboard.type(self.watched.password)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/monitor/*")

    def open(self, page: str) -> None:
        self.page.goto(f"{self.watched.url}/monitor/{page}")

    def reach(self, name: str, role: Any = "button") -> None:
        """Press Tab until the control *name* has the focus: no mouse is needed to get there."""
        self._tab_to(self.page.get_by_role(role, name=name, exact=True).first)

    def reach_summary(self, text: str) -> None:
        """The same for what unfolds something."""
        self._tab_to(self.page.locator("summary").filter(has_text=text).first)

    def _tab_to(self, wanted: Locator) -> None:
        wanted.wait_for()
        for _ in range(200):
            if wanted.evaluate("it => it === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{wanted} cannot be reached by keyboard")

    def press(self, name: str) -> None:
        """Press a button by keyboard, and wait for the page that follows."""
        self.reach(name)
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    def findings(self, axe: str) -> list[str]:
        """What axe-core, whose script *axe* is, finds on the page: rule and places."""
        self.page.evaluate(axe)
        found: list[dict[str, Any]] = self.page.evaluate("async () => (await axe.run()).violations")
        return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]

    @property
    def text(self) -> str:
        return self.page.locator("main").inner_text()


@pytest.fixture
def looking(watched: MonitoredService, browser: Browser) -> Iterator[BrowserUser]:
    context = browser.new_context()
    yield BrowserUser(watched, context.new_page())
    context.close()
