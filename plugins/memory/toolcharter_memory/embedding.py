"""Gets vectors of texts from an endpoint that speaks OpenAI's protocol. The profile chooses it, never the model.

Source: OpenAI's API reference, "Create embeddings".
"""

import array
import base64
import json
import math
from collections.abc import Callable, Sequence
from hashlib import sha256
from operator import mul
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from toolcharter import HttpLimits, NetworkPolicy, ToolError, ToolPolicy, ToolRuntime, is_secret_reference, secret_name

if TYPE_CHECKING:
    Vector = array.array[float]
else:
    Vector = array.array  # takes no type parameter before Python 3.12
BATCH = 64
"""How many texts one request has at most."""
MAX_DIMENSIONS = 4_096
_LIMITS = HttpLimits(timeout_s=30.0, max_bytes=16_000_000, max_redirects=0)
_OK = 200
_PORTS = {"https": 443, "http": 80}


class Embeddings(BaseModel):
    """The endpoint that makes vectors of texts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    """The base URL of the API, such as `https://api.openai.com/v1`; `/embeddings` is added."""
    model: str
    """The model's name at the endpoint."""
    key: str = ""
    """`secret:NAME`, sent as `Authorization: Bearer`; empty for an endpoint that needs no key."""
    dimensions: Annotated[int, Field(ge=1, le=MAX_DIMENSIONS)] | None = None
    """How many numbers a vector has, for models that support a choice."""
    allowed_private: tuple[str, ...] = ()
    """Addresses of the endpoint that may be reached although they are not public, as in any `NetworkPolicy`."""

    @field_validator("key")
    @classmethod
    def _is_reference(cls, key: str) -> str:
        if key and not is_secret_reference(key):
            raise ValueError("write secret:NAME; a profile must not hold the key itself")
        if key:
            secret_name(key)
        return key

    @field_validator("url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("write https://HOST/PATH or http://HOST:PORT/PATH")
        return url.rstrip("/")

    @property
    def digest(self) -> str:
        """Identifies the settings that make vectors comparable: vectors of two models are not."""
        return sha256(f"{self.url} {self.model} {self.dimensions}".encode()).hexdigest()[:8]

    def network(self) -> NetworkPolicy:
        """Return a network policy that allows only the endpoint."""
        parts = urlsplit(self.url)
        return NetworkPolicy(
            allowed_domains=(parts.hostname or "",),
            ports=(parts.port or _PORTS[parts.scheme],),
            allowed_private=self.allowed_private,
        )


class EmbeddingPolicy(ToolPolicy):
    """One profile's settings for vectors."""

    embeddings: Embeddings | None = None
    """The endpoint for vectors, by which texts are found by meaning; without it, they are found only by words."""


def embed(rt: ToolRuntime, settings: Embeddings, texts: Sequence[str]) -> list[Vector]:
    """Return a vector of length 1 for each of *texts*.

    Raises:
        ToolError: The answer is not one vector for each text; or as `rt.http.fetch`.
        Denied: The key is missing; or as `rt.http.fetch`.
    """
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if settings.key:
        headers["Authorization"] = f"Bearer {rt.secret(settings.key)}"
    found: list[Vector] = []
    for start in range(0, len(texts), BATCH):
        asked: dict[str, Any] = {"model": settings.model, "input": list(texts[start : start + BATCH])}
        if settings.dimensions is not None:
            asked["dimensions"] = settings.dimensions
        answer = rt.http.fetch(
            f"{settings.url}/embeddings",
            settings.network(),
            method="POST",
            headers=headers,
            content=json.dumps(asked).encode(),
            limits=_LIMITS,
        )
        if answer.status != _OK or answer.truncated:
            raise ToolError(f"The endpoint for embeddings answered with status {answer.status}.")
        found += _parse_vectors(answer.body, len(asked["input"]))
    if len({len(vector) for vector in found}) > 1:
        raise ToolError("The endpoint for embeddings returned vectors of different lengths.")
    return found


def _parse_vectors(body: bytes, wanted: int) -> list[Vector]:
    """Parse the vectors in an answer, in the order of the texts."""
    try:
        data = sorted(json.loads(body)["data"], key=lambda one: one["index"])
        found = [normalize(array.array("f", map(float, one["embedding"]))) for one in data]
        is_whole = [one["index"] for one in data] == list(range(wanted))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        is_whole, found = False, []
    if not is_whole or not all(0 < len(vector) <= MAX_DIMENSIONS for vector in found):
        raise ToolError("The endpoint for embeddings did not return one vector for each text.")
    return found


def normalize(vector: Vector) -> Vector:
    """Scale *vector* to length 1.

    Raises:
        ValueError: *vector* has the length 0, or no finite length.
    """
    length = math.sqrt(dot(vector, vector))
    if not math.isfinite(length) or length == 0:
        raise ValueError("a vector of zeros, or not of numbers")
    return array.array("f", (one / length for one in vector))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return float(sum(map(mul, one, other)))


dot: Callable[[Sequence[float], Sequence[float]], float] = getattr(math, "sumprod", _dot)
"""Return the dot product of two vectors of the same length; Python 3.12 has it built in."""


def encode_vector(vector: Vector) -> str:
    """Encode *vector* as text: base64 of its 32-bit floats, in this machine's byte order."""
    return base64.b64encode(vector.tobytes()).decode()


def decode_vector(text: str) -> Vector:
    """Decode a vector that `encode_vector` has encoded."""
    vector: Vector = array.array("f")
    vector.frombytes(base64.b64decode(text))
    return vector
