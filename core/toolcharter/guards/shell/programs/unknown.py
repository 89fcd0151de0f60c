"""What the words of a program without a table ask for: nothing is known of them but that paths look like paths.

So an option may do anything, and has to be mentioned; an operand that stays in the workspace has not.
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
"""Programs that are there to print what is secret, to decrypt it or to hand it on: each of their words has to be mentioned."""


class _Asks(Protocol):
    """What gathers it."""

    def need(self, word: Word, why: str) -> None: ...
    def path(self, word: Word) -> bool: ...


def ask(words: Sequence[Word], asking: _Asks, *, is_vault: bool = False) -> None:
    """Gather what *words* ask for: an option has to be mentioned, and so has what leads out of the workspace.

    Args:
        words: Behind the program.
        asking: Gathers it.
        is_vault: The program is one of `VAULTS`.
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
    """As `ask` of one word, where an option needs no name."""
    _stays(word, asking)


def _stays(word: Word, asking: _Asks) -> bool:
    """Whether *word* needs no name: every part of a literal that looks like a path is one, and lies in the workspace."""
    if word.text is None:
        asking.need(word, "cannot be determined")
        return False
    if "/" in word.text or ".." in word.text or "~" in word.text:
        return all(asking.path(Word(word.form, part, prefix=part)) for part in _parts(word.text))
    return True


def _parts(text: str) -> list[str]:
    """What of *text* looks like a path: the whole, and what follows an option's letters or a border."""
    parts = [text, *_BORDER.split(text)]
    letters = _LETTERS.match(text)
    if letters:
        parts += [text[2:], text[letters.end() :]]
    return [part for part in dict.fromkeys(parts) if "/" in part or part == ".." or part[:1] == "~"]
