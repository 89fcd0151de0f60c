"""Inlines one call of a function: replaces the call by the function's body, and its parameters by the call's words.

Parameters are replaced at the positions that the parser noted, with the quoting that they have there. Local variables are
renamed, and a `return` becomes the `exit` of a subshell. Whenever the result is not certain, an `UncertainError` is raised.
Source: bash(1), "FUNCTIONS", "PARAMETERS"; `local` and `return` in "SHELL BUILTIN COMMANDS".
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from toolcharter.guards.shell.assignments import is_line_variable
from toolcharter.guards.shell.parameter_expansions import apply_expansion
from toolcharter.guards.shell.parse.notes import Definition, Notes, Reference, Use

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SAFE: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_QUOTABLE: Final = re.compile(r"[^\"\\$`!}\n]*")
_DIGITS: Final = re.compile(r"[0-9]{1,9}")
_VARIABLES: Final = re.compile(r'"(?:[^"\\$`!\n]|\$[A-Za-z_][A-Za-z0-9_]*|\$\{[A-Za-z_][A-Za-z0-9_]*\})*"')
_VARIABLE: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_NUMBERED: Final = re.compile(r"\$(?:([1-9])|\{([1-9][0-9]?)\})")
_ALL: Final = re.compile(r"\$(?:[@*]|\{[@*]\})")
_ALL_QUOTED: Final = re.compile(r'"\$(?:@|\{@\})"')
_COUNT: Final = re.compile(r"\$(?:#|\{#\})")
_CHANGED: Final = re.compile(r"\$\{([1-9][0-9]?)([^}$`\"'\\]+)\}")
_OR: Final = re.compile(r":?-([A-Za-z0-9_@%+=:,./ -]*)")
_AND: Final = re.compile(r":?\+([A-Za-z0-9_@%+=:,./ -]*)")
_ENDS: Final = re.compile(r"[ \t]*(?:;(?!;)|\n|&&)")
_BREAKS: Final = frozenset(" \t\n|&;()<>")
# Where a variable may be named without a sign in front of it.
_NAMING: Final = re.compile(
    r"(?<![\w-])(?:read|mapfile|readarray|unset|export|readonly|declare|typeset|getopts|let|eval|wait)(?![\w-])"
    r"|(?<!\w)-[vR](?!\w)|for[ \t]*\(\(|\$\{[#!]?\w+\[|\[[^]\n]*\]=|\$\{\w+:(?![-+?=])|\$\{!"
)
_LASTING: Final = frozenset(
    "cd pushd popd exit exec wait read mapfile readarray set shopt export readonly umask ulimit let".split()
)
"""Builtins whose effect on the shell would be lost in the subshell that replaces a function with `return`."""
# Arithmetic that may set a variable; a sum such as `$((n + 1))` cannot.
_SETS_IN_ARITHMETIC: Final = re.compile(r"(?<!\$)\(\(|\$\(\((?!(?:[\w \t*/%]|[+](?!\+)|-(?!-))*\)\))")
_SETS: Final = re.compile(r"\+?=|[ \t\n]+in(?![A-Za-z0-9_])")


class UncertainError(Exception):
    """The effect of a call is not known."""


def apply_edits(source: str, start: int, end: int, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text of *source* from *start* to *end* with the *edits* applied, each a start, an end and the new text."""
    at = start
    parts: list[str] = []
    for begin, stop, text in sorted(edits):
        if begin < at or stop > end:
            raise UncertainError
        parts += [source[at:begin], text]
        at = stop
    return "".join((*parts, source[at:end]))


class _Argument(NamedTuple):
    """A word that a function is called with."""

    text: str | None
    """Its text; None if it holds variables."""
    written: str
    """The source of the argument as a word of its own."""
    inner: str
    """The source of the argument within double quotes."""
    is_safe: bool
    """Whether its literal parts need no quotes. Variables in it are split exactly where the parameter is."""


def _make_argument(written: str, text: str | None) -> _Argument:
    """The argument with the source *written* and the text *text*, which is None if it is not known."""
    if text is not None:
        if "\n" in text:
            raise UncertainError
        quoted = "'" + text.replace("'", "'\\''") + "'"
        return _Argument(text, quoted, text, _SAFE.fullmatch(text) is not None)
    if not _VARIABLES.fullmatch(written):
        raise UncertainError
    inner = _VARIABLE.sub(r"${\1}", written[1:-1])
    rest = _VARIABLE.sub("", written[1:-1])
    return _Argument(None, f'"{inner}"', inner, not rest or _SAFE.fullmatch(rest) is not None)


