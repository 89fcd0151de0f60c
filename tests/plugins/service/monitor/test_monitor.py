"""The monitor in a real Chromium: each action by keyboard, hostile text in each field, nothing that a script policy forbids."""

from collections.abc import Iterator
from threading import Thread
from typing import Any

import httpx
import pytest

from toolcharter import MCP_RECORDS, Caller, McpAgentGrant, McpServerRecord, McpToolsRecord, McpUserGrant
from toolcharter_service.approvals import REQUESTER, ApprovalRecord, Requester
from toolcharter_service.approvals.records import Status
from toolcharter_service.grants.records import AccessRequest
from toolcharter_service.monitor.routes import HEADERS
from toolcharter_service.registry.catalog import seed
from toolcharter_service.registry.records import StoredTool, ToolOwner, ToolRecord
from toolcharter_service.registry.reload import RegistryReloader
from toolcharter_service.service import DISTRIBUTION

from .conftest import CHROMIUM, BrowserUser, MonitoredService

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium"),
]
HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>"'}{{ 7*7 }}{% raw %}<!--"""


@pytest.fixture(autouse=True)
def quiet(looking: BrowserUser) -> Iterator[None]:
    """No test leaves a script error, a refused script or a dialog behind."""
    yield
    assert looking.complaints == []


def test_who_is_not_signed_in_is_led_to_sign_in(watched: MonitoredService) -> None:
    """Whatever page is asked for; nothing of it is shown."""
    for page in ("", "/tools", "/tokens", "/nothing"):
        answer = httpx.get(f"{watched.url}/monitor{page}", timeout=60)
        assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/login"), page


def test_pages_are_those_of_the_role(looking: BrowserUser) -> None:
    """A viewer sees no tokens, neither in the list of pages nor by the address."""
    looking.sign_in("vera")

    assert looking.page.get_by_role("navigation").inner_text().split() == [
        "Tools",
        "Calls",
        "Approvals",
        "Grants",
        "Workers",
    ]
    refused = looking.page.request.get(f"{looking.watched.url}/monitor/tokens")
    assert refused.status == 404


def test_every_answer_bears_the_policy_for_scripts(looking: BrowserUser) -> None:
    """Scripts come from this origin alone, and forms go nowhere else."""
    looking.sign_in("ada")
    for page in ("tools", "calls", "approvals", "grants", "tokens", "workers"):
        answer = looking.page.request.get(f"{looking.watched.url}/monitor/{page}")
        assert answer.status == 200, page
        assert {name: answer.headers[name.lower()] for name in HEADERS} == HEADERS
    ran = looking.page.evaluate(
        "() => { const s = document.createElement('script'); s.text = 'window.ran = 1'; document.body.append(s); return window.ran === 1 }"
    )
    assert ran is False
    assert [said for said in looking.complaints if "Content Security Policy" in said]
    looking.complaints.clear()


@pytest.fixture
def asking(watched: MonitoredService) -> Iterator[dict[str, Any]]:
    """A call that waits for an approval; its result comes under `result`."""
    found: dict[str, Any] = {}

    def call() -> None:
        REQUESTER.set(Requester("bot-token", "id-bot"))
        view = watched.service.view(Caller(agent="bot"), tenant="acme", agent="bot")
        found["result"] = view.call("bash", {"command": f"echo {'<b>hi</b>'!r}"})

    thread = Thread(target=call)
    thread.start()
    yield found
    store = watched.stores.bound("acme", DISTRIBUTION)
    for stored in store.page(ApprovalRecord, where={"status": "pending"}).records:
        store.put(stored.record.model_copy(update={"status": "deny", "answered_by": "test"}))
    thread.join(30)


@pytest.mark.parametrize(("button", "outcome"), [("Allow bash once", "ok"), ("Deny bash", "denied")])
def test_an_approval_is_answered_by_keyboard(
    looking: BrowserUser, asking: dict[str, Any], button: str, outcome: str
) -> None:
    """And the call ends so; what it would run is shown as text."""
    looking.sign_in("ann")
    looking.open("approvals")
    looking.page.get_by_text("wait for an approval: 1").wait_for()
    looking.open("approvals")
    assert "echo '<b>hi</b>'" in looking.text
    looking.press(button)

    assert "The answer is saved." in looking.text
    looking.page.wait_for_function("() => true")
    for _ in range(1_200):
        if asking.get("result"):
            break
        looking.page.wait_for_timeout(50)
    assert asking["result"].outcome == outcome


