"""Spells a text as a word of shell source, in any way of quoting that means the same to bash."""

import re
import shlex
from random import Random

_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./=-]+")
_PLAINLY = 0.85
"""How often a character is left unquoted, if it may be."""
_MAX_OCTAL = 0o177


def spell(text: str, random: Random) -> str:
    """Return a word that bash reads as *text*, mostly unquoted."""
    if _PLAIN.fullmatch(text) and random.random() < _PLAINLY:
        return text
    style = random.choice(_STYLES)
    return style(text, random)


def _single(text: str, _: Random) -> str:
    return shlex.quote(text)


def _quoted(text: str, _: Random) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _double(text: str, _: Random) -> str:
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'


def _backslashes(text: str, random: Random) -> str:
    if not text or "\n" in text:
        return _quoted(text, random)
    return "".join(sign if sign.isalnum() and random.random() < _PLAINLY else f"\\{sign}" for sign in text)


def _ansi(text: str, random: Random) -> str:
    return "$'" + "".join(_escaped(sign, random) for sign in text) + "'"


def _escaped(sign: str, random: Random) -> str:
    code = ord(sign)
    if code > _MAX_OCTAL:
        return random.choice((sign, f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"))
    if sign in "'\\":
        return f"\\{sign}"
    if random.random() < _PLAINLY:
        return {"\n": "\\n", "\t": "\\t"}.get(sign, sign)
    return random.choice((f"\\x{code:02x}", f"\\{code:03o}", f"\\u{code:04x}"))


def _parts(text: str, random: Random) -> str:
    """Split *text* in two, and spell each part in its own way."""
    if not text:
        return "''"
    cut = random.randrange(len(text) + 1)
    return random.choice(_WHOLE)(text[:cut], random) + random.choice(_WHOLE)(text[cut:], random)


_WHOLE = (_single, _quoted, _double, _ansi, _backslashes)
_STYLES = (_single, _single, _single, _quoted, _double, _double, _ansi, _backslashes, _parts)