def _occurs(name: str, text: str) -> bool:
    return re.search(_name_pattern(name), text) is not None


def _name_pattern(name: str) -> str:
    """A pattern that matches *name* as a whole identifier."""
    return rf"(?<![A-Za-z0-9_]){name}(?![A-Za-z0-9_])"


class FunctionCall:
    """One call of one function."""

    def __init__(self, source: str, notes: Notes, definition: Definition, use: Use, number: int) -> None:
        if not use.is_bare or len(use.words) != len(use.spans):
            raise UncertainError
        self._source = source
        self._definition = definition
        self._use = use
        body = range(definition.body, definition.end)
        self._notes = notes
        self._inside = [one for one in notes.uses if one.start in body]
        self._references = [one for one in notes.references if one.start in body]
        self._returns = any(one.program == "return" for one in self._inside)
        others = [one for one in notes.definitions if one.name != definition.name]
        self._others = " ".join(source[one.start : one.end] for one in others)
        names = {one.name for one in notes.definitions}
        self._arguments = [
            _make_argument(source[start:end], word.text)
            for word, (start, end) in zip(use.words[1:], use.spans[1:], strict=True)
        ]
        self._programs = [self._program_of(one) for one in self._inside]
        self._calls = any(one is None or one in names for one in self._programs)
        self._local = self._new_local_names(number)
        for argument in self._arguments:
            self._check_variables(argument)

    def _program_of(self, use: Use) -> str | None:
        """The program of *use*; that of `"$@"` is the first word of the call. None if it is not known."""
        written = self._source[slice(*use.spans[0])] if use.spans else ""
        if use.program is None and _ALL_QUOTED.fullmatch(written) and self._arguments:
            return self._arguments[0].text
        return use.program

    def _check_variables(self, argument: _Argument) -> None:
        """Refuse an argument with a variable that the function, or one that it may call, could set before it uses the argument."""
        if argument.text is not None:
            return
        own = self._source[self._definition.start : self._definition.end]
        for name in _VARIABLE.findall(argument.inner):
            where = self._others if name in self._local else f"{self._others} {own}"
            if not is_line_variable(name) or _occurs(name, where):
                raise UncertainError

    def programs(self) -> Iterator[str | None]:
        """The programs that run in place of the call, in order; None for an unknown one."""
        for one in self._inside:
            if one.program != "local":
                yield "exit" if one.program == "return" else one.program
            elif self._is_flagged(one):
                yield "declare"

    def text(self) -> str:
        """The source that replaces the call."""
        body = self._definition
        self._check_loops()
        if self._returns:
            self._check_returns()
        edits = [edit for one in self._references if (edit := self._reference_edit(one)) is not None]
        edits += self._rename_edits()
        edits += self._return_edits()
        text = apply_edits(self._source, body.body, body.closed, edits)
        if self._returns:
            text = f"( {text} )"
        own = self._source[body.closed : body.end]
        given = self._redirections()
        if own.strip() and given:
            raise UncertainError
        return f" {text} {given or own}"

    def _redirections(self) -> str:
        """The redirections behind the words of the call."""
        if any(
            self._source[one[1] : other[0]].strip()
            for one, other in zip(self._use.spans, self._use.spans[1:], strict=False)
        ):
            raise UncertainError
        if self._use.spans[0][0] != self._use.start:
            raise UncertainError
        return self._source[self._use.spans[-1][1] : self._use.end].strip()

    def _check_loops(self) -> None:
        for one in self._inside:
            if one.program in {"break", "continue"}:
                at = one.within.index(f"function {self._definition.name}")
                if len(one.words) > 1 or not {"loop", "endless"} & {*one.within[at:]}:
                    raise UncertainError

    def _check_returns(self) -> None:
        """Refuse a function with `return`, which becomes a subshell, if it changes the shell in a way that has to last."""
        start, end = self._definition.body, self._definition.end
        if (
            self._calls
            or _SETS_IN_ARITHMETIC.search(self._source, start, end)
            or any(map(_outlives_subshell, self._inside, self._programs))
        ):
            raise UncertainError
        for begin, stop in self._notes.named:
            is_set = start <= begin < end and _SETS.match(self._source, stop) and self._source[begin - 1] not in "${"
            if is_set and self._source[begin:stop] not in self._local and self._is_seen(self._source[begin:stop]):
                raise UncertainError

    def _is_seen(self, name: str) -> bool:
        """Whether something outside the function may look at the variable *name*."""
        definition = self._definition
        outside = f"{self._source[: definition.start]} {self._source[definition.end :]}"
        return not is_line_variable(name) or _occurs(name, outside)

    def _return_edits(self) -> Iterator[tuple[int, int, str]]:
        for one in self._inside:
            if one.program == "return":
                yield (*one.spans[0], "exit")

    # Parameters -------------------------------------------------------------------------------------------------------

    def _reference_edit(self, one: Reference) -> tuple[int, int, str] | None:
        written = self._source[one.start : one.end]
        if found := _NUMBERED.fullmatch(written):
            return one.start, one.end, self._argument_text(one, int(found[1] or found[2]))
        if _COUNT.fullmatch(written):
            return one.start, one.end, str(len(self._arguments))
        if _ALL.fullmatch(written):
            return self._all_arguments_edit(one, written)
        if found := _CHANGED.fullmatch(written):
            return one.start, one.end, self._apply_operation(one, int(found[1]), found[2])
        if written in {"$0", "${0}"}:
            return None
        raise UncertainError

    def _argument_text(self, one: Reference, place: int) -> str:
        if place > len(self._arguments):
            if one.is_quoted and not one.is_number:
                return ""
            raise UncertainError
        return self._insert_argument(one, self._arguments[place - 1])

    def _insert_argument(self, one: Reference, argument: _Argument) -> str:
        if one.is_number:
            if (
                argument.text is None
                or not _DIGITS.fullmatch(argument.text)
                or argument.text != str(int(argument.text))
            ):
                raise UncertainError
            return argument.text
        if argument.text is None:
            if not one.is_quoted and not argument.is_safe:
                raise UncertainError
            return argument.inner
        if one.is_quoted:
            if not _QUOTABLE.fullmatch(argument.text):
                raise UncertainError
            return argument.text
        if not argument.is_safe:
            raise UncertainError
        return f'"{argument.text}"'

    def _apply_operation(self, one: Reference, place: int, how: str) -> str:
        """`${1%.txt}`, `${2:-src}`, `${3:+x}`."""
        argument = self._arguments[place - 1] if place <= len(self._arguments) else None
        if (found := _OR.fullmatch(how)) is not None:
            is_given = argument is not None and (argument.text != "" or not how.startswith(":"))
            if argument is not None and argument.text is None and how.startswith(":"):
                raise UncertainError
            return self._insert_argument(
                one, argument if is_given and argument is not None else _literal_argument(found[1])
            )
        if (found := _AND.fullmatch(how)) is not None:
            if argument is not None and argument.text is None:
                raise UncertainError
            is_given = argument is not None and (argument.text != "" or not how.startswith(":"))
            return self._insert_argument(one, _literal_argument(found[1] if is_given else ""))
        value = None if argument is None or argument.text is None else apply_expansion(argument.text, how)
        if value is None:
            raise UncertainError
        return self._insert_argument(one, _literal_argument(value))

    def _all_arguments_edit(self, one: Reference, written: str) -> tuple[int, int, str]:
        start, end = one.start, one.end
        if one.is_number:
            raise UncertainError
        if not one.is_quoted:
            if not (self._is_apart(start, end) and all(each.text and each.is_safe for each in self._arguments)):
                raise UncertainError
            return start, end, " ".join(each.written for each in self._arguments)
        if (
            self._source[start - 1] == self._source[end : end + 1] == '"'
            and self._is_apart(start - 1, end + 1)
            and "@" in written
        ):
            return start - 1, end + 1, " ".join(each.written for each in self._arguments)
        if not self._arguments and "@" in written:
            raise UncertainError
        texts = [self._insert_argument(one, each) for each in self._arguments]
        return start, end, (" " if "*" in written else '" "').join(texts)

    def _is_apart(self, start: int, end: int) -> bool:
        """Whether the span is a whole word."""
        return self._source[start - 1] in _BREAKS and self._source[end : end + 1] in _BREAKS

    # Local variables --------------------------------------------------------------------------------------------------

    def _new_local_names(self, number: int) -> dict[str, str]:
        """The new name of each local variable of the function."""
        found = dict[str, str]()
        for use in self._inside:
            if use.program != "local":
                continue
            if len(use.words) != len(use.spans) or not use.words[1:]:
                raise UncertainError
            for start, end in use.spans[1 + self._is_flagged(use) :]:
                named = _NAME.match(self._source, start, end)
                if (
                    named is None
                    or self._source[named.end() : end][:1] not in {"", "="}
                    or not is_line_variable(named.group())
                ):
                    raise UncertainError
                found[named.group()] = ""
        for name in found:
            self._check_scope(name)
            count = number
            while not found[name] or _occurs(found[name], self._source) or found[name] in {*found}:
                count += 1
                found[name] = f"{name.lower()}_{count}"
            if not is_line_variable(found[name]):
                raise UncertainError
        return found

    @staticmethod
    def _is_flagged(use: Use) -> bool:
        """Whether the command is `local -A` or `local -a`, which becomes `declare`."""
        return [word.text for word in use.words[1:2]] in (["-A"], ["-a"])

    def _check_scope(self, name: str) -> None:
        """Refuse a local variable if a use of it may refer to a variable outside of the function."""
        definition = self._definition
        if _occurs(name, self._others) and self._calls:
            raise UncertainError
        first = re.search(_name_pattern(name), self._source[definition.body : definition.end])
        at = definition.body if first is None else definition.body + first.start()
        declared = (one for one in self._inside if one.program == "local" and one.start <= at < one.end)
        if not any(one.is_first and one.branches == 1 and one.depth == definition.depth for one in declared):
            raise UncertainError

    def _rename_edits(self) -> Iterator[tuple[int, int, str]]:
        if not self._local:
            return
        yield from self._declaration_edits()
        start, end = self._definition.body, self._definition.closed
        body = self._source[start:end]
        is_strange = _NAMING.search(body) is not None
        declared = [(one.start, one.end) for one in self._inside if one.program == "local"]
        heads = {span[0] for one in self._inside if one.program == "local" for span in one.spans}
        for name, other in self._local.items():
            for found in re.finditer(_name_pattern(name), body):
                place = (start + found.start(), start + found.end())
                if place[0] in heads:
                    continue
                if place in self._notes.named:
                    yield (*place, other)
                elif is_strange and not any(one <= place[0] < last for one, last in declared):
                    raise UncertainError

    def _declaration_edits(self) -> Iterator[tuple[int, int, str]]:
        """`local a b=1` is `a= b=1`, where the values do not look at what is declared."""
        body = self._source[self._definition.body : self._definition.end]
        for use in self._inside:
            if use.program != "local":
                continue
            flag = self._is_flagged(use)
            words = [self._source[start:end].partition("=") for start, end in use.spans[1 + flag :]]
            names = [name for name, _, _ in words]
            if self._source[use.spans[-1][1] : use.end].strip() or use.start != use.spans[0][0] or not use.is_bare:
                raise UncertainError
            if any(_occurs(name, value) for name in names for _, _, value in words):
                raise UncertainError
            if not _ENDS.match(self._source, use.end):
                raise UncertainError
            yield (*use.spans[0], "declare") if flag else (use.spans[0][0], use.spans[1][0], "")
            for (start, end), (name, equals, _) in zip(use.spans[1 + flag :], words, strict=True):
                if not equals and re.search(rf"\$\{{{name}[-+]", body):
                    raise UncertainError
                behind = "" if equals or flag else "="
                yield start, end if not equals else start + len(name), self._local[name] + behind


def _outlives_subshell(use: Use, program: str | None) -> bool:
    """Whether what *use* does may still be so when a subshell has ended."""
    if use.program is None:
        return program is None or program == "printf" or program in _LASTING
    if use.program == "printf":
        return (use.words[-1:] + use.words[1:2])[-1].text in {None, "-v"}
    return use.program in _LASTING


def _literal_argument(text: str) -> _Argument:
    return _Argument(text, f"'{text}'", text, _SAFE.fullmatch(text) is not None)
