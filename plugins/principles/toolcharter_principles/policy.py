"""The policy of the check, and its reason for a denial."""

import re
from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from toolcharter import CheckPolicy

_NO_BLANKS = re.compile("[!-~]+")


class PrinciplesPolicy(CheckPolicy):
    """Which service is asked, and how."""

    url: str
    """The service's URL: `https://HOST:PORT`; without a path, `/action` is added."""
    action_prefix: str = "invoke_tool:"
    """The text before the tool's name in the question's `action`."""
    token_env: str | None = Field(default=None, pattern="^[A-Za-z_][A-Za-z0-9_]*$")
    """The environment variable that holds a token, sent as `Authorization: Bearer`."""

    @field_validator("url")
    @classmethod
    def _require_service_url(cls, url: str) -> str:
        parts = urlsplit(url)  # its property `port` raises for a malformed port
        if (
            parts.scheme not in {"http", "https"}
            or not parts.hostname
            or parts.port == 0
            or not _NO_BLANKS.fullmatch(url)
        ):
            raise ValueError("expected https://HOST:PORT/PATH or http://HOST:PORT/PATH")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("it must have no user, query or fragment; a token belongs in the variable of token_env")
        return url

    @property
    def endpoint(self) -> str:
        """The URL for questions. Source: 001, principles/pkg/client.go, which adds `/action` to the service's URL."""
        parts = urlsplit(self.url)
        return self.url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/action"


class PrinciplesReason(StrEnum):
    """Why `principles` denies a call."""

    BLOCKED_BY_PRINCIPLES = "blocked_by_principles"
