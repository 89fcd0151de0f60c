"""What one tenant, token or session has is nobody else's, also while a credential is taken back."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.plugins.service.auth.conftest import HASHER
from tests.plugins.service.serving import configured, serving
from tests.rows import each_row
from tests.waiting import until

from toolcharter import open_store
from toolcharter_service.approvals import ApprovalRecord
from toolcharter_service.auth import Principal, Role
from toolcharter_service.auth.passwords import Passwords
from toolcharter_service.auth.sessions import CSRF_COOKIE, CSRF_HEADER, SESSION_COOKIE
from toolcharter_service.auth.tokens import NewToken, create_token
from toolcharter_service.config import ConfigFile
from toolcharter_service.http.app import create_app
from toolcharter_service.service import Service

pytestmark = pytest.mark.slow
PROFILE = """
profile: shared
description: Writes, and asks before it prints.
runner: host
tools: {bash: {}, write_file: {}, read_file: {}}
allow: [write_file]
ask: ["bash:echo *"]
approvals: {timeout_s: 60}
"""
PASSWORD = "long " * 4


class Both:
    """A service of two tenants with equal agents over SQLite, and a client."""

    def __init__(self, folder: Path) -> None:
        (folder / "db").mkdir(mode=0o700)
        one = configured(folder, {"bot": PROFILE, "other": PROFILE}, auth={"passwords": True})
        tenants = dict.fromkeys(("acme", "globex"), one.config.tenants["acme"])
        config = ConfigFile(one.config.model_copy(update={"tenants": tenants}))
        self.folder = folder
        self.service = Service(config, stores=open_store(f"sqlite:///{folder}/db/store.db"))
        self.app = create_app(self.service)
        self.app.state.auth.passwords = Passwords(HASHER)
        self.client = httpx.Client(timeout=60)
        self.ending = ExitStack()

    def bearer(self, *roles: Role, tenant: str = "acme", name: str = "bot", **more: Any) -> dict[str, str]:
        created = create_token(tenant, NewToken(name=name, roles=roles, **more), "test")
        self.service.store("").put(created.record)
        return {"Authorization": f"Bearer {created.text}"}

    def signed_in(self, user: str, *roles: Role, tenant: str = "acme") -> httpx.Client:
        """A client with a session, which keeps its cookies over plain HTTP."""
        admin = self.bearer(Role.ADMIN, tenant=tenant)
        body = {"name": user, "password": PASSWORD, "roles": roles}
        assert self.client.post("/v1/users", json=body, headers=admin).status_code == 201
        return self.sign_in(user, PASSWORD, tenant)

    def sign_in(self, user: str, password: str, tenant: str = "acme") -> httpx.Client:
        given = {"user": user, "password": password, "tenant": tenant}
        answer = httpx.post(f"{self.client.base_url}/v1/login", json=given, timeout=60)
        cookies = dict(cookie.split(";")[0].split("=", 1) for cookie in answer.headers.get_list("set-cookie"))
        headers = {
            "Cookie": f"{SESSION_COOKIE}={cookies[SESSION_COOKIE]}",
            CSRF_HEADER: cookies[CSRF_COOKIE],
        }
        made = httpx.Client(base_url=self.client.base_url, headers=headers, timeout=60, trust_env=False)
        return self.ending.enter_context(made)

    def question(self) -> dict[str, Any]:
        """The one that waits."""
        admin = self.bearer(Role.APPROVER, name="looks")

        def asked() -> Any:
            return self.client.get("/v1/approvals?status=pending", headers=admin).json()["approvals"]

        until(asked)
        [found] = asked()
        return dict(found)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    made = Both(tmp_path_factory.mktemp("across"))
    with (
        serving(made.app) as url,
        made.ending,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as made.client,
    ):
        yield made


def test_a_key_is_one_tokens_of_one_agent_in_one_tenant(both: Both) -> None:
    """Another token of the same name, another agent and another tenant make calls of their own, with answers of their own."""
    mine, twin = (both.bearer(Role.CALLER) for _ in range(2))
    who = {
        "mine": mine,
        "a token of the same name": twin,
        "the same name in another tenant": both.bearer(Role.CALLER, tenant="globex"),
        "the same name, bound": both.bearer(Role.CALLER, agents=("bot",)),
    }
    ids: dict[str, str] = {}
    for name, headers in who.items():
        for way in ({}, {"Prefer": "respond-async"}):
            body = {"tool": "write_file", "args": {"path": "x.txt", "content": "1"}}
            key = {"Idempotency-Key": f"k{len(way)}", "X-Agent-ID": "bot"}
            first, again = (both.client.post("/v1/calls", json=body, headers=headers | key | way) for _ in range(2))
            assert (first.status_code in {200, 202}, "idempotency-replayed" in first.headers) == (True, False), name
            assert again.headers.get("idempotency-replayed") == "true", name
            ids[f"{name} {way}"] = first.json().get("call_id") or first.json()["id"]
    assert len(set(ids.values())) == len(ids)
    left = ids["mine {'Prefer': 'respond-async'}"]
    seen = {name: both.client.get(f"/v1/calls/{left}", headers=headers).status_code for name, headers in who.items()}
    assert seen == {name: 200 if name == "mine" else 404 for name in who}


def test_owners_of_one_name_are_different() -> None:
    """Tokens, and the subjects of two issuers."""
    one = Principal("acme", "ann", frozenset(), token_id="1")
    jwt = replace(one, means="jwt", issuer="https://a")
    owners = [one, replace(one, token_id="2"), jwt, replace(jwt, issuer="https://b"), replace(one, means="session")]

    assert len({each.owner for each in owners}) == len(owners)
    assert replace(jwt, token_id="9").owner == jwt.owner


def test_a_csrf_token_is_its_sessions(both: Both) -> None:
    """That of another tenant's session, and of another session of the same person, is none."""
    ann, cy = both.signed_in("ann", Role.ADMIN), both.signed_in("ann", Role.ADMIN, tenant="globex")
    body = {"name": "new", "roles": ["viewer"]}
    for other, status in ((ann, 201), (cy, 403)):
        answer = ann.post("/v1/tokens", json=body, headers={CSRF_HEADER: other.headers[CSRF_HEADER]})
        assert answer.status_code == status, answer.text
    assert cy.post("/v1/tokens", json=body).status_code == 201
    assert {one["name"] for one in cy.get("/v1/tokens").json()["tokens"]} == {"new", "bot"}


