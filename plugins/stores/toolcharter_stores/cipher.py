"""Encrypts secret fields with AES-256-GCM, each bound to its record and field. A text that no key decrypts is an error.

Keys come from `TOOLCHARTER_STORE_KEY`, separated by commas, or from the file that `TOOLCHARTER_STORE_KEY_FILE` names,
one per line. The first key encrypts, every key decrypts: to replace a key, write the new key before it.
"""

import base64
import binascii
import os
import re
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from toolcharter import Scope, StoreUnavailable, UnreadableRecord, lazy

if TYPE_CHECKING:
    from cryptography import exceptions as crypto_errors
    from cryptography.hazmat.primitives.ciphers import aead
else:
    aead = lazy("cryptography.hazmat.primitives.ciphers.aead")
    crypto_errors = lazy("cryptography.exceptions")

KEY = "TOOLCHARTER_STORE_KEY"
KEY_FILE = "TOOLCHARTER_STORE_KEY_FILE"
PREFIX = "aes-gcm:"
KEY_BYTES = 32
NONCE_BYTES = 12
TAG_BYTES = 16
MAX_KEYS = 16
_MAX_FILE_BYTES = 4096
_HEX = re.compile(rb"[0-9A-Fa-f]{64}")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{43}=?")
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_HOW = f"Put a key of {KEY_BYTES} bytes, as hex or base64, into {KEY} or into the file that {KEY_FILE} names."


class Cipher:
    """Encrypts and decrypts secret fields. Can be used by many threads, and in a forked child.

    Args:
        environ: The variables that hold the keys or name the key file. They are read when the first key is needed.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._keys: tuple[bytes, ...] = ()

    def seal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, text: str) -> str:
        """Return `aes-gcm:` and the base64 of nonce, ciphertext and tag.

        Raises:
            StoreUnavailable: No key is set, or a key is invalid.
        """
        keys = self._keys or self._read()
        nonce = os.urandom(NONCE_BYTES)
        sealed = aead.AESGCM(keys[0]).encrypt(nonce, _bytes(text), _place(scope, kind, key, field))
        return PREFIX + base64.b64encode(nonce + sealed).decode()

    def unseal(self, scope: Scope, kind: str, key: tuple[str, ...], field: str, sealed: str) -> str:
        """Decrypt a text that `seal` encrypted for the same place.

        Raises:
            StoreUnavailable: No key is set, or a key is invalid.
            UnreadableRecord: No key decrypts it: it was encrypted with another key or for another place, or changed.
        """
        where = f"The secret field {field!r} of a record of the kind {kind!r}"
        if not sealed.startswith(PREFIX):
            raise UnreadableRecord(f"{where} is not encrypted.")
        try:
            raw = base64.b64decode(sealed.removeprefix(PREFIX), validate=True)
        except (ValueError, binascii.Error):
            raise UnreadableRecord(f"{where} cannot be decrypted: it is not base64.") from None
        if len(raw) < NONCE_BYTES + TAG_BYTES or PREFIX + base64.b64encode(raw).decode() != sealed:
            raise UnreadableRecord(f"{where} cannot be decrypted: it is cut off or padded.")
        place, tried = _place(scope, kind, key, field), self._keys
        text = _decrypt(tried, raw, place)
        if text is None:
            # The operator may have added a key to the file since the last reading.
            text = _decrypt(tuple(each for each in self._read() if each not in tried), raw, place)
        if text is None:
            raise UnreadableRecord(f"{where} cannot be decrypted: no key fits, or it was changed.")
        return text.decode(errors="surrogatepass")

    def _read(self) -> tuple[bytes, ...]:
        value, file = self._environ.get(KEY, ""), self._environ.get(KEY_FILE, "")
        if value and file:
            raise StoreUnavailable(f"{KEY} and {KEY_FILE} are both set: set one of them.")
        if file:
            self._keys = parse_keys(_content(file), b"\n", KEY_FILE)
        elif value:
            self._keys = parse_keys(os.fsencode(value), b",", KEY)
        else:
            raise StoreUnavailable(f"There is no key for secret fields. {_HOW}")
        return self._keys


def parse_keys(content: bytes, between: bytes, setting: str) -> tuple[bytes, ...]:
    """Parse the keys in *content*. The first key returned is the one that encrypts.

    Raises:
        StoreUnavailable: A key does not have 32 bytes, or there is no key, or more than `MAX_KEYS`.
    """
    # A key of raw bytes may contain the separator.
    parts = [content] if len(content) == KEY_BYTES else [part.strip() for part in content.split(between)]
    keys = tuple(_key(part, number, setting) for number, part in enumerate(parts, 1) if part)
    if not 1 <= len(keys) <= MAX_KEYS:
        raise StoreUnavailable(f"{setting} has {len(keys)} keys, and has to have 1 to {MAX_KEYS}. {_HOW}")
    return keys


def _key(part: bytes, number: int, setting: str) -> bytes:
    if _HEX.fullmatch(part):
        return bytes.fromhex(part.decode())
    if _BASE64.fullmatch(part):
        found = base64.urlsafe_b64decode(part.replace(b"+", b"-").replace(b"/", b"_").rstrip(b"=") + b"=")
        if len(found) == KEY_BYTES:
            return found
    if len(part) == KEY_BYTES:
        return part
    raise StoreUnavailable(f"Key {number} of {setting} does not have {KEY_BYTES} bytes. {_HOW}")


def _content(name: str) -> bytes:
    try:
        # Non-blocking: opening a FIFO would wait for a writer.
        file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise StoreUnavailable(f"The file of {KEY_FILE} cannot be read: {error.strerror}.") from error
    with os.fdopen(file, "rb") as stream:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            _refuse("is no regular file")
        if found.st_uid not in {0, os.geteuid()}:
            _refuse("belongs to another user")
        if found.st_mode & _FOR_OTHERS:
            _refuse("is open to other users: run chmod go= on it")
        content = stream.read(_MAX_FILE_BYTES + 1)
    if len(content) > _MAX_FILE_BYTES:
        _refuse(f"is larger than {_MAX_FILE_BYTES} bytes")
    return content


def _refuse(what: str) -> NoReturn:
    raise StoreUnavailable(f"The file of {KEY_FILE} {what}.")


def _decrypt(keys: tuple[bytes, ...], raw: bytes, place: bytes) -> bytes | None:
    for key in keys:
        try:
            return aead.AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place)
        except crypto_errors.InvalidTag:
            continue
    return None


def _place(scope: Scope, kind: str, key: tuple[str, ...], field: str) -> bytes:
    """Encode a secret's place as the bytes that GCM authenticates: each part after its length, so all places differ."""
    parts = [_bytes(part) for part in ("toolcharter store 1", *scope, kind, field, *key)]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogatepass")
