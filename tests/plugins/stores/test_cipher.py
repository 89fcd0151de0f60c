"""Secret fields: encrypted for one place, decrypted there alone, and never without a key."""

import base64
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from toolcharter import Scope, StoreUnavailable
from toolcharter_stores.cipher import KEY, KEY_FILE, Cipher

SCOPE = Scope("acme", "acme-tests")
RAW = bytes(range(100, 132))
OTHER = bytes(range(1, 33))
PLACE = (SCOPE, "server", ("a", "b"), "env/TOKEN")


def _cipher(value: str = RAW.hex()) -> Cipher:
    return Cipher({KEY: value})


@given(st.text(st.characters(exclude_categories=[])))
def test_what_is_sealed_comes_back(text: str) -> None:
    """Any text, with NUL and halves of characters; each time in another form, which tells its length alone."""
    cipher = _cipher()
    first, second = cipher.seal(*PLACE, text), cipher.seal(*PLACE, text)

    assert cipher.unseal(*PLACE, first) == cipher.unseal(*PLACE, second) == text
    assert first != second
    assert first.startswith("aes-gcm:")
    assert len(base64.b64decode(first[8:])) == 12 + len(text.encode(errors="surrogatepass")) + 16


@each_row(
    "place",
    [
        (Scope("acmex", "acme-tests"), *PLACE[1:]),
        (Scope("acme", "acme-other"), *PLACE[1:]),
        (Scope("", "acmeacme-tests"), *PLACE[1:]),
        (SCOPE, "serve", ("ra", "b"), "env/TOKEN"),
        (SCOPE, "server", ("ab",), "env/TOKEN"),
        (SCOPE, "server", ("a",), "env/TOKEN"),
        (SCOPE, "server", ("b", "a"), "env/TOKEN"),
        (SCOPE, "server", ("a", "b"), "env/OTHER"),
        (SCOPE, "env/TOKEN", ("a", "b"), "server"),
        (SCOPE, "server", ("a\x00b",), "env/TOKEN"),
    ],
)
def test_what_is_moved_elsewhere_does_not_decrypt(place: tuple[Scope, str, tuple[str, ...], str]) -> None:
    """Tenant, distribution, kind, key and field are bound, each by itself."""
    cipher = _cipher()

    with pytest.raises(StoreUnavailable, match="no key fits, or it was changed"):
        cipher.unseal(*place, cipher.seal(*PLACE, "hunter"))


def test_one_changed_bit_is_an_error() -> None:
    """Wherever it is: nonce, ciphertext or tag; and so is what is cut off, longer, or not encrypted."""
    cipher = _cipher()
    sealed = cipher.seal(*PLACE, "hunter")
    raw = base64.b64decode(sealed[8:])
    changed = [
        raw[: bit // 8] + bytes([raw[bit // 8] ^ (1 << bit % 8)]) + raw[bit // 8 + 1 :] for bit in range(len(raw) * 8)
    ]
    forms = ["aes-gcm:" + base64.b64encode(each).decode() for each in (*changed, raw[:-1], raw + b"\0", b"", raw[:20])]

    for form in (
        *forms,
        "hunter",
        "",
        "aes-gcm:",
        sealed + "=",
        sealed[8:],
        sealed.replace("aes", "AES"),
        sealed + "\n",
    ):
        with pytest.raises(StoreUnavailable) as refused:
            cipher.unseal(*PLACE, form)
        assert "hunter" not in str(refused.value)


FORMS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("hex", lambda key: key.hex().encode()),
    ("capital hex", lambda key: key.hex().upper().encode()),
    ("base64", base64.b64encode),
    ("url-safe base64", base64.urlsafe_b64encode),
    ("base64 without its end", lambda key: base64.b64encode(key).rstrip(b"=")),
    ("raw", bytes),
]


