"""Collects the requirements of a program without a table, of which only words that look like paths are understood.

An option of it may do anything, so a rule has to mention it; an operand that stays in the workspace needs no mention.
"""

import re
from collections.abc import Sequence
from typing import Final, Protocol

from toolcharter.guards.shell.nodes import Word

# `--opt=/path`, `if=/path`, `@/path`, `host:/path`, `a,/path`.
_BORDER: Final = re.compile(r"[=:,@]")
# `-I/path`, and `-xf/path`, where nobody knows which letters take a value.
_LETTERS: Final = re.compile(r"-[A-Za-z0-9]+")

VAULTS: Final = frozenset(
    {
        *("vault", "bao", "pass", "gopass", "op", "bw", "bws", "rbw"),
        *("lpass", "keepassxc-cli", "kpcli", "secret-tool", "keyring", "security", "doppler", "infisical"),
        *("chamber", "aws-vault", "aws-okta", "saml2aws", "akeyless", "conjur", "ansible-vault", "sops"),
        *("age", "rage", "gpg", "gpg2", "berglas", "teller", "envconsul", "summon"),
        *("credstash", "envchain", "dotenvx", "dotenv-vault", "passage"),
    }
)
"""Programs whose purpose is to print, decrypt or pass on secrets: a rule has to mention each of their words."""


class _Asks(Protocol):
    """The part of `RequirementCollector` that this module uses."""

    def need(self, word: Word, why: str) -> None: ...
    def path(self, word: Word) -> bool: ...


def ask(words: Sequence[Word], asking: _Asks, *, is_vault: bool = False) -> None:
    """Collect the requirements of *words*: a rule has to mention each option, and each path that leads out of the workspace.

    Args:
        words: The words behind the program.
        asking: Collects the requirements.
        is_vault: Whether the program is one of `VAULTS`.
    """
    takes_options = True
    for word in words:
        if word.text == "--":
            takes_options = False
        stays = _stays(word, asking)
        if stays and is_vault:
            asking.need(word, "is for a program that prints what is secret")
        elif stays and takes_options and (word.text or "").startswith("-") and word.text != "-":
            asking.need(word, "is an option of a program that is not known")


def ask_paths(word: Word, asking: _Asks) -> None:
    """As `ask` for one word, except that an option needs no mention."""
    _stays(word, asking)


def _stays(word: Word, asking: _Asks) -> bool:
    """Whether *word* needs no mention: it is literal, and each part that looks like a path stays in the workspace."""
    if word.text is None:
        asking.need(word, "cannot be determined")
        return False
    if "/" in word.text or ".." in word.text or "~" in word.text:
        return all(asking.path(Word(word.form, part, prefix=part)) for part in _parts(word.text))
    return True


def _parts(text: str) -> list[str]:
    """The parts of *text* that look like paths: the whole, and each part behind a separator or an option's letters."""
    parts = [text, *_BORDER.split(text)]
    letters = _LETTERS.match(text)
    if letters:
        parts += [text[2:], text[letters.end() :]]
    return [part for part in dict.fromkeys(parts) if "/" in part or part == ".." or part[:1] == "~"]
