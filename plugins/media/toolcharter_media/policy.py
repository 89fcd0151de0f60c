"""How far one profile lets the media tools go: whom they ask, what that costs, and why they refuse."""

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
"""A telling name: the scrubber knows the values of such variables."""


class Endpoint(NamedTuple):
    """What a provider is known by, where a profile says nothing else."""

    url: str
    variable: str
    """The environment variable that holds the key; empty if there is none."""
    model: str
    voice: str = ""


SPEAKERS: Mapping[str, Endpoint] = MappingProxyType(
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
"""Source: the providers' references: "Create speech", "Create speech" (with the voice Rachel), "T2A v2"; for Edge, the package edge-tts."""
PAINTERS: Mapping[str, Endpoint] = MappingProxyType(
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
    """Why a media tool refuses a call or calls it failed; those of the first group deny."""

    HOLDS_A_SECRET = "holds_a_secret"  # noqa: S105 - a reason
    CALLS_USED_UP = "calls_used_up"
    COST_USED_UP = "cost_used_up"

    NO_PROVIDER = "no_provider"
    TEXT_TOO_LONG = "text_too_long"
    PROVIDERS_FAILED = "providers_failed"


class SpeechReason(StrEnum):
    """Why `tts` alone denies."""

    PROVIDER_NOT_ALLOWED = "provider_not_allowed"
    MODEL_NOT_ALLOWED = "model_not_allowed"
    VOICE_NOT_ALLOWED = "voice_not_allowed"


class Provider(BaseModel):
    """Who is asked. Their `name`, which the two kinds of them have, says which protocol is spoken."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = ""
    """Where its protocol begins, such as `https://api.openai.com/v1`; by default the provider's own."""
    key: str = ""
    """`secret:NAME`; by default the key is read from `key_env`."""
    key_env: str = ""
    """The environment variable that holds the key; without a `url` by default the usual one, such as `OPENAI_API_KEY`."""
    model: str = ""
    """The model that is asked; by default the one of the README's table."""
    cost: Cost | None = None
    """What one request costs, in the unit of `max_cost`."""
    allowed_private: tuple[str, ...] = ()
    """As of any `NetworkPolicy`: where the provider may listen though it is not public."""

    @field_validator("key")
    @classmethod
    def _is_reference(cls, key: str) -> str:
        if key and not is_secret_reference(key):
            raise ValueError("write secret:NAME; a key itself stands in no profile")
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
        """Their name."""

    @property
    @abstractmethod
    def known(self) -> Endpoint:
        """What the provider is known by."""

    @property
    def base(self) -> str:
        """Where the protocol begins."""
        return self.url or self.known.url

    def secret(self, rt: ToolRuntime) -> str | None:
        """The key; empty for a server of one's own that wants none, None if it is missing.

        The usual variable is read for the provider's own URL alone: its key is for nobody else.

        Raises:
            StoreUnavailable: `key` names a secret that is not there.
        """
        if self.key:
            return rt.secret(self.key)
        variable = self.key_env or ("" if self.url else self.known.variable)
        return (os.environ.get(variable, "").strip() or None) if variable else ""

    def network(self) -> NetworkPolicy:
        """What may be reached: the provider alone."""
        parts = urlsplit(self.base)
        return NetworkPolicy(
            allowed_domains=(parts.hostname or "",),
            ports=(parts.port or _PORTS[parts.scheme],),
            allowed_private=self.allowed_private,
        )

    def price(self, chars: int) -> float:  # noqa: ARG002 - of those who charge by it
        """What a request with *chars* characters costs."""
        return self.cost or 0.0


class Painter(Provider):
    """Who makes pictures."""

    name: Literal["openai", "gemini", "openrouter"]

    @property
    @override
    def label(self) -> str:
        return self.name

    @property
    @override
    def known(self) -> Endpoint:
        return PAINTERS[self.name]


class Speaker(Provider):
    """Who speaks."""

    name: Literal["openai", "elevenlabs", "edge", "minimax"]
    models: tuple[str, ...] = ()
    """Other models that a call may ask for."""
    voice: str = ""
    """The voice that speaks; by default the one of the README's table."""
    voices: tuple[str, ...] = ()
    """Other voices that a call may ask for; `*` for any."""

    @property
    @override
    def label(self) -> str:
        return self.name

    @property
    @override
    def known(self) -> Endpoint:
        return SPEAKERS[self.name]

    @override
    def price(self, chars: int) -> float:
        """`cost` is for a thousand characters."""
        return (self.cost or 0.0) * chars / 1000

    def model_for(self, asked: str) -> str | None:
        """The model for a call that asks for *asked*; None if it may not have that."""
        own = self.model or self.known.model
        return own if not asked else asked if asked in {own, *self.models} else None

    def voice_for(self, asked: str) -> str | None:
        """The voice for a call that asks for *asked*; None if it may not have that."""
        own = self.voice or self.known.voice
        return own if not asked else asked if asked == own or asked in self.voices or ANY in self.voices else None


class MediaPolicy(ToolPolicy):
    """What both tools may spend and write."""

    folder: str = "media"
    """Where the files go, relative to the workspace."""
    max_chars: Count = 4_000
    """How long a text or a prompt may be."""
    max_bytes: Annotated[int, Field(ge=1, le=100_000_000)] = 10_000_000
    """How large a file may be."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """How long one provider may take, in seconds; less where the call's time is shared with those after it."""
    max_calls: Annotated[int, Field(ge=0)] = 10
    """How many calls one session may make."""
    max_cost: Cost | None = None
    """What the calls of one session may cost together; needs `cost` of each provider."""


def checked(policy: MediaPolicy, providers: tuple[Provider, ...]) -> None:
    """Raise `ValueError` for providers that contradict each other, or whose cost nobody knows."""
    names = [one.label for one in providers]
    if len(set(names)) < len(names):
        raise ValueError("providers has one name twice")
    unknown = [one.label for one in providers if one.cost is None]
    if policy.max_cost is not None and unknown:
        raise ValueError(f"max_cost needs the cost of each provider; say that of {', '.join(unknown)}")


class ImagePolicy(MediaPolicy):
    """How far one profile lets `image` go."""

    providers: tuple[Painter, ...] = ()
    """Who is asked, in this order; nobody by default."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        checked(self, self.providers)
        return self


class SpeechPolicy(MediaPolicy):
    """How far one profile lets `tts` go."""

    providers: tuple[Speaker, ...] = ()
    """Who is asked, in this order; nobody by default."""
    max_seconds: Annotated[float, Field(gt=0)] = 600.0
    """How long the speech may be."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        checked(self, self.providers)
        return self
