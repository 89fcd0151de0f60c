r"""Globs: the one pattern language of a profile.

A glob is anchored at both ends. Only `*` is special: it matches any text, including the empty text, `:` and newlines.
`\*` and `\\` mean a star and a backslash. Any other escape is an error, so that each pattern means what it looks like.
"""

from typing import NamedTuple


class GlobError(ValueError):
    """A glob that cannot be parsed; the text says what is wrong and how to write it."""


class Glob(NamedTuple):
    """A parsed glob; `parse_glob` makes it."""

    text: str
    """The glob as written."""
    parts: tuple[str, ...]
    """The literals between the stars, without escapes. One part means no star; only the first and last can be empty."""

    @property
    def literal(self) -> str | None:
        """The only text that matches; None if the glob has a star."""
        return self.parts[0] if len(self.parts) == 1 else None

    @property
    def prefix(self) -> str:
        """The text that every match begins with."""
        return self.parts[0]

    def matches(self, subject: str) -> bool:
        """Match *subject* as a whole, including its case, in time linear in its length.

        Each part is matched at its first occurrence. A later occurrence would leave less room for the following parts,
        so no backtracking is needed.
        """
        first, *middle = self.parts
        if not middle:
            return subject == first
        last = middle.pop()
        at, end = len(first), len(subject) - len(last)
        if at > end or not (subject.startswith(first) and subject.endswith(last)):
            return False
        for part in middle:
            found = subject.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    def folded(self) -> "Glob":
        """Return the glob for names without case. Pass the subject through `fold`, too."""
        return self._replace(parts=tuple(map(fold, self.parts)))


def parse_glob(text: str, *, also_escaped: str = "") -> Glob:
    r"""Parse a glob.

    Args:
        text: The glob as written.
        also_escaped: Further characters that a backslash may escape, besides `*` and `\`, because the text around the
            glob gives them a meaning. Without a backslash they also mean themselves.

    Raises:
        GlobError: A backslash is at the end, or before a character that it cannot escape.
    """
    first, *others = _literals(text, "*\\" + also_escaped) if "\\" in text else text.split("*")
    if not others:
        return Glob(text, (first,))
    *middle, last = others
    return Glob(text, (first, *filter(None, middle), last))


def escape_glob(text: str) -> str:
    """Return the glob that matches *text* and nothing else."""
    return text.replace("\\", "\\\\").replace("*", "\\*")


def fold(name: str) -> str:
    """Fold the case of a name, so that the joined folded pieces are the folded whole.

    `str.lower` alone writes a sigma at the end of a word differently, and a piece may end within a word.
    """
    return name.lower().replace("\N{GREEK SMALL LETTER FINAL SIGMA}", "\N{GREEK SMALL LETTER SIGMA}")


def _literals(text: str, escapable: str) -> list[str]:
    literals: list[list[str]] = [[]]
    characters = iter(text)
    for character in characters:
        if character == "*":
            literals.append([])
        elif character == "\\":
            literals[-1].append(_check_escaped(next(characters, ""), escapable))
        else:
            literals[-1].append(character)
    return ["".join(literal) for literal in literals]


def _check_escaped(character: str, escapable: str) -> str:
    if not character:
        raise GlobError(r"'\': nothing follows the last backslash; write '\\'")
    if character not in escapable:
        *others, last = map("'{}'".format, escapable)
        # Not `repr` of the whole text: it doubles backslashes, which would confuse a message about backslashes.
        shown = repr(character)[1:-1]
        raise GlobError(rf"'\{shown}': only {', '.join(others)} and {last} can follow a backslash; write '\\{shown}'")
    return character
