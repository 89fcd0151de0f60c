"""The policy of the approver: the service's address, and how the service proves itself."""

import re
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from toolcharter import ExtensionPolicy

UNIX = "unix:"
"""The prefix of a URL that names a socket in the file system."""
_NO_BLANKS = re.compile("[!-~]+")
_VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$"
_PROOF = (
    "the service has to prove its identity, or any process that listens there could approve calls: set a shared secret "
    "(secret_env or secret_file), or certificates for https: (client_cert, client_key and ca_file), or use a socket of "
    "your own (unix:/path)"
)


class ApproverPolicy(ExtensionPolicy):
    """Which service asks people, how it is reached, and how it proves itself."""

    url: str
    """The URL for questions: `https://HOST:PORT/PATH`, `http://HOST:PORT/PATH`, or `unix:/PATH/OF/SOCKET`."""
    token_env: str | None = Field(default=None, pattern=_VARIABLE)
    """The environment variable that holds a token, sent as `Authorization: Bearer`."""
    secret_env: str | None = Field(default=None, pattern=_VARIABLE)
    """The environment variable that holds a secret shared with the service; it signs questions and answers."""
    secret_file: Path | None = None
    """A file outside the workspace that holds such a secret."""
    client_cert: Path | None = None
    """A file with the gate's client certificate for the service."""
    client_key: Path | None = None
    """A file with the key of `client_cert`."""
    ca_file: Path | None = None
    """A file with the only certificate authorities for the service; they replace the system's."""
    poll_interval_s: float = Field(default=2.0, ge=0.05, le=60)
    """The interval between two polls for an answer, in seconds."""

    @property
    def socket(self) -> Path | None:
        """The socket that the URL names; None for another URL."""
        return Path(self.url.removeprefix(UNIX)) if self.url.startswith(UNIX) else None

    @field_validator("url")
    @classmethod
    def _leads_to_a_service(cls, url: str) -> str:
        if url.startswith(UNIX):
            if not url.startswith(f"{UNIX}/") or not url.isprintable():
                raise ValueError("expected the absolute path of a socket, as in unix:/run/user/1000/approver.sock")
            return url
        parts = urlsplit(url)  # reading `port` raises for an invalid port
        if (
            parts.scheme not in {"http", "https"}
            or not parts.hostname
            or parts.port == 0
            or not _NO_BLANKS.fullmatch(url)
        ):
            raise ValueError("expected https://HOST:PORT/PATH, http://HOST:PORT/PATH or unix:/PATH/OF/SOCKET")
        if parts.username is not None or parts.query or parts.fragment:
            raise ValueError("the URL must have no user, query or fragment; put a token in the variable of token_env")
        return url

    @field_validator("secret_file", "client_cert", "client_key", "ca_file")
    @classmethod
    def _is_a_whole_path(cls, path: Path | None) -> Path | None:
        """A relative path would depend on the folder in which the gate was started."""
        found = None if path is None else path.expanduser()
        if found is not None and not found.is_absolute():
            raise ValueError("expected an absolute path, such as /etc/approver/secret or ~/.config/approver/secret")
        return found

    @model_validator(mode="after")
    def _proves_itself(self) -> Self:
        if self.secret_env is not None and self.secret_file is not None:
            raise ValueError("secret_env and secret_file both set a secret; keep one of them")
        if (self.client_cert is None) != (self.client_key is None):
            raise ValueError("client_cert and client_key belong together")
        has_certificates = self.client_cert is not None and self.ca_file is not None
        if not self.url.startswith("https:") and (self.client_cert or self.ca_file):
            raise ValueError("certificates are for https: only")
        has_secret = self.secret_env is not None or self.secret_file is not None
        if not (has_secret or has_certificates or self.socket):
            raise ValueError(_PROOF)
        return self
