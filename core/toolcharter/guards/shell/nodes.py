"""The nodes of a parsed shell line: words, redirections, commands, scripts, and how a table reads a command. Values only.

`toolcharter.guards.shell.parse.script` makes them from text; everything else in this package works on them.
"""

import re
from collections.abc import Callable
from shlex import quote
from typing import Final, NamedTuple

from toolcharter.api.command import ListedNames, PathAccess, Requirement

_BARE: Final = frozenset({"[", "]", "[[", "]]", "{}", "!"})
"""Words that people write without quotes, and that mean the same with quotes."""


PROCESS_SUBSTITUTION: Final = "/dev/fd/\0"
"""The pattern of a word that is a process substitution, which becomes one path. No line can hold this text: it has a NUL."""


TEMP_FILE: Final = "/dev/fd/\0fresh"
"""The pattern of a word that names a file which the line itself has made with `mktemp`. No line can hold this text, either."""


WRITE_OPERATORS: Final = frozenset({">", ">>", ">|", "&>"})
"""Operators whose target is a file that the command writes."""


HARMLESS_REDIRECTIONS: Final = frozenset(
    {"2>&1", ">&2", "1>&2", ">/dev/null", "1>/dev/null", "2>/dev/null", "&>/dev/null", "</dev/null"}
)
"""Redirections, in their normal form, that discard or duplicate a stream and touch no file."""


GIT_REFERENCE: Final = "reference"
"""The `named_by` of a word that is a branch or tag of git. Such a name may begin with a dash."""


ENDLESS_LOOP: Final = "endless"
"""An entry of `Command.within`: a loop over numbers that never ends, or has 10,000 turns or more."""


TOP_OF_REPOSITORY: Final = re.compile(r'"\$\(git rev-parse --show-toplevel(?: 2>/dev/null)?\)"')
"""The form of a word that is the top of the repository, thus the workspace; or the empty text where there is no repository."""


REPOSITORY_TOP: Final = "top"
"""The `named_by` of a word that is a whole variable which holds the top of the repository or the empty text."""


LOGIN_NAME: Final = "login"
"""The `named_by` of a word that is the user's name in the environment: neither a glob nor a secret."""


CHECKED_NAME: Final = "variable"
"""The `named_by` of a word that names a variable or an array's element, and of which bash evaluates nothing."""


_PLAIN_NAMES: Final = frozenset({"docker", "gh", "git", "kubectl", "place"})
"""Programs whose names never begin with a dash."""
_TAKE_NAMES: Final = {"gh_endpoint": "gh", "kube_resource": "kubectl"}
"""Arguments, by their language, in which a name is harmless, with the program that gives such names."""


class NotUnderstood(ValueError):
    """What the command would do cannot be determined; the text says why."""


class Part(NamedTuple):
    """One part of a word that holds variables of loops over literal words."""

    text: str
    """The literal text; empty for a variable."""
    name: str = ""
    """The name of the variable; empty for a literal text."""
    is_quoted: bool = True


