"""People sign in at an OpenID provider: the way there and back, and what is tried on it."""

import base64
import time
from collections.abc import Iterator
from hashlib import sha256
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from tests.plugins.service.auth.conftest import Deployment
from tests.plugins.service.auth.token_issuer import Provider
from tests.rows import each_row

from toolcharter_service.auth.oidc import LOGIN_COOKIE
from toolcharter_service.auth.sessions import SESSION_COOKIE

CALLBACK = "https://tools.example.org/login/oidc/callback"
SECRET_NAME = "TOOLCHARTER_TEST_CLIENT"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _as_it_should_be(provider: Provider) -> None:
    provider.said.clear()
    provider.metadata.clear()
    provider.redeemed.clear()


def settings(provider: Provider, **more: Any) -> dict[str, Any]:
    return {
        "issuer": provider.issuer,
        "client_id": "client",
        "redirect_uri": CALLBACK,
        "claims": {"tenant": "acme", "roles": {"claim": "groups", "map": {"people": ["viewer", "approver"]}}},
        "network": provider.network,
        **more,
    }


@pytest.fixture(scope="module")
def client(deployment: Deployment, provider: Provider) -> httpx.Client:
    return deployment.start(auth={"oidc": settings(provider)})


class Browser:
    """Somebody at a page of ours, with cookies of its own; over plain HTTP a client would not send them back."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self.cookies: dict[str, str] = {}

    def get(self, path: str, **params: Any) -> httpx.Response:
        header = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self._client.get(path, params=params or None, headers={"Cookie": header} if header else {})
        self._client.cookies.clear()
        for line in answer.headers.get_list("set-cookie"):
            for name, one in SimpleCookie(line).items():
                if one["max-age"] == "0":
                    self.cookies.pop(name, None)
                else:
                    self.cookies[name] = one.value
        return answer

    def begin(self, **params: Any) -> dict[str, str]:
        """Go to the provider; what it is asked."""
        answer = self.get("/login/oidc", **params)
        assert answer.status_code == 303
        return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}

    def come_back(self, **query: Any) -> str:
        """Where the browser is led to."""
        answer = self.get("/login/oidc/callback", **query)
        assert answer.status_code == 303
        return str(answer.headers["location"])

    def who(self) -> dict[str, Any]:
        found: dict[str, Any] = self.get("/v1/session").json()
        return found


@pytest.fixture
def browser(client: httpx.Client) -> Browser:
    return Browser(client)


def test_a_person_signs_in_at_the_provider(browser: Browser, provider: Provider, deployment: Deployment) -> None:
    """With PKCE, a state and a nonce that nobody else has, and a session of the person's own at the end."""
    first = browser.get("/login/oidc", next="/monitor?x=1")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(first.headers["location"]).query).items()}
    login = SimpleCookie(first.headers["set-cookie"])[LOGIN_COOKIE]
    provider.nonce = asked["nonce"]

    led = browser.come_back(code="c1", state=asked["state"])

    [redeemed] = provider.redeemed
    challenge = base64.urlsafe_b64encode(sha256(redeemed["code_verifier"].encode()).digest()).decode().rstrip("=")
    assert first.headers["location"].startswith(f"{provider.issuer}/auth?")
    assert {name: asked[name] for name in ("response_type", "client_id", "redirect_uri", "scope")} == {
        "response_type": "code",
        "client_id": "client",
        "redirect_uri": CALLBACK,
        "scope": "openid profile email",
    }
    assert (asked["code_challenge_method"], asked["code_challenge"]) == ("S256", challenge)
    assert [login[name] for name in ("path", "secure", "httponly", "samesite", "max-age")] == [
        "/",
        True,
        True,
        "lax",
        "600",
    ]
    assert redeemed == {
        "grant_type": "authorization_code",
        "code": "c1",
        "redirect_uri": CALLBACK,
        "code_verifier": redeemed["code_verifier"],
        "client_id": "client",
        "authorization": "",
    }
    assert led == "/monitor?x=1"
    assert LOGIN_COOKIE not in browser.cookies
    who = browser.who()
    assert (who["name"], who["user"], who["roles"], who["means"]) == ("ann", "ann", ["approver", "viewer"], "session")
    assert deployment.events[-1] == {
        "event": "service.login",
        "outcome": "ok",
        "means": "oidc",
        "tenant": "acme",
        "user": "ann",
    }


