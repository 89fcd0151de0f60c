"""Translates keys to the bytes that a terminal sends. Source: console_codes(4) and terminfo's entry `linux`."""

import re

from toolcharter import ToolError
from toolcharter_process.policy import ProcessReason

_NAMED = {
    "enter": "\r",
    "return": "\r",
    "tab": "\t",
    "btab": "\x1b[Z",
    "escape": "\x1b",
    "esc": "\x1b",
    "space": " ",
    "bspace": "\x7f",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "insert": "\x1b[2~",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "home": "\x1b[1~",
    "end": "\x1b[4~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    **dict(zip(("f1", "f2", "f3", "f4", "f5"), ("\x1b[[A", "\x1b[[B", "\x1b[[C", "\x1b[[D", "\x1b[[E"), strict=True)),
    **{f"f{number}": f"\x1b[{code}~" for number, code in zip(range(6, 13), (17, 18, 19, 20, 21, 23, 24), strict=True)},
}
_CHORD = re.compile(r"([cm])-(.+)", re.IGNORECASE | re.DOTALL)
_CONTROLS = "@abcdefghijklmnopqrstuvwxyz[\\]^_"


def key_bytes(keys: str | list[str]) -> bytes:
    """Return the bytes that a terminal sends for *keys*.

    Args:
        keys: Names as in tmux (`Enter`, `C-c`, `M-x`, `Up`, `F5`) or single characters; a string is split at blanks.

    Raises:
        ToolError: `invalid_keys`.
    """
    names = keys.split() if isinstance(keys, str) else keys
    if not names:
        raise ToolError("No key is named.", reason=ProcessReason.INVALID_KEYS)
    return "".join(map(_key_text, names)).encode(errors="replace")


def _key_text(name: str) -> str:
    if name.lower() in _NAMED:
        return _NAMED[name.lower()]
    if len(name) == 1:
        return name
    if chord := _CHORD.fullmatch(name):
        modifier, key = chord[1].lower(), chord[2]
        if modifier == "m":
            return f"\x1b{_key_text(key)}"
        if key.lower() == "space":
            return "\0"
        if len(key) == 1 and key.lower() in _CONTROLS:
            return chr(_CONTROLS.index(key.lower()))
    raise ToolError(
        f"There is no key {name[:40]!r}.",
        reason=ProcessReason.INVALID_KEYS,
        hint="Name keys such as Enter, Tab, Escape, Up, C-c or M-x; send text with `write`.",
    )
