"""`GET /api/tools` and `/api/tools/usage` of a service that runs."""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.plugins.service.header_identity import HeaderAuthenticator, identity_headers
from tests.plugins.service.serving import configured, serving

from toolcharter.guards.store.handle import StoreHandle
from toolcharter_service.http.app import create_app
from toolcharter_service.registry.records import StoredTool, ToolRecord
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service(place: Path, stores: StoreHandle) -> Service:
    """A service whose callers say who they are."""
    return Service(configured(place), stores=stores)


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    """Where it listens."""
    with serving(create_app(service, auth=HeaderAuthenticator())) as address:
        yield address


def test_tools_and_usage_are_shown(service: Service, url: str) -> None:
    """As they lie in the store, also what no registry would take; another tenant's are not."""
    store = service.store("acme")
    store.put(StoredTool.of(ToolRecord(id="tool_b", created_by="agent")))
    store.put(StoredTool.model_validate({"id": "tool_a", "created_by": "nobody"}))
    called = httpx.post(
        f"{url}/v1/calls",
        json={"tool": "list_files", "args": {}},
        headers={**identity_headers("ada", "caller"), "X-Agent-ID": "reviewer"},
        timeout=60,
    )
    assert called.status_code == 200, called.text

    end = time.monotonic() + 60
    while True:
        tools = httpx.get(f"{url}/api/tools", headers=identity_headers("mo", "viewer"), timeout=60).json()
        if "list_files" in tools["metrics"]:
            break
        assert time.monotonic() < end, "the call was not counted"
        time.sleep(0.05)
    usage = httpx.get(f"{url}/api/tools/usage", headers=identity_headers("mo", "viewer"), timeout=60).json()
    others = httpx.get(
        f"{url}/api/tools/usage?agent_id=nobody", headers=identity_headers("mo", "viewer"), timeout=60
    ).json()

    ids = [tool["id"] for tool in tools["tools"]]
    assert ids == sorted(ids)
    assert {"tool_a", "tool_b", "tool_ls"} <= set(ids)
    assert tools["metrics"]["list_files"]["success_calls"] == 1
    assert [(entry["tool"], entry["status"], entry["type"]) for entry in usage["usage"]] == [
        ("list_files", "success", "result")
    ]
    assert others == {"agent_id": "nobody", "usage": []}
    elsewhere = httpx.get(
        f"{url}/api/tools/usage", headers=identity_headers("mo", "viewer", tenant="zoo"), timeout=60
    ).json()
    assert elsewhere["usage"] == []


@pytest.mark.parametrize(
    ("query", "roles", "agents", "status"),
    [
        pytest.param("", "viewer", None, 200, id="viewer"),
        pytest.param("?agent_id=reviewer", "caller", ["reviewer"], 200, id="own-agent"),
        pytest.param("?agent_id=other", "caller", ["reviewer"], 403, id="other-agent"),
        pytest.param("", "caller", ["reviewer"], 403, id="everybodys-with-a-bound-token"),
        pytest.param("?agent_id=a:b", "viewer", None, 400, id="no-name"),
        pytest.param("?limit=0", "viewer", None, 400, id="no-limit"),
    ],
)
def test_usage_is_for_those_who_may_see_it(
    url: str, query: str, roles: str, agents: list[str] | None, status: int
) -> None:
    """A token that is bound to agents sees theirs."""
    answer = httpx.get(
        f"{url}/api/tools/usage{query}", headers=identity_headers("ada", roles, agents=agents), timeout=60
    )
    assert answer.status_code == status, answer.text
