"""Divides a command's words into options and operands, as its program would, and collects the requirements of the options.

Source: POSIX.1-2024, 12.2, utility syntax guidelines; glibc's getopt_long(3) for options after operands, abbreviations
and optional values.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from toolcharter.guards.shell.nodes import Word, quoted
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.table import Table, Takes

_STOPS: Final = frozenset({"posix", "subcommands"})
"""Styles in which the first operand ends the options. `expressions` handles the style `find`."""
_PATHS: Final = frozenset(
    {
        "read",
        "object",
        "tree",
        "node",
        "local",
        "folder",
        "chdir",
        "change",
        "into",
        "write",
        "made",
        "plain",
        "trusted",
        "mount",
    }
)

_NUMBER: Final = "[0-9]*"
"""The pattern of a word that is a number, such as `$(nproc)`; it equals `variable_values.NUMBER_GLOB`."""
_TEXTS: Final = (["text"], ["number"])


class Divided(NamedTuple):
    """The words of a command without its options."""

    operands: Sequence[Word]
    given: frozenset[str]
    """The given options, by `Takes.name`."""
    module: Word | None = None
    """The module that an option has named; then `operands` are all words behind it, with the module's own options."""
    behind: Sequence[Word] = ()
    """The words behind `--`, if they are for another program."""


def divide(words: Sequence[Word], table: Table, asking: RequirementCollector) -> Divided:
    """Divide *words*, and collect the requirements of the options in *asking*."""
    walk = _Walk(words, table, asking)
    operands: list[Word] = []
    if table.bundled:
        walk.bundle()
    stops = table.style in _STOPS
    while walk.place < len(words):
        word = words[walk.place]
        if word.text == "--":
            walk.place += 1
            break
        if not walk.option(word):
            if stops:
                break
            operands.append(word)
        walk.place += 1
        if walk.module is not None:
            return Divided(words[walk.place :], frozenset(walk.given), walk.module)
    if table.conditions:
        walk.ask_conditions()
    if table.behind is not None:
        return Divided(operands, frozenset(walk.given), behind=words[walk.place :])
    for word in words[walk.place :]:
        walk.dashed(word)
        operands.append(word)
    return Divided(operands, frozenset(walk.given))


