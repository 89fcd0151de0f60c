"""`IssuerKeys`: the public keys of an issuer, from a URL or a file, fetched under the network guard, kept and renewed.

A key that the issuer withdraws is believed for `FRESH_S` at most; one that is new is fetched when the first token names it,
but not more often than every `REFETCH_S`, whatever tokens name. An issuer that cannot be reached is believed for
`STALE_S` more.
"""

import asyncio
import time
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

import orjson
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OctKey, OKPKey, RSAKey

from toolcharter import Denied, HttpLimits, NetworkPolicy, ToolError
from toolcharter.hosts import open_http

FRESH_S = 600.0
STALE_S = 3_600.0
REFETCH_S = 10.0
MAX_KEYS = 100
MAX_BYTES = 262_144
MIN_RSA_BITS = 2_048
"""Source: NIST SP 800-131A, section 3."""
PublicKey = RSAKey | ECKey | OKPKey


class KeysUnavailable(Exception):
    """The keys cannot be had, and those that are known are too old."""


class IssuerKeys:
    """The keys at one place.

    Args:
        place: A URL, or a file.
        network: What may be reached.
    """

    def __init__(self, place: str, network: NetworkPolicy) -> None:
        self._place = place
        self._network = network
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched = self._tried = -STALE_S - FRESH_S
        self._lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None
        self.generation = 0
        """One more whenever other keys came: what was verified with those before is verified again."""

    @property
    def is_fresh(self) -> bool:
        """Whether the keys that are known are as they were a short while ago."""
        return time.monotonic() - self._fetched <= FRESH_S

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """The key that a token was signed with: the one that it names, or the only one that it can be.

        Raises:
            KeysUnavailable: They cannot be had, and those that are known are too old.
        """
        age = time.monotonic() - self._fetched
        if age > FRESH_S + STALE_S:
            await self._renew()
            if time.monotonic() - self._fetched > FRESH_S + STALE_S:
                raise KeysUnavailable
        elif age > FRESH_S and not self._lock.locked():
            self._renewal = asyncio.create_task(self._renew())  # nobody waits for an issuer that is away
        found = self._pick(kid, algorithm)
        if found is None and kid is not None:
            await self._renew()
            found = self._pick(kid, algorithm)
        return found

    async def settled(self) -> None:
        """Wait for a renewal that is under way."""
        if self._renewal is not None:
            await self._renewal

    async def _renew(self) -> None:
        """Fetch the keys, unless somebody did a moment ago."""
        async with self._lock:
            now = time.monotonic()
            if now - self._tried > REFETCH_S:
                self._tried = now
                await self._fetch(now)

    async def _fetch(self, now: float) -> None:
        try:
            keys = read_keys(await self._read())
        except (Denied, ToolError, OSError, ValueError):
            return  # Those that are known are believed for a while.
        self._fetched = now
        if [key.as_dict() for key in keys] != [key.as_dict() for key in self._keys]:
            self._keys = keys
            self.generation += 1

    async def _read(self) -> bytes:
        if not self._place.startswith(("http://", "https://")):
            return await asyncio.to_thread(Path(self._place).read_bytes)
        limits = HttpLimits(timeout_s=5.0, max_bytes=MAX_BYTES, max_redirects=0)
        answer = await open_http().afetch(
            self._place, self._network, headers={"Accept": "application/json"}, limits=limits
        )
        if answer.status != 200 or answer.truncated:  # noqa: PLR2004 - the one that comes with keys
            raise ValueError("no keys")
        return answer.body

    def _pick(self, kid: str | None, algorithm: str) -> PublicKey | None:
        fitting = [key for key in self._keys if _fits(key, algorithm) and (kid is None or key.get("kid") == kid)]
        return fitting[0] if len(fitting) == 1 else None


def read_keys(document: bytes) -> tuple[PublicKey, ...]:
    """The keys of a JWK set that verify signatures; others are passed over, secrets above all.

    Raises:
        ValueError: It is no JWK set.
    """
    read = orjson.loads(document)
    entries = read.get("keys") if isinstance(read, dict) else None
    if not isinstance(entries, list):
        raise ValueError("no JWK set")  # noqa: TRY004 - a fault of the document, as JSON that cannot be read is
    return tuple(key for entry in entries[:MAX_KEYS] if (key := _read_key(entry)) is not None)


def _read_key(entry: Any) -> PublicKey | None:
    if not isinstance(entry, dict) or entry.get("kty") not in {"RSA", "EC", "OKP"}:
        return None
    if entry.get("use", "sig") != "sig" or "verify" not in entry.get("key_ops", ["verify"]):
        return None
    try:
        if entry["kty"] == "RSA" and _number(entry["n"]).bit_length() < MIN_RSA_BITS:
            return None
        key = JWKRegistry.import_key({name: entry[name] for name in _PUBLIC if name in entry})
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(key, OctKey) else key


def _number(text: str) -> int:
    """A number of a key. Source: RFC 7518, section 2, Base64urlUInt."""
    return int.from_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


_PUBLIC = ("kty", "kid", "use", "key_ops", "alg", "n", "e", "crv", "x", "y")


def _fits(key: PublicKey, algorithm: str) -> bool:
    """Whether signatures of *algorithm* can be this key's. Source: RFC 7518, section 3.1; RFC 8037, section 3.1."""
    if key.get("alg") not in (None, algorithm):
        return False
    if isinstance(key, RSAKey):
        return algorithm.startswith(("RS", "PS"))
    if isinstance(key, ECKey):
        return _CURVES.get(algorithm) == key.curve_name
    return algorithm in {"EdDSA", "Ed25519"} and key.get("crv") == "Ed25519"


_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
