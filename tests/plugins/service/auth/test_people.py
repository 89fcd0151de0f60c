"""People: signing in with a password, sessions and their cookies, requests that other pages send, users."""

import asyncio
import json
import time
from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher
from tests.plugins.service.auth.conftest import HASHER, Bearing, Deployment
from tests.rows import each_row

from toolcharter_service.auth.attempts import Attempts, network_of
from toolcharter_service.auth.passwords import MAX_WAITING, THREADS, Passwords
from toolcharter_service.auth.principal import Role
from toolcharter_service.auth.records import AttemptRecord, SessionRecord, UserRecord
from toolcharter_service.auth.sessions import CSRF_COOKIE, SESSION_COOKIE, csrf_token, is_csrf_token
from toolcharter_service.auth.tokens import digest_of
from toolcharter_service.http.problems import HttpProblem

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="module")
def ann(client: httpx.Client, deployment: Deployment) -> str:
    """A user who may look on and answer approvals."""
    admin = {"Authorization": f"Bearer {deployment.token(Role.ADMIN, name='root')}"}
    body = {"name": "ann", "password": PASSWORD, "roles": ["approver"], "agents": ["coder"]}
    assert client.post("/v1/users", json=body, headers=admin).status_code == 201
    return "ann"


@pytest.fixture(autouse=True)
def _no_cookies(client: httpx.Client) -> Iterator[None]:
    """Cookies are sent by hand: over plain HTTP a client does not send those that are `Secure`."""
    yield
    client.cookies.clear()


def login(client: httpx.Client, user: str = "ann", password: str = PASSWORD, **more: Any) -> httpx.Response:
    body = {"tenant": "acme", "user": user, "password": password}
    answer = client.post("/v1/login", json=body, **more)
    client.cookies.clear()
    return answer


def cookies(answer: httpx.Response) -> SimpleCookie:
    jar = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        jar.load(line)
    return jar


def session(answer: httpx.Response) -> str:
    return cookies(answer)[SESSION_COOKIE].value


def with_cookie(cookie: str, **more: str) -> dict[str, str]:
    return {"Cookie": f"{SESSION_COOKIE}={cookie}", **more}


def problem(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["reason"]


def test_a_person_signs_in(client: httpx.Client, deployment: Deployment, ann: str) -> None:
    """The cookie lets in whom it was given to; scripts cannot read it, other sites cannot send it, and its hash alone is kept."""
    answer = login(client)

    jar, cookie = cookies(answer), session(answer)
    who = client.get("/v1/session", headers=with_cookie(cookie)).json()
    attributes = {name: (jar[SESSION_COOKIE][name], jar[CSRF_COOKIE][name]) for name in _ATTRIBUTES}
    assert attributes == _ATTRIBUTES
    assert who == answer.json() == _SESSION | {"csrf_token": jar[CSRF_COOKIE].value}
    kept = json.dumps([row.document for row, *_ in deployment.engine.content.rows.values()])
    assert cookie not in kept
    assert PASSWORD not in kept + json.dumps(deployment.events, default=str)
    assert deployment.events[-1] == {
        "event": "service.login",
        "outcome": "ok",
        "means": "password",
        "tenant": "acme",
        "user": "ann",
        "address": "127.0.0.1",
    }


_ATTRIBUTES = {
    "path": ("/", "/"),
    "secure": (True, True),
    "httponly": (True, ""),
    "samesite": ("lax", "strict"),
    "domain": ("", ""),
    "max-age": ("28800", "28800"),
}
_SESSION = {
    "tenant": "acme",
    "name": "ann",
    "user": "ann",
    "roles": ["approver"],
    "agents": ["coder"],
    "projects": None,
    "scopes": None,
    "means": "session",
}


@each_row(
    ("user", "password", "tenant"),
    [("ann", "wrong", "acme"), ("bob", PASSWORD, "acme"), ("ann", PASSWORD, "globex"), ("ann", PASSWORD, "initech")],
    ids=["wrong password", "unknown user", "another tenant", "no tenant"],
)
def test_who_is_wrong_hears_the_same(client: httpx.Client, ann: str, user: str, password: str, tenant: str) -> None:
    """Whether there is such a user, or such a tenant, is not told, and argon2 works as long."""
    answer = client.post("/v1/login", json={"tenant": tenant, "user": user, "password": password})

    assert (answer.status_code, answer.json()["error"]) == (401, "The user or the password is wrong.")
    assert "set-cookie" not in answer.headers


async def test_an_unknown_user_costs_as_much() -> None:
    """As many hashes as a known one with the wrong password, with the same parameters."""
    hashed: list[str] = []

    class Counting(PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> Any:  # noqa: A002 - argon2's name
            hashed.append(str(hash).split("$")[3])
            return super().verify(hash, password)

    passwords = Passwords(Counting(time_cost=1, memory_cost=64, parallelism=1))
    known = passwords.hash(PASSWORD)

    answers = [await passwords.verify(hash_, "wrong") for hash_ in (known, None)]
    answers += [await passwords.verify(None, "\0"), await passwords.verify(known, PASSWORD)]

    assert answers == [False, False, False, True]
    assert len(set(hashed)) == 1
    assert len(hashed) == 4


async def test_too_many_hashes_at_once_are_refused() -> None:
    """A hash takes memory and time, so that not everybody gets one."""
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1))
    tasks = [passwords.verify(None, "x") for _ in range(THREADS + MAX_WAITING)]
    running = [asyncio.ensure_future(task) for task in tasks]
    await asyncio.sleep(0)
    with pytest.raises(HttpProblem) as raised:
        await passwords.verify(None, "x")

    assert (raised.value.status, raised.value.reason) == (503, "too_busy")
    assert await asyncio.gather(*running) == [False] * len(running)
    assert await passwords.verify(None, "x") is False
    passwords.close()


