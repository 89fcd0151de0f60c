"""Which arrays of a line are known word for word: `a=(x y); a+=(z)`, read by `"${a[@]}"`, `${#a[@]}`, `${!a[@]}`, `${a[0]}`.

Known is an array whose name stands nowhere in the source but in such assignments, in front of anything that could repeat
or skip them, and in such uses; and the source holds no word of bash that could set a variable by a name made up at run
time. A subscript is `@`, `*` or a number: bash evaluates any other as arithmetic, which may run commands.
Source: bash(1), "Arrays".
"""

import re
from typing import Final

from toolcharter.guards.shell.nodes import Word

_SETTERS: Final = re.compile(
    r"(?<![\w./-])(?:read|mapfile|readarray|getopts|let|eval|source|trap|declare|typeset|local|export|readonly|unset|alias|enable"
    r"|builtin|command|coproc|wait|shopt|select|function|IFS|BASH\w*|COMPREPLY|\.(?=[ \t]))(?![\w-])|printf[ \t]+[^'\"a-zA-Z%]"
    r"|\$'|\(\(|(?<!=)\(\)|\{[A-Za-z_]\w*\}[<>]|[\w\"'](?:\"\"|'')|(?<!\w)\\\w"
)
_REPEATING: Final = re.compile(r"(?<![\w.-])(?:for|while|until|if|case)(?![\w-])|&&|\|\||&|\|")
_USE: Final = re.compile(r"\$\{(?:[#!]?%s\[[@*]\]|#?%s\[[0-9]+\])\}")
_WHOLE: Final = re.compile(
    r"""(?P<quote>"?)\$\{(?P<keys>!?)(?P<name>[A-Za-z_]\w*)\[(?P<all>[@*])\]\}(?P=quote)(?=[ \t\n|&;)]|\Z)"""
)
_ELEMENT: Final = re.compile(r"\[([0-9]{1,4})\]\}")
_COUNT: Final = re.compile(r"\[(?:[@*]|[0-9]{1,4})\]\}")
_QUOTED: Final = re.compile(r"""(?P<text>'[^']*'|"(?:[^"\\]|\\[nt])*")|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
_QUOTES_DIFFER: Final = re.compile(r"`|\$[('\"]|<<|(?<![^ \t\n;|&()])#")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


class Arrays:
    """The arrays of one source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._texts: dict[str, tuple[str, ...]] = {}
        self.pending: dict[str, tuple[str, ...] | None] = {}
        """What has been assigned, by the form of the assignment, until it is known when that happens; None for words that
        are not known."""
        self.is_used = False
        """Whether what an array holds has been put in its place."""

    def learn(self, name: str, form: str, known: frozenset[str]) -> frozenset[str]:
        """Remember the pending assignment *form*, which happens once and now: *known* with the array, if it is known."""
        words = self.pending.get(form)
        is_more = form.startswith(f"{name}+=")
        if words is None or not self._is_apart(name) or is_more is not (name in self._texts):
            return known
        if is_more:
            held = self._held(name, known)
            if held is None:
                return known
            words = (*held, *words)
        self._texts[name] = words
        del self.pending[form]
        return known | {name, _state(name, words)}

    def _held(self, name: str, known: frozenset[str]) -> tuple[str, ...] | None:
        """What the array holds here; None where words have been added to it in another process alone."""
        texts = self._texts.get(name)
        return texts if texts is not None and _state(name, texts) in known else None

    def _is_apart(self, name: str) -> bool:
        """Whether *name* stands nowhere but where it is understood, and nothing sets a variable in another way."""
        if _SETTERS.search(self._source):
            return False
        rest = re.sub(_USE.pattern.replace("%s", name), lambda found: "\0" * len(found.group()), self._source)
        rest = without_prose(rest, name)
        ends = [found.end() for found in re.finditer(rf"(?<![\w$]){name}\+?=\(", rest)]
        names = len(re.findall(rf"(?<![\w./]){name}(?![\w./])", rest))
        return len(ends) == names and _REPEATING.search(rest, 0, ends[-1]) is None

    def whole(self, source: str, at: int, known: frozenset[str]) -> tuple[int, tuple[str, ...]] | None:
        """Where the word at position *at* ends and the words that it becomes, if it is all of an array in *known*."""
        found = _WHOLE.match(source, at)
        texts = None if found is None else self._held(found["name"], known)
        if found is None or texts is None:
            return None
        if found["keys"]:
            texts = tuple(map(str, range(len(texts))))
        if not found["quote"] and not all(map(_PLAIN.fullmatch, texts)):
            return None
        self.is_used = True
        is_joined = found["quote"] and found["all"] == "*"
        return found.end(), (" ".join(texts),) if is_joined else texts

    def element(
        self, name: str, source: str, at: int, known: frozenset[str], *, quoted: bool
    ) -> tuple[int, str] | None:
        """Where the subscript at position *at* ends with its brace, and the text of that element, if both are known."""
        found = _ELEMENT.match(source, at)
        texts = None if found is None else self._held(name, known)
        if found is None or texts is None:
            return None
        place = int(found[1])
        if place >= len(texts) or not (quoted or _PLAIN.fullmatch(texts[place])):
            return None
        self.is_used = True
        return found.end(), texts[place]


def _state(name: str, texts: tuple[str, ...]) -> str:
    return f"{name}[{len(texts)}]"


def without_prose(source: str, name: str) -> str:
    """*source* with zeros for texts in quotes that hold a blank and *name* as a word: no text with a blank names a variable.

    But for a subscript or a value behind the name, as in `unset 'a[0 ]'`. Nothing is done where quotes may be others than
    they seem.
    """
    if _QUOTES_DIFFER.search(source):
        return source
    named = re.compile(rf"(?<![\w$]){name}(?!\w)(?![ \t]*[\[=+])")
    return _QUOTED.sub(lambda found: "\0" * len(found[0]) if _is_prose(found, named) else found[0], source)


def _is_prose(found: re.Match[str], named: re.Pattern[str]) -> bool:
    text = found["text"] or ""
    return " " in text and "$" not in text and named.search(text) is not None and "=" not in text


def end_of_count(source: str, at: int) -> int | None:
    """Where the subscript at position *at* ends with its brace, behind `${#a`: it evaluates nothing, and gives a number."""
    found = _COUNT.match(source, at)
    return None if found is None else found.end()


def texts_of(words: list[Word]) -> tuple[str, ...] | None:
    """What *words* are; None if that is not known of each."""
    texts = tuple(word.text for word in words if word.text is not None)
    return texts if len(texts) == len(words) else None
