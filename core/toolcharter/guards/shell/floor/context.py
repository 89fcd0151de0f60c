"""The commands of a script in the form that the floor checks: by the name of each program, also behind launchers."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.floor.vital_paths import Target, VitalPaths, normalize_home
from toolcharter.guards.shell.floor.word_texts import Arg, possible_args
from toolcharter.guards.shell.nodes import Command, NotUnderstood, Reading, Script, Word
from toolcharter.guards.shell.programs.launchers import started_words

if TYPE_CHECKING:
    from toolcharter.guards.shell.parse import script as shell_script
else:
    shell_script = lazy("toolcharter.guards.shell.parse.script")

REMOTE_SHELL = "hands a shell to a remote host"
_SOCKETS = ("/dev/tcp/", "/dev/udp/", "zsh/net/tcp")
_LOADERS = ("ld-linux", "ld-musl", "ld64", "ld.so")
_MAX_DEPTH = 6
_MAX_TEXTS = 200
SHORT = 80
"""The longest text whose base name is cached, in characters."""


class Call:
    """One program and its arguments, as far as they are known."""

    def __init__(self, name: str, command: Command, home: str, starters: tuple[str, ...] = ()) -> None:
        self.name = name
        """The name of the program in lower case, without its folder and `.exe`."""
        self.command = command
        """The command with words that begin with this program; everything else is that of the whole command."""
        self.starters = starters
        """The names of the programs of the same command that start it, outermost first."""
        self._home = home
        # Not `cached_property`: before Python 3.12 it takes a lock.
        self._args: tuple[Arg, ...] | None = None
        self._texts: tuple[str, ...] | None = None

    @property
    def args(self) -> tuple[Arg, ...]:
        """What the program may get."""
        if self._args is None:
            self._args = possible_args(self.command.words[1:], self._home)
        return self._args

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that the program may get."""
        if self._texts is None:
            self._texts = tuple([arg.text for arg in self.args])
        return self._texts

    def from_word(self, at: int, name: str) -> "Call":
        """The call of the program *name* within this call, whose arguments begin behind the word at *at*."""
        return Call(name, self.command._replace(words=self.command.words[at:]), self._home, self.starters)


