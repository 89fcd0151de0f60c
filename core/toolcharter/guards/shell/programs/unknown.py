"""Collects the requirements of a program without a table, of which only words that look like paths are understood.

An option of it may do anything, so a rule has to mention it; an operand that stays in the workspace needs no mention.
"""

import re
from collections.abc import Sequence
from typing import Final, Protocol

from toolcharter.guards.shell.nodes import Word

# `--opt=/path`, `if=/path`, `@/path`, `host:/path`, `a,/path`.
_SEPARATOR: Final = re.compile(r"[=:,@]")
# `-I/path`, and `-xf/path`, where nobody knows which letters take a value.
_OPTION_LETTERS: Final = re.compile(r"-[A-Za-z0-9]+")

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


class _Collector(Protocol):
    """The part of `RequirementCollector` that this module uses."""

    def require(self, word: Word, why: str) -> None: ...
    def add_path(self, word: Word) -> bool: ...


def collect(words: Sequence[Word], collector: _Collector, *, is_vault: bool = False) -> None:
    """Collect the requirements of *words*: a rule has to mention each option, and each path that leads out of the workspace.

    Args:
        words: The words behind the program.
        collector: Collects the requirements.
        is_vault: Whether the program is one of `VAULTS`.
    """
    takes_options = True
    for word in words:
        if word.text == "--":
            takes_options = False
        stays = _stays_inside(word, collector)
        if stays and is_vault:
            collector.require(word, "is for a program that prints what is secret")
        elif stays and takes_options and (word.text or "").startswith("-") and word.text != "-":
            collector.require(word, "is an option of a program that is not known")


def collect_paths(word: Word, collector: _Collector) -> None:
    """As `collect` for one word, except that an option needs no mention."""
    _stays_inside(word, collector)


def _stays_inside(word: Word, collector: _Collector) -> bool:
    """Whether *word* needs no mention: it is literal, and each part that looks like a path stays in the workspace."""
    if word.text is None:
        collector.require(word, "cannot be determined")
        return False
    if "/" in word.text or ".." in word.text or "~" in word.text:
        return all(collector.add_path(Word(word.form, part, prefix=part)) for part in _path_parts(word.text))
    return True


def _path_parts(text: str) -> list[str]:
    """The parts of *text* that look like paths: the whole, and each part behind a separator or an option's letters."""
    parts = [text, *_SEPARATOR.split(text)]
    letters = _OPTION_LETTERS.match(text)
    if letters:
        parts += [text[2:], text[letters.end() :]]
    return [part for part in dict.fromkeys(parts) if "/" in part or part == ".." or part[:1] == "~"]