@each_row(("form", "write"), FORMS)
def test_a_key_has_many_forms(form: str, write: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """They are one key, in the environment and in a file."""
    file = tmp_path / "key"
    file.write_bytes(write(RAW) + b"\n")
    file.chmod(0o600)
    sealed = _cipher().seal(*PLACE, form)

    assert Cipher({KEY: os.fsdecode(write(RAW))}).unseal(*PLACE, sealed) == form
    assert Cipher({KEY_FILE: str(file)}).unseal(*PLACE, sealed) == form


def test_a_key_of_raw_bytes_may_hold_what_separates_keys() -> None:
    """Thirty-two bytes are one key."""
    raw = ",".join(["abc"] * 8) + ","

    assert len(raw) == 32
    assert Cipher({KEY: raw.encode().hex()}).unseal(*PLACE, Cipher({KEY: raw}).seal(*PLACE, "x")) == "x"


def test_keys_are_replaced_one_after_the_other(tmp_path: Path) -> None:
    """The first encrypts, all decrypt; one that is added to the file is found while all goes on."""
    file = tmp_path / "keys"
    file.write_text(RAW.hex())
    file.chmod(0o400)
    running = Cipher({KEY_FILE: str(file)})
    old = running.seal(*PLACE, "old")
    both = f"{OTHER.hex()},{RAW.hex()}"
    new = _cipher(both).seal(*PLACE, "new")

    with pytest.raises(StoreUnavailable):
        running.unseal(*PLACE, new)
    file.chmod(0o600)
    file.write_text(both.replace(",", "\n\n"))

    assert (running.unseal(*PLACE, new), running.unseal(*PLACE, old)) == ("new", "old")
    assert _cipher(OTHER.hex()).unseal(*PLACE, new) == "new"
    with pytest.raises(StoreUnavailable):
        _cipher(OTHER.hex()).unseal(*PLACE, old)


@each_row(
    ("environ", "message"),
    [
        ({}, "There is no key for secret fields"),
        ({KEY: ""}, "There is no key for secret fields"),
        ({KEY: ","}, "has 0 keys"),
        ({KEY: RAW.hex()[:-2]}, "Key 1 of TOOLCHARTER_STORE_KEY does not have 32 bytes"),
        ({KEY: RAW.hex() + "00"}, "Key 1 of TOOLCHARTER_STORE_KEY does not have 32 bytes"),
        ({KEY: f"{RAW.hex()},short"}, "Key 2 of TOOLCHARTER_STORE_KEY does not have 32 bytes"),
        ({KEY: base64.b64encode(RAW[:31]).decode()}, "does not have 32 bytes"),
        ({KEY: ",".join([RAW.hex()] * 17)}, "has 17 keys"),
        ({KEY: RAW.hex(), KEY_FILE: "/dev/null"}, "are both set"),
        ({KEY_FILE: "/nowhere/key"}, "cannot be read"),
        ({KEY_FILE: "/dev/null"}, "is no regular file"),
    ],
)
def test_without_a_key_nothing_is_sealed_or_read(environ: dict[str, str], message: str) -> None:
    """And no message holds a key."""
    sealed = _cipher().seal(*PLACE, "hunter")
    for use in (lambda: Cipher(environ).seal(*PLACE, "hunter"), lambda: Cipher(environ).unseal(*PLACE, sealed)):
        with pytest.raises(StoreUnavailable, match=message) as refused:
            use()
        assert RAW.hex()[:20] not in str(refused.value)
        assert "short" not in str(refused.value)


@each_row("mode", [0o640, 0o604, 0o620, 0o602, 0o777])
def test_a_file_of_keys_that_others_can_open_is_refused(mode: int, tmp_path: Path) -> None:
    """As other state is."""
    file = tmp_path / "key"
    file.write_text(RAW.hex())
    file.chmod(mode)

    with pytest.raises(StoreUnavailable, match="is open to other users"):
        Cipher({KEY_FILE: str(file)}).seal(*PLACE, "x")


def test_a_fifo_in_the_place_of_a_key_is_not_waited_for(tmp_path: Path) -> None:
    """A file that is too large, either."""
    os.mkfifo(tmp_path / "fifo", 0o600)
    large = tmp_path / "large"
    large.write_text("\n" * 5_000)
    large.chmod(0o600)

    with pytest.raises(StoreUnavailable, match="is no regular file"):
        Cipher({KEY_FILE: str(tmp_path / "fifo")}).seal(*PLACE, "x")
    with pytest.raises(StoreUnavailable, match="is larger than 4096 bytes"):
        Cipher({KEY_FILE: str(large)}).seal(*PLACE, "x")
