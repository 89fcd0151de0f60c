"""What a profile says of the service."""

import re
from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from toolcharter import ExtensionPolicy

_NO_BLANKS = re.compile("[!-~]+")
_VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$"


class ApproverPolicy(ExtensionPolicy):
    """Which service asks people, and how it is reached."""

    url: str
    """Where questions are posted: `https://HOST:PORT/PATH`. `http:` on this machine, or with `secret_env`."""
    token_env: str | None = Field(default=None, pattern=_VARIABLE)
    """The environment variable that holds a token, sent as `Authorization: Bearer`."""
    secret_env: str | None = Field(default=None, pattern=_VARIABLE)
    """The environment variable that holds a secret shared with the service, which signs questions and answers."""
    poll_interval_s: float = Field(default=2.0, ge=0.05, le=60)
    """How long to wait between two looks for an answer, in seconds."""

    @field_validator("url")
    @classmethod
    def _leads_to_a_service(cls, url: str) -> str:
        parts = urlsplit(url)  # raises for a port that is none as soon as it is asked for it
        if (
            parts.scheme not in {"http", "https"}
            or not parts.hostname
            or parts.port == 0
            or not _NO_BLANKS.fullmatch(url)
        ):
            raise ValueError("expected https://HOST:PORT/PATH or http://HOST:PORT/PATH")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("no user, query or fragment may stand in it; a token belongs in the variable of token_env")
        return url

    @model_validator(mode="after")
    def _cannot_be_forged(self) -> Self:
        """Over plain HTTP whoever is between could approve."""
        parts = urlsplit(self.url)
        if parts.scheme == "http" and self.secret_env is None and not _is_here(parts.hostname or ""):
            raise ValueError(
                "http: to another machine needs secret_env, or whoever is between could approve; use https:"
            )
        return self


def _is_here(host: str) -> bool:
    """Whether *host* is this machine. Other names could be looked up to anything."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
