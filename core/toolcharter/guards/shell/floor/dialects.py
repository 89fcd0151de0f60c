"""Languages whose commands a shell runs: those of editors, sed, make, debuggers and Tcl."""

import re
from collections.abc import Iterator, Sequence

from toolcharter.guards.shell.floor.code_patterns import compile_pattern
from toolcharter.guards.shell.floor.context import Call, Context
from toolcharter.guards.shell.floor.data_sources import find_taint, input_texts, reads_code_from_option
from toolcharter.guards.shell.floor.deletes import has_option, operands
from toolcharter.guards.shell.floor.embedded_commands import check_lines, option_values
from toolcharter.guards.shell.floor.interpreters import EVALUATES_TEXT, check_code
from toolcharter.guards.shell.floor.vital_paths import controls_access
from toolcharter.guards.shell.floor.word_texts import Arg

_MAKE_SHELL = "$(shell "
_MAKE_FILES = frozenset({"-f", "--file", "--makefile"})
EDITORS = frozenset({"vi", "vim", "view", "gvim", "vimdiff", "nvim", "ex", "rvim", "ed", "red", "emacs", "emacsclient", "less", "more", "most"})  # fmt: skip
_EDITOR_CODES = frozenset({"-c", "--cmd", "-S", "--eval", "-eval", "--execute", "-execute"})
_GDB = frozenset({"-ex", "--ex", "-iex", "-eval-command", "--eval-command", "-o", "--one-line"})
_GDB_ESCAPES = ("!", "shell ", "pipe ", "platform shell ", "make ")
_ADDRESS = r"(?:[0-9$][0-9~,+$]*|/(?:\\.|[^/\\\n])*/[IM]*(?:,[0-9$+]+)?)?"
_BEGINS = r"(?:^|[\n;{}])[ \t]*" + _ADDRESS + r"[ \t]*!?[ \t]*"
_SED_RUNS = _BEGINS + r"e[ \t]+([^\n]+)"
_SED_RUNS_INPUT = _BEGINS + r"e[ \t]*(?:$|[\n;}])"
_SED_WRITES = r"(?:^|[\n;{}/|#,0-9$])[gpIiMm0-9]*[ \t]*[wW][ \t]+(/[^\n;} ]+)"
_EDITOR_WRITES = r"\bw(?:rite)?!?\s+(/\S+)"
_SED_DELIMITERS = "/|#,@:!~%+_=;"


def check_editor(call: Call, context: Context) -> str | None:
    """`vim -c '!TEXT'`, `ed <<< '!TEXT'`, `less '+!TEXT'`, `emacs --eval CODE`, `vim -c 'w! FILE'`."""
    codes = [text[1:] for text in call.texts if text[:1] == "+"] + [*option_values(call.texts, _EDITOR_CODES)]
    lines = codes + [line for text in input_texts(call, context) for line in text.splitlines()]
    escaped = (rest for line in lines if (rest := line.partition("!")[2]))
    return (
        find_taint(context.substituted_calls(call), only_network=True)
        or check_lines(context, escaped)
        or _check_overwritten_disk(call, context, _EDITOR_WRITES, lines)
        or next((why for code in codes if (why := check_code(call, context, "editor", code))), None)
    )


def check_make(call: Call, context: Context) -> str | None:
    """`make -f - <<< 'all:; TEXT'`, `make --eval='$(shell TEXT)'`."""
    sources = list(call.texts)
    if reads_code_from_option(call, _MAKE_FILES):
        sources += input_texts(call, context)
        if (why := find_taint(context.feeders(call), only_network=True)) is not None:
            return why
    lines = (line for source in sources for line in _recipe_lines(source))
    shells = (text.partition("=")[2] for text in call.texts if text.startswith(("SHELL=", "SHELL:=")))
    return check_lines(context, lines) or check_lines(context, shells)