def _listened(both: Both, headers: dict[str, str], lines: list[str], ended: threading.Event) -> None:
    with both.client.stream("GET", "/v1/events", headers=headers) as answer:
        lines.extend(answer.iter_lines())
    ended.set()


def test_a_stream_of_a_caller_shows_what_was_called_for_its_user(both: Both) -> None:
    """One agent serves many people. What they ask of it is shown to those who look on, not to one another."""
    bound: dict[str, Any] = {"agents": ("bot",)}
    people = {
        "ann": both.bearer(Role.CALLER, user="ann", **bound),
        "bob": both.bearer(Role.CALLER, user="bob", **bound),
        "nobody": both.bearer(Role.CALLER, **bound),
    }
    streams = people | {"viewer": both.bearer(Role.VIEWER, **bound)}
    listening = threading.Barrier(len(streams) + 1, timeout=60)

    def shown(name: str) -> str:
        """All that comes until the last call that has to be there."""
        text, last = "", f"last-of-{name if name in people else 'nobody'}"
        with both.client.stream("GET", "/v1/events", headers=streams[name]) as answer:
            listening.wait()
            lines = answer.iter_lines()
            while last not in text:
                text += next(lines)
        return text

    with ThreadPoolExecutor(len(streams)) as pool:
        futures = {name: pool.submit(shown, name) for name in streams}
        listening.wait()
        for mark in ("first", "last"):
            for name, headers in people.items():
                body = {"tool": "write_file", "args": {"path": "seen.txt", "content": f"{mark}-of-{name}"}}
                assert both.client.post("/v1/calls", json=body, headers=headers).json()["outcome"] == "ok"
        texts = {name: future.result() for name, future in futures.items()}

    seen = {name: {one for one in people if f"first-of-{one}" in text} for name, text in texts.items()}
    assert seen == {**{name: {name} for name in people}, "viewer": set(people)}