def test_a_hash_of_old_parameters_is_renewed(client: httpx.Client, deployment: Deployment, ann: str) -> None:
    """When its user signs in, since only then the password is there."""
    old = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
    record = UserRecord(tenant="acme", name="old", password=old, roles=(Role.VIEWER,), created=0, created_by="test")
    deployment.store.put(record)

    assert login(client, "old").status_code == 200
    renewed = deployment.store.get(UserRecord, "acme", "old")
    assert renewed is not None
    assert not HASHER.check_needs_rehash(renewed.record.password)
    assert login(client, "old").status_code == 200


def test_letters_are_the_same_however_they_are_typed(client: httpx.Client, bearing: Bearing) -> None:
    """One keyboard makes one letter of what another makes two of."""
    body = {"name": "zoe", "password": "zo\u00eb is here at last", "roles": ["viewer"]}
    client.post("/v1/users", json=body, headers=bearing(Role.ADMIN))

    assert login(client, "zoe", "zoe\u0308 is here at last").status_code == 200


def test_a_session_begins_anew_with_each_sign_in(client: httpx.Client, ann: str) -> None:
    """A cookie that somebody else has put into the browser is not taken over, and the session that was there ends."""
    planted = "A" * 43
    first = login(client, headers=with_cookie(planted))
    second = login(client, headers=with_cookie(session(first)))

    assert len({planted, session(first), session(second)}) == 3
    states = [
        client.get("/v1/session", headers=with_cookie(cookie)).status_code
        for cookie in (planted, session(first), session(second))
    ]
    assert states == [401, 401, 200]


def test_signing_out_ends_the_session(client: httpx.Client, ann: str) -> None:
    """Here and everywhere, and the browser drops its cookies."""
    cookie = session(login(client))
    headers = with_cookie(cookie, **{"X-CSRF-Token": csrf_token(cookie)})

    answer = client.delete("/v1/session", headers=headers)

    assert answer.status_code == 204
    assert {name: one["max-age"] for name, one in cookies(answer).items()} == {SESSION_COOKIE: "0", CSRF_COOKIE: "0"}
    assert problem(client.get("/v1/session", headers=with_cookie(cookie))) == (401, "unauthenticated")


def test_a_change_needs_the_sessions_own_token(client: httpx.Client, ann: str) -> None:
    """A page elsewhere can have a browser send the cookie, but neither reads nor guesses what belongs to it."""
    cookie, other = session(login(client)), session(login(client))
    wrong: list[dict[str, str]] = [
        {},
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": csrf_token(other)},
        {"X-CSRF-Token": cookie},
        # The cookie's double alone is nothing: another page of the domain could have set both.
        {"X-CSRF-Token": "x", "Cookie": f"{SESSION_COOKIE}={cookie}; {CSRF_COOKIE}=x"},
    ]

    answers = [client.post("/logout", headers=with_cookie(cookie) | headers) for headers in wrong]

    assert [problem(answer) for answer in answers] == [(403, "csrf")] * len(wrong)
    assert client.get("/v1/session", headers=with_cookie(cookie)).status_code == 200
    form = client.post("/logout", headers=with_cookie(cookie), data={"csrf_token": csrf_token(cookie)})
    assert (form.status_code, form.headers["location"]) == (303, "/login")


