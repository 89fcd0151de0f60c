"""Secrets over HTTP: put and deleted by an admin of the tenant, never shown to anybody, and used by `secret:NAME`."""

import json
from secrets import token_urlsafe

import httpx
import pytest
from tests.plugins.service.auth.conftest import Bearing, Deployment

from toolcharter import StoreUnavailable
from toolcharter_service.auth.authenticator import secret_value
from toolcharter_service.auth.principal import Role

VALUE = token_urlsafe(24)


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


def test_a_secret_is_put_and_never_shown(client: httpx.Client, deployment: Deployment, bearing: Bearing) -> None:
    """Its name alone is listed; another tenant has none of that name."""
    ours, theirs = bearing(Role.ADMIN), bearing(Role.ADMIN, tenant="globex")
    put = client.put("/v1/secrets/github.token", json={"value": VALUE}, headers=ours)
    answers = [
        client.get("/v1/secrets", headers=ours),
        client.get("/v1/secrets/github.token", headers=ours),
        client.put("/v1/secrets/github.token", json={"value": VALUE}, headers=ours),
    ]

    assert put.status_code == 204
    assert [one["name"] for one in answers[0].json()["secrets"]] == ["github.token"]
    assert answers[1].status_code == 405
    assert all(VALUE not in answer.text for answer in answers)
    assert client.get("/v1/secrets", headers=theirs).json()["secrets"] == []
    assert problem(client.delete("/v1/secrets/github.token", headers=theirs)) == (404, "unknown_secret")
    assert deployment.handle().secret("secret:github.token", "acme") == VALUE
    assert client.delete("/v1/secrets/github.token", headers=ours).status_code == 204
    assert client.get("/v1/secrets", headers=ours).json()["secrets"] == []
    told = [one for one in deployment.events if one.get("target") == "github.token"]
    assert [one["action"] for one in told] == ["secret_put", "secret_put", "secret_deleted"]
    assert VALUE not in json.dumps(deployment.events, default=str)


def test_secrets_are_for_admins_of_the_whole_tenant(client: httpx.Client, bearing: Bearing) -> None:
    """All its agents may use them."""
    bounded, other = bearing(Role.ADMIN, agents=("coder",)), bearing(Role.OPERATOR)

    assert problem(client.put("/v1/secrets/x", json={"value": "v"}, headers=bounded)) == (403, "agent_not_allowed")
    assert problem(client.get("/v1/secrets", headers=bounded)) == (403, "agent_not_allowed")
    assert problem(client.get("/v1/secrets", headers=other)) == (403, "role_missing")


def test_a_secret_that_cannot_be_is_refused_without_its_value(client: httpx.Client, bearing: Bearing) -> None:
    """An answer that repeats what was wrong would show it."""
    admin = bearing(Role.ADMIN)
    answers = [
        client.put("/v1/secrets/a b", json={"value": VALUE}, headers=admin),
        client.put("/v1/secrets/x", json={"value": ""}, headers=admin),
        client.put("/v1/secrets/x", json={"value": VALUE, "more": VALUE}, headers=admin),
        client.put("/v1/secrets/x", json={"value": [VALUE]}, headers=admin),
    ]

    assert [problem(answer) for answer in answers] == [(400, "invalid_request")] * 4
    assert all(VALUE not in answer.text for answer in answers)


async def test_the_configuration_refers_to_secrets(
    client: httpx.Client, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the service as a whole, or of its environment."""
    monkeypatch.setenv("TOOLCHARTER_TEST_CLIENT", VALUE)
    [service, *_] = deployment.services

    assert await secret_value(service, "env:TOOLCHARTER_TEST_CLIENT") == VALUE
    for reference in ("env:TOOLCHARTER_TEST_NOTHING", "secret:nothing"):
        with pytest.raises(StoreUnavailable):
            await secret_value(service, reference)