def test_streams_show_one_tenant_until_the_token_or_the_role_is_taken(both: Both) -> None:
    """Also from the numbers of another tenant; nothing that happens later is sent."""
    person = both.signed_in("dee", Role.VIEWER)
    viewer = both.bearer(Role.VIEWER, name="looks-on")
    admin, theirs = both.bearer(Role.ADMIN), both.bearer(Role.CALLER, tenant="globex", name="other")
    ours = both.bearer(Role.CALLER)

    def call(headers: dict[str, str], content: str) -> None:
        body = {"tool": "write_file", "args": {"path": "events.txt", "content": content}}
        headers = {**headers, "X-Agent-ID": "bot"}
        assert both.client.post("/v1/calls", json=body, headers=headers).json()["outcome"] == "ok"

    streams: dict[str, tuple[list[str], threading.Event]] = {}
    cookie = {"Cookie": person.headers["Cookie"]}
    for name, headers in {"token": viewer, "session": cookie, "number": viewer | {"Last-Event-ID": "0-0"}}.items():
        lines, ended = list[str](), threading.Event()
        threading.Thread(target=_listened, args=(both, headers, lines, ended), daemon=True).start()
        streams[name] = lines, ended
    until(lambda: all(lines for lines, _ in streams.values()))
    call(theirs, "marktheirs")
    call(ours, "markours")
    until(lambda: all("markours" in "".join(lines) for lines, _ in streams.values()))
    token_id = next(
        one["id"] for one in both.client.get("/v1/tokens", headers=admin).json()["tokens"] if one["name"] == "looks-on"
    )
    assert both.client.delete(f"/v1/tokens/{token_id}", headers=admin).status_code == 204
    assert both.client.patch("/v1/users/dee", json={"roles": ["caller"]}, headers=admin).status_code == 200
    call(ours, "marklater")

    for name, (lines, ended) in streams.items():
        assert ended.wait(60), name
        text = "".join(lines)
        assert ("marktheirs" in text, "marklater" in text) == (False, False), name
        assert '"reason":"unauthenticated"' in text, name


def test_what_is_watched_is_of_one_tenant(both: Both) -> None:
    """Usage, calls, metrics, approvals, tools and pages of another tenant hold nothing of a call's mark."""
    caller = both.bearer(Role.CALLER)
    body = {"tool": "read_file", "args": {"path": "onlyacme.txt"}}
    both.client.post("/v1/calls", json=body, headers={**caller, "X-Agent-ID": "bot"})
    body = {"tool": "bash", "args": {"command": "echo onlyacme"}}
    left = both.client.post("/v1/calls", json=body, headers={**caller, "X-Agent-ID": "bot", "Prefer": "respond-async"})
    question = both.question()
    ours, theirs = (both.bearer(Role.ADMIN, tenant=tenant, name="watch") for tenant in ("acme", "globex"))

    def seen(headers: dict[str, str]) -> str:
        paths = ("/api/tools/calls", "/v1/approvals", "/metrics", "/api/tools/usage?agent_id=bot", "/api/tools/usage")
        return "".join(both.client.get(path, headers=headers).text for path in paths)

    until(lambda: "onlyacme.txt" in seen(ours))
    assert "onlyacme" not in seen(theirs)
    assert 'tool="read_file"' in both.client.get("/metrics", headers=ours).text
    assert 'tool="read_file"' not in both.client.get("/metrics", headers=theirs).text
    answer = {"answer": "allow_once", "digest": question["digest"]}
    for path, sent in ((f"/v1/approvals/{question['id']}", answer), (f"/v1/calls/{left.json()['id']}/cancel", {})):
        assert both.client.post(path, json=sent, headers=theirs).status_code == 404
    eve = both.signed_in("eve", Role.ADMIN, tenant="globex")
    pages = ("tools", "calls", "approvals", "grants", "tokens", "workers")
    shown = [eve.get(f"/monitor/{page}") for page in pages]
    assert [page.status_code for page in shown] == [200] * len(pages)
    assert "onlyacme" not in "".join(page.text for page in shown)
    both.client.post(f"/v1/approvals/{question['id']}", json=answer | {"answer": "deny"}, headers=ours)