def test_csrf_tokens_are_compared_as_bytes() -> None:
    """Whatever a client sends."""
    assert not is_csrf_token("cookie", "\u00e4\ud800")


def test_a_token_needs_no_csrf_token(client: httpx.Client, bearing: Bearing) -> None:
    """No browser sends it by itself; it has no session to end either."""
    assert problem(client.delete("/v1/session", headers=bearing(Role.VIEWER))) == (403, "sessions_only")


def test_a_wrong_token_beside_a_right_cookie_lets_nobody_in(client: httpx.Client, ann: str) -> None:
    """The second is no way around the first."""
    headers = with_cookie(session(login(client)), Authorization="Bearer x")

    assert problem(client.get("/v1/session", headers=headers)) == (401, "unauthenticated")


def test_a_page_signs_in_by_a_form(client: httpx.Client, ann: str) -> None:
    """And is led to where it was, on this host alone."""
    page = client.get("/login", params={"next": '/monitor?a="><script>'})
    form = {"tenant": "acme", "user": "ann", "password": PASSWORD}

    right = client.post("/login", data=form | {"next": "/monitor?x=1"})
    wrong = client.post("/login", data=form | {"password": "wrong", "next": "/monitor"})
    client.cookies.clear()

    assert (page.status_code, "<script>" in page.text, page.headers["content-type"]) == (
        200,
        False,
        "text/html; charset=utf-8",
    )
    assert (right.status_code, right.headers["location"], len(session(right))) == (303, "/monitor?x=1", 43)
    assert (wrong.status_code, wrong.headers["location"]) == (303, "/login?failed=unauthenticated&next=%2Fmonitor")
    assert "The user or the password is wrong." in client.get(wrong.headers["location"]).text


@each_row(
    "path",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "/\t/evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/%0a" + "\n",
        "/ x",
        "evil",
        "/\u2028",
        "",
    ],
)
def test_signing_in_leads_nowhere_else(client: httpx.Client, ann: str, path: str) -> None:
    """Whatever a link had named as the place to go to."""
    form = {"tenant": "acme", "user": "ann", "password": PASSWORD, "next": path}

    answer = client.post("/login", data=form)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")


def test_whoever_tries_too_often_waits(client: httpx.Client, deployment: Deployment, bearing: Bearing) -> None:
    """By user, known or not, in all processes together; who signs in is forgiven."""
    client.post(
        "/v1/users",
        json={"name": "tried", "password": PASSWORD, "roles": ["viewer"]},
        headers=bearing(Role.ADMIN),
    )
    forget_addresses(deployment)
    counts: dict[str, list[int]] = {}
    for user in ("tried", "nobody"):
        counts[user] = [login(client, user, "wrong").status_code for _ in range(12)]
        forget_addresses(deployment)

    right = login(client, "tried")
    assert counts == {user: [401] * 10 + [429] * 2 for user in counts}
    assert problem(right) == (429, "too_many_attempts")
    assert 0 < int(right.headers["retry-after"]) <= 31


async def test_an_address_that_tries_many_users_waits(deployment: Deployment) -> None:
    """Thirty at once, from a network of IPv6 as from one address; of the names nothing is kept."""
    attempts = Attempts(deployment.store.asynchronous())
    states: list[str] = []
    for number in range(32):
        try:
            await attempts.acquire("acme", f"user{number}", f"2001:db8::{number}")
            states.append("ok")
        except HttpProblem as problem_:
            states.append(problem_.reason)

    assert states == ["ok"] * 30 + ["too_many_attempts"] * 2
    await attempts.acquire("acme", "user31", "2001:db8:0:1::1")
    kept = json.dumps([row.document for row, *_ in deployment.engine.content.rows.values()])
    assert "user1" not in kept