class Word(NamedTuple):
    """One word after quote removal, as far as it is known without running anything."""

    form: str
    """The word in the normal form: a literal word shell-quoted (`quoted`), any other word as the source has it."""
    text: str | None = None
    """The text that the program gets, if there is exactly one; None otherwise."""
    pattern: str | None = None
    """For a word with an unquoted `*`, `?` or `[`, or a variable that holds one: a glob over paths in which a
    backslash makes the next character literal. The program gets names that match, or the glob itself."""
    prefix: str = ""
    """The beginning of every word that it may become; for a literal, the whole text."""
    splits: bool = False
    """Whether bash may expand it to several words, or to none."""
    hints: tuple[str, ...] = ()
    """Texts that it may be, according to assignments and loops of the same script. For the floor and deny rules only:
    a hint never permits anything."""
    parts: tuple[Part, ...] = ()
    """Its parts, if it is exactly one text in each turn of a loop. Only set while loops are read."""
    is_output: bool = False
    """Whether each unknown part is output of this line's own commands, a name or a number; False if a part is a variable
    that the environment has set."""
    is_number: bool = False
    """Whether it is a number or empty, though not known which: an exit status, or the output of `wc -l`."""
    is_shown: bool = False
    """As `is_output`, but a part may be input that the line has read: it may be printed, but not stored."""
    named_by: str = ""
    """The program that its names come from, such as `docker` or `git`, if no such name can be an option or a glob; if it
    `splits`, it becomes one word or none."""
    place: str = ""
    """Its path, if it names the folder that the line runs in, or a path below: `"$PWD/a.md"`, `"$(pwd)"`."""

    def is_name_for(self, kind: str, argument: str) -> bool:
        """Whether a role of this *kind* and *argument* accepts every name that the word may be."""
        if kind == "shown" and self.named_by in {LOGIN_NAME, GIT_REFERENCE}:
            return True  # A name with a leading dash can only change how `echo` prints.
        if kind in {"text", "shown"}:
            return self.named_by in _PLAIN_NAMES
        return self.named_by == _TAKE_NAMES.get(argument, argument)

    @property
    def is_repository_top(self) -> bool:
        """Whether it is the top of the repository, or empty."""
        return self.text is None and (
            self.named_by == REPOSITORY_TOP or TOP_OF_REPOSITORY.fullmatch(self.form) is not None
        )

    @property
    def placed(self) -> "Word":
        """The same word with its `place` as its text, if it has one."""
        return Word(self.form, self.place, prefix=self.place) if self.place else self

    @property
    def is_literal(self) -> bool:
        """Whether its text is known."""
        return self.text is not None


def quoted(text: str) -> str:
    """Quote *text* for the normal form with `shlex.quote`, except for the words `[`, `]`, `[[`, `]]`, `{}` and `!`."""
    return text if text in _BARE else quote(text)


class Assignment(NamedTuple):
    """`NAME=value` before a command, or alone."""

    name: str
    value: Word
    form: str
    """The whole assignment in the normal form; `NAME+=...` and `NAME[...]=...` as the source has them."""


class Redirection(NamedTuple):
    """One redirection."""

    operator: str
    """`>`, `>>`, `>|`, `&>`, `&>>`, `>&`, `<`, `<>`, `<&`, `<<`, `<<-`, `<<<`."""
    descriptor: str
    """The descriptor before the operator as the source has it, `2` or `{fd}`; empty if there is none."""
    target: Word | None
    """A file, a descriptor (`1`, `-`), or the text of a here-string; None for a here-document."""
    text: str | None
    """The text of a here-document or here-string, if it is known."""
    form: str
    """The redirection in the normal form: `>out.txt`, `2>&1`, `<<<'a;b'`; a here-document as `<<` and its delimiter."""
    body: Word | None = None
    """The text of a here-document that holds variables or substitutions, as a word."""

    def with_target(self, target: Word) -> "Redirection":
        """The same redirection with this *target*, in its normal form."""
        gap = " " if target.form.startswith(("<", ">")) else ""
        return self._replace(target=target, form=f"{self.descriptor}{self.operator}{gap}{target.form}")


class Command(NamedTuple):
    """One simple command of a script, at any depth."""

    words: tuple[Word, ...]
    """The program and its arguments; empty if there are only assignments and redirections."""
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    stdin_from: tuple[int, ...] = ()
    """The positions in the script of the commands whose output it may read: those before it in a pipeline, in process
    substitutions among its words and redirections, in substitutions within its here-text."""
    substitutes: tuple[int, ...] = ()
    """The positions of the commands whose output becomes part of its own words (`$(...)`)."""
    folders: tuple[str, ...] = (".",)
    """The folders it may run in, relative to the workspace, lexically; empty if they are not known (`cd "$x"`)."""
    within: tuple[str, ...] = ()
    """What encloses it, outermost first: `function f`, `loop`, `substitution`, `subshell`, `background`, `sh -c`."""
    at: int = 0
    """Where it begins in the source, in characters."""
    is_unread: bool = False
    """Whether it assigns a command's output to a variable that the line never reads."""

    @property
    def program(self) -> Word | None:
        """The word that names what runs."""
        return self.words[0] if self.words else None

    @property
    def inputs(self) -> tuple[Word, ...]:
        """The files that it reads by `<`.

        Empty for a command without words: the redirections of a group come behind its commands and happen before them.
        """
        files = (one.target for one in self.redirections if one.operator == "<") if self.words else ()
        return tuple(one for one in files if one is not None)

    def with_inputs(self, change: Callable[[Word], Word]) -> "Command":
        """The same command with *change* applied to each of its `inputs`."""
        if not self.inputs:
            return self
        changed = (
            one.with_target(change(one.target)) if one.operator == "<" and one.target is not None else one
            for one in self.redirections
        )
        return self._replace(redirections=tuple(changed))

    @property
    def targets(self) -> tuple[Word, ...]:
        """The files that it writes by redirections."""
        return tuple(
            one.target for one in self.redirections if one.operator in WRITE_OPERATORS and one.target is not None
        )

    def with_targets(self, change: Callable[[Word], Word]) -> "Command":
        """The same command with *change* applied to each of its `targets`."""
        if not self.targets:
            return self
        changed = (
            one.with_target(change(one.target)) if one.operator in WRITE_OPERATORS and one.target is not None else one
            for one in self.redirections
        )
        return self._replace(redirections=tuple(changed))

    @property
    def form(self) -> str:
        """The normal form: assignments, words, redirections, joined by one space."""
        forms = [word.form for word in self.words]
        if self.assignments or self.redirections:
            before, behind = [one.form for one in self.assignments], [one.form for one in self.redirections]
            forms = [*before, *forms, *behind]
        return " ".join(forms)