class Context:
    """A script, the places that matter, and the results so far."""

    def __init__(
        self,
        script: Script,
        workspace: str,
        home: str,
        check: "Callable[[Context], str | None]",
        paths: VitalPaths | None = None,
    ) -> None:
        self.script = script
        self._roots = workspace, home
        self.paths = VitalPaths(workspace, normalize_home(home)) if paths is None else paths
        self._home = self.paths.home
        self._check = check
        self.readings: Sequence[tuple[Command, Reading]] = ()
        """The commands of the script, read by the tables of the core; empty if that was not done."""
        self._depth = 0
        self._checks_left = [_MAX_TEXTS]
        self.found_commands: list[Command] = []
        """The commands found in texts and among words, which rules of `deny` match, too."""
        self._visited: tuple[str, ...] | None = None
        self._chains: dict[int, tuple[Call, ...]] = {}

    def check_source(self, source: str) -> str | None:
        """Why shell source that a command holds is catastrophic; source that does not parse is only searched for patterns."""
        if self._depth >= _MAX_DEPTH or self._checks_left[0] <= 0:
            return "holds more shell source within shell source than anybody reads"
        self._checks_left[0] -= 1
        try:
            script = shell_script.parse(source, self.paths.workspace)
        except NotUnderstood:
            return REMOTE_SHELL if any(mark in source for mark in _SOCKETS) else None
        return self._check_inner(script)

    def check_command(self, command: Command) -> str | None:
        """Why a command that is among the words of another one is catastrophic."""
        if self._depth >= _MAX_DEPTH or self._checks_left[0] <= 0:
            return "holds more commands within commands than anybody reads"
        self._checks_left[0] -= 1
        return self._check_inner(Script((command._replace(stdin_from=(), substitutes=()),)))

    def _check_inner(self, script: Script) -> str | None:
        inner = Context(script, *self._roots, self._check, self.paths)
        inner.found_commands = self.found_commands
        self.found_commands += script.commands
        inner._depth, inner._checks_left = self._depth + 1, self._checks_left
        return self._check(inner)

    def replace_script(self, script: Script) -> None:
        """Replace the script by *script*, the same one with more hints."""
        self.script = script
        self._chains.clear()

    def calls_at(self, at: int) -> tuple[Call, ...]:
        """The program of one command and those that it starts by its own words, outermost first."""
        chain = self._chains.get(at)
        if chain is None:
            chain = self._chains[at] = tuple(self.possible_calls(self.script.commands[at]))
        return chain

    def possible_calls(self, command: Command) -> Iterator[Call]:
        """The calls that a command may make: for each possible name of its program, that program and those that it starts."""
        for one in self._with_known_name(command):
            yield from self._started_calls(one)

    def _with_known_name(self, command: Command) -> Iterator[Command]:
        """The command once for each possible literal name of its program; a name with blanks becomes several words."""
        if not command.words or command.words[0].text is not None:
            yield command
            return
        program, rest = command.words[0], command.words[1:]
        choices = [program._replace(hints=(hint,)) for hint in program.hints] or [program]
        for choice in choices:
            words = tuple(Word(arg.text, arg.text) for arg in possible_args((choice,), self._home))
            yield command._replace(words=(*words, *rest))

    def _started_calls(self, command: Command | None) -> Iterator[Call]:
        starters: tuple[str, ...] = ()
        while command is not None and command.words and command.words[0].text is not None:
            name = base_name(command.words[0].text)
            yield Call(name, command, self._home, starters)
            words = started_words(name, command.words)
            command = command._replace(words=words) if words else None
            starters = (*starters, name)

    def feeders(self, call: Call) -> Iterator[Call]:
        """All calls whose output *call* may read."""
        for at in call.command.stdin_from:
            yield from self.calls_at(at)

    def substituted_calls(self, call: Call) -> Iterator[Call]:
        """All calls whose output becomes part of the words of *call*, and the calls that these read from."""
        for at in call.command.substitutes:
            for one in self.calls_at(at):
                yield one
                yield from self.feeders(one)

    def targets(self, call: Call, arg: Arg) -> Iterator[Target]:
        """The places that the path *arg* of *call* may lead to."""
        return self.paths.targets(arg, self.folders(call.command))

    def folders(self, command: Command) -> tuple[str, ...]:
        """The folders that a command is meant to run in; if they are not known, all folders that the script changes to.

        In `cd build; rm -rf *`, that is the first of the command's possible folders.
        """
        if command.folders or not command.words:
            return command.folders[:1]
        if self._visited is None:
            self._visited = (".", *self._find_visited())
        return self._visited

    def _find_visited(self) -> Iterator[str]:
        for at in range(len(self.script.commands)):
            for call in self.calls_at(at):
                if call.name in {"cd", "pushd", "chdir", "set-location"}:
                    yield from (arg.text for arg in call.args if arg.text.startswith("/") or ".." in arg.text)
                    if not call.args:
                        yield self.paths.home

    def loss(self, call: Call, arg: Arg, *, own: bool = True) -> str | None:
        """What would be lost if everything below the path *arg* were deleted; None if that is harmless."""
        return next((why for one in self.targets(call, arg) if (why := self.paths.loss(one, own=own))), None)

    def vital_file(self, call: Call, arg: Arg) -> str | None:
        """The name of the file at the path *arg*, if the system cannot run without it."""
        return next((why for one in self.targets(call, arg) if (why := self.paths.vital_file(one))), None)

    def disk(self, call: Call, arg: Arg) -> str | None:
        """The name of the disk at the path *arg*; None if it is none."""
        return next((why for one in self.targets(call, arg) if (why := self.paths.disk(one))), None)


def base_name(program: str) -> str:
    r"""The name of a program in the form that Windows and case-insensitive file systems use: `/bin/RM`, `C:\x\FORMAT.COM`."""
    return _cached_base_name(program) if len(program) < SHORT else _compute_base_name(program)


def _compute_base_name(program: str) -> str:
    name = program[program.rfind("/") + 1 :]
    name = name[name.rfind("\\") + 1 :].lower()
    if name.startswith(_LOADERS):
        return "ld.so"
    return name[:-4] if name.endswith((".exe", ".com", ".cmd", ".bat")) else name


_cached_base_name = lru_cache(4096)(_compute_base_name)


def called_functions(context: Context) -> Iterator[Command]:
    """The commands of functions that use their parameters, once for each call, with its words in place of `$1` and so on."""
    for call in context.script.commands:
        name = (call.words[0].text or "") if call.words else ""
        if name not in context.script.functions:
            continue
        for command in context.script.commands:
            if f"function {name}" in command.within and any("$" in word.form for word in command.words):
                yield command._replace(words=tuple(_replace_parameters(command.words, call.words)))


def _replace_parameters(words: tuple[Word, ...], given: tuple[Word, ...]) -> Iterator[Word]:
    """The *words* of a command in a function that is called with *given*; the first word of these is the function's name."""
    places = {f"{mark}": word for at, word in enumerate(given) if at for mark in (f"${at}", f"${{{at}}}")}
    for word in words:
        bare = word.form.strip('"')
        if bare in {"$@", "$*", "${@}", "${*}"}:
            yield from given[1:]
        elif bare in places:
            yield places[bare]
        else:
            yield word
