"""What keys send."""

import pytest

from toolcharter import ToolError
from toolcharter_process.keys import key_bytes


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ("Enter", b"\r"),
        ("C-c", b"\x03"),
        ("c-C", b"\x03"),
        ("C-[ C-\\ C-] C-_ C-@ C-Space", b"\x1b\x1c\x1d\x1f\0\0"),
        ("M-x", b"\x1bx"),
        ("M-C-c", b"\x1b\x03"),
        (["Up", "Down", "Left", "Right"], b"\x1b[A\x1b[B\x1b[D\x1b[C"),
        (["Tab", "BTab", "Escape", "Space", "Backspace"], b"\t\x1b[Z\x1b \x7f"),
        ("F1 F5 F6 F12", b"\x1b[[A\x1b[[E\x1b[17~\x1b[24~"),
        ("Home End PageUp PageDown Insert Delete", b"\x1b[1~\x1b[4~\x1b[5~\x1b[6~\x1b[2~\x1b[3~"),
        (["q", ":", "\u00e9"], b"q:\xc3\xa9"),
    ],
)
def test_keys_send_what_a_terminal_sends(keys: str | list[str], sent: bytes) -> None:
    """Names as tmux has them, without case."""
    assert key_bytes(keys) == sent


@pytest.mark.parametrize(
    "keys", ["", "  ", [], "Entre", "C-xy", "C-\u00e9", "M-", ["ls -l"], "F13", "C-M-x", "M-" * 50 + "q" * 2]
)
def test_what_is_no_key_is_refused(keys: str | list[str]) -> None:
    """Text is for `write`."""
    with pytest.raises(ToolError) as caught:
        key_bytes(keys)

    assert caught.value.reason == "invalid_keys"
