"""`secret:NAME` for a server: a reference in the profile, the value of the store for the server, nothing where there is none."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from toolcharter import StoreUnavailable
from toolcharter_mcp_bridge.policy import ServerPolicy
from toolcharter_mcp_bridge.stdio import resolve_secrets
from toolcharter_mcp_bridge.wire import ConnectionLost


def _secret(text: str) -> str:
    if text == "secret:gone":
        raise StoreUnavailable("The store has no secret 'gone'.")
    return {"secret:token": "value"}.get(text, text)


RUNTIME: Any = SimpleNamespace(secret=_secret)


def test_a_server_gets_the_value() -> None:
    """Of a reference; other texts are themselves."""
    assert resolve_secrets({"TOKEN": "secret:token", "MODE": "fast"}, RUNTIME) == {"TOKEN": "value", "MODE": "fast"}


def test_a_server_without_its_secret_is_not_connected() -> None:
    """It never gets the reference, and what is missing is told."""
    with pytest.raises(ConnectionLost, match="TOKEN: The store has no secret 'gone'"):
        resolve_secrets({"TOKEN": "secret:gone"}, RUNTIME)


def test_a_reference_is_no_secret_itself() -> None:
    """It says what the server is, so that another secret is another server; a text does so by its hash."""
    first, second = (ServerPolicy(command="files", env={"TOKEN": value}) for value in ("secret:a", "plain"))

    assert first.identity.endswith("TOKEN=secret:a")
    assert "plain" not in second.identity


@pytest.mark.parametrize("text", ["secret:", "secret:a b", "secret:/a"])
def test_a_reference_that_names_nothing_stops_the_start(text: str) -> None:
    """It is told with the policy, not when the server is started."""
    with pytest.raises(ValidationError, match="secret:NAME"):
        ServerPolicy(url="https://example.org/mcp", headers={"Authorization": text})