def test_nothing_is_asked_twice(browser: Browser) -> None:
    """State, nonce and challenge are different for each beginning."""
    asked = [browser.begin() for _ in range(3)]

    assert len({one[name] for one in asked for name in ("state", "nonce", "code_challenge")}) == 9


def test_a_session_begins_anew(browser: Browser, provider: Provider) -> None:
    """A cookie that somebody has planted is not taken over; the session that was there ends."""
    browser.cookies[SESSION_COOKIE] = "A" * 43
    seen = [browser.cookies[SESSION_COOKIE]]
    for code in ("c1", "c2"):
        asked = browser.begin()
        provider.nonce = asked["nonce"]
        browser.come_back(code=code, state=asked["state"])
        seen.append(browser.cookies[SESSION_COOKIE])

    other = Browser(browser._client)
    other.cookies[SESSION_COOKIE] = seen[1]
    assert len(set(seen)) == 3
    assert other.get("/v1/session").status_code == 401
    assert browser.who()["name"] == "ann"


def test_another_browsers_answer_is_refused(browser: Browser, provider: Provider) -> None:
    """Whoever has signed in elsewhere cannot have somebody else come back as that person, nor anybody twice."""
    attacker = Browser(browser._client)
    asked = attacker.begin()
    provider.nonce = asked["nonce"]

    without = browser.come_back(code="c1", state=asked["state"])
    browser.begin()
    with_own = browser.come_back(code="c1", state=asked["state"])
    attacker.come_back(code="c1", state=asked["state"])
    again = attacker.come_back(code="c1", state=asked["state"])

    assert [without, with_own, again] == [
        "/login?failed=login_expired",
        "/login?failed=state_mismatch",
        "/login?failed=login_expired",
    ]
    assert SESSION_COOKIE not in browser.cookies
    assert len(provider.redeemed) == 1


def test_an_answer_that_does_not_fit_is_refused(browser: Browser, provider: Provider) -> None:
    """A wrong state, another provider's answer, a refusal, parameters that come twice, a beginning too long ago."""
    asked = browser.begin()
    cookie = browser.cookies[LOGIN_COOKIE]
    secret, begun, path = cookie.split(".")
    state = asked["state"]
    tries: dict[str, tuple[dict[str, Any], str]] = {
        "no state": ({"code": "c"}, cookie),
        "very many": ({"code": ["c"] * 30, "state": state}, cookie),
        "two states": ({"code": "c", "state": [state, state]}, cookie),
        "another state": ({"code": "c", "state": state[:-1]}, cookie),
        "letters": ({"code": "c", "state": "\u00e4"}, cookie),
        "another issuer": ({"code": "c", "state": state, "iss": "https://evil.example"}, cookie),
        "no code": ({"state": state}, cookie),
        "refused": ({"state": state, "error": "access_denied", "error_description": "<script>"}, cookie),
        "refused, with a code": ({"state": state, "code": "c", "error": "access_denied"}, cookie),
        "another path": ({"code": "c", "state": state}, f"{secret}.{begun}.L3g"),
        "another time": ({"code": "c", "state": state}, f"{secret}.{int(begun) + 1}.{path}"),
        "old": ({"code": "c", "state": state}, f"{secret}.{int(time.time()) - 601}.{path}"),
        "no cookie": ({"code": "c", "state": state}, "x"),
        "a cookie that is none": ({"code": "c", "state": state}, f"{secret}.x.{path}"),
        "a path that is none": ({"code": "c", "state": state}, f"{secret}.{begun}._"),
    }
    led: dict[str, str] = {}
    for name, (query, sent) in tries.items():
        browser.cookies = {LOGIN_COOKIE: sent}
        led[name] = browser.come_back(**query).removeprefix("/login?failed=")

    assert led == {
        "no state": "state_mismatch",
        "very many": "login_refused",
        "two states": "state_mismatch",
        "another state": "state_mismatch",
        "letters": "state_mismatch",
        "another issuer": "login_not_believed",
        "no code": "login_refused",
        "refused": "login_refused",
        "refused, with a code": "login_refused",
        "another path": "state_mismatch",
        "another time": "state_mismatch",
        "old": "login_expired",
        "no cookie": "login_expired",
        "a cookie that is none": "login_expired",
        "a path that is none": "login_expired",
    }
    assert provider.redeemed == []