class _Walk:
    """One pass over the words of a command."""

    def __init__(self, words: Sequence[Word], table: Table, asking: RequirementCollector) -> None:
        self.words = words
        self.place = 0
        self.given: set[str] = set()
        self._words_of: dict[str, Word] = {}
        self.module: Word | None = None
        self._table = table
        self._options = table.options
        self._asking = asking

    def option(self, word: Word) -> bool:
        """Read *word*, the current one, and its values, if it is an option; whether it is one."""
        text = word.text
        if text is None:
            return self._pattern(word)
        if self._table.prefixes and self._prefixed(word, text):
            return True
        takes = self._options.get(text) if text[:1] == "-" else None
        if takes is None and (text[:1] != "-" or len(text) == 1):
            return False
        if takes is not None:
            self._separate(word, takes)
        elif text.startswith("--") or self._table.style == "single-dash":
            self._long(word, text)
        elif not (self._table.number and _is_decimal(text[1:])):
            self._cluster(word, text, 1)
        return True

    def bundle(self) -> None:
        """Read the first word, if it is a cluster of options without a dash."""
        text = self.words[0].text if self.words else None
        if self.words and self.words[0].pattern is not None:
            self._asking.need(self.words[0], "cannot be determined, and may be options")
        if text and text[0] != "-":
            for letter in text:
                takes = self._options.get("-" + letter)
                if takes is None:
                    self._asking.need(self.words[0], "holds an option that is not known")
                    break
                self._separate(self.words[0], takes)
            self.place += 1

    def dashed(self, word: Word) -> None:
        """Require a mention of *word*, in a place for no option, if the program may take it for one nevertheless."""
        if self._table.dashes_named and word.prefix.startswith("-"):
            self._asking.need(word, "begins like an option")

    def _pattern(self, word: Word) -> bool:
        """Read a word that is no literal; whether it may be an option. As an option it may only have a harmless value."""
        if word.prefix[:1] != "-":
            return False
        name, equals, _ = word.prefix.partition("=")
        is_counted = word.pattern == word.prefix + _NUMBER and not word.splits
        takes = self._find(name) if equals else self._options.get(word.prefix) if is_counted else None
        if takes is None or word.pattern is None or takes.is_named or [role.kind for role in takes.roles] not in _TEXTS:
            self._asking.need(word, "cannot be determined, and may be an option")
        else:
            self.given.add(takes.name)
        return True

    def _prefixed(self, word: Word, text: str) -> bool:
        for prefix, takes in self._table.prefixes.items():
            if text.startswith(prefix):
                self._attached(word, takes, text[len(prefix) :])
                return True
        return False

    def _long(self, word: Word, text: str) -> None:
        name, equals, value = text.partition("=")
        takes = self._find(name)
        if takes is None:
            self._asking.need(word, "is an option that is not known")
        elif not equals:
            self._separate(word, takes)
        elif takes.roles:
            self._attached(word, takes, value)
        else:
            self._asking.need(word, "gives a value to an option that takes none")

    def _find(self, name: str) -> Takes | None:
        takes = self._options.get(name)
        if takes is not None or not (self._table.abbreviations and len(name) > len("--") and name.startswith("--")):
            return takes
        found = {self._options[spelling] for spelling in self._options if spelling.startswith(name)}
        return found.pop() if len(found) == 1 else None

    def _cluster(self, word: Word, text: str, place: int) -> None:
        for letter_at in range(place, len(text)):
            letter = text[letter_at]
            takes = self._options.get("-" + letter)
            if takes is None:
                if self._table.number and letter.isascii() and letter.isdigit():
                    continue
                self._asking.need(word, "holds an option that is not known")
                return
            rest = text[letter_at + 1 :]
            if takes.roles and rest:
                # Digits cannot be options, so tree, too, takes a rest of digits for the value.
                if self._table.separate and not _is_decimal(rest):
                    self._asking.need(word, "holds options behind one that takes the next word")
                if self._may_be_flag(takes) and any(map(self._does_more, rest)):
                    self._asking.need(word, "may hold options behind one whose value may be left out")
                self._attached(word, takes, rest)
                return
            self._separate(word, takes)

    def _may_be_flag(self, takes: Takes) -> bool:
        """Whether the short option may take no value though the long option in the same row of the table does."""
        if not takes.is_attached or takes.is_named:
            return False
        return any(name.startswith("--") for name, one in self._options.items() if one is takes)

    def _does_more(self, letter: str) -> bool:
        """Whether the option *letter* takes a value or has to be mentioned by a rule."""
        takes = self._options.get("-" + letter)
        return takes is not None and (takes.is_named or bool(takes.roles))

    def _note(self, word: Word, takes: Takes) -> None:
        self.given.add(takes.name)
        self._words_of[takes.name] = word
        if takes.is_named:
            self._asking.need(word, "is an option that a rule has to mention")

    def ask_conditions(self) -> None:
        """Collect options that a rule has to mention because certain other options are given, or are not."""
        for options, others, is_given in self._table.conditions:
            for name in options & self._words_of.keys():
                if self.given.isdisjoint(others) != is_given:
                    self._asking.need(self._words_of[name], "is an option that a rule has to mention")

    def _separate(self, word: Word, takes: Takes) -> None:
        """Read the option *word*, whose values, if any, are the next words."""
        self._note(word, takes)
        if takes.roles and takes.roles[0].kind == "exec":
            self._command([])
        elif takes.roles and not takes.is_attached:
            self._values(takes, 0)
        elif takes.roles and takes.roles[0].kind == "replace":
            self._asking.placeholder = "{}"

    def _attached(self, word: Word, takes: Takes, value: str) -> None:
        """Read the option *word*, which holds its first value."""
        self._note(word, takes)
        if not takes.roles:
            return
        role = takes.roles[0]
        part = Word(word.form, value, prefix=value)
        if role.kind == "exec":
            self._command([part._replace(form=quoted(value))])
            return
        if role.kind == "module":
            self.module = part
            return
        self._asking.value(role, part)
        # Some programs read `-f=FILE` as `-f FILE`, others as a file whose name begins with `=`.
        if value[:1] == "=" and role.kind in _PATHS:
            self._asking.value(role, Word(word.form, value[1:], prefix=value[1:]))
        self._values(takes, 1)

    def _command(self, words: list[Word]) -> None:
        """Collect an inner command: *words*, and the following words up to `;`.

        The program replaces `{}`, `{/.}` and similar texts in it by unknown paths, or appends them.
        """
        start = self.place + 1
        ends = (at for at in range(start, len(self.words)) if self.words[at].text == ";")
        self.place = next(ends, len(self.words))
        given = [*words, *self.words[start : self.place]]
        hidden = [Word(word.form) if "{" in (word.text or "") else word for word in given]
        self._asking.command(hidden, appends=hidden == given)

    def _values(self, takes: Takes, first: int) -> None:
        for role in takes.roles[first:]:
            if self.place + 1 < len(self.words):
                self.place += 1
                word = self.words[self.place]
                if role.kind == "module":
                    self.module = word
                    return
                self.dashed(word)
                self._asking.value(role, word, may_grow=word.splits and self._table.operands.take_many(0))


def _is_decimal(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    return text.isascii() and (whole + fraction).isdigit()