MAX_COMMANDS = 50
"""The most commands in one line."""
MAX_WORDS = 1000
"""The most words in one line."""


class Script(NamedTuple):
    """All commands of a line, in the order of the source; the commands in a substitution come before its command."""

    commands: tuple[Command, ...] = ()
    unsupported: str | None = None
    """A construct that the guard does not know (a node kind, an arithmetic context): no allow rule covers the line."""
    unresolved_program: str | None = None
    """Why a program is not known (its name or a script's text is no literal): the line is denied in every mode."""
    functions: tuple[str, ...] = ()
    """The names of the functions that it defines."""
    reaches: tuple[PathAccess, ...] = ()
    """The folders that the shell itself looks into for the names that a loop runs over."""
    listings: tuple[ListedNames, ...] | None = None
    """What the gate has to check of the names on disk that loops run over; None if no loop runs over any."""
    written: tuple[str, ...] = ()
    """The original commands, where a call of a function was replaced by its body: rules of `deny` see them, too."""


class Inner(NamedTuple):
    """A command that another command starts, such as `env`, `xargs` or `find -exec`."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    folders: tuple[str, ...] | None = None
    """The folders it may run in, if its starter changes the folder (`env -C`); None for those of the starter."""
    is_asked_for: bool = False
    """Whether its starter's requirements include its own, so that a rule for the starter covers it: `uv run pytest -q`."""


class Requirements(NamedTuple):
    """What the rule that allows a command has to mention, and what the gate has to check on disk."""

    needs: tuple[Requirement, ...] = ()
    reaches: tuple[PathAccess, ...] = ()
    is_known: bool = True
    """Whether there is a table of its program."""
    listings: tuple[ListedNames, ...] = ()
    """Listings of names that it gets. The gate checks that the names reach the command unchanged."""
    kept: tuple[Word, ...] = ()
    """Words whose text outlives the line (a commit message) and is output of its other commands; `-` is the standard
    input. The module `stored_text` finds out whether those commands read files."""
    marks: tuple[str, ...] = ()
    """Prefixes that no name may have which a glob of the line matches."""
    module: str = ""
    """The Python module that it imports by name; empty if there is none, or if it is meant to run the project's code."""


class Reading(NamedTuple):
    """One command as the table of its program reads it."""

    demand: Requirements
    inner: tuple[Inner, ...] = ()
    """The commands that it starts."""
    scripts: tuple[Word, ...] = ()
    """Its words that are shell source, as for `sh -c`, `eval`, `trap`. A word that is no literal is denied in every mode."""
    runs_input: bool = False
    """Whether its standard input is shell source: `sh`, `bash -s`."""
    is_transparent: bool = False
    """Whether the allow rules for the commands that it starts suffice, without one of its own: `time`, `command`."""
    leading: int = 0
    """How many words are options between the program and its subcommand: one for `git --no-pager push`."""
    folders: tuple[str, ...] = ()
    """The folders that its own options may change to (`git -C sub`), with the one it begins in; empty without such options."""
