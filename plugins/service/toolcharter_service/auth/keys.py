"""`IssuerKeys`: caches the public keys of an issuer, fetched from a URL under the network guard or read from a file.

A withdrawn key is trusted for at most `FRESH_S`. A new key is fetched when the first token names it, but whatever
tokens name, keys are fetched at most every `REFETCH_S`. While the issuer is unreachable, its keys are trusted for
`STALE_S` longer.
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
    """The keys cannot be fetched, and the cached keys are too old."""


class IssuerKeys:
    """The keys at one URL or in one file.

    Args:
        place: The URL or file.
        network: The network policy for the URL.
    """

    def __init__(self, location: str, network: NetworkPolicy) -> None:
        self._location = location
        self._network = network
        self._keys: tuple[PublicKey, ...] = ()
        self._fetched = self._tried = -STALE_S - FRESH_S
        self._lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None
        self.generation = 0
        """Grows when the keys change: tokens that were verified with earlier keys have to be verified again."""

    @property
    def is_fresh(self) -> bool:
        """Whether the keys were fetched within `FRESH_S`."""
        return time.monotonic() - self._fetched <= FRESH_S

    async def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """Find the key of a token: the key that it names, or the only key that fits *algorithm*; None if there is none.

        Raises:
            KeysUnavailable: The keys cannot be fetched, and the cached keys are too old.
        """
        age = time.monotonic() - self._fetched
        if age > FRESH_S + STALE_S:
            await self._renew()
            if time.monotonic() - self._fetched > FRESH_S + STALE_S:
                raise KeysUnavailable
        elif age > FRESH_S and not self._lock.locked():
            self._renewal = asyncio.create_task(self._renew())  # in the background: the issuer may be unreachable
        found = self._find_cached(kid, algorithm)
        if found is None and kid is not None:
            await self._renew()
            found = self._find_cached(kid, algorithm)
        return found

    async def wait_for_renewal(self) -> None:
        """Wait for a running renewal."""
        if self._renewal is not None:
            await self._renewal

    async def _renew(self) -> None:
        """Fetch the keys, unless the last attempt is less than `REFETCH_S` ago."""
        async with self._lock:
            now = time.monotonic()
            if now - self._tried > REFETCH_S:
                self._tried = now
                await self._fetch(now)

    async def _fetch(self, now: float) -> None:
        try:
            keys = read_keys(await self._read())
        except (Denied, ToolError, OSError, ValueError):
            return  # The cached keys stay trusted for a while.
        self._fetched = now
        if [key.as_dict() for key in keys] != [key.as_dict() for key in self._keys]:
            self._keys = keys
            self.generation += 1

    async def _read(self) -> bytes:
        if not self._location.startswith(("http://", "https://")):
            return await asyncio.to_thread(Path(self._location).read_bytes)
        limits = HttpLimits(timeout_s=5.0, max_bytes=MAX_BYTES, max_redirects=0)
        answer = await open_http().afetch(
            self._location, self._network, headers={"Accept": "application/json"}, limits=limits
        )
        if answer.status != 200 or answer.truncated:  # noqa: PLR2004 - the one that comes with keys
            raise ValueError("no keys")
        return answer.body

    def _find_cached(self, kid: str | None, algorithm: str) -> PublicKey | None:
        fitting = [key for key in self._keys if _can_verify(key, algorithm) and (kid is None or key.get("kid") == kid)]
        return fitting[0] if len(fitting) == 1 else None


def read_keys(document: bytes) -> tuple[PublicKey, ...]:
    """Parse the keys of a JWK set that verify signatures. All others are skipped, above all symmetric keys.

    Raises:
        ValueError: *document* is no JWK set.
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
        if entry["kty"] == "RSA" and _parse_number(entry["n"]).bit_length() < MIN_RSA_BITS:
            return None
        key = JWKRegistry.import_key({name: entry[name] for name in _PUBLIC_FIELDS if name in entry})
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(key, OctKey) else key


def _parse_number(text: str) -> int:
    """Parse a number of a key. Source: RFC 7518, section 2, Base64urlUInt."""
    return int.from_bytes(urlsafe_b64decode(text + "=" * (-len(text) % 4)))


_PUBLIC_FIELDS = ("kty", "kid", "use", "key_ops", "alg", "n", "e", "crv", "x", "y")


def _can_verify(key: PublicKey, algorithm: str) -> bool:
    """Whether *key* can verify signatures of *algorithm*. Source: RFC 7518, section 3.1; RFC 8037, section 3.1."""
    if key.get("alg") not in (None, algorithm):
        return False
    if isinstance(key, RSAKey):
        return algorithm.startswith(("RS", "PS"))
    if isinstance(key, ECKey):
        return _CURVES.get(algorithm) == key.curve_name
    return algorithm in {"EdDSA", "Ed25519"} and key.get("crv") == "Ed25519"


_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
