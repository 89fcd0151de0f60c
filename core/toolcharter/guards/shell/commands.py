"""Reads simple commands, and gathers what they start by the way.

Source: POSIX.1-2024, shell command language, 2.9.1; bash(1), "SIMPLE COMMAND EXPANSION".
"""

import re
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from toolcharter.guards.shell.cwd import Flow, after, enters, moves
from toolcharter.guards.shell.nodes import Assignment, Command, Redirection, Script, Word
from toolcharter.guards.shell.redirections import Redirections
from toolcharter.guards.shell.scanner import Span
from toolcharter.guards.shell.words import Feeding

# A whole command of words that the shell takes as they are, up to what ends it.
_PLAIN = re.compile(
    r"[A-Za-z0-9_@%+:,./-]+(?:[ \t]+[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+=:,./-]*)*[ \t]*(?=[;|\n)]|&(?!>)|\Z)"
)
_PLAIN_WORD = re.compile(r"[^ \t]+")
_PROGRAM = re.compile(r"[!-~]+")
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})


class Commands(Redirections):
    """Simple commands."""

    is_timed = False
    """Whether `time` has just been read, which the second reader takes for the program of what follows."""

    timed: list[Span]
    """Where the words of `time` stand that was read last."""

    @abstractmethod
    def sequence(self, ends: frozenset[str]) -> Flow:
        """Read a list of commands up to one of the words *ends*, a `)` or the end."""

    @abstractmethod
    def inner(self, text: str) -> Script:
        """Read *text* as a source of its own that runs here."""

    @contextmanager
    def collecting(self) -> Generator[None]:
        """One command, whose words start commands of its own."""
        outer = self.feeding, self.substitutes
        self.feeding, self.substitutes = Feeding([], []), []
        yield
        self.feeding, self.substitutes = outer

    def substitution(self) -> range:
        """Read commands up to the `)` that closes them; their positions."""
        start, body = len(self.commands), self.body
        timed, self.is_timed = self.is_timed, False
        with self.deeper(), self.apart("substitution"), self.collecting():
            self.sequence(frozenset())
        if self.body != body:
            raise self.fail("A here-document and a substitution overlap.")
        self.expect(")")
        self.is_timed = timed
        return range(start, len(self.commands))

    def backtick(self, text: str) -> range:
        """Read *text*, which stood between backticks; the positions of its commands."""
        start = len(self.commands)
        script = self.inner(text)
        for command in script.commands:
            moved = command._replace(
                feeders=(*self.feeders, *(start + one for one in command.feeders)),
                substitutes=tuple(start + one for one in command.substitutes),
                within=(*self.within, "substitution", *command.within),
                at=self.at,
            )
            self.emit(moved)
        self.functions += script.functions
        self.reaches += script.reaches
        self.strange = self.strange or script.strange
        self.unnamed = self.unnamed or script.unnamed
        return range(start, len(self.commands))

    def simple(self) -> Flow:
        """Read a simple command."""
        if not self.is_timed and (found := _PLAIN.match(self.source, self.at)):
            return self._plain(found.group())
        outer, self.feeding = self.feeding, Feeding([], [])
        substitutes, self.substitutes = self.substitutes, []
        flow = self._simple()
        self.feeding, self.substitutes = outer, substitutes
        return flow

    def _plain(self, text: str) -> Flow:
        """Read a simple command of plain words, *text*, in the same way, but faster."""
        start = self.at
        words = list[Word]()
        for found in _PLAIN_WORD.finditer(text):
            self.at = start + found.end()
            self.note(start + found.start())
            word = found.group()
            words.append(Word(word, word, None, word))
        self.programs.add((start, start + len(words[0].form)))
        self.at = start + len(text)
        if words[0].form in _DECLARING:
            self._declare(words[1:])
        self.emit(Command(tuple(words), (), (), self.feeders, (), self.here, self.within, start))
        return self._flow(words)

    def _simple(self) -> Flow:
        start = self.at
        timed, self.is_timed = self.is_timed, False
        assignments, redirections, words = list[Assignment](), list[Redirection](), list[Word]()
        spans = list[Span]()
        while not self._is_over():
            if (redirection := self.redirection()) is not None:
                redirections.append(redirection)
            elif not spans and (assignment := self.assignment()) is not None:
                assignments.append(assignment)
            else:
                at = self.at
                self.names_program = not spans
                words += self.words()
                self.names_program = False
                spans.append((at, self.at))
            self.blanks()
        if self.at == start or (timed and not spans):
            raise self.fail("A command is missing.")
        if spans:
            self._check(words, spans, timed=timed)
        self.start(start, tuple(words), tuple(assignments), tuple(redirections))
        return self._flow(words)

    def _is_over(self) -> bool:
        if self.at >= len(self.source):
            return True
        character = self.source[self.at]
        if character == "#":
            self.comment()
            return True
        if character == "&":
            return not self.source.startswith("&>", self.at)
        return character in ";|\n)"

    def _check(self, words: Sequence[Word], spans: Sequence[Span], *, timed: bool) -> None:
        if not timed:
            self.programs.add(spans[0])
        if not words:
            self.unnamed = self.unnamed or "The name of a program expands to nothing."
            return
        program = words[0].text
        if not program:
            self.unnamed = self.unnamed or f"{words[0].form} is no literal, so that what runs is unknown."
        elif not _PROGRAM.fullmatch(program):
            raise self.fail(f"{words[0].form} is no name of a program.")
        elif program == "[" and spans[0][1] - spans[0][0] == 1:
            self._is_test(spans)
        elif program in _DECLARING:
            self._declare(words[1:])

    def _is_test(self, spans: Sequence[Span]) -> None:
        """For the second reader, a `[ ... ]` is one thing."""
        self.spans.difference_update(spans)
        self.programs.discard(spans[0])
        self.tests.add((spans[0][0], spans[-1][1]))

    def _declare(self, words: Sequence[Word]) -> None:
        for word in words:
            name, equals, value = (word.text or "").partition("=")
            if equals:
                self.learn(name.removesuffix("+"), Word(value, value), adds=name.endswith("+"))

    def start(
        self,
        at: int,
        words: tuple[Word, ...],
        assignments: tuple[Assignment, ...] = (),
        redirections: tuple[Redirection, ...] = (),
    ) -> None:
        """Add a command, with all that has been collected for it."""
        substitutes = tuple(self.substitutes)
        feeders = (*self.feeders, *self.feeding.inputs)
        if substitutes and any(one.operator.startswith("<<") and one.text is None for one in redirections):
            feeders += substitutes
        command = Command(words, assignments, redirections, _once(feeders), substitutes, self.here, self.within, at)
        position = self.emit(command)
        for fed in self.feeding.outputs:
            self.feed(fed, (position,))

    def feed(self, position: int, feeders: Sequence[int]) -> None:
        """Let the command at *position* read what *feeders* write."""
        command = self.commands[position]
        self.commands[position] = command._replace(feeders=_once((*command.feeders, *feeders)))

    def _flow(self, words: Sequence[Word]) -> Flow:
        here = self.here
        if not moves(words):
            return Flow(here, here)
        self.moves += 1
        if self.branches or "CDPATH" in self.values:
            self.here = ()
            return Flow((), ())
        moved = after(words, here, self.workspace)
        if self.enters:
            return Flow(moved, moved)
        return Flow(moved, here if words[0].text == "cd" or enters(words) else ())


def _once(positions: Sequence[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(positions)) if positions else ()
