"""What a shell line is made of once it is understood: words, redirections, commands, the script. Values only.

`toolcharter.guards.shell.parse.script` makes them from text; everything else in this package looks at them.
"""

import re
from collections.abc import Callable
from shlex import quote
from typing import Final, NamedTuple

from toolcharter.api.command import ListedNames, PathAccess, Requirement

_BARE: Final = frozenset({"[", "]", "[[", "]]", "{}", "!"})
"""Words that people write without quotes, and that are the same text with them."""


SUBSTITUTED: Final = "/dev/fd/\0"
"""The pattern of a word that is a process substitution, one descriptor: nobody can write it, for no line holds a NUL."""


FRESH: Final = "/dev/fd/\0fresh"
"""The pattern of a word that is a file which the line itself has made (`mktemp`): nobody can write it, either."""


WRITING: Final = frozenset({">", ">>", ">|", "&>"})
"""Operators behind which the file stands that a command writes."""


NOWHERE: Final = frozenset(
    {"2>&1", ">&2", "1>&2", ">/dev/null", "1>/dev/null", "2>/dev/null", "&>/dev/null", "</dev/null"}
)
"""Redirections, by their normal form, that lead nowhere, or to where another one leads."""


REFERENCE: Final = "reference"
"""In place of whose name a word is, if it is a branch or a tag of git: one may begin with a dash."""


ENDLESS: Final = "endless"
"""What the body of a loop over numbers stands in, besides the loop, if it ends never or after 10,000 turns or more."""


TOP_OF_REPOSITORY: Final = re.compile(r'"\$\(git rev-parse --show-toplevel(?: 2>/dev/null)?\)"')
"""The form of a word that is the workspace, the one place in which git finds a repository; or nothing, where there is none."""


TOP: Final = "top"
"""In place of whose name a word is, if it is a variable that holds that place, or nothing: no part of a longer word."""


LOGIN: Final = "login"
"""In place of whose name a word is, if it is what the environment says of the user: no glob, and no secret."""


CHECKED: Final = "variable"
"""In place of whose name a word is, if it names a variable, or an element of an array, and nothing in it is evaluated."""


_PLAIN_NAMES: Final = frozenset({"docker", "gh", "git", "kubectl", "place"})
"""Whose names begin with no dash."""
_TAKE_NAMES: Final = {"gh_endpoint": "gh", "kube_resource": "kubectl"}
"""Little languages in which a name is harmless, and whose."""


class NotUnderstood(ValueError):
    """What the command would do cannot be determined; the text says why."""


class Part(NamedTuple):
    """A part of a word that holds variables of loops over literal words."""

    text: str
    """What stands there; nothing for a variable."""
    name: str = ""
    """Of the variable."""
    is_quoted: bool = True


class Word(NamedTuple):
    """One word after quote removal, as far as it can be told without running anything."""

    form: str
    """As the normal form shows it: a literal word shell-quoted (`quoted`), any other as it is written."""
    text: str | None = None
    """What the program gets, if that is one text for certain; None otherwise."""
    pattern: str | None = None
    """For a word of unquoted `*`, `?` or `[`, or a variable that stands for one: a glob over paths in which a
    backslash makes the next character literal. The program gets names that match, or the glob itself."""
    prefix: str = ""
    """What every word that it may become begins with; for a literal, the whole text."""
    splits: bool = False
    """Whether it may become several words, or none."""
    hints: tuple[str, ...] = ()
    """Texts that it may be, as far as assignments and loops of the same script tell. For the floor and deny rules;
    nothing is ever permitted because of them."""
    parts: tuple[Part, ...] = ()
    """Of what it consists, if it is one text for certain in each turn of a loop. Only while loops are read."""
    is_output: bool = False
    """Whether all that is not known of it is what commands of the same line print, or names and numbers: no variable
    that the line has found."""
    is_number: bool = False
    """Whether it is a number or nothing, though it cannot be determined which: a status, or what `wc -l` prints."""
    is_shown: bool = False
    """As `is_output`, but a part of it may be what the line has read: it may be shown, and not kept."""
    named_by: str = ""
    """Whose names it is made of, such as `docker` or `git`, if that makes it no option and no glob; where it `splits` it is one
    word or none."""

    def is_name_for(self, kind: str, argument: str) -> bool:
        """Whether it is made of names that a role of this *kind* and *argument* takes, whatever they are."""
        if kind == "shown" and self.named_by == LOGIN:
            return True
        if kind == "text":
            return self.named_by in _PLAIN_NAMES
        return self.named_by == _TAKE_NAMES.get(argument, argument)

    @property
    def is_top(self) -> bool:
        """Whether it is the top of the repository, or nothing."""
        return self.text is None and (self.named_by == TOP or TOP_OF_REPOSITORY.fullmatch(self.form) is not None)

    @property
    def is_literal(self) -> bool:
        """Whether it is one text for certain."""
        return self.text is not None


def quoted(text: str) -> str:
    """*text* as the normal form shows a literal word: quoted by `shlex.quote`, but for brackets, `{}` and `!` alone."""
    return text if text in _BARE else quote(text)


class Assignment(NamedTuple):
    """`NAME=value` before a command, or alone."""

    name: str
    value: Word
    form: str
    """The whole, as the normal form shows it; `NAME+=...` and `NAME[...]=...` as written."""