def _recipe_lines(source: str) -> Iterator[str]:
    """The lines of a makefile that make passes to a shell."""
    for line in source.splitlines():
        before, called, rest = line.partition(_MAKE_SHELL)
        if called:
            yield rest.rpartition(")")[0]
        elif line[:1] == "\t":
            yield line.lstrip("\t @-+").replace("$$", "$")
        elif ";" in before and ":" in before.partition(";")[0]:
            yield line.partition(";")[2].lstrip(" @-+").replace("$$", "$")


def check_debugger(call: Call, context: Context) -> str | None:
    """`gdb -ex '!TEXT'`, `gdb -ex 'shell TEXT'`, `gdb -ex 'python CODE'`."""
    given = [text.strip() for text in option_values(call.texts, _GDB)]
    why = check_lines(context, _text_after_marks(given, _GDB_ESCAPES))
    codes = (text.partition(" ")[2] for text in given if text.startswith(("python", "script")))
    return why or next((why for code in codes if (why := check_code(call, context, "python", code))), None)


def _text_after_marks(lines: Sequence[str], marks: Sequence[str]) -> Iterator[str]:
    return (line[len(mark) :] for line in lines for mark in marks if line.startswith(mark))


def check_tcl(call: Call, context: Context) -> str | None:
    """`expect -c 'spawn TEXT'`, `tclsh <<< 'exec TEXT'`."""
    sources = (*option_values(call.texts, frozenset({"-c"})), *input_texts(call, context))
    pieces = (piece.strip(" []\t") for source in sources for piece in re.split(r"[;\n\[\]]", source))
    return check_lines(context, _text_after_marks([*pieces], ("exec ", "spawn ", "system ")))


def check_sed(call: Call, context: Context) -> str | None:
    """`sed '1e TEXT'`, `sed 's/x/TEXT/e'`, `sed 'w /dev/sda'`."""
    scripts = [text for text in call.texts if text[:2] != "--"]
    if has_option(call.args, "i", "in-place") and any(
        controls_access(target.path) for arg in operands(call.args) for target in context.targets(call, arg)
    ):
        return "overwrites a file that the system cannot do without"
    return _check_overwritten_disk(call, context, _SED_WRITES, scripts) or next(
        (why for script in scripts if (why := _check_sed_commands(call, context, script))), None
    )


def _check_overwritten_disk(call: Call, context: Context, writes: str, scripts: Sequence[str]) -> str | None:
    """The disk that a script writes to, found by the pattern *writes*; None if there is none."""
    paths = (Arg(found[1]) for script in scripts for found in compile_pattern(writes).finditer(script))
    return next((f"overwrites {why}" for path in paths if (why := context.disk(call, path))), None)


def _check_sed_commands(call: Call, context: Context, script: str) -> str | None:
    replaced = [*_executed_replacements(script)]
    # What it finds in its input stands in what it runs.
    if any(re.search(r"(?<!\\)(?:\\\\)*(?:&|\\[1-9])", text) for text in replaced) and not call.command.redirections:
        return EVALUATES_TEXT
    given = [found[1] for found in compile_pattern(_SED_RUNS).finditer(script)]
    if replaced or compile_pattern(_SED_RUNS_INPUT).search(script):
        given += input_texts(call, context)
        return check_lines(context, iter([*replaced, *given])) or find_taint(context.feeders(call), only_network=True)
    return check_lines(context, iter(given))


def _executed_replacements(script: str) -> Iterator[str]:
    """The replacements of `s` with the flag `e`, which runs the resulting line."""
    for mark in _SED_DELIMITERS:
        if f"s{mark}" in script:
            part = rf"((?:\\.|[^\\\n{re.escape(mark)}])*)"
            escaped = re.escape(mark)
            for found in compile_pattern(f"s{escaped}{part}{escaped}{part}{escaped}[gpIiMm0-9]*e").finditer(script):
                yield found[2].replace(f"\\{mark}", mark)