def test_of_two_answers_at_once_one_counts(both: Both) -> None:
    """The other is told; the call does what the record says."""
    caller = both.bearer(Role.CALLER)
    people = [both.bearer(Role.APPROVER, name=f"person{number}") for number in range(8)]
    for turn in range(3):
        body = {"tool": "bash", "args": {"command": f"echo both >both{turn}"}}
        headers = {**caller, "X-Agent-ID": "bot", "Prefer": "respond-async"}
        left = both.client.post("/v1/calls", json=body, headers=headers).json()["id"]
        question = both.question()

        def answer(number: int) -> int:
            words = ("allow_once", "deny")[number % 2]
            given = {"answer": words, "digest": question["digest"]}  # noqa: B023 - run at once
            place = f"/v1/approvals/{question['id']}"  # noqa: B023 - run at once
            return both.client.post(place, json=given, headers=people[number]).status_code

        with ThreadPoolExecutor(len(people)) as pool:
            statuses = sorted(pool.map(answer, range(len(people))))
        assert statuses == [200, *[409] * (len(people) - 1)]
        until(lambda: both.client.get(f"/v1/calls/{left}", headers=caller).json()["state"] == "done")  # noqa: B023 - run at once
        found = both.service.store("acme").get(ApprovalRecord, question["id"])
        assert found is not None
        ran = any(place.name == f"both{turn}" for place in both.folder.rglob("both*"))
        assert ran == (found.record.status == "allow_once")


def test_who_asks_answers_under_no_other_token(both: Both) -> None:
    """A token of the same name, one of the same person, and that person's session are the caller's own."""
    caller = both.bearer(Role.CALLER, name="mine", user="fay")
    body = {"tool": "bash", "args": {"command": "echo own"}}
    headers = {**caller, "X-Agent-ID": "bot", "Prefer": "respond-async"}
    both.client.post("/v1/calls", json=body, headers=headers)
    question = both.question()
    given, place = {"answer": "allow_once", "digest": question["digest"]}, f"/v1/approvals/{question['id']}"
    tokens = [both.bearer(Role.APPROVER, name="mine"), both.bearer(Role.APPROVER, name="else", user="fay")]
    for token in tokens:
        assert both.client.post(place, json=given, headers=token).json()["reason"] == "own_call"
    fay = both.signed_in("fay", Role.APPROVER)
    assert fay.post(place, json=given).json()["reason"] == "own_call"
    other = both.bearer(Role.APPROVER, name="gil")
    assert both.client.post(place, json=given | {"answer": "deny"}, headers=other).status_code == 200


def test_who_asks_answers_by_no_credentials_that_it_has_made(both: Both) -> None:
    """A token of another name, one that this one has made, and the password of a person are the caller's own."""
    caller, other = both.bearer(Role.ADMIN, name="root1"), both.bearer(Role.ADMIN, name="root2")
    both.signed_in("hal", Role.APPROVER)
    hal_password = {"password": PASSWORD[::-1]}

    def token(maker: dict[str, str], name: str) -> dict[str, str]:
        made = both.client.post("/v1/tokens", json={"name": name, "roles": ["admin"]}, headers=maker).json()
        return {"Authorization": f"Bearer {made['token']}"}

    child = token(caller, "other name")
    assert both.client.patch("/v1/users/hal", json=hal_password, headers=caller).status_code == 200
    both.client.post("/v1/users", json={"name": "ida", "roles": ["approver"], **hal_password}, headers=child)
    people = [both.sign_in(name, hal_password["password"]) for name in ("hal", "ida")]
    headers = {**caller, "X-Agent-ID": "bot", "Prefer": "respond-async"}
    both.client.post("/v1/calls", json={"tool": "bash", "args": {"command": "echo made"}}, headers=headers)
    question = both.question()
    given, place = {"answer": "allow_once", "digest": question["digest"]}, f"/v1/approvals/{question['id']}"

    answers = [both.client.post(place, json=given, headers=one) for one in (child, token(child, "grandchild"))]
    answers += [person.post(place, json=given) for person in people]
    assert [(one.status_code, one.json()["reason"]) for one in answers] == [(403, "own_call")] * 4
    denied = given | {"answer": "deny"}
    assert both.client.post(place, json=denied, headers=token(other, "unrelated")).status_code == 200


