"""URLs that people register: those that lead inside are refused with the guard's reason."""

import pytest

from toolcharter import NetworkPolicy
from toolcharter_service.auth.network import require_public_url
from toolcharter_service.http.problems import HttpProblem


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/hook", "private_address"),
        ("http://[::ffff:10.0.0.1]/", "private_address"),
        ("http://169.254.169.254/latest/", "private_address"),
        ("http://localhost:8081/", "private_address"),
        ("file:///etc/passwd", "scheme_not_allowed"),
        ("https://ann:pw@93.184.216.34/", "credentials_in_url"),
        ("https://93.184.216.34:22/", "port_not_allowed"),
        ("//93.184.216.34/", "url_not_understood"),
    ],
)
async def test_a_url_that_leads_inside_is_not_registered(url: str, reason: str) -> None:
    """Nothing is connected to find out."""
    with pytest.raises(HttpProblem) as raised:
        await require_public_url(url)

    assert (raised.value.status, raised.value.reason) == (400, reason)


async def test_a_public_url_is_registered_in_its_normal_form() -> None:
    """So is what a policy opens."""
    opened = NetworkPolicy(allowed_private=("127.0.0.1",), ports=(9,))

    assert await require_public_url("HTTPS://93.184.216.34:443/a#b") == "https://93.184.216.34/a"
    assert await require_public_url("http://127.0.0.1:9/jwks", opened) == "http://127.0.0.1:9/jwks"
