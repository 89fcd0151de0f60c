"""axe-core over every page of the monitor, with something on each, light and dark, wide and narrow.

`make clients` installs axe-core; elsewhere these tests are skipped.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from toolcharter import MCP_RECORDS, Caller, McpAgentGrant, McpServerRecord, McpToolsRecord
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.approvals.records import Status
from toolcharter_service.grants.records import AccessRequest
from toolcharter_service.service import DISTRIBUTION

from .conftest import CHROMIUM, BrowserUser, MonitoredService

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
]
PAGES = ("tools", "calls", "approvals", "grants", "tokens", "workers")
SHOTS = os.environ.get("TOOLCHARTER_SCREENSHOTS")
"""A folder for a picture of each page, for people who want to look."""


@pytest.fixture(scope="module")
def axe(project_root: Path) -> str:
    """The script."""
    script = project_root / ".clients/node_modules/axe-core/axe.min.js"
    if not script.is_file():
        pytest.skip("axe-core is not installed; `make clients` installs it")
    return script.read_text()


@pytest.fixture(scope="module")
def furnished(watched: MonitoredService) -> Iterator[MonitoredService]:
    """Something stands on each page."""
    mcp, own = watched.stores.bound("acme", MCP_RECORDS), watched.stores.bound("acme", DISTRIBUTION)
    mcp.put(McpServerRecord(name="issues", transport="stdio", command="npx", args=("-y", "issues-server")))
    mcp.put(
        McpToolsRecord(server="issues", names=("list", "close"), full_names=("mcp__issues__list", "mcp__issues__close"))
    )
    mcp.put(McpAgentGrant(server="issues", agent="bot", tool_allow=("list",), tool_deny=("close",), granted_by="ada"))
    asked = {"server": "issues", "scope": "user", "subject": "eve", "requested_by": "eve", "requested_at": "2026"}
    mcp.put(AccessRequest.model_validate({"id": "r1", "reason": "I close issues.", **asked}))
    common: dict[str, Any] = {"tool": "bash", "action": "", "args": {"command": "ls -l"}, "commands": ("ls -l",)}
    common |= {"profile": "watched", "workspace": "/srv/acme/watched", "agent": "bot", "user": "eve", "digest": "d"}
    common |= {"requested_by": "bot-token", "token_id": "", "reason": "ask", "message": "bash asks.", "always": True}
    common |= {
        "why_not_always": "",
        "asked_at": "2026-11-24T20:00:00Z",
        "expires": 9e9,
        "note": "",
        "answered_by": "ann",
    }
    statuses: dict[str, Status] = {"a1": "pending", "a2": "deny"}
    for key, status in statuses.items():
        own.put(ApprovalRecord(id=key, call_id="c", stored_call="s", worker="w", status=status, **common))
    view = watched.service.view(Caller(agent="bot"), tenant="acme", agent="bot")
    listed = view.call("list_files", {"path": "."})
    assert listed.outcome == "ok", listed
    view.call("read_file", {"path": "nothing.txt"})
    yield watched
    for key in ("a1", "a2"):
        own.delete(ApprovalRecord, key)
    mcp.delete(AccessRequest, "r1")
    mcp.delete(McpAgentGrant, "issues", "bot")
    mcp.delete(McpServerRecord, "issues")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_pages_are_clean(furnished: MonitoredService, browser: Browser, axe: str, scheme: Any, width: int) -> None:
    """No finding of any rule, and no page is wider than the window."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    looking = BrowserUser(furnished, context.new_page())
    looking.page.goto(f"{furnished.url}/login")
    found = {"login": looking.findings(axe)}
    looking.sign_in("ada")
    wide: list[str] = []
    for page in PAGES:
        looking.open(page)
        if page == "tools":
            looking.page.locator("summary").first.click()
        if SHOTS:
            looking.page.screenshot(path=f"{SHOTS}/{page}-{scheme}-{width}.png")
        found[page] = looking.findings(axe)
        if looking.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            wide.append(page)
    context.close()

    assert {page: findings for page, findings in found.items() if findings} == {}
    assert wide == []
    assert looking.complaints == []