def test_one_person_plays_no_two_parts(both: Both) -> None:
    """Who asks with one token answers with no other that the same person made for nobody else, nor by a session."""
    both.signed_in("max", Role.ADMIN)
    maker = both.sign_in("max", PASSWORD)
    roots = both.bearer(Role.ADMIN, name="max's program", user="max")

    def token(name: str, role: str, by: httpx.Client | None = None, **more: Any) -> dict[str, str]:
        body = {"name": name, "roles": [role], **more}
        sent = maker.post("/v1/tokens", json=body) if by is None else by.post("/v1/tokens", json=body, headers=roots)
        return {"Authorization": f"Bearer {sent.json()['token']}"}

    asks = token("asks", "caller")
    below = token("below", "admin", both.client)
    deeper = both.client.post("/v1/tokens", json={"name": "deep", "roles": ["approver"]}, headers=below).json()["token"]
    wrong: dict[str, Any] = {}
    for way in ({}, {"Prefer": "respond-async"}):
        body = {"tool": "bash", "args": {"command": f"echo parts{len(way)}"}}
        calling = threading.Thread(
            target=lambda: both.client.post("/v1/calls", json=body, headers={**asks, "X-Agent-ID": "bot"} | way)  # noqa: B023 - run at once
        )
        calling.start()
        question = both.question()
        given, place = {"answer": "allow_once", "digest": question["digest"]}, f"/v1/approvals/{question['id']}"
        refused = {
            "a sibling": both.client.post(place, json=given, headers=token("sibling", "approver")),
            "of the person's program": both.client.post(
                place, json=given, headers=token("other", "admin", both.client)
            ),
            "further down": both.client.post(place, json=given, headers={"Authorization": f"Bearer {deeper}"}),
            "for the person's agents": both.client.post(
                place, json=given, headers=token("bound", "approver", agents=["bot"])
            ),
            "for the person": both.client.post(place, json=given, headers=token("own", "approver", user="max")),
            "the session": maker.post(place, json=given),
        }
        wrong |= {f"{who} {way}": one.text for who, one in refused.items() if one.json().get("reason") != "own_call"}
        named = token("for another", "approver", user="nina")
        assert both.client.post(place, json=given | {"answer": "deny"}, headers=named).status_code == 200
        calling.join(60)
    assert wrong == {}


def test_who_made_the_token_of_an_agent_answers_what_it_asks(both: Both) -> None:
    """A person gives an agent a token and is the one who watches it; no second person is needed for that."""
    both.signed_in("mia", Role.ADMIN)
    maker = both.sign_in("mia", PASSWORD)
    made = maker.post("/v1/tokens", json={"name": "bot's", "roles": ["caller"], "agents": ["bot"]}).json()["token"]
    headers = {"Authorization": f"Bearer {made}", "X-Agent-ID": "bot", "Prefer": "respond-async"}

    both.client.post("/v1/calls", json={"tool": "bash", "args": {"command": "echo watched"}}, headers=headers)
    question = both.question()
    given = {"answer": "deny", "digest": question["digest"]}

    assert maker.post(f"/v1/approvals/{question['id']}", json=given).status_code == 200


@each_row("means", ["token", "session", "role", "disabled"])
def test_a_call_that_waits_does_not_outlive_its_credential(both: Both, means: str) -> None:
    """Nobody's approval runs a call whose token was revoked, or whose person may call no longer, while it waited."""
    admin, file = both.bearer(Role.ADMIN, name="root"), f"after-{means}"
    body = {"tool": "bash", "args": {"command": f"echo late >{file}"}}
    if means == "token":
        client = both.client
        headers = {**both.bearer(Role.CALLER, name="leaves"), "X-Agent-ID": "bot"}
    else:
        client = both.signed_in(f"leaves-{means}", Role.CALLER)
        headers = {"X-Agent-ID": "bot"}
    results: list[httpx.Response] = []
    waiting = threading.Thread(target=lambda: results.append(client.post("/v1/calls", json=body, headers=headers)))
    waiting.start()
    question = both.question()
    if means == "token":
        tokens = both.client.get("/v1/tokens", headers=admin).json()["tokens"]
        token_id = next(one["id"] for one in tokens if one["name"] == "leaves")
        assert both.client.delete(f"/v1/tokens/{token_id}", headers=admin).status_code == 204
    elif means == "session":
        sessions = both.client.get("/v1/sessions", headers=admin).json()["sessions"]
        session_id = next(one["id"] for one in sessions if one["user"] == "leaves-session")
        assert both.client.delete(f"/v1/sessions/{session_id}", headers=admin).status_code == 204
    else:
        change: dict[str, Any] = {"roles": ["viewer"]} if means == "role" else {"enabled": False}
        answer = both.client.patch(f"/v1/users/leaves-{means}", json=change, headers=admin)
        assert answer.status_code == 200
    given = {"answer": "allow_once", "digest": question["digest"]}
    both.client.post(f"/v1/approvals/{question['id']}", json=given, headers=admin)
    waiting.join(60)

    assert [one.json()["outcome"] for one in results] == ["denied"]
    assert not any(both.folder.rglob(file))
