"""JSON Web Tokens of an issuer whose keys lie on a server of loopback: what is believed, and every way around it."""

import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from joserfc.jwk import ECKey, RSAKey
from tests.plugins.service.auth.conftest import Deployment
from tests.plugins.service.auth.token_issuer import Issuer, sign_token
from tests.rows import each_row

from toolcharter import NetworkPolicy
from toolcharter_service.auth import keys as keys_module
from toolcharter_service.auth.claims import ClaimFault, principal_of
from toolcharter_service.auth.config import ClaimMapping
from toolcharter_service.auth.keys import IssuerKeys, KeysUnavailable, read_keys
from toolcharter_service.auth.principal import Role

ISSUER, AUDIENCE = "https://issuer.example", "toolcharter"


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(deployment: Deployment, issuer: Issuer) -> httpx.Client:
    claims = {
        "tenant": {"claim": "org"},
        "user": "email",
        "roles": {"claim": "realm_access.roles", "map": {"agent": ["caller"], "boss": ["admin", "viewer"]}},
        "agents": {"claim": "https://example.org/agents"},
    }
    entry = {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks": issuer.url,
        "claims": claims,
        "network": issuer.network,
        "skew_s": 5,
    }
    return deployment.start(auth={"jwt": [entry]})


def claims(**change: Any) -> dict[str, Any]:
    now = int(time.time())
    whole = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "robot",
        "exp": now + 60,
        "iat": now,
        "org": "acme",
        "email": "ann",
        "realm_access": {"roles": ["agent", "other"]},
        "https://example.org/agents": ["coder"],
        "jti": "a1",
    }
    return {name: value for name, value in (whole | change).items() if value is not ...}


def part(value: Any) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def by_secret(secret: bytes, body: str) -> str:
    """A token signed with a shared secret, such as a key that everybody can read."""
    text = f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{body}"
    return f"{text}.{urlsafe_b64encode(hmac.digest(secret, text.encode(), 'sha256')).decode().rstrip('=')}"


