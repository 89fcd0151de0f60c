"""Divides a command's words into options and operands, as its program would, and collects the requirements of the options.

Source: POSIX.1-2024, 12.2, utility syntax guidelines; glibc's getopt_long(3) for options after operands, abbreviations
and optional values.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from toolcharter.guards.shell.nodes import Word, quoted
from toolcharter.guards.shell.programs.collector import RequirementCollector
from toolcharter.guards.shell.programs.table import OptionSpec, Table

_POSIX_STYLES: Final = frozenset({"posix", "subcommands"})
"""Styles in which the first operand ends the options. `expressions` handles the style `find`."""
_PATH_ROLES: Final = frozenset(
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
_TEXT_ROLES: Final = (["text"], ["number"])


class ParsedWords(NamedTuple):
    """The words of a command without its options."""

    operands: Sequence[Word]
    given: frozenset[str]
    """The given options, by `OptionSpec.name`."""
    module: Word | None = None
    """The module that an option has named; then `operands` are all words behind it, with the module's own options."""
    behind: Sequence[Word] = ()
    """The words behind `--`, if they are for another program."""


def parse_options(words: Sequence[Word], table: Table, collector: RequirementCollector) -> ParsedWords:
    """Divide *words*, and collect the requirements of the options in *collector*."""
    parser = _OptionParser(words, table, collector)
    operands: list[Word] = []
    if table.bundled:
        parser.parse_bundle()
    stops = table.style in _POSIX_STYLES
    while parser.position < len(words):
        word = words[parser.position]
        if word.text == "--":
            parser.position += 1
            break
        if not parser.parse_option(word):
            if stops:
                break
            operands.append(word)
        parser.position += 1
        if parser.module is not None:
            return ParsedWords(words[parser.position :], frozenset(parser.given), parser.module)
    if table.conditions:
        parser.require_conditional()
    if table.behind is not None:
        return ParsedWords(operands, frozenset(parser.given), behind=words[parser.position :])
    for word in words[parser.position :]:
        parser.require_dashed(word)
        operands.append(word)
    return ParsedWords(operands, frozenset(parser.given))


