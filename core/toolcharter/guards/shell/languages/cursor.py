"""A place in a text that moves forward: what the readers of little languages are made of."""

import re


class ObjectionableError(ValueError):
    """The program does, or may do, what needs naming; the text says what."""


class Cursor:
    """Reads a text once, from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        """In characters."""

    @property
    def here(self) -> str:
        """The character that comes next; empty at the end."""
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        """The character that comes next, and move past it; empty at the end."""
        character = self.here
        self.at += 1
        return character

    def skip(self, characters: str) -> None:
        """Move past all of *characters* that come next."""
        while self.here and self.here in characters:
            self.at += 1

    def take_all(self, characters: str) -> str:
        """As `skip`; what was skipped."""
        start = self.at
        self.skip(characters)
        return self.text[start : self.at]

    def take_line(self) -> str:
        """The rest of the line; the newline comes next."""
        end = self.text.find("\n", self.at)
        start, self.at = self.at, len(self.text) if end < 0 else end
        return self.text[start : self.at]

    def take_match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Move past what *pattern* matches here; None if it does not."""
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found
