"""Reads compound commands: groups, conditionals, loops, functions.

Source: POSIX.1-2024, shell command language, 2.9.4 and 2.9.5; bash(1), "Compound Commands".
"""

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolcharter._lazy import lazy
from toolcharter.guards.shell.commands import Commands
from toolcharter.guards.shell.cwd import Flow
from toolcharter.guards.shell.loops import may_set, stays, values_of, written_out
from toolcharter.guards.shell.nodes import ENDLESS, Word
from toolcharter.guards.shell.word_parts import VALUE, literal

if TYPE_CHECKING:
    from toolcharter.guards.shell import remembered
else:
    remembered = lazy("toolcharter.guards.shell.remembered")

_BARE = re.compile(r"[^ \t\n|&;()<>'\"\\$`]*")
_NAME = r"[^ \t\n|&;()<>'\"\\$`={}\[\]!*?~]+"
_FUNCTION = re.compile(rf"({_NAME})[ \t]*\([ \t]*\)")
_FUNCTION_WORD = re.compile(rf"[ \t]+({_NAME})(?:[ \t]*\([ \t]*\))?")
_VARIABLE = re.compile(r"[a-z_][a-z0-9_]*|[A-Z](?=[ \t\n;])")
_NUMBERS = re.compile(r"[\w \t+\-*/%<>=!&|]*;", re.ASCII)
_NAMED = re.compile(r"\$\{?[!#]?([A-Za-z_][A-Za-z0-9_]*)")
# Five digits, and no fewer: what nobody starts that often.
_MANY = re.compile(r"[0-9]{5}")
_MANY_WORDS = re.compile(r"\{-?[0-9]+\.\.-?[0-9]{5}|[\"]?(?:\$\(|`)[ \t]*(?:seq|jot)\b[^|;)`]*[0-9]{5}")
_KINDS = frozenset({"{", "if", "while", "until", "for", "select", "case", "function", "[["})
_BODIES = frozenset({"{", "if", "while", "until", "for", "case"})
_OF_BASH = frozenset({"select", "function", "[["})
# Operands of these are evaluated, or name variables.
_EVALUATING = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "-t"})
_EXPRESSION = re.compile(
    r"(?:[A-Za-z0-9_.,:/@%+*?^|()\[\]{}=-]|\$(?=[)| \t\n])|\\[.+*?^$|()\[\]{}/\\-])+(?=[ \t\n])", re.ASCII
)
_CONNECTIVE = re.compile(r"&&|\|\||[<>](?!\()|[()]")
_ELSEWHERE = "A loop runs over names that may lie outside of the workspace."