class _OptionParser:
    """One pass over the words of a command."""

    def __init__(self, words: Sequence[Word], table: Table, collector: RequirementCollector) -> None:
        self.words = words
        self.position = 0
        self.given: set[str] = set()
        self._word_of_option: dict[str, Word] = {}
        self.module: Word | None = None
        self._table = table
        self._options = table.options
        self._collector = collector

    def parse_option(self, word: Word) -> bool:
        """Read *word*, the current one, and its values, if it is an option; whether it is one."""
        text = word.text
        if text is None:
            return self._parse_pattern(word)
        if self._table.prefixes and self._parse_prefixed(word, text):
            return True
        spec = self._options.get(text) if text[:1] == "-" else None
        if spec is None and (text[:1] != "-" or len(text) == 1):
            return False
        if spec is not None:
            self._parse_separate(word, spec)
        elif text.startswith("--") or self._table.style == "single-dash":
            self._parse_long(word, text)
        elif not (self._table.number and _is_decimal(text[1:])):
            self._parse_cluster(word, text, 1)
        return True

    def parse_bundle(self) -> None:
        """Read the first word, if it is a cluster of options without a dash."""
        text = self.words[0].text if self.words else None
        if self.words and self.words[0].pattern is not None:
            self._collector.require(self.words[0], "cannot be determined, and may be options")
        if text and text[0] != "-":
            for letter in text:
                spec = self._options.get("-" + letter)
                if spec is None:
                    self._collector.require(self.words[0], "holds an option that is not known")
                    break
                self._parse_separate(self.words[0], spec)
            self.position += 1

    def require_dashed(self, word: Word) -> None:
        """Require a mention of *word*, in a place for no option, if the program may take it for one nevertheless."""
        if self._table.dashes_named and word.prefix.startswith("-"):
            self._collector.require(word, "begins like an option")

    def _parse_pattern(self, word: Word) -> bool:
        """Read a word that is no literal; whether it may be an option. As an option it may only have a harmless value."""
        if word.prefix[:1] != "-":
            return False
        name, equals, _ = word.prefix.partition("=")
        is_counted = word.pattern == word.prefix + _NUMBER and not word.splits
        spec = self._find_option(name) if equals else self._options.get(word.prefix) if is_counted else None
        if (
            spec is None
            or word.pattern is None
            or spec.needs_mention
            or [role.kind for role in spec.roles] not in _TEXT_ROLES
        ):
            self._collector.require(word, "cannot be determined, and may be an option")
        else:
            self.given.add(spec.name)
        return True

    def _parse_prefixed(self, word: Word, text: str) -> bool:
        for prefix, spec in self._table.prefixes.items():
            if text.startswith(prefix):
                self._parse_attached(word, spec, text[len(prefix) :])
                return True
        return False

    def _parse_long(self, word: Word, text: str) -> None:
        name, equals, value = text.partition("=")
        spec = self._find_option(name)
        if spec is None:
            self._collector.require(word, "is an option that is not known")
        elif not equals:
            self._parse_separate(word, spec)
        elif spec.roles:
            self._parse_attached(word, spec, value)
        else:
            self._collector.require(word, "gives a value to an option that takes none")

    def _find_option(self, name: str) -> OptionSpec | None:
        spec = self._options.get(name)
        if spec is not None or not (self._table.abbreviations and len(name) > len("--") and name.startswith("--")):
            return spec
        found = {self._options[spelling] for spelling in self._options if spelling.startswith(name)}
        return found.pop() if len(found) == 1 else None

    def _parse_cluster(self, word: Word, text: str, place: int) -> None:
        for letter_at in range(place, len(text)):
            letter = text[letter_at]
            spec = self._options.get("-" + letter)
            if spec is None:
                if self._table.number and letter.isascii() and letter.isdigit():
                    continue
                self._collector.require(word, "holds an option that is not known")
                return
            rest = text[letter_at + 1 :]
            if spec.roles and rest:
                # Digits cannot be options, so tree, too, takes a rest of digits for the value.
                if self._table.separate and not _is_decimal(rest):
                    self._collector.require(word, "holds options behind one that takes the next word")
                if self._may_be_flag(spec) and any(map(self._does_more, rest)):
                    self._collector.require(word, "may hold options behind one whose value may be left out")
                self._parse_attached(word, spec, rest)
                return
            self._parse_separate(word, spec)

    def _may_be_flag(self, spec: OptionSpec) -> bool:
        """Whether the short option may take no value though the long option in the same row of the table does."""
        if not spec.is_attached or spec.needs_mention:
            return False
        return any(name.startswith("--") for name, one in self._options.items() if one is spec)

    def _does_more(self, letter: str) -> bool:
        """Whether the option *letter* takes a value or has to be mentioned by a rule."""
        spec = self._options.get("-" + letter)
        return spec is not None and (spec.needs_mention or bool(spec.roles))

    def _record_option(self, word: Word, spec: OptionSpec) -> None:
        self.given.add(spec.name)
        self._word_of_option[spec.name] = word
        if spec.needs_mention:
            self._collector.require(word, "is an option that a rule has to mention")

    def require_conditional(self) -> None:
        """Collect options that a rule has to mention because certain other options are given, or are not."""
        for options, others, is_given in self._table.conditions:
            for name in options & self._word_of_option.keys():
                if self.given.isdisjoint(others) != is_given:
                    self._collector.require(self._word_of_option[name], "is an option that a rule has to mention")

    def _parse_separate(self, word: Word, spec: OptionSpec) -> None:
        """Read the option *word*, whose values, if any, are the next words."""
        self._record_option(word, spec)
        if spec.roles and spec.roles[0].kind == "exec":
            self._parse_command([])
        elif spec.roles and not spec.is_attached:
            self._parse_values(spec, 0)
        elif spec.roles and spec.roles[0].kind == "replace":
            self._collector.placeholder = "{}"

    def _parse_attached(self, word: Word, spec: OptionSpec, value: str) -> None:
        """Read the option *word*, which holds its first value."""
        self._record_option(word, spec)
        if not spec.roles:
            return
        role = spec.roles[0]
        part = Word(word.form, value, prefix=value)
        if role.kind == "exec":
            self._parse_command([part._replace(form=quoted(value))])
            return
        if role.kind == "module":
            self.module = part
            return
        self._collector.add_value(role, part)
        # Some programs read `-f=FILE` as `-f FILE`, others as a file whose name begins with `=`.
        if value[:1] == "=" and role.kind in _PATH_ROLES:
            self._collector.add_value(role, Word(word.form, value[1:], prefix=value[1:]))
        self._parse_values(spec, 1)

    def _parse_command(self, words: list[Word]) -> None:
        """Collect an inner command: *words*, and the following words up to `;`.

        The program replaces `{}`, `{/.}` and similar texts in it by unknown paths, or appends them.
        """
        start = self.position + 1
        ends = (at for at in range(start, len(self.words)) if self.words[at].text == ";")
        self.position = next(ends, len(self.words))
        given = [*words, *self.words[start : self.position]]
        hidden = [Word(word.form) if "{" in (word.text or "") else word for word in given]
        self._collector.add_command(hidden, appends=hidden == given)

    def _parse_values(self, spec: OptionSpec, first: int) -> None:
        for role in spec.roles[first:]:
            if self.position + 1 < len(self.words):
                self.position += 1
                word = self.words[self.position]
                if role.kind == "module":
                    self.module = word
                    return
                self.require_dashed(word)
                self._collector.add_value(role, word, may_repeat=word.splits and self._table.operands.are_repeatable(0))


def _is_decimal(text: str) -> bool:
    whole, _, fraction = text.partition(".")
    return text.isascii() and (whole + fraction).isdigit()