def asked(client: httpx.Client, token: str) -> tuple[int, str]:
    answer = client.get("/v1/session", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.json().get("reason", "")


REFUSED = (401, "unauthenticated")


def test_a_token_of_the_issuer_lets_its_subject_in(client: httpx.Client, issuer: Issuer) -> None:
    """As whom the mapping makes of its claims."""
    token = sign_token(issuer.keys["rsa"], "RS256", claims())

    answer = client.get("/v1/session", headers={"Authorization": f"Bearer {token}"})

    assert answer.json() == {
        "tenant": "acme",
        "name": "robot",
        "user": "ann",
        "roles": ["caller"],
        "agents": ["coder"],
        "projects": None,
        "scopes": None,
        "means": "jwt",
        "csrf_token": None,
    }


def test_other_forms_of_a_right_token_are_taken(client: httpx.Client, issuer: Issuer) -> None:
    """Another listed algorithm, several audiences, a clock that is a little off, the type of access tokens."""
    now = int(time.time())
    rsa, curve = issuer.keys["rsa"], issuer.keys["ec"]
    tokens = [
        sign_token(curve, "ES256", claims(), kid="ec"),
        sign_token(rsa, "RS256", claims(), kid=...),
        sign_token(rsa, "RS256", claims(aud=["other", AUDIENCE])),
        sign_token(rsa, "RS256", claims(exp=now - 2)),
        sign_token(rsa, "RS256", claims(nbf=now + 3, iat=now + 3)),
        sign_token(rsa, "RS256", claims(), typ="at+jwt"),
        sign_token(rsa, "RS256", claims(), typ="application/at+JWT"),
        sign_token(rsa, "RS256", claims(), x5c=["M" * 3_000]),
        sign_token(rsa, "RS256", claims(iat=..., exp=now + 60.5)),
    ]

    assert [asked(client, token) for token in tokens] == [(200, "")] * len(tokens)


def test_wrong_claims_are_refused(client: httpx.Client, issuer: Issuer) -> None:
    """Each bounds whom, for whom, or when a token is for."""
    now = int(time.time())
    changes: list[dict[str, Any]] = [
        {"iss": "https://other.example"},
        {"iss": ISSUER + "/"},
        {"iss": ...},
        {"iss": [ISSUER]},
        {"aud": "other"},
        {"aud": ["other"]},
        {"aud": ...},
        {"aud": AUDIENCE.upper()},
        {"aud": {AUDIENCE: 1}},
        {"exp": now - 10},
        {"exp": ...},
        {"exp": str(now + 60)},
        {"exp": True},
        {"exp": None},
        {"exp": [now + 60]},
        {"nbf": now + 30},
        {"nbf": "0"},
        {"iat": now + 30},
        {"iat": None},
        {"sub": ...},
        {"sub": ""},
        {"sub": 7},
        {"sub": "a\nb"},
        {"org": "initech"},
        {"org": ...},
        {"org": ["acme"]},
    ]
    tokens = [sign_token(issuer.keys["rsa"], "RS256", claims(**change)) for change in changes]

    wrong = [change for change, token in zip(changes, tokens, strict=True) if asked(client, token) != REFUSED]
    assert wrong == []


def test_what_gives_no_role_gives_nothing(client: httpx.Client, issuer: Issuer) -> None:
    """Words that the mapping does not have, and agents that a token does not name."""
    said = claims(**{"realm_access": {"roles": ["admin", "owner"]}, "https://example.org/agents": ...})
    token = sign_token(issuer.keys["rsa"], "RS256", said)

    found = client.get("/v1/session", headers={"Authorization": f"Bearer {token}"}).json()

    assert (found["roles"], found["agents"]) == ([], [])


def test_wrong_signatures_are_refused(client: httpx.Client, issuer: Issuer) -> None:
    """Nothing in a token chooses by what it is judged, but the one that names a key of the issuer's."""
    rsa, curve = issuer.keys["rsa"], issuer.keys["ec"]
    assert isinstance(rsa, RSAKey)
    stranger = RSAKey.generate_key(2048, {"kid": "rsa"})
    public = rsa.as_pem(private=False)
    good = sign_token(rsa, "RS256", claims())
    head, body, signature = good.split(".")
    tokens = {
        "none": f"{part({'alg': 'none'})}.{body}.",
        "None": f"{part({'alg': 'None', 'kid': 'rsa'})}.{body}.",
        "none with a signature": f"{part({'alg': 'none', 'kid': 'rsa'})}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "HS256 with the public key": by_secret(public, body),
        "HS256 with the key's JSON": by_secret(json.dumps(rsa.as_dict(private=False)).encode(), body),
        "an algorithm that is not listed": sign_token(rsa, "RS512", claims()),
        "PS256": sign_token(rsa, "PS256", claims()),
        "another's key": sign_token(stranger, "RS256", claims()),
        "another's key in the header": sign_token(stranger, "RS256", claims(), jwk=stranger.as_dict(private=False)),
        "another's key by URL": sign_token(stranger, "RS256", claims(), jku=issuer.url, x5u=issuer.url),
        "the wrong key": sign_token(curve, "ES256", claims(), kid="rsa"),
        "an unknown key": sign_token(rsa, "RS256", claims(), kid="../../rsa"),
        "a kid that is no text": sign_token(rsa, "RS256", claims(), kid=...).replace(
            sign_token(rsa, "RS256", claims(), kid=...).split(".")[0], part({"alg": "RS256", "kid": ["rsa"]})
        ),
        "critical": sign_token(rsa, "RS256", claims(), crit=["b64"], b64=True),
        "critical and unknown": f"{part({'alg': 'RS256', 'kid': 'rsa', 'crit': ['exp']})}.{body}.{signature}",
        "an ID token": sign_token(rsa, "RS256", claims(), typ="logout+jwt"),
        "another payload": f"{head}.{part(claims(org='globex'))}.{signature}",
        "a changed signature": good[:-8] + ("AAAAAAAA" if good[-8:] != "AAAAAAAA" else "BBBBBBBB"),
        "five parts": f"{good}.x.y",
        "two parts": f"{head}.{body}",
        "no claims": f"{head}.{part([1])}.{signature}",
        "nested": f"{'[' * 5_000}.{body}.{signature}",
        "no base64": f"{head}.%%%.{signature}",
    }

    assert {name: asked(client, token) for name, token in tokens.items() if asked(client, token) != REFUSED} == {}
    assert asked(client, good) == (200, "")


def test_a_known_token_ends_when_it_expires(
    client: httpx.Client, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was verified once is not believed for ever."""
    now = time.time()
    token = sign_token(issuer.keys["rsa"], "RS256", claims(exp=int(now) + 600))

    def at(after_s: float) -> tuple[int, str]:
        monkeypatch.setattr("toolcharter_service.auth.jwt.time", SimpleNamespace(time=lambda: now + after_s))
        return asked(client, token)

    assert [at(after_s) for after_s in (0, 604, 606)] == [(200, ""), (200, ""), REFUSED]


async def test_keys_are_fetched_when_they_are_named(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for many tokens; a new key when the first token names it; unknown names do not have them fetched again and again."""
    clock = [1_000_000.0]
    monkeypatch.setattr(keys_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    keys = IssuerKeys(issuer.url, NetworkPolicy(**_tuples(issuer.network)))
    before = issuer.asked
    found = [await keys.find("rsa", "RS256") is not None for _ in range(3)]
    first = issuer.asked - before
    unknown = [await keys.find(f"new{number}", "RS256") for number in range(20)]
    many = issuer.asked - before

    issuer.keys["new"] = RSAKey.generate_key(2048, {"kid": "new"})
    clock[0] += 11
    try:
        new = await keys.find("new", "RS256")
        generation = keys.generation
        del issuer.keys["new"]
        clock[0] += keys_module.FRESH_S + 1
        stale = await keys.find("new", "RS256")
        await keys.wait_for_renewal()
        gone = await keys.find("new", "RS256")
    finally:
        issuer.keys.pop("new", None)

    assert (found, first, unknown, many) == ([True] * 3, 1, [None] * 20, 1)
    assert [new is not None, stale is not None, gone is not None] == [True, True, False]
    assert keys.generation == generation + 1


async def test_keys_that_cannot_be_had(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known ones are believed for a while; then nobody is, and a guard's refusal is the same."""
    clock = [1_000_000.0]
    monkeypatch.setattr(keys_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    keys = IssuerKeys(issuer.url, NetworkPolicy(**_tuples(issuer.network)))
    assert await keys.find("rsa", "RS256") is not None
    issuer.is_away = True
    try:
        clock[0] += keys_module.FRESH_S + keys_module.STALE_S - 1
        assert await keys.find("rsa", "RS256") is not None
        await keys.wait_for_renewal()
        clock[0] += 20
        with pytest.raises(KeysUnavailable):
            await keys.find("rsa", "RS256")
    finally:
        issuer.is_away = False
    with pytest.raises(KeysUnavailable):
        await IssuerKeys(issuer.url, NetworkPolicy()).find("rsa", "RS256")


def _tuples(network: Mapping[str, list[Any]]) -> dict[str, Any]:
    return {name: tuple(values) for name, values in network.items()}


def test_an_issuer_that_is_away_is_told(deployment: Deployment, issuer: Issuer) -> None:
    """It is not the token's fault."""
    entry = {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks": "http://127.0.0.1:9/jwks",
        "claims": {"tenant": "acme"},
        "network": {"allowed_private": ["127.0.0.1"], "ports": [9]},
    }
    client = deployment.start(auth={"jwt": [entry]})

    assert asked(client, sign_token(issuer.keys["rsa"], "RS256", claims())) == (503, "keys_unavailable")


def test_keys_that_verify_nothing_are_passed_over() -> None:
    """Secrets above all: a token that anybody could sign by what everybody can read."""
    good = RSAKey.generate_key(2048, {"kid": "good"}).as_dict(private=False)
    short = {**good, "kid": "short", "n": urlsafe_b64encode(b"\xc1" * 128).decode().rstrip("=")}
    private = ECKey.generate_key("P-256", {"kid": "private"}).as_dict(private=True)
    entries = [
        good,
        short,
        private,
        {"kty": "oct", "kid": "secret", "k": "AAAA"},
        {**good, "kid": "enc", "use": "enc"},
        {**good, "kid": "ops", "key_ops": ["encrypt"]},
        {"kty": "RSA", "kid": "half", "n": "AQAB"},
        {"kty": "EC", "kid": "no curve", "crv": "P-1", "x": "AA", "y": "AA"},
        {"kty": "XYZ"},
        "text",
        None,
    ]

    found = read_keys(json.dumps({"keys": entries}).encode())

    assert [(key.get("kid"), key.is_private) for key in found] == [("good", False), ("private", False)]
    for document in (b"", b"[]", b"{}", b'{"keys": {}}'):
        with pytest.raises(ValueError, match=r"(?i)JWK|input"):
            read_keys(document)


@each_row(
    ("mapping", "said", "roles", "agents"),
    [
        pytest.param({"roles": ["viewer"]}, {}, {Role.VIEWER}, None, id="fixed"),
        pytest.param({}, {"roles": ["viewer", "owner"]}, {Role.VIEWER}, None, id="our own words"),
        pytest.param({}, {"roles": "viewer caller"}, {Role.VIEWER, Role.CALLER}, None, id="one text"),
        pytest.param({}, {"roles": {"viewer": True}}, set(), None, id="no list"),
        pytest.param({}, {"roles": [["viewer"], 1]}, set(), None, id="no words"),
        pytest.param({"roles": {"claim": "a.b.c"}}, {"a": {"b": {"c": ["viewer"]}}}, {Role.VIEWER}, None, id="a path"),
        pytest.param(
            {"roles": {"claim": "a.b"}}, {"a.b": ["viewer"], "a": 1}, {Role.VIEWER}, None, id="a name with dots"
        ),
        pytest.param({"roles": {"claim": "a.b"}}, {"a": ["viewer"]}, set(), None, id="no such path"),
        pytest.param({"agents": ["coder"]}, {}, set(), {"coder"}, id="fixed agents"),
        pytest.param({"agents": {"claim": "agents"}}, {}, set(), set(), id="no agents"),
    ],
)
def test_claims_give_roles_and_agents(
    mapping: dict[str, Any], said: dict[str, Any], roles: set[Role], agents: set[str] | None
) -> None:
    """By the mapping, and nothing that it does not say."""
    read = ClaimMapping.from_profile({"tenant": "acme", **mapping})

    found = principal_of({"sub": "x", **said}, read, {"acme"})

    assert (set(found.roles), found.agents if agents is None else set(found.agents or ())) == (roles, agents)


def test_a_subject_without_a_name_is_nobody() -> None:
    """Neither is one whose name would break a line."""
    for said in ({}, {"sub": None}, {"sub": "a" * 200}, {"sub": " a"}):
        with pytest.raises(ClaimFault):
            principal_of(said, ClaimMapping(tenant="acme"), {"acme"})
