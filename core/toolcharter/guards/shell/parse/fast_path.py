"""Reads the lines that most lines are: words without expansions, in pipelines and lists. Anything else is for `lists`.

One pattern per token, in which no character can be read in two ways, so that no second reader is asked.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from toolcharter.guards.shell.nodes import MAX_COMMANDS, MAX_WORDS, Command, Redirection, Script, Word, quoted
from toolcharter.guards.shell.parse.cwd import Flow, Folders, after, either

# Only what `shlex.quote` leaves alone goes without quotes; within them nothing is special but in double ones a dollar, a
# backtick, a backslash before one of these and, to an interactive shell, an exclamation mark. A word ends where a blank
# or an operator does.
_START: Final = "[A-Za-z0-9_@%+=:,./-]"
_END: Final = r"(?=[ \t|;]|&&|\Z)"
_TOKEN: Final = re.compile(
    rf"""[ \t]*(?:
        (?P<plain>{_START}+{_END})
        | (?P<quoted>{_START}*(?:'[^'\n]*' | "(?:[^"$`\\!\n]|\\[^"$`\\!\n])*"){_END})
        | (?P<glob>{_START}*(?:\*(?!\*)|\?)(?:{_START}|\*(?!\*)|\?)*{_END})
        | (?P<revision>[A-Za-z0-9_][A-Za-z0-9_./-]*[~^][A-Za-z0-9_./~^-]*{_END})
        | (?P<redirection>(?:2>&1 | [12]?>[ \t]*/dev/null){_END})
        | (?P<operator>\|\|? | && | ; | \Z)
        | (?P<strange>(?s:.))
    )""",
    re.VERBOSE,
)
_NULL: Final = Word("/dev/null", "/dev/null", None, "/dev/null")
_REDIRECTIONS: Final = {
    "2>&1": Redirection(">&", "2", Word("1", "1", None, "1"), None, "2>&1"),
    **{f"{one}>/dev/null": Redirection(">", one, _NULL, None, f"{one}>/dev/null") for one in ("", "1", "2")},
}
# Words of the language, and programs that change how bash goes on: `cd` alone is simple enough.
_OTHERS: Final = frozenset(
    """case coproc do done elif else esac fi for function if in select then time until while namespace
    export declare typeset local readonly
    pushd popd eval source . trap command builtin shopt enable alias set""".split()
)
_HERE: Final = (".",)


def script_of(source: str, workspace: str, *, enters: int = 0) -> Script | None:
    """What *source* runs, if it is that plain; None if `lists` has to read it, or to refuse it.

    Args:
        source: Without control characters other than tab and newline.
        workspace: As for `script.parse`.
        enters: As for `script.parse`.
    """
    reading = _Plain(workspace, enters=enters)
    for found in _TOKEN.finditer(source):
        kind = found.lastgroup
        text = found[kind or 0]
        if not (reading.words or reading.redirections):
            reading.at = found.start(kind or 0)
        if kind == "plain":
            reading.words.append(Word(text, text, None, text))
        elif kind in _ARGUMENTS and reading.words:
            reading.words.append(_ARGUMENTS[kind](text))
        elif kind == "redirection":
            reading.redirections.append(_REDIRECTIONS[text.replace(" ", "").replace("\t", "")])
        elif kind != "operator" or not reading.operator(text):
            return None
    return reading.script()


def _quoted(written: str) -> Word:
    text = written[:-1].replace(written[-1], "", 1)
    return Word(quoted(text), text, None, text)


def _glob(written: str) -> Word:
    first = next(at for at, character in enumerate(written) if character in "*?")
    return Word(written, None, written, written[:first], splits=True)


def _revision(text: str) -> Word:
    """Only at a word's beginning, or behind `:` and `=`, a tilde is a home."""
    return Word(quoted(text), text, None, text)


_ARGUMENTS: Final[dict[str | None, Callable[[str], Word]]] = {"quoted": _quoted, "glob": _glob, "revision": _revision}
"""Words of which no program is named."""


class _Plain:
    """One pass over a line. A command is made when what ends it has been read."""

    def __init__(self, workspace: str, *, enters: int) -> None:
        self.words: list[Word] = []
        """Of the command being read."""
        self.redirections: list[Redirection] = []
        """Of the same."""
        self.at = 0
        """Where it begins, in characters."""
        self._workspace = workspace
        self._enters = enters
        self._commands: list[Command] = []
        self._made = 0
        self._pipeline = 0
        self._here: Folders = _HERE
        self._flow = Flow(_HERE, _HERE)
        self._joined = ";"
        """The operator before the pipeline being read."""

    def operator(self, text: str) -> bool:
        """Take what ends a command, `""` for the line's end; whether the line is as plain as it has to be."""
        words = self.words
        if not words:
            # Behind a semicolon, the line may end.
            return not text and self._joined == ";" and not self.redirections and self._pipeline == len(self._commands)
        program = words[0].text or ""
        self._made += len(words) + len(self.redirections)
        if program in _OTHERS or "=" in program or self._made > MAX_WORDS or len(self._commands) >= MAX_COMMANDS:
            return False
        if program == "cd" and [one.text for one in words[1:]] == ["-"]:
            return False  # Where that leads, what was before tells.
        stdin_from = tuple(range(self._pipeline, len(self._commands)))
        redirections = tuple(self.redirections)
        self._commands.append(Command(tuple(words), (), redirections, stdin_from, (), self._here, (), self.at))
        if text != "|":
            self._end(words if program == "cd" and not stdin_from else (), text)
        self.words, self.redirections = [], []
        return True

    def script(self) -> Script:
        """What has been read."""
        return Script(tuple(self._commands))

    def _end(self, moving: Sequence[Word], operator: str) -> None:
        """The end of a pipeline; *moving* are the words of one that changes the folder."""
        here, before = self._here, self._flow
        self._pipeline = len(self._commands)
        moved = after(moving, here, self._workspace) if moving else here
        flow = Flow(moved, moved if self.at < self._enters else here)
        if self._joined == "&&":
            flow = Flow(flow.success, either(before.failure, flow.failure))
        elif self._joined == "||":
            flow = Flow(either(before.success, flow.success), flow.failure)
        self._flow, self._joined = flow, operator
        if operator == "&&":
            self._here = flow.success
        elif operator == "||":
            self._here = flow.failure
        else:
            self._here = either(flow.success, flow.failure)
