"""Tokens: their form, what is kept of them, who they let in, for how long, and who learns of them."""

import asyncio
import json
import math
import time
from base64 import b64encode
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from tests.plugins.service.auth.conftest import Bearing, Deployment
from tests.rows import each_row
from tests.waiting import until

from toolcharter import StoreUnavailable, scrub_text
from toolcharter_service.auth import tokens as token_module
from toolcharter_service.auth.authenticator import ServiceAuth, delete_expired
from toolcharter_service.auth.principal import Role
from toolcharter_service.auth.records import TokenRecord
from toolcharter_service.auth.tokens import LENGTH, NewToken, generate_token, is_token
from toolcharter_service.auth.verified import POLL_S

UNKNOWN = {
    "error": "This token is not known, has expired or was revoked.",
    "reason": "unauthenticated",
    "call_id": None,
}


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


def test_a_token_has_256_random_bits_and_a_form_of_its_own() -> None:
    """Each letter of the body but the first few is as likely as any other, and the scrubber masks the whole of it."""
    made = [generate_token() for _ in range(400)]

    letters = Counter("".join(text[10:47] for text in made))
    entropy = -sum(n / letters.total() * math.log2(n / letters.total()) for n in letters.values())
    assert {len(text) for text in made} == {LENGTH}
    assert all(map(is_token, made))
    assert len(letters) == 62
    assert entropy > math.log2(62) - 0.05
    assert scrub_text(f"use {made[0]} here") == ("use [REDACTED] here", 1)


@each_row("change", [lambda t: t[:-1], lambda t: t + "0", lambda t: t[:20] + "-" + t[21:], str.swapcase])
def test_a_mistyped_token_is_told_by_its_checksum(change: Any) -> None:
    """Without a look into the store."""
    assert not is_token(change(generate_token()))


def test_a_token_lets_its_bearer_in(client: httpx.Client, bearing: Bearing) -> None:
    """As who it says, in any case of the scheme."""
    header = bearing(Role.CALLER, name="ci bot", user="ann", agents=("coder",), projects=("apollo",))

    answer = client.get("/v1/session", headers={"authorization": header["Authorization"].replace("Bearer", "bearer")})

    assert (answer.status_code, answer.json()) == (
        200,
        {
            "tenant": "acme",
            "name": "ci bot",
            "user": "ann",
            "roles": ["caller"],
            "agents": ["coder"],
            "projects": ["apollo"],
            "scopes": None,
            "means": "token",
            "csrf_token": None,
        },
    )


