"""A position in a text that only moves forward: the base of the parsers in this folder."""

import re


class ObjectionableError(ValueError):
    """The program does, or may do, something that a rule has to mention; the text says what."""


class Cursor:
    """Reads a text once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        """The position, in characters."""

    @property
    def next_char(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        """Return the next character and move past it; empty at the end."""
        character = self.next_char
        self.at += 1
        return character

    def skip(self, characters: str) -> None:
        """Move past all of *characters* that come next."""
        while self.next_char and self.next_char in characters:
            self.at += 1

    def take_all(self, characters: str) -> str:
        """Move past all of *characters* that come next, and return them."""
        start = self.at
        self.skip(characters)
        return self.text[start : self.at]

    def take_line(self) -> str:
        """Return the rest of the line and move to its newline."""
        end = self.text.find("\n", self.at)
        start, self.at = self.at, len(self.text) if end < 0 else end
        return self.text[start : self.at]

    def take_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past the match of *pattern* at this position; None if there is none."""
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found
