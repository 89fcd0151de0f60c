"""The key `auth` of the configuration: what cannot work is told with its place, all of it at once."""

from pathlib import Path

import pytest

from toolcharter import ConfigurationError
from toolcharter_service.config import read_config

FILE = """
tenants: {acme: {agents: {coder: {profile: minimal, workspace: work}}}}
auth:
  jwt:
    - {issuer: i, audience: a, jwks: keys.json, claims: {tenant: acme}}
    - {issuer: i, audience: a, jwks: "http://keys.example/jwks", claims: {tenant: initech}}
    - {issuer: j, audience: a, jwks: missing.json, claims: {tenant: acme}}
  oidc:
    issuer: http://login.example
    client_id: c
    client_secret: SECRET
    redirect_uri: https://tools.example/callback
    scopes: [profile]
    claims: {tenant: {claim: org}}
"""


def faults(place: Path, text: str) -> list[tuple[str, str, str]]:
    """Place without the file, path, what."""
    file = place / "service.yaml"
    file.write_text(text)
    (place / "work").mkdir(exist_ok=True)
    (place / "keys.json").write_text("{}")
    with pytest.raises(ConfigurationError) as raised:
        read_config(file)
    return [(one.place.removeprefix(f"{file}:"), one.path, one.what) for one in raised.value.faults]


def test_what_cannot_work_is_told(tmp_path: Path) -> None:
    """Keys that nobody guards, tenants that there are not, an address that is not ours."""
    found = faults(tmp_path, FILE.replace("SECRET", "plain"))

    assert [(place.split(":")[0], path, what) for place, path, what in found] == [
        ("6", "auth.jwt.1.issuer", "another entry has this issuer."),
        ("6", "auth.jwt.1.jwks", "'http://keys.example/jwks' is not encrypted."),
        ("6", "auth.jwt.1.claims.tenant", "there is no tenant 'initech'."),
        ("7", "auth.jwt.2.jwks", f"there is no file {str(tmp_path / 'missing.json')!r}."),
        ("9", "auth.oidc.issuer", "'http://login.example' is not encrypted."),
        ("11", "auth.oidc.client_secret", "the file contains the client's secret."),
        (
            "12",
            "auth.oidc.redirect_uri",
            "'https://tools.example/callback' does not lead to this service's /login/oidc/callback.",
        ),
        ("13", "auth.oidc.scopes", "without 'openid' the provider does not identify the person."),
    ]


def test_a_secret_that_the_environment_lacks_is_told(tmp_path: Path) -> None:
    """Before anybody signs in."""
    found = faults(tmp_path, FILE.replace("SECRET", "env:TOOLCHARTER_TEST_NOTHING"))

    assert ("auth.oidc.client_secret", "the environment has no 'TOOLCHARTER_TEST_NOTHING'.") in [
        one[1:] for one in found
    ]


@pytest.mark.parametrize("algorithms", ["[]", "[HS256]", "[none]", "[RS256, HS512]"])
def test_signatures_with_shared_secrets_cannot_be_listed(tmp_path: Path, algorithms: str) -> None:
    """Nor none at all."""
    text = FILE.replace(
        "claims: {tenant: acme}}\n    - {issuer: i",
        f"claims: {{tenant: acme}}, algorithms: {algorithms}}}\n    - {{issuer: i",
        1,
    )

    [(place, path, _), *_] = faults(tmp_path, text)

    assert (place.split(":")[0], path.startswith("auth.jwt.0.algorithms")) == ("5", True)


def test_clocks_may_differ_by_a_minute_at_most(tmp_path: Path) -> None:
    """Longer is no clock that is a little off."""
    text = FILE.replace("jwks: keys.json", "jwks: keys.json, skew_s: 61")

    [(_, path, what), *_] = faults(tmp_path, text)

    assert (path, "60" in what) == ("auth.jwt.0.skew_s", True)


def test_a_name_that_no_host_has_is_told(tmp_path: Path) -> None:
    """An address of a page, say."""
    found = faults(tmp_path, "hosts: [tools.example.org, https://tools.example.org]" + FILE.partition("auth:")[0])

    assert found == [("1:28", "hosts.1", "'https://tools.example.org' is no host.")]
