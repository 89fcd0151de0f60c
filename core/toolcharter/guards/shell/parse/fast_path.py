"""Parses the most common lines fast: words without expansions, in pipelines and lists. `lists` parses all others.

One pattern matches each token, and no character in it is ambiguous, so the check by tree-sitter-bash is not needed.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from toolcharter.guards.shell.nodes import MAX_COMMANDS, MAX_WORDS, Command, Redirection, Script, Word, quoted
from toolcharter.guards.shell.parse.cwd import Flow, Folders, folders_after, merge_folders

# Outside of quotes, only characters that `shlex.quote` does not quote are accepted. Within double quotes, only a dollar, a
# backtick, a backslash before one of these and, in an interactive shell, an exclamation mark are special. A word ends before
# a blank or an operator.
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
# Reserved words, and builtins that change how bash runs the rest of the line. `cd` is simple enough to be handled here.
_OTHERS: Final = frozenset(
    """case coproc do done elif else esac fi for function if in select then time until while namespace
    export declare typeset local readonly
    pushd popd eval source . trap command builtin shopt enable alias set""".split()
)
_HERE: Final = (".",)


def parse_plain(source: str, workspace: str, *, enters: int = 0) -> Script | None:
    """Parse *source*, if it is plain enough; None if `lists` has to parse or refuse it.

    Args:
        source: The line, without control characters other than tab and newline.
        workspace: See `script.parse`.
        enters: See `script.parse`.
    """
    reading = _PlainParser(workspace, enters=enters)
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
        elif kind != "operator" or not reading.end_command(text):
            return None
    return reading.script()


def _quoted(written: str) -> Word:
    text = written[:-1].replace(written[-1], "", 1)
    return Word(quoted(text), text, None, text)


def _glob(written: str) -> Word:
    first = next(at for at, character in enumerate(written) if character in "*?")
    return Word(written, None, written, written[:first], splits=True)


def _revision(text: str) -> Word:
    """A literal word with a tilde: bash expands one only at the beginning of a word, or behind `:` and `=`."""
    return Word(quoted(text), text, None, text)


_ARGUMENTS: Final[dict[str | None, Callable[[str], Word]]] = {"quoted": _quoted, "glob": _glob, "revision": _revision}
"""The kinds of words that are never the name of a program."""


class _PlainParser:
    """One pass over a line. A command is added when the operator behind it is read."""

    def __init__(self, workspace: str, *, enters: int) -> None:
        self.words: list[Word] = []
        """The words of the current command."""
        self.redirections: list[Redirection] = []
        """The redirections of the current command."""
        self.at = 0
        """Where the current command begins, in characters."""
        self._workspace = workspace
        self._enters = enters
        self._commands: list[Command] = []
        self._word_count = 0
        self._pipeline = 0
        self._cwd: Folders = _HERE
        self._flow = Flow(_HERE, _HERE)
        self._operator = ";"
        """The operator before the current pipeline."""

    def end_command(self, text: str) -> bool:
        """Handle the operator that ends a command, `""` at the end of the line; false if the line is not plain enough."""
        words = self.words
        if not words:
            # Behind a semicolon, the line may end.
            return (
                not text and self._operator == ";" and not self.redirections and self._pipeline == len(self._commands)
            )
        program = words[0].text or ""
        self._word_count += len(words) + len(self.redirections)
        if program in _OTHERS or "=" in program or self._word_count > MAX_WORDS or len(self._commands) >= MAX_COMMANDS:
            return False
        if program == "cd" and [one.text for one in words[1:]] == ["-"]:
            return False  # The target depends on earlier commands.
        stdin_from = tuple(range(self._pipeline, len(self._commands)))
        redirections = tuple(self.redirections)
        self._commands.append(Command(tuple(words), (), redirections, stdin_from, (), self._cwd, (), self.at))
        if text != "|":
            self._end_pipeline(words if program == "cd" and not stdin_from else (), text)
        self.words, self.redirections = [], []
        return True

    def script(self) -> Script:
        """The script parsed so far."""
        return Script(tuple(self._commands))

    def _end_pipeline(self, moving: Sequence[Word], operator: str) -> None:
        """End a pipeline; *moving* are its words if it is a `cd`."""
        here, before = self._cwd, self._flow
        self._pipeline = len(self._commands)
        moved = folders_after(moving, here, self._workspace) if moving else here
        flow = Flow(moved, moved if self.at < self._enters else here)
        if self._operator == "&&":
            flow = Flow(flow.success, merge_folders(before.failure, flow.failure))
        elif self._operator == "||":
            flow = Flow(merge_folders(before.success, flow.success), flow.failure)
        self._flow, self._operator = flow, operator
        if operator == "&&":
            self._cwd = flow.success
        elif operator == "||":
            self._cwd = flow.failure
        else:
            self._cwd = merge_folders(flow.success, flow.failure)
