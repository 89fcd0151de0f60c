"""The media tools' policies, providers and limits of cost, and the reasons for a refusal."""

import os
import re
from abc import abstractmethod
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from typing_extensions import override

from toolcharter import NetworkPolicy, ToolPolicy, ToolRuntime, is_secret_reference, secret_name

Count = Annotated[int, Field(ge=1)]
Cost = Annotated[float, Field(ge=0, allow_inf_nan=False)]
ANY = "*"
_PORTS = {"https": 443, "http": 80}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*(KEY|TOKEN|SECRET)")
"""Names of variables that hold a secret: the scrubber masks the values of such variables."""


class Endpoint(NamedTuple):
    """A provider's defaults, for everything that a profile does not set."""

    url: str
    variable: str
    """The environment variable that holds the key; empty if there is none."""
    model: str
    voice: str = ""


SPEECH_ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType(
    {
        "openai": Endpoint("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-4o-mini-tts", "alloy"),
        "elevenlabs": Endpoint(
            "https://api.elevenlabs.io/v1", "ELEVENLABS_API_KEY", "eleven_multilingual_v2", "21m00Tcm4TlvDq8ikWAM"
        ),
        "edge": Endpoint(
            "https://speech.platform.bing.com/consumer/speech/synthesize/readaloud",
            "",
            "",
            "en-US-EmmaMultilingualNeural",
        ),
        "minimax": Endpoint("https://api.minimax.io/v1", "MINIMAX_API_KEY", "speech-02-hd", "Wise_Woman"),
    }
)
"""Source: the providers' references: "Create speech", "Create speech" (with the voice Rachel), "T2A v2".

For Edge: the package edge-tts.
"""
PICTURE_ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType(
    {
        "openai": Endpoint("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-image-1"),
        "gemini": Endpoint(
            "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", "gemini-2.5-flash-image"
        ),
        "openrouter": Endpoint("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "google/gemini-2.5-flash-image"),
    }
)
"""Source: the providers' references: "Create image", "Image generation with Gemini", "Image generation"."""


class MediaReason(StrEnum):
    """Why a media tool denies a call (the first group) or fails (the second group)."""

    HOLDS_A_SECRET = "holds_a_secret"  # noqa: S105 - a reason
    CALLS_USED_UP = "calls_used_up"
    COST_USED_UP = "cost_used_up"

    NO_PROVIDER = "no_provider"
    TEXT_TOO_LONG = "text_too_long"
    PROVIDERS_FAILED = "providers_failed"


class SpeechReason(StrEnum):
    """Why `tts` denies a call, in addition to `MediaReason`."""

    PROVIDER_NOT_ALLOWED = "provider_not_allowed"
    MODEL_NOT_ALLOWED = "model_not_allowed"
    VOICE_NOT_ALLOWED = "voice_not_allowed"


class Provider(BaseModel):
    """A provider to ask. Its `name`, which both subclasses define, determines the protocol."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = ""
    """The base URL of the API, such as `https://api.openai.com/v1`; by default the provider's own."""
    key: str = ""
    """`secret:NAME`; by default the key is read from `key_env`."""
    key_env: str = ""
    """The environment variable that holds the key. Without `url`, its default is the provider's, such as
    `OPENAI_API_KEY`."""
    model: str = ""
    """The model to use; by default the model in the README's table."""
    cost: Cost | None = None
    """The cost of one request, or of 1,000 characters of speech, in the unit of `max_cost`."""
    allowed_private: tuple[str, ...] = ()
    """Addresses of the provider that may be reached although they are not public, as in any `NetworkPolicy`."""

    @field_validator("key")
    @classmethod
    def _is_reference(cls, key: str) -> str:
        if key and not is_secret_reference(key):
            raise ValueError("write secret:NAME; a profile must not hold the key itself")
        if key:
            secret_name(key)
        return key

    @field_validator("key_env")
    @classmethod
    def _is_variable(cls, name: str) -> str:
        if name and not _VARIABLE.fullmatch(name):
            raise ValueError("write a variable whose name ends in KEY, TOKEN or SECRET, so that its value is scrubbed")
        return name

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        parts = urlsplit(url)
        is_plain = not (parts.username or parts.query or parts.fragment)
        if url and (parts.scheme not in _PORTS or not parts.hostname or not is_plain):
            raise ValueError("write https://HOST/PATH or http://HOST:PORT/PATH")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _has_one_key(self) -> Self:
        if self.key and self.key_env:
            raise ValueError("write key or key_env, not both")
        return self

    @property
    @abstractmethod
    def label(self) -> str:
        """The provider's name in calls and results."""

    @property
    @abstractmethod
    def known(self) -> Endpoint:
        """The provider's defaults."""

    @property
    def base(self) -> str:
        """The URL that the protocol's paths are appended to."""
        return self.url or self.known.url

    def secret(self, rt: ToolRuntime) -> str | None:
        """Return the key; empty if the server needs none, None if the key is missing.

        The default variable is read only for the provider's own URL: its key must not be sent to another server.

        Raises:
            StoreUnavailable: `key` names a secret that does not exist.
        """
        if self.key:
            return rt.secret(self.key)
        variable = self.key_env or ("" if self.url else self.known.variable)
        return (os.environ.get(variable, "").strip() or None) if variable else ""

    def network(self) -> NetworkPolicy:
        """Return a network policy that allows only the provider."""
        parts = urlsplit(self.base)
        return NetworkPolicy(
            allowed_domains=(parts.hostname or "",),
            ports=(parts.port or _PORTS[parts.scheme],),
            allowed_private=self.allowed_private,
        )

    def price(self, chars: int) -> float:  # noqa: ARG002 - some providers charge by it
        """Return the cost of a request with *chars* characters, in the unit of `max_cost`."""
        return self.cost or 0.0


class PictureProvider(Provider):
    """A provider of pictures."""

    name: Literal["openai", "gemini", "openrouter"]

    @property
    @override
    def label(self) -> str:
        return self.name

    @property
    @override
    def known(self) -> Endpoint:
        return PICTURE_ENDPOINTS[self.name]


class SpeechProvider(Provider):
    """A provider of speech."""

    name: Literal["openai", "elevenlabs", "edge", "minimax"]
    models: tuple[str, ...] = ()
    """Other models that a call may ask for."""
    voice: str = ""
    """The voice to use; by default the voice in the README's table."""
    voices: tuple[str, ...] = ()
    """Other voices that a call may ask for; `*` for any."""

    @property
    @override
    def label(self) -> str:
        return self.name

    @property
    @override
    def known(self) -> Endpoint:
        return SPEECH_ENDPOINTS[self.name]

    @override
    def price(self, chars: int) -> float:
        """Return the cost of *chars* characters; `cost` is for a thousand of them."""
        return (self.cost or 0.0) * chars / 1000

    def model_for(self, asked: str) -> str | None:
        """Return the model for a call that asks for *asked*; None if the profile does not allow it."""
        own = self.model or self.known.model
        return own if not asked else asked if asked in {own, *self.models} else None

    def voice_for(self, asked: str) -> str | None:
        """Return the voice for a call that asks for *asked*; None if the profile does not allow it."""
        own = self.voice or self.known.voice
        return own if not asked else asked if asked == own or asked in self.voices or ANY in self.voices else None


class MediaPolicy(ToolPolicy):
    """What both tools may spend and write."""

    folder: str = "media"
    """The folder for the files, relative to the workspace."""
    max_chars: Count = 4_000
    """How long a text or a prompt may be, in characters."""
    max_bytes: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000_000
    """How large a file may be, in bytes."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """How long one provider may take, in seconds; less if further providers need a share of the call's time."""
    max_calls: Annotated[int, Field(ge=0)] = 10
    """How many calls one session may make."""
    max_cost: Cost | None = None
    """The maximum cost of all calls of one session; it needs the `cost` of each provider."""


def check_providers(policy: MediaPolicy, providers: tuple[Provider, ...]) -> None:
    """Raise `ValueError` if a provider occurs twice, or if `max_cost` is set and a provider has no cost."""
    names = [one.label for one in providers]
    if len(set(names)) < len(names):
        raise ValueError("providers has one name twice")
    unknown = [one.label for one in providers if one.cost is None]
    if policy.max_cost is not None and unknown:
        raise ValueError(f"max_cost needs the cost of each provider; say that of {', '.join(unknown)}")


class ImagePolicy(MediaPolicy):
    """How far one profile lets `image` go."""

    providers: tuple[PictureProvider, ...] = ()
    """The providers to ask, in this order; none by default."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check_providers(self, self.providers)
        return self


class SpeechPolicy(MediaPolicy):
    """How far one profile lets `tts` go."""

    providers: tuple[SpeechProvider, ...] = ()
    """The providers to ask, in this order; none by default."""
    max_seconds: Annotated[float, Field(gt=0)] = 600.0
    """How long the speech may be, in seconds."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check_providers(self, self.providers)
        return self
