r"""Globs: the one pattern language of a profile.

A glob is anchored at both ends. Only `*` is special: any text, the empty one, `:` and newlines included. `\*` and `\\`
mean a star and a backslash; any other escape is an error, so that a pattern never means less than it looks like.
"""

from typing import NamedTuple


class GlobError(ValueError):
    """A glob that cannot be read; the text says what is wrong and how to write it."""


class Glob(NamedTuple):
    """A glob once it is read; `parse_glob` makes it."""

    text: str
    """As written."""
    parts: tuple[str, ...]
    """The literals between the stars, without escapes; one part is no star, only the first and last can be empty."""

    @property
    def literal(self) -> str | None:
        """The only text that matches; None if there is a star."""
        return self.parts[0] if len(self.parts) == 1 else None

    @property
    def prefix(self) -> str:
        """What each text that matches begins with."""
        return self.parts[0]

    def matches(self, subject: str) -> bool:
        """Match *subject* as a whole, case included, in time linear in its length.

        Each part is taken where it first occurs: a later place would leave less room for the parts behind it, so there
        is never a reason to go back.
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
        """The same glob for names without case; the subject has to go through `fold`, too."""
        return self._replace(parts=tuple(map(fold, self.parts)))


def parse_glob(text: str, *, also_escaped: str = "") -> Glob:
    r"""Read a glob.

    Args:
        text: The glob as written.
        also_escaped: Characters besides `*` and `\` that mean themselves behind a backslash, because the text
            around the glob gives them a meaning. Without a backslash they mean themselves, too.

    Raises:
        GlobError: If a backslash is before anything else or at the end.
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
    """Take the case from a name, so that folded pieces joined are the folded whole.

    `str.lower` alone writes a sigma at the end of a word differently, and a piece ends where the whole may go on.
    """
    return name.lower().replace("\N{GREEK SMALL LETTER FINAL SIGMA}", "\N{GREEK SMALL LETTER SIGMA}")


def _literals(text: str, escapable: str) -> list[str]:
    literals: list[list[str]] = [[]]
    characters = iter(text)
    for character in characters:
        if character == "*":
            literals.append([])
        elif character == "\\":
            literals[-1].append(_escaped(next(characters, ""), escapable))
        else:
            literals[-1].append(character)
    return ["".join(literal) for literal in literals]


def _escaped(character: str, escapable: str) -> str:
    if not character:
        raise GlobError(r"'\': nothing stands behind the last backslash; write '\\'")
    if character not in escapable:
        *others, last = map("'{}'".format, escapable)
        # Not whole through repr: it doubles the backslashes, and what is doubled is what this is about.
        shown = repr(character)[1:-1]
        raise GlobError(
            rf"'\{shown}': only {', '.join(others)} and {last} can stand behind a backslash; write '\\{shown}'"
        )
    return character