@each_row(
    ("said", "reason"),
    [
        pytest.param({"nonce": "other"}, "login_not_believed", id="another nonce"),
        pytest.param({"nonce": ...}, "login_not_believed", id="no nonce"),
        pytest.param({"iss": "https://evil.example"}, "login_not_believed", id="another issuer"),
        pytest.param({"aud": "other"}, "login_not_believed", id="another client"),
        pytest.param({"aud": ["client", "other"], "azp": "other"}, "login_not_believed", id="for another party"),
        pytest.param({"exp": 1}, "login_not_believed", id="expired"),
        pytest.param({"exp": ...}, "login_not_believed", id="for ever"),
        pytest.param({"sub": ...}, "no_access", id="nobody"),
        pytest.param({"groups": ["strangers"]}, "no_access", id="no role"),
    ],
)
def test_an_id_token_that_is_not_for_us_is_refused(
    browser: Browser, provider: Provider, said: dict[str, Any], reason: str
) -> None:
    """The signature alone says little."""
    asked = browser.begin()
    provider.nonce = asked["nonce"]
    provider.said = said

    led = browser.come_back(code="c", state=asked["state"])

    assert (led, SESSION_COOKIE in browser.cookies) == (f"/login?failed={reason}", False)


@each_row(
    "path",
    ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)", "evil"],
)
def test_coming_back_leads_nowhere_else(browser: Browser, provider: Provider, path: str) -> None:
    """Whatever a link had named as the place to go to."""
    asked = browser.begin(next=path)
    provider.nonce = asked["nonce"]

    assert browser.come_back(code="c", state=asked["state"]) == "/"


def test_a_client_with_a_secret_shows_it(
    deployment: Deployment, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the header, or in the form where the provider takes it there alone; and the provider has to say who it is, where it says that it does."""
    monkeypatch.setenv(SECRET_NAME, "s e+cret")
    expected = "Basic " + base64.b64encode(b"client:s+e%2Bcret").decode()
    shown: list[tuple[str, str]] = []
    different: tuple[dict[str, Any], ...] = (
        {},
        {"token_endpoint_auth_methods_supported": ["client_secret_post"]},
        {"authorization_response_iss_parameter_supported": True},
    )
    for metadata in different:
        provider.metadata = metadata
        client = deployment.start(auth={"oidc": settings(provider, client_secret=f"env:{SECRET_NAME}")})
        browser = Browser(client)
        asked = browser.begin()
        provider.nonce = asked["nonce"]
        led = browser.come_back(code="c", state=asked["state"])
        if "authorization_response_iss_parameter_supported" in metadata:
            asked = browser.begin()
            provider.nonce = asked["nonce"]
            right = browser.come_back(code="c", state=asked["state"], iss=provider.issuer)
            assert (led, right) == ("/login?failed=login_not_believed", "/")
        else:
            form = provider.redeemed[-1]
            shown.append((form["authorization"], form.get("client_secret", "")))
            assert led == "/"

    assert shown == [(expected, ""), ("", "s e+cret")]


def test_a_provider_that_is_away_or_another_is_told(deployment: Deployment, provider: Provider) -> None:
    """Nobody is sent to a place that its metadata do not name safely."""
    led: list[str] = []
    changes: list[dict[str, Any]] = [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://10.0.0.1/token"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"jwks_uri": None},
    ]
    for metadata in changes:
        provider.metadata = metadata
        client = deployment.start(auth={"oidc": settings(provider)})
        led.append(client.get("/login/oidc").headers["location"])
    provider.is_away = True
    try:
        client = deployment.start(auth={"oidc": settings(provider)})
        led.append(client.get("/login/oidc").headers["location"])
    finally:
        provider.is_away = False

    assert led == ["/login?failed=provider_unavailable"] * 5
    page = client.get(led[-1]).text
    assert "The provider cannot be reached." in page
    assert 'href="/login/oidc?next=%2F"' in page
