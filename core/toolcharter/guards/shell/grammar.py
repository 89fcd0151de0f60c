"""Reads lists and pipelines, and with them whole sources.

Source: POSIX.1-2024, shell command language, 2.9.2, 2.9.3 and 2.10; bash(1), "SHELL GRAMMAR".
"""

from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.compounds import Compounds
from toolcharter.guards.shell.crosscheck import check
from toolcharter.guards.shell.cwd import Flow, either
from toolcharter.guards.shell.nodes import Command, NotUnderstood, Script
from toolcharter.guards.shell.scanner import MAX_COMMANDS
from toolcharter.guards.shell.setters import may_set
from toolcharter.guards.shell.settled import Gained, are_numbers, certain_values, names_what_it_sets, settled
from toolcharter.guards.shell.words import Feeding

if TYPE_CHECKING:
    from toolcharter.guards.shell import remembered
else:
    remembered = lazy("toolcharter.guards.shell.remembered")

_CLOSING = frozenset({"then", "else", "elif", "fi", "do", "done", "esac", "}"})
_MISPLACED = _CLOSING | {"!", "time", "coproc", "in", "]]"}
_PREFIXES = frozenset({"!", "time"})
_EVALUATING = frozenset({"eval", "source", ".", "trap"})


class Grammar(Compounds):
    """The whole of the language, as far as it is understood."""

    def __init__(
        self, source: str, workspace: str = "", depth: int = 0, *, is_posix: bool = False, enters: bool = False
    ) -> None:
        super().__init__(source, workspace, depth, is_posix=is_posix, enters=enters)
        self.feeding = Feeding([], [])
        self.substitutes = []
        self.inners = 0
        """How many sources have been read within this one."""

    def script(self) -> Script:
        """Read all of the source, and have the second reader agree.

        Raises:
            NotUnderstood: The source is not understood, or they differ.
        """
        self.sequence(frozenset())
        if self.at < len(self.source) or self.body is not None:
            raise self.fail("The command line is not understood.")
        check(self)
        self._check_functions()
        if self.arrays.pending:
            self.wonder("An array is assigned.")
        if self.arrays.is_used and (self.functions or not all(map(names_what_it_sets, self.commands))):
            raise NotUnderstood("It cannot be told what an array holds where it is used: write its words out.")
        self._put_values()
        if self.is_posix and any(map(_may_alias, self.commands)):
            raise NotUnderstood("Other shells than bash look at aliases in scripts, too.")
        return Script(tuple(self.commands), self.strange, self.unnamed, tuple(self.functions), tuple(self.reaches))

    def _put_values(self) -> None:
        """Put what variables hold for certain into the words that use them."""
        if not (self.set_values or self.computed):
            return
        is_told = not (self.functions or self.strange or self._splits_otherwise())
        certain = certain_values(self.commands, self.set_values) if is_told else {}
        if not are_numbers(self.computed, certain):
            self.wonder("An arithmetic expression holds more than numbers.")
        self.commands[:] = settled(self.commands, self.set_values, certain, self.compared | self.computed)

    def _splits_otherwise(self) -> bool:
        """Whether a command may split words at other characters than blanks; `IFS=, read` alone reads so."""
        if "IFS" not in self.source:
            return False
        own = [one for one in self.commands if one.assignments and one.words and one.words[0].text == "read"]
        names = [assignment.name for one in own for assignment in one.assignments]
        return self.source.count("IFS") != names.count("IFS")

    def inner(self, text: str) -> Script:
        """Read *text* as a source of its own that runs here."""
        self.inners += 1
        if self.inners > MAX_COMMANDS:
            raise NotUnderstood(f"The command line has more than {MAX_COMMANDS} texts between backticks.")
        with self.deeper():
            grammar = Grammar(text, self.workspace, self.depth, is_posix=self.is_posix, enters=self.enters)
            grammar.here, grammar.branches = self.here, self.branches
            grammar.inners = self.inners
            grammar.values, grammar.patterns = dict(self.values), dict(self.patterns)
            script = grammar.script()
        self.inners = grammar.inners
        return script

    def _check_functions(self) -> None:
        names = {command.program.text for command in self.commands if command.program is not None}
        if self.functions and names & {*self.functions, *_EVALUATING}:
            self.wonder("A function runs under the name of a program.")

    def sequence(self, ends: frozenset[str]) -> Flow:
        """Read a list of commands up to one of the words *ends*, a `)`, a `;;` or the end."""
        flow = Flow(self.here, self.here)
        self.newlines()
        while not self._is_end(ends):
            start, before, moved, names = len(self.commands), self.here, self.moves, self.set_names
            flow = self._and_or()
            self.blanks()
            if self.source.startswith("&", self.at):
                self.at += 1
                self._background(start)
                self.set_names = names
                self.here, self.moves, flow = before, moved, Flow(before, before)
            else:
                self.here = either(flow.success, flow.failure)
                if not self._separates():
                    break
            self.newlines()
        return flow

    def _is_end(self, ends: frozenset[str]) -> bool:
        if self.at >= len(self.source) or self.source.startswith((")", ";;", ";&"), self.at):
            return True
        word = self.bare()
        if word in _CLOSING and word not in ends:
            raise self.fail(f"A {word!r} closes nothing.")
        return word in ends

    def _background(self, start: int) -> None:
        level = len(self.within)
        for position in range(start, len(self.commands)):
            command = self.commands[position]
            within = (*command.within[:level], "background", *command.within[level:])
            self.commands[position] = command._replace(within=within)

    def _separates(self) -> bool:
        self.comment()
        if self.source.startswith((";;", ";&"), self.at):
            return False
        return self.take(";") or self.source.startswith("\n", self.at)

    def _and_or(self) -> Flow:
        flow = self._pipeline()
        success, failure = self.gained
        while True:
            if self.take("&&"):
                self.newlines()
                self.here, self.set_names = flow.success, success
                following = self._pipeline()
                flow = Flow(following.success, either(flow.failure, following.failure))
                success, failure = self.gained.success, failure & self.gained.failure
            elif self.take("||"):
                self.newlines()
                self.here, self.set_names = flow.failure, failure
                following = self._pipeline()
                flow = Flow(either(flow.success, following.success), following.failure)
                success, failure = success & self.gained.success, self.gained.failure
            else:
                self.gained = Gained(success, failure)
                self.set_names = success & failure
                return flow

    def _settle(self, at: int, start: int) -> Gained:
        """Remember what the command sets that has just been read, from *at* on: the first of those from *start* on."""
        if not self.settles or len(self.commands) <= start or not may_set(self.commands[-1]):
            return Gained(self.set_names, self.set_names)
        return remembered.settle(self, at)

    def _pipeline(self) -> Flow:
        negated = self.bare() in _PREFIXES and self._prefixes()
        outer, start, before, moved = self.feeders, len(self.commands), self.here, self.moves
        names, at = self.set_names, self.at
        flow = self._command()
        gained = self._settle(at, start)
        while self.source.startswith("|", self.at) and not self.source.startswith("||", self.at):
            if self.source.startswith("|&", self.at):
                self.bash_only("A pipe with '|&'")
                self.at += 1
            self.at += 1
            self.newlines()
            self.here, self.set_names = before, names
            self.feeders = (*outer, *range(start, len(self.commands)))
            at, last = self.at, len(self.commands)
            self._command()
            self._settle(at, last)
            flow, self.moves, self.set_names, gained = Flow(before, before), moved, names, Gained(names, names)
        self.feeders = outer
        self.gained = Gained(gained.failure, gained.success) if negated else gained
        return Flow(flow.failure, flow.success) if negated else flow

    def _prefixes(self) -> bool:
        """Read `time` and `!`; whether the status is negated."""
        self._time()
        return self._negation()

    def _time(self) -> None:
        """Skip `time`, which only tells how long what follows it took."""
        if self.bare() != "time":
            return
        start = self.at
        self.at += len("time")
        self.programs.add((start, self.at))
        self.note(start)
        self.timed = [(start, self.at)]
        self.is_timed = True
        self.blanks()
        if self.bare() == "-p":
            at = self.at
            self.words()
            self.timed.append((at, self.at))
            self.blanks()
        if self.source.startswith("-", self.at):
            raise self.fail("An option of 'time' is not understood.")

    def hide_time(self) -> None:
        """Take back what `_time` noted, before a compound command, where the second reader knows no `time`."""
        self.is_timed = False
        self.programs.difference_update(self.timed)
        self.spans.difference_update(self.timed)
        self.hidden += self.timed

    def _negation(self) -> bool:
        if self.bare() != "!":
            return False
        if self.is_timed:
            raise self.fail("A timed pipeline is negated.")
        self.at += 1
        self.blanks()
        return True

    def _command(self) -> Flow:
        if self.is_compound():
            return self.compound()
        if (word := self.bare()) in _MISPLACED:
            raise self.fail(f"A {word!r} is not understood where it stands.")
        return self.function() or self.simple()


def _may_alias(command: Command) -> bool:
    """Whether *command* may define an alias."""
    texts = [word.text for word in command.words]
    return texts[:1] == ["alias"] or (texts[:1] in (["command"], ["builtin"]) and ("alias" in texts or None in texts))