@each_row(
    ("address", "network"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_an_address_is_counted_by_its_network(address: str, network: str) -> None:
    """Whoever has one address of IPv6 has a whole network of them."""
    assert network_of(address) == network


def test_passwords_are_hashed_by_argon2id() -> None:
    """Source: RFC 9106, section 4, the second recommended option."""
    assert Passwords().hash(PASSWORD).startswith("$argon2id$v=19$m=65536,t=3,p=4$")


def forget_addresses(deployment: Deployment) -> None:
    # In a transaction: one of the service that began before would bring the rows back.
    for _, kind, key in list(deployment.engine.content.rows):
        if kind == "attempt" and key[0].startswith("address:"):
            deployment.store.delete(AttemptRecord, *key)


@pytest.fixture
def cy(client: httpx.Client, deployment: Deployment, bearing: Bearing) -> Iterator[dict[str, str]]:
    """A user, signed in, and an admin."""
    forget_addresses(deployment)
    admin = bearing(Role.ADMIN)
    body = {"name": "cy", "password": PASSWORD, "roles": ["viewer"]}
    assert client.post("/v1/users", json=body, headers=admin).status_code == 201
    yield admin
    client.delete("/v1/users/cy", headers=admin)


@pytest.mark.parametrize(
    ("change", "state"),
    [
        pytest.param({"enabled": False}, 401, id="shut out"),
        pytest.param({"password": "another long password"}, 401, id="another password"),
        pytest.param({"roles": ["operator"]}, 200, id="another role"),
        pytest.param(None, 401, id="deleted"),
    ],
)
@pytest.mark.slow
def test_a_change_of_a_user_holds_for_sessions(
    client: httpx.Client, cy: dict[str, str], change: dict[str, Any] | None, state: int
) -> None:
    """At once: what a user may do is asked of the user's record."""
    cookie = session(login(client, "cy"))
    assert client.get("/v1/session", headers=with_cookie(cookie)).status_code == 200

    if change is None:
        assert client.delete("/v1/users/cy", headers=cy).status_code == 204
    else:
        assert client.patch("/v1/users/cy", json=change, headers=cy).status_code == 200

    answer = client.get("/v1/session", headers=with_cookie(cookie))
    assert answer.status_code == state
    assert answer.json().get("roles") == (["operator"] if state == 200 else None)


@pytest.mark.slow
def test_who_comes_later_by_a_name_has_no_session_of_the_former(
    client: httpx.Client, cy: dict[str, str], deployment: Deployment
) -> None:
    """A cookie of somebody who was deleted lets nobody in as the next of that name."""
    cookie = session(login(client, "cy"))
    client.delete("/v1/users/cy", headers=cy)
    body = {"name": "cy", "password": PASSWORD[::-1], "roles": ["admin"]}
    assert client.post("/v1/users", json=body, headers=cy).status_code == 201
    deployment.heard()

    assert client.get("/v1/session", headers=with_cookie(cookie)).status_code == 401


def test_a_user_takes_another_password(client: httpx.Client, cy: dict[str, str]) -> None:
    """With the present one; all other sessions end, and this one begins anew."""
    here, there = session(login(client, "cy")), session(login(client, "cy"))
    headers = with_cookie(here, **{"X-CSRF-Token": csrf_token(here)})
    new = "another long password"

    wrong = client.post("/v1/session/password", json={"password": "x", "new_password": new}, headers=headers)
    short = client.post("/v1/session/password", json={"password": PASSWORD, "new_password": "short"}, headers=headers)
    right = client.post("/v1/session/password", json={"password": PASSWORD, "new_password": new}, headers=headers)
    client.cookies.clear()

    assert [answer.status_code for answer in (wrong, short, right)] == [401, 400, 204]
    states = [
        client.get("/v1/session", headers=with_cookie(cookie)).status_code for cookie in (here, there, session(right))
    ]
    assert states == [401, 401, 200]
    assert [login(client, "cy", one).status_code for one in (PASSWORD, new)] == [401, 200]


def test_an_admin_ends_a_session(client: httpx.Client, deployment: Deployment, ann: str, bearing: Bearing) -> None:
    """Of the own tenant; those of others are not there."""
    cookie = session(login(client))
    found = client.get("/v1/sessions", params={"limit": 1_000}, headers=bearing(Role.ADMIN)).json()["sessions"]
    [entry] = [one for one in found if one["id"] == digest_of(cookie)[:16]]

    theirs = client.delete(f"/v1/sessions/{entry['id']}", headers=bearing(Role.ADMIN, tenant="globex"))
    ours = client.delete(f"/v1/sessions/{entry['id']}", headers=bearing(Role.ADMIN))

    assert (problem(theirs), ours.status_code) == ((404, "unknown_session"), 204)
    assert client.get("/v1/session", headers=with_cookie(cookie)).status_code == 401
    assert (entry["user"], entry["means"]) == ("ann", "password")


def test_a_session_ends_when_nobody_uses_it(client: httpx.Client, deployment: Deployment, ann: str) -> None:
    """After an hour; that it is in use is written down now and then, not at each request."""
    cookie = session(login(client))
    store = deployment.store

    def seen(ago_s: int) -> int:
        found = store.get(SessionRecord, digest_of(cookie))
        assert found is not None
        store.put(found.record.model_copy(update={"seen": int(time.time()) - ago_s}))
        deployment.heard()
        state = client.get("/v1/session", headers=with_cookie(cookie)).status_code
        after = store.get(SessionRecord, digest_of(cookie))
        assert after is not None
        now_s = int(time.time()) - after.record.seen
        return state * 10 + (now_s < 60)

    assert [seen(300), seen(600), seen(3_700)] == [2000, 2001, 4010]


def test_users_are_of_one_tenant(client: httpx.Client, ann: str, bearing: Bearing) -> None:
    """Another tenant's admin does not see that there is such a user, and may have one of the same name."""
    theirs, ours = bearing(Role.ADMIN, tenant="globex"), bearing(Role.ADMIN)
    twice = {"name": "ann", "password": PASSWORD, "roles": ["viewer"]}

    listed = [one["name"] for one in client.get("/v1/users", headers=theirs).json()["users"]]
    changed = client.patch("/v1/users/ann", json={"enabled": False}, headers=theirs)
    again = client.post("/v1/users", json=twice, headers=ours)
    same = client.post("/v1/users", json=twice, headers=theirs)

    assert "ann" not in listed
    assert problem(changed) == (404, "unknown_user")
    assert problem(again) == (409, "exists")
    assert same.status_code == 201
    assert "password" not in same.json()
    assert client.delete("/v1/users/ann", headers=theirs).status_code == 204
    assert login(client).status_code == 200


def test_a_bounded_admin_changes_nobody_beyond_its_bounds(
    client: httpx.Client, cy: dict[str, str], bearing: Bearing
) -> None:
    """Else it could take the place of somebody who may do more."""
    bounded, root = bearing(Role.ADMIN, agents=("coder",)), bearing(Role.ADMIN, name="wide")
    cookie = session(login(client, "cy"))
    wide = next(
        one for one in client.get("/v1/tokens?limit=1000", headers=root).json()["tokens"] if one["name"] == "wide"
    )

    answers = [
        client.delete(f"/v1/sessions/{digest_of(cookie)[:16]}", headers=bounded),
        client.delete(f"/v1/tokens/{wide['id']}", headers=bounded),
        client.patch("/v1/users/cy", json={"password": "another long password"}, headers=bounded),
        client.delete("/v1/users/cy", headers=bounded),
        client.post("/v1/users", json={"name": "x", "password": PASSWORD, "roles": ["admin"]}, headers=bounded),
    ]

    assert [problem(answer) for answer in answers] == [(403, "agent_not_allowed")] * 5
    assert client.get("/v1/session", headers=with_cookie(cookie)).status_code == 200


@each_row(
    "change",
    [{"password": None}, {"roles": None}, {"roles": []}, {"enabled": None}, {"name": "other"}, {"password": "short"}],
)
def test_a_change_that_cannot_be_is_refused(client: httpx.Client, ann: str, bearing: Bearing, change: Any) -> None:
    """What stays as it is, is left out."""
    answer = client.patch("/v1/users/ann", json=change, headers=bearing(Role.ADMIN))

    assert problem(answer) == (400, "invalid_request")


def test_a_name_that_no_user_can_have_is_refused(client: httpx.Client) -> None:
    """Before the store is asked for it, in a page's form as well."""
    given = {"tenant": "acme", "user": "\0", "password": PASSWORD}
    answers = [client.post("/v1/login", json=given), client.post("/login", data=given)]

    assert [(one.status_code, one.json()["reason"]) for one in answers] == [(400, "invalid_request")] * 2