def test_who_may_not_approve_has_no_button(looking: BrowserUser, asking: dict[str, Any]) -> None:
    """A viewer sees the question, and a form of its own making is refused."""
    looking.sign_in("vera")
    looking.open("approvals")
    looking.page.get_by_text("wait for an approval: 1").wait_for()
    looking.open("approvals")

    assert looking.page.get_by_role("button", name="Allow bash once").count() == 0
    assert "result" not in asking


def test_grants_are_given_and_taken_back(looking: BrowserUser) -> None:
    """By keyboard, with the names of tools that exist."""
    store = looking.watched.stores.bound("acme", MCP_RECORDS)
    store.put(McpServerRecord(name="issues", transport="stdio", command="npx"))
    store.put(McpToolsRecord(server="issues", names=("list",), full_names=("mcp__issues__list",)))
    looking.sign_in("ada")
    looking.open("grants")
    looking.page.get_by_label("Name").focus()
    looking.page.keyboard.type("bot")
    looking.page.keyboard.press("Tab")
    looking.page.keyboard.type("list")
    looking.press("Grant issues")
    assert "agent bot" in looking.text
    kept = store.get(McpAgentGrant, "issues", "bot")
    assert kept is not None
    assert (kept.record.tool_allow, kept.record.granted_by) == (("list",), "ada")

    looking.press("Take back from bot")
    assert store.get(McpAgentGrant, "issues", "bot") is None
    store.delete(McpServerRecord, "issues")


@pytest.mark.parametrize(("button", "status"), [("Approve", "approved"), ("Reject", "rejected")])
def test_requests_are_reviewed(looking: BrowserUser, button: str, status: str) -> None:
    """What somebody wrote as their reason is text."""
    store = looking.watched.stores.bound("acme", MCP_RECORDS)
    store.put(McpServerRecord(name="issues", transport="stdio", command="npx"))
    request = AccessRequest(
        id=f"r-{status}",
        server="issues",
        scope="user",
        subject="eve",
        reason=HOSTILE,
        requested_by="eve",
        requested_at="2026",
    )
    store.put(request)
    looking.sign_in("ada")
    looking.open("grants")
    assert HOSTILE in looking.text
    looking.press(button)

    found = store.get(AccessRequest, request.id)
    assert found is not None
    assert (found.record.status, found.record.reviewed_by) == (status, "ada")
    assert (store.get(McpUserGrant, "issues", "eve") is not None) is (status == "approved")
    store.delete(McpUserGrant, "issues", "eve")
    store.delete(AccessRequest, request.id)
    store.delete(McpServerRecord, "issues")


def test_a_token_is_shown_once_and_revoked(looking: BrowserUser) -> None:
    """Made by keyboard, under a hostile name."""
    looking.sign_in("ada")
    looking.open("tokens")
    looking.page.get_by_label("Name").focus()
    looking.page.keyboard.type("deploy")
    looking.press("Create")
    shown = looking.page.get_by_label("Answer").inner_text()
    assert '"token"' in shown
    looking.open("tokens")
    assert "deploy" in looking.text
    assert '"token"' not in looking.text

    looking.press("Revoke deploy")
    assert "deploy" not in looking.page.locator("table").inner_text()


def test_a_form_without_its_token_does_nothing(looking: BrowserUser) -> None:
    """As another site would send it, with the person's cookies."""
    looking.sign_in("ada")
    refused = looking.page.request.post(
        f"{looking.watched.url}/monitor/tokens/create", form={"name": "x", "role": "admin"}
    )

    assert refused.status in {400, 403}
    looking.open("tokens")
    assert "Tokens: 0" in looking.text