@each_row(
    "header",
    [
        pytest.param("Bearer " + generate_token(), id="unknown"),
        pytest.param("Bearer " + generate_token()[:-1], id="short"),
        pytest.param("Bearer " + "x" * 20_000, id="long"),
        pytest.param("Bearer", id="empty"),
        pytest.param("Basic " + b64encode(b"ann:pw").decode(), id="another scheme"),
        pytest.param("Bearer a.b.c", id="no token at all"),
        pytest.param("Bearer \xe4\xf6", id="letters"),
    ],
)
def test_what_is_no_token_lets_nobody_in(client: httpx.Client, header: str) -> None:
    """And says how to ask."""
    answer = client.get("/v1/session", headers={b"Authorization": header.encode("latin-1")})

    assert problem(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_nobody_is_let_in_without_a_token(client: httpx.Client) -> None:
    """Nor with two."""
    twice = client.get("/v1/session", headers=[("Authorization", "Bearer a"), ("Authorization", "Bearer b")])

    assert problem(client.get("/v1/session")) == (401, "unauthenticated")
    assert problem(twice) == (400, "duplicate_header")


def test_of_a_token_its_hash_alone_is_kept(client: httpx.Client, deployment: Deployment, bearing: Bearing) -> None:
    """It is shown when it is made, and never again; the events name it by its id."""
    admin = bearing(Role.ADMIN, name="root")
    body = {"name": "deploy", "roles": ["caller"], "agents": ["coder"], "days": 1, "user": "cal"}

    made = client.post("/v1/tokens", json=body, headers=admin)

    text = made.json()["token"]
    listed = client.get("/v1/tokens", headers=admin)
    [entry] = [one for one in listed.json()["tokens"] if one["name"] == "deploy"]
    assert (made.status_code, is_token(text)) == (201, True)
    assert entry == {name: value for name, value in made.json().items() if name != "token"}
    assert entry["expires"] - entry["created"] == 86_400
    kept = json.dumps([row.document for row, *_ in deployment.engine.content.rows.values()])
    assert text not in kept + listed.text + json.dumps(deployment.events, default=str)
    assert deployment.events[-1] == {
        "event": "service.admin",
        "action": "token_created",
        "tenant": "acme",
        "by": "token:root",
        "target": entry["id"],
        "name": "deploy",
        "user": "cal",
        "roles": (Role.CALLER,),
        "agents": ("coder",),
    }


def test_records_of_an_older_version_are_read(deployment: Deployment) -> None:
    """What they lack has a default that gives nobody more: the name of a token's maker is what was known of the person."""
    said = {"digest": "d", "id": "i", "tenant": "acme", "name": "old", "roles": ("caller",), "created": 1, "expires": 2}
    makers = {}
    for by in ("token:ops", "session:olga", "shell:root", "test"):
        deployment.store.put(TokenRecord.model_validate({**said, "digest": by, "created_by": by}))
        found = deployment.store.get(TokenRecord, by)
        assert found is not None
        makers[by] = token_module.principal_of(found.record).person
        deployment.store.delete(TokenRecord, by)
    assert makers == {"token:ops": "ops", "session:olga": "olga", "shell:root": "shell:root", "test": "old"}


@each_row(
    "body",
    [
        pytest.param({"name": "x", "roles": []}, id="no role"),
        pytest.param({"name": "x", "roles": ["owner"]}, id="an unknown role"),
        pytest.param({"name": "", "roles": ["caller"]}, id="no name"),
        pytest.param({"name": "a\nb", "roles": ["caller"]}, id="two lines"),
        pytest.param({"name": "x", "roles": ["caller"], "days": 0}, id="no day"),
        pytest.param({"name": "x", "roles": ["caller"], "days": 4_000}, id="too many days"),
        pytest.param({"name": "x", "roles": ["caller"], "tenant": "globex"}, id="another tenant"),
        pytest.param({"name": "x", "roles": ["caller"], "agents": ["a b"]}, id="no agent"),
    ],
)
def test_a_token_that_cannot_be_is_not_made(client: httpx.Client, bearing: Bearing, body: dict[str, Any]) -> None:
    """The fault is named."""
    assert problem(client.post("/v1/tokens", json=body, headers=bearing(Role.ADMIN))) == (400, "invalid_request")


def test_a_bounded_admin_gives_no_more_than_it_has(client: httpx.Client, bearing: Bearing) -> None:
    """Neither other agents nor all, nor other projects."""
    admin = bearing(Role.ADMIN, agents=("coder",), projects=("apollo",))
    wanted = {"name": "x", "roles": ["caller"], "agents": ["coder"], "projects": ["apollo"]}

    answers = [
        client.post("/v1/tokens", json=wanted | change, headers=admin)
        for change in ({}, {"agents": ["reviewer", "coder"]}, {"agents": None}, {"projects": None})
    ]

    assert [answer.status_code for answer in answers] == [201, 403, 403, 403]
    assert [answer.json()["reason"] for answer in answers[1:]] == ["agent_not_allowed"] * 2 + ["project_not_allowed"]


@each_row(
    ("method", "path"),
    [
        ("GET", "/v1/tokens"),
        ("POST", "/v1/tokens"),
        ("DELETE", "/v1/tokens/0123456789abcdef"),
        ("GET", "/v1/users"),
        ("POST", "/v1/users"),
        ("PATCH", "/v1/users/ann"),
        ("DELETE", "/v1/users/ann"),
        ("GET", "/v1/sessions"),
        ("DELETE", "/v1/sessions/0123456789abcdef"),
    ],
)
def test_administration_is_for_admins(client: httpx.Client, bearing: Bearing, method: str, path: str) -> None:
    """Whatever else somebody may do."""
    others = bearing(Role.VIEWER, Role.CALLER, Role.APPROVER, Role.OPERATOR)

    assert problem(client.request(method, path, headers=others)) == (403, "role_missing")


def test_an_expired_token_lets_nobody_in(
    client: httpx.Client, bearing: Bearing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if it was known before it expired."""
    header = bearing(Role.VIEWER, name="brief", days=1)
    now = time.time()

    def asked(after_s: float) -> httpx.Response:
        clock = SimpleNamespace(time=lambda: now + after_s)
        monkeypatch.setattr("toolcharter_service.auth.authenticator.time", clock)
        return client.get("/v1/session", headers=header)

    answers = [asked(after_s) for after_s in (0, 86_390, 86_401)]

    assert [answer.status_code for answer in answers] == [200, 200, 401]
    assert answers[2].json() == UNKNOWN


async def test_what_ended_long_ago_is_deleted(deployment: Deployment) -> None:
    """A month after it ended for tokens."""
    store = deployment.store
    now = int(time.time())
    for name, expires in (("long ago", now - 31 * 86_400), ("just now", now - 60), ("tomorrow", now + 86_400)):
        record = token_module.create_token("acme", NewToken(name=name, roles=(Role.VIEWER,)), "test").record
        store.put(record.model_copy(update={"expires": expires}))

    await delete_expired(store.asynchronous())

    names = {one.record.name for one in store.page(TokenRecord, limit=1_000).records}
    assert names & {"long ago", "just now", "tomorrow"} == {"just now", "tomorrow"}


@pytest.mark.slow
def test_a_revoked_token_lets_nobody_in_anywhere_within_a_second(deployment: Deployment, bearing: Bearing) -> None:
    """Where it was revoked at once; elsewhere, where it was in use a moment before, with the next look, two in a second."""
    assert POLL_S < 0.5
    here, there = deployment.start(), deployment.start()
    header = bearing(Role.VIEWER, name="leaked")
    admin = bearing(Role.ADMIN)
    assert [one.get("/v1/session", headers=header).status_code for one in (here, there)] == [200, 200]
    [found] = [one for one in here.get("/v1/tokens", headers=admin).json()["tokens"] if one["name"] == "leaked"]

    revoked = here.delete(f"/v1/tokens/{found['id']}", headers=admin)
    at_once = here.get("/v1/session", headers=header)
    deployment.heard()
    after = there.get("/v1/session", headers=header)

    assert (revoked.status_code, at_once.status_code, after.status_code) == (204, 401, 401)
    assert (at_once.json(), after.json()) == (UNKNOWN, UNKNOWN)
    again = here.delete(f"/v1/tokens/{found['id']}", headers=admin)
    assert problem(again) == (404, "unknown_token")


def test_another_tenants_token_is_unknown(client: httpx.Client, deployment: Deployment, bearing: Bearing) -> None:
    """It is neither listed nor revoked, and answered like one that there is not."""
    theirs = bearing(Role.ADMIN, tenant="globex", name="theirs")
    [record] = deployment.store.page(TokenRecord, where={"tenant": "globex"}).records
    ours = bearing(Role.ADMIN)

    listed = client.get("/v1/tokens", headers=ours)
    foreign, absent = (
        client.delete(f"/v1/tokens/{name}", headers=ours) for name in (record.record.id, "0123456789abcdef")
    )

    assert "theirs" not in listed.text
    assert "globex" not in listed.text
    assert (foreign.status_code, foreign.content) == (absent.status_code, absent.content)
    assert problem(foreign) == (404, "unknown_token")
    assert client.get("/v1/session", headers=theirs).json()["tenant"] == "globex"


def test_a_token_of_a_tenant_that_is_gone_lets_nobody_in(client: httpx.Client, bearing: Bearing) -> None:
    """The configuration says which tenants there are, and the answer does not."""
    answer = client.get("/v1/session", headers=bearing(Role.ADMIN, tenant="initech"))

    assert (answer.status_code, answer.json()) == (401, UNKNOWN)


def test_wrong_tokens_do_not_displace_right_ones(
    client: httpx.Client, deployment: Deployment, bearing: Bearing
) -> None:
    """What was verified stays known without the store, however many others are tried."""
    header = bearing(Role.VIEWER)
    deployment.heard()
    client.get("/v1/session", headers=header)
    for _ in range(300):
        assert client.get("/v1/session", headers={"Authorization": f"Bearer {generate_token()}"}).status_code == 401

    def lookups() -> int:
        """How often the request asks the store: the least of a few, for other parts of the service ask as well."""
        before = len(deployment.engine.log)
        assert client.get("/v1/session", headers=header).status_code == 200
        return deployment.engine.log[before:].count("transact")

    assert min(lookups() for _ in range(5)) == 0


@pytest.mark.slow
def test_without_a_store_known_tokens_hold_and_new_ones_wait(deployment: Deployment, bearing: Bearing) -> None:
    """For as long as the configuration says; then nobody is let in."""
    lasting, brief = deployment.start(), deployment.start(auth={"stale_s": 0})
    known, new = bearing(Role.VIEWER), bearing(Role.VIEWER)
    deployment.heard()
    for one in (lasting, brief):
        assert one.get("/v1/session", headers=known).status_code == 200
    deployment.engine.failure = StoreUnavailable("It is away.")
    try:
        # Until it has looked, which fails: on a busy machine that takes more than the usual half second.
        until(lambda: brief.get("/v1/session", headers=known).status_code == 503)
        answers = [lasting.get("/v1/session", headers=header) for header in (known, new)]
        answers.append(brief.get("/v1/session", headers=known))
    finally:
        deployment.engine.failure = None

    assert [answer.status_code for answer in answers] == [200, 503, 503]
    assert [answer.json()["reason"] for answer in answers[1:]] == ["store_unavailable"] * 2
    assert answers[1].headers["retry-after"] == "5"
    deployment.token(Role.VIEWER)
    deployment.heard()
    assert brief.get("/v1/session", headers=known).status_code == 200


def test_scopes_of_a_header_only_narrow(client: httpx.Client, bearing: Bearing) -> None:
    """A header gives no scope that the token does not have; what a client narrows itself to shuts other routes."""
    wide, narrow = bearing(Role.ADMIN), bearing(Role.ADMIN, scopes=("read_registry",))

    def scopes(header: dict[str, str], named: str) -> list[str]:
        found: list[str] = client.get("/v1/session", headers=header | {"X-Caller-Scopes": named}).json()["scopes"]
        return found

    assert scopes(wide, "read_registry, invoke_tool") == ["invoke_tool", "read_registry"]
    assert scopes(narrow, "read_registry,invoke_tool,admin") == ["read_registry"]
    assert scopes(wide, "") == []
    assert problem(client.get("/v1/tokens", headers=wide | {"X-Caller-Scopes": "invoke_tool"})) == (
        403,
        "scope_missing",
    )
    assert problem(client.get("/v1/tokens", headers=narrow)) == (403, "scope_missing")


def test_pages_of_tokens_follow_each_other(client: httpx.Client, bearing: Bearing) -> None:
    """Each token comes once, and what is no place between pages is refused."""
    admin = bearing(Role.ADMIN)
    for number in range(5):
        bearing(Role.VIEWER, name=f"page {number}")
    seen: list[str] = []
    after, pages = "", 0
    while pages < 200:
        page = client.get("/v1/tokens", params={"after": after, "limit": 2}, headers=admin).json()
        seen += [one["id"] for one in page["tokens"]]
        after, pages = page["after"], pages + 1
        if not after:
            break

    whole = client.get("/v1/tokens", params={"limit": 1_000}, headers=admin).json()["tokens"]
    assert sorted(seen) == sorted(one["id"] for one in whole)
    wrong = client.get("/v1/tokens", params={"after": "\x00nowhere"}, headers=admin)
    assert problem(wrong) == (400, "invalid_request")


async def test_the_bus_tells_sooner(
    client: httpx.Client, deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever changes credentials says so; who hears it asks the store at once, and does not wait for the next look."""
    del client  # It starts a service.
    monkeypatch.setattr("toolcharter_service.auth.verified.POLL_S", 600.0)
    here, there = ServiceAuth(deployment.services[0]), ServiceAuth(deployment.services[0])
    said: list[tuple[str, str]] = []
    bus = SimpleNamespace(publish=lambda tenant, topic: said.append((tenant, topic)))
    here._service = cast("Any", SimpleNamespace(bus=bus))

    looks = asyncio.Semaphore(0)

    async def counted() -> None:
        looks.release()

    there.verified.catch_up = counted  # type: ignore[method-assign]

    await here.announce_change("digest")
    watching = asyncio.create_task(there.verified.poll_changes())
    async with asyncio.timeout(60):
        await looks.acquire()  # The first, unasked.
        for _ in range(5):
            there.verified.poll_now()
            await looks.acquire()
    watching.cancel()

    assert said == [("", "credentials")]