class Redirection(NamedTuple):
    """One redirection."""

    operator: str
    """`>`, `>>`, `>|`, `&>`, `&>>`, `>&`, `<`, `<>`, `<&`, `<<`, `<<-`, `<<<`."""
    descriptor: str
    """As written in front of it, `2` or `{fd}`; empty if there is none."""
    target: Word | None
    """A file, a descriptor (`1`, `-`), or the text of a here-string; None for a here-document."""
    text: str | None
    """What a here-document or here-string feeds, if it is one text for certain."""
    form: str
    """As the normal form shows it: `>out.txt`, `2>&1`, `<<<'a;b'`; a here-document as `<<` and its delimiter."""
    body: Word | None = None
    """What a here-document feeds, if that is no one text: it holds variables and what commands print."""

    def reading(self, target: Word) -> "Redirection":
        """The same redirection with this *target*, in its normal form."""
        gap = " " if target.form.startswith(("<", ">")) else ""
        return self._replace(target=target, form=f"{self.descriptor}{self.operator}{gap}{target.form}")


class Command(NamedTuple):
    """One simple command, wherever in the script it stands."""

    words: tuple[Word, ...]
    """The program and its arguments; empty for assignments and redirections alone."""
    assignments: tuple[Assignment, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    stdin_from: tuple[int, ...] = ()
    """The commands, by position in the script, whose output it may read: those before it in a pipeline, in process
    substitutions among its words and redirections, in substitutions within its here-text."""
    substitutes: tuple[int, ...] = ()
    """The commands, by position, whose output becomes part of its own words (`$(...)`)."""
    folders: tuple[str, ...] = (".",)
    """Where it may run, relative to the workspace, lexically; empty if that cannot be determined (`cd "$x"`)."""
    within: tuple[str, ...] = ()
    """What it stands in, outermost first: `function f`, `loop`, `substitution`, `subshell`, `background`, `sh -c`."""
    at: int = 0
    """Where it begins in the source, in characters."""
    is_unread: bool = False
    """It keeps what a command prints in a variable that the line does not use."""

    @property
    def program(self) -> Word | None:
        """The word that names what runs."""
        return self.words[0] if self.words else None

    @property
    def inputs(self) -> tuple[Word, ...]:
        """The files that it reads by `<`, if it has words: what redirects a group is read behind it, and happens before."""
        files = (one.target for one in self.redirections if one.operator == "<") if self.words else ()
        return tuple(one for one in files if one is not None)

    def with_inputs(self, change: Callable[[Word], Word]) -> "Command":
        """The same command, which reads what *change* makes of its `inputs`."""
        if not self.inputs:
            return self
        changed = (
            one.reading(change(one.target)) if one.operator == "<" and one.target is not None else one
            for one in self.redirections
        )
        return self._replace(redirections=tuple(changed))

    @property
    def targets(self) -> tuple[Word, ...]:
        """The files that it writes by redirections."""
        return tuple(one.target for one in self.redirections if one.operator in WRITING and one.target is not None)

    def with_targets(self, change: Callable[[Word], Word]) -> "Command":
        """The same command, which writes what *change* makes of its `targets`."""
        if not self.targets:
            return self
        changed = (
            one.reading(change(one.target)) if one.operator in WRITING and one.target is not None else one
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
"""Of one line."""
MAX_WORDS = 1000
"""Of one line."""


class Script(NamedTuple):
    """All that a line runs, in the order of the source; what stands inside a command comes before it."""

    commands: tuple[Command, ...] = ()
    unsupported: str | None = None
    """What in it nobody has taught the guard (a node kind, an arithmetic context): no allow rule covers the line."""
    unresolved_program: str | None = None
    """Why it cannot be determined what runs (a program name or a script text that is no literal): denied in every mode."""
    functions: tuple[str, ...] = ()
    """The names of the functions that it defines."""
    reaches: tuple[PathAccess, ...] = ()
    """The folders that the shell itself looks into for the names that a loop runs over."""
    listings: tuple[ListedNames, ...] | None = None
    """What has to hold of the names on disk that loops run over; None if no loop does."""
    written: tuple[str, ...] = ()
    """The commands as they are written, where calls of functions have been written out: rules of `deny` see them, too."""


class Inner(NamedTuple):
    """A command that another one starts: of `env`, `xargs`, `find -exec`."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    folders: tuple[str, ...] | None = None
    """Where it runs, if its starter moves (`env -C`); None for the same place."""
    is_asked_for: bool = False
    """Whether the needs of its starter hold its own, so that a rule for the starter covers it: `uv run pytest -q`."""


class Requirements(NamedTuple):
    """What one command asks of the rule that would allow it, and of the world."""

    needs: tuple[Requirement, ...] = ()
    reaches: tuple[PathAccess, ...] = ()
    is_known: bool = True
    """Whether there is a table of its program."""
    listings: tuple[ListedNames, ...] = ()
    """Names that it gets, and that have to be such as are handed on unchanged."""
    kept: tuple[Word, ...] = ()
    """Words whose text outlives the line (a commit message) and comes from other commands of it; `-` stands for the
    standard input. `kept` tells whether those commands read files."""
    marks: tuple[str, ...] = ()
    """What no name may begin with that a glob of the line stands for."""
    module: str = ""
    """The module of Python that it imports by its name alone; empty for none, or one that is there for the project's code."""


class Reading(NamedTuple):
    """One command as the table of its program reads it."""

    demand: Requirements
    inner: tuple[Inner, ...] = ()
    """The commands that it starts."""
    scripts: tuple[Word, ...] = ()
    """Its words that are shell source: of `sh -c`, `eval`, `trap`. One that is no literal is refused in every mode."""
    runs_input: bool = False
    """Whether its standard input is shell source: `sh`, `bash -s`."""
    is_transparent: bool = False
    """Whether it needs no allow rule of its own beside those of the commands that it starts: `time`, `command`."""
    leading: int = 0
    """How many words stand as options between the program and its subcommand: one for `git --no-pager push`."""
    folders: tuple[str, ...] = ()
    """Where its own options may move it (`git -C sub`), where it began included; empty for nowhere else."""