def test_hostile_text_stays_text(looking: BrowserUser) -> None:
    """In every field that somebody else fills: names of servers' tools, notes, messages, users."""
    store = looking.watched.stores.bound("acme", MCP_RECORDS)
    store.put(McpServerRecord(name="bad", transport="stdio", command=HOSTILE, args=(HOSTILE,), created_by=HOSTILE))
    store.put(McpToolsRecord(server="bad", names=(HOSTILE,), full_names=(HOSTILE,)))
    store.put(McpAgentGrant(server="bad", agent=HOSTILE, tool_deny=(HOSTILE,), granted_by=HOSTILE))
    common: dict[str, Any] = {"tool": HOSTILE, "action": HOSTILE, "args": {HOSTILE: HOSTILE}, "commands": (HOSTILE,)}
    common |= {"profile": HOSTILE, "workspace": HOSTILE, "agent": HOSTILE, "user": HOSTILE, "requested_by": HOSTILE}
    common |= {"token_id": "", "digest": "d", "reason": HOSTILE, "message": HOSTILE, "always": False}
    common |= {"why_not_always": HOSTILE, "asked_at": HOSTILE, "expires": 9e9, "note": HOSTILE, "answered_by": HOSTILE}
    approvals = looking.watched.stores.bound("acme", DISTRIBUTION)
    statuses: dict[str, Status] = {"h1": "pending", "h2": "deny"}
    for key, status in statuses.items():
        approvals.put(ApprovalRecord(id=key, call_id="c", stored_call="s", worker="w", status=status, **common))
    looking.sign_in("ada")
    for page in ("approvals", "grants"):
        looking.open(page)
        assert HOSTILE in looking.text
        assert looking.page.locator("main img, main script").count() == 0
    for key in ("h1", "h2"):
        approvals.delete(ApprovalRecord, key)
    store.delete(McpServerRecord, "bad")
    store.delete(McpAgentGrant, "bad", HOSTILE)


@pytest.fixture
def agent_made(watched: MonitoredService) -> Iterator[str]:
    """A tool that an agent has registered, with hostile text wherever a record holds text."""
    told = {"id": "tool_greet", "name": HOSTILE, "description": HOSTILE, "safety_level": "low", "created_by": "agent"}
    record = ToolRecord.model_validate(told | {"exec": {"type": "cmd", "cmd": "echo", "args": ["hello <b>you</b>"]}})
    store = watched.stores.bound("acme", DISTRIBUTION)
    seed(store, (record,))
    RegistryReloader.of(watched.service).reload_here("acme")
    yield record.id
    store.delete(StoredTool, record.id)
    store.delete(ToolOwner, record.id)


def test_tools_are_filtered_invoked_and_deleted(looking: BrowserUser, agent_made: str) -> None:
    """By keyboard: the filter leaves what agents made, the form calls it, and it can be deleted; the system's cannot."""
    looking.sign_in("ada")
    looking.open("tools")
    assert "tool_ls" in looking.text
    assert HOSTILE in looking.text
    assert looking.page.locator("main img, main script").count() == 0
    assert looking.page.get_by_role("button", name="Delete tool_ls").count() == 0
    looking.reach("auto-generated only", "checkbox")
    looking.page.keyboard.press("Space")
    looking.press("Filter")
    assert "Tools: 1" in looking.text

    looking.reach_summary(f"Invoke {agent_made}")
    looking.page.keyboard.press("Enter")
    looking.press("Invoke")
    assert "The tool answers:" in looking.text, looking.text
    assert "hello <b>you</b>" in looking.page.get_by_label("Answer").inner_text()

    looking.open("tools")
    looking.press(f"Delete {agent_made}")
    assert "The tool is deleted." in looking.text
    assert agent_made not in looking.page.locator("table").inner_text()


def test_calls_and_their_effects_are_shown(looking: BrowserUser) -> None:
    """What was called with which arguments, and what came of it, as text; those of one agent alone, if one asks for it."""
    view = looking.watched.service.view(Caller(agent="bot"), tenant="acme", agent="bot")
    view.call("read_file", {"path": HOSTILE})
    looking.sign_in("vera")
    looking.open("calls")
    looking.page.get_by_role("row").filter(has_text="read_file").first.wait_for()
    assert looking.page.locator("main img, main script").count() == 0

    looking.open("calls?agent=nobody")
    assert "The latest calls: 0" in looking.text


def test_signing_out_ends_it(looking: BrowserUser) -> None:
    """The pages are closed again."""
    looking.sign_in("vera")
    looking.press("Sign out")
    looking.open("tools")

    assert looking.page.url.split("?")[0].endswith("/login")