class Compounds(Commands):
    """Commands that hold others."""

    _bare_at = -1
    """Where the bare word last looked at begins, and it; each is looked at by several."""
    _bare = ""
    _expression_at = -1
    """The position of a regular expression, behind `=~`."""

    def bare(self) -> str:
        """The word that stands here without any quotes; empty, if it is another."""
        if self.at != self._bare_at:
            self._bare_at, self._bare = self.at, self._look()
        return self._bare

    def _look(self) -> str:
        found = _BARE.match(self.source, self.at)
        word = "" if found is None else found.group()
        follows = self.source[self.at + len(word) : self.at + len(word) + 1]
        return "" if follows and follows in "'\"\\$`" else word

    @abstractmethod
    def hide_time(self) -> None:
        """Take back what has been noted of a `time` that stands before a compound command."""

    def is_compound(self) -> bool:
        """Whether a compound command stands here."""
        return self.bare() in _KINDS or self.source.startswith("(", self.at)

    def compound(self) -> Flow:
        """Read a compound command, and the redirections behind it."""
        if self.is_timed:
            self.bash_only("'time' before a compound command")
            self.hide_time()
        start = len(self.commands)
        with self.deeper():
            flow = self._read()
        self._redirected(start)
        self.comment()
        if not self.is_break() or self.source.startswith("(", self.at):
            raise self.fail("Something follows a compound command.")
        return flow

    def _read(self) -> Flow:
        if self.bare() in _OF_BASH or self.source.startswith("((", self.at):
            self.bash_only("This compound command")
        if self.take("(("):
            found = self.arithmetic()
            if found is not None:
                self.set_names |= found.certain
            return Flow(self.here, self.here)
        if self.take("("):
            return self._subshell()
        word = self.bare()
        self.at += len(word)
        kinds = {
            "{": self._group,
            "if": self._if,
            "while": self._while,
            "until": self._while,
            "for": self._for,
            "select": self._select,
            "case": self._case,
            "function": self._function_word,
            "[[": self._test,
        }
        return kinds[word]()

    def _redirected(self, start: int) -> None:
        """Read redirections of all that was read from *start* on; they are a command of their own."""
        at, end = self.at, len(self.commands)
        with self.collecting():
            if redirections := self.redirections():
                for position in range(start, end):
                    self.feed(position, self.feeding.inputs)
                self.start(at, (), (), redirections)

    def close(self, word: str) -> None:
        """Read *word*, which has to stand here."""
        if self.bare() != word:
            raise self.fail(f"A {word!r} is missing.")
        self.at += len(word)

    def _subshell(self) -> Flow:
        before = self.here
        with self.apart("subshell"):
            self.sequence(frozenset())
        self.expect(")")
        return Flow(before, before)

    def _group(self) -> Flow:
        flow = self.sequence(frozenset({"}"}))
        self.close("}")
        return flow

    def _branching(self, read: Callable[[], object], label: str = "") -> Flow:
        """Read a command of which parts may run or not, once or often.

        One that leaves its folder in a part leaves it unknown: for loops and functions, from their beginning.
        """
        start, before, moved, within = len(self.commands), self.here, self.moves, self.within
        looked = len(self.reaches)
        names = self.set_names
        self.branches += 1
        self.within = (*within, label) if label else within
        read()
        self.within, self.set_names = within, names
        self.branches -= 1
        if self.moves == moved:
            self.here = before
            return Flow(before, before)
        for position in range(start if label else len(self.commands), len(self.commands)):
            self.commands[position] = self.commands[position]._replace(folders=())
        if label and len(self.reaches) > looked:
            self.wonder(_ELSEWHERE)
        return Flow((), ())

    # Conditionals -----------------------------------------------------------------------------------------------------

    def _if(self) -> Flow:
        return self._branching(self._if_parts)

    def _if_parts(self) -> None:
        self.sequence(frozenset({"then"}))
        gained = self.gained
        self.close("then")
        self.set_names = gained.success
        self.sequence(frozenset({"elif", "else", "fi"}))
        self.set_names = gained.failure
        word = self.bare()
        self.close(word)
        if word == "elif":
            self._if_parts()
        elif word == "else":
            self.sequence(frozenset({"fi"}))
            self.close("fi")

    def _case(self) -> Flow:
        return self._branching(self._case_parts)

    def _case_parts(self) -> None:
        self.blanks()
        self._compared()
        self.newlines()
        self.close("in")
        self.newlines()
        while self.bare() != "esac":
            self._case_item()
        self.close("esac")

    def _compared(self) -> None:
        """Read a word that is compared with another: which branch runs tells what a variable holds."""
        word = self.word()
        self.compared.update(_NAMED.findall(word.form))
        if self._holds_found(word):
            self.wonder("A 'case' compares what cannot be told.")

    def _holds_found(self, word: Word) -> bool:
        """Whether *word* may hold a variable that the line has found, not set."""
        return word.text is None and any(name not in self.values for name in _NAMED.findall(word.form))

    def _case_item(self) -> None:
        self.take("(")
        while True:
            self.blanks()
            self._compared()
            self.blanks()
            if not self.take("|"):
                break
        self.expect(")")
        names = self.set_names
        self.sequence(frozenset({"esac"}))
        self.set_names = names
        if not (self.take(";;&") or self.take(";;") or self.take(";&")) and self.bare() != "esac":
            raise self.fail("A branch of 'case' is not closed.")
        self.newlines()

    def _test(self) -> Flow:
        """Read `[[ ... ]]` as a command of that name."""
        start, words = self.at - 2, [literal("[[")]
        with self.collecting():
            self.newlines()
            while self.bare() != "]]":
                words.append(self._test_word())
                self.newlines()
            self.close("]]")
            words.append(literal("]]"))
            if any(word.text in _EVALUATING for word in words):
                self.wonder("A condition evaluates its operands.")
            self.tests.add((start, self.at))
            self.start(start, tuple(words))
        return Flow(self.here, self.here)

    def _test_word(self) -> Word:
        if self.at == self._expression_at and (found := _EXPRESSION.match(self.source, self.at)):
            return self._expression(found.group())
        if found := _CONNECTIVE.match(self.source, self.at):
            self.at = found.end()
            return literal(found.group())
        if self.bare() == "=~":
            self.at += 2
            self.blanks()
            self._expression_at = self.at
            return literal("=~")
        start = self.at
        word = self.word(VALUE)
        self.spans.discard((start, self.at))
        return word

    def _expression(self, text: str) -> Word:
        """Read a regular expression behind `=~`: plain signs, and nothing that is expanded."""
        # Of a parenthesis that is not closed, and of brackets with others in them, bash has ideas of its own.
        if text.count("(") != text.count(")") or "[[" in text or "]]" in text:
            raise self.fail("A regular expression of the shell's own is not understood.")
        self.at += len(text)
        return literal(text)

    # Loops ------------------------------------------------------------------------------------------------------------

    def _while(self) -> Flow:
        return self._branching(self._while_parts, "loop")

    def _while_parts(self) -> None:
        is_until = self.source.startswith("until", self.at - len("until"))
        self.sequence(frozenset({"do"}))
        self.set_names = self.gained.failure if is_until else self.gained.success
        self._do()

    def _do(self) -> None:
        self.close("do")
        self.sequence(frozenset({"done"}))
        self.close("done")

    def _select(self) -> Flow:
        self.wonder("A menu ('select') stands in it.")
        return self._for()

    def _for(self) -> Flow:
        self.blanks()
        return self._branching(self._counting if self.take("((") else self._for_parts, "loop")

    def _counting(self) -> None:
        """Read `for ((...; ...; ...))` from behind its parentheses."""
        self.bash_only("A loop over numbers")
        condition = ""
        for _ in range(2):
            found = _NUMBERS.match(self.source, self.at)
            if found is None:
                raise self.fail("A loop over numbers is not understood.")
            self.at, condition = found.end(), found.group()
            expression = self.compute(condition[:-1])
            if expression is not None:
                self.set_names |= expression.certain
        self.arithmetic()
        self._mark_endless(is_endless=not condition.strip(" \t;") or _MANY.search(condition) is not None)
        self.comment()
        self.take(";")
        self.newlines()
        self._do()

    def _mark_endless(self, *, is_endless: bool) -> None:
        """Note that the body of the loop which is read runs again and again."""
        if is_endless:
            self.within = (*self.within, ENDLESS)

    def _for_parts(self) -> None:
        # Others, such as `PATH`, may be variables that programs look at.
        found = _VARIABLE.match(self.source, self.at)
        if found is None or found.group().endswith("_proxy"):
            raise self.fail("The variable of a loop is not understood.")
        self.at, name = found.end(), found.group()
        if not self.is_break():
            raise self.fail("The variable of a loop is not understood.")
        before = len(self.commands)
        words = self._loop_words()
        value = remembered.of_loop(self, name, words, range(before, len(self.commands)))
        if any(map(self._holds_found, words)):
            self.wonder("A loop runs as often as what cannot be told has words.")
        if any(
            remembered.may_list_elsewhere(self, word) for word in words if value is None or word.pattern is not None
        ):
            self.wonder(_ELSEWHERE)
        for word in words:
            remembered.look_for(self, word.pattern or "")
            self.learn(name, word if word.pattern is None else word._replace(hints=(word.pattern,)))
        start = len(self.commands)
        if len(words) == 1 and words[0].pattern is not None:
            self.patterns[name] = words[0].pattern
        values = values_of(words)
        if values:
            self.loops.add(name)
        if value is not None:
            self.put(name, value)
            self.set_names |= {name}
        self._mark_endless(is_endless=any(_MANY_WORDS.match(word.form) for word in words))
        self._do()
        if self.patterns.pop(name, None) is not None and may_set(self.commands[start:], self.commands):
            self.wonder("A loop variable may get another value in the loop.")
        is_certain = name in self.loops and self._is_certain(start)
        self.loops.discard(name)
        self.commands[start:] = written_out(self.commands, start, name, values if is_certain else ())

    def _loop_words(self) -> list[Word]:
        self.newlines()
        words = [Word('"$@"', splits=True)]
        if self.bare() == "in":
            self.at += 2
            words = []
            self.blanks()
            while not self.is_break() and not self.source.startswith("#", self.at):
                words += self.words()
                self.blanks()
            self.comment()
            if not self.source.startswith((";", "\n"), self.at):
                raise self.fail("The words of a loop are not understood.")
        self.take(";")
        self.newlines()
        return words

    def _is_certain(self, start: int) -> bool:
        """Whether the variable of a loop, whose commands begin at *start*, has its own values and no others."""
        if self.functions or self.strange or "IFS" in self.source or "IFS" in self.values:
            return False
        in_function = any(one.startswith("function ") for one in self.within)
        return not in_function and stays(self.commands[start:], self.commands)

    # Functions --------------------------------------------------------------------------------------------------------

    def function(self) -> Flow | None:
        """Read `name() ...`, if it stands here."""
        found = _FUNCTION.match(self.source, self.at)
        if found is None:
            return None
        self.at = found.end()
        return self._function(found.group(1))

    def _function_word(self) -> Flow:
        found = _FUNCTION_WORD.match(self.source, self.at)
        if found is None:
            raise self.fail("The name of a function is not understood.")
        self.at = found.end()
        return self._function(found.group(1))

    def _function(self, name: str) -> Flow:
        self.functions += [name]
        self.newlines()
        if self.bare() not in _BODIES and not self.source.startswith("(", self.at):
            raise self.fail("The body of a function is not understood.")
        before, moved, self.here = self.here, self.moves, ()
        with self.deeper():
            self._branching(self.compound, f"function {name}")
        here = before if self.moves == moved else ()
        return Flow(here, here)
