"""Whether a text is put together from words, or from letters that no language puts side by side."""

import re
from itertools import pairwise

PIECE = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|\d+|[^A-Za-z0-9]+")
_WORDY = 3.5
"""Letters in one piece of what is put together from words: a random text has two."""
_LONG_PIECE = re.compile(rb"[A-Z]?[a-z]{3,}")
_MOSTLY = 0.6
_LETTERS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+")
_NUMBER = re.compile(rb"\d+")
_HEXADECIMAL = re.compile(rb"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{16,}")
_RARELY_FOLLOW = (
    b"ajoqz bghkmnqvwxz cgjnqvwxz dhjkqvwxz ejz fghjkmnpqvwxz gbdfjkpqvwxyz hbcdfghjknpqvwxz ihijquwy "
    b"jbcdfghijklmnpqrtvxyz kbcdfghjklmnopqrtuvwxyz lhjqrwxz mfghjkqrvwxz njqwxz ojqyz pbfjknqvwxz "
    b"qbcdefghijkmnopqrstvwxyz rhjqxz sjxz tjkqxz uhjkquvwxyz vbcdfghjklmnpqrtuvwxyz wbcdfgjklmpqtuvwxyz "
    b"xabdfghjklnoqrsuvwxyz ybdfghjkqruvwxyz zbcdfghjklmnopqrstuvwxyz"
)
"""A letter, and the letters that seldom follow it: 300 of 676 pairs, of which names in programs have 2% and a random text has 44%.

Source: counted in the identifiers of the packages that are installed for development.
"""
_RARE = frozenset((row[0], letter) for row in _RARELY_FOLLOW.split() for letter in row[1:])
_FEWEST = 3
"""Signs of chance: fewer may be an abbreviation."""
_USUAL = 0.2
"""Their share of all pairs and numbers up to which a text may still be a name."""
_NUMBERS = 2
"""A name may have so many."""


def is_wordy(value: bytes) -> bool:
    """Yes if *value* has few pieces for its length, or mostly long ones, and these can be read."""
    few = len(value) >= _WORDY * len(PIECE.findall(value))
    return (few or sum(map(len, _LONG_PIECE.findall(value))) >= _MOSTLY * len(value)) and not is_jumbled(value)


def is_jumbled(value: bytes) -> bool:
    """Yes if *value* has pairs of letters that words do not have, or many numbers between its letters."""
    if _HEXADECIMAL.fullmatch(value):
        return True
    pairs = [pair for word in _LETTERS.findall(value) for pair in pairwise(word.lower())]
    numbers = len(_NUMBER.findall(value))
    signs = sum(pair in _RARE for pair in pairs) + max(0, numbers - _NUMBERS)
    return signs >= _FEWEST and signs > _USUAL * (len(pairs) + numbers)
