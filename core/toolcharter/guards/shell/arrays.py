"""Finds the arrays of a line whose elements are all known: `a=(x y); a+=(z)`, `declare -A m=([k]=v); m[l]=w`.

An array is known if its name occurs only in such assignments, before any construct that could repeat or skip them, and in
plain uses; and if the source has no builtin that could set a variable by a name computed at run time. Bash evaluates the
subscript of an indexed array as arithmetic, which may run commands, so only `@`, `*` and numbers are accepted there. The
subscript of an associative array is plain text if only an expansion or an assignment contains it.
Source: bash(1), "Arrays", "ARITHMETIC EVALUATION".
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from toolcharter.guards.shell.nodes import Word

_SETTERS: Final = re.compile(
    r"(?<![\w./-])(?:read|mapfile|readarray|getopts|let|eval|source|trap|declare|typeset|local|export|readonly|unset|alias|enable"
    r"|builtin|command|coproc|wait|shopt|select|IFS|BASH\w*|COMPREPLY|\.(?=[ \t]))(?![\w-])|printf[ \t]+(?!--[ \t]+['\"%a-zA-Z])[^'\"a-zA-Z%]"
    r"|\$'|\(\(|\{[A-Za-z_]\w*\}[<>]|[\w\"'](?:\"\"|'')|(?<!\w)\\\w"
)
_DEFINES: Final = re.compile(r"(?<![\w./-])function(?![\w-])|(?<!=)\(\)")
# These set only the names that follow them, which are checked elsewhere, as is arithmetic in a substitution.
_NAMING: Final = re.compile(
    r"(?<![\w./-])(?:(?:declare|typeset|local)(?=[ \t]+-[aA][ \t]+[A-Za-z_]|[ \t]+[A-Za-z_]\w*=\()"
    r"|(?:IFS=[^ \t\n;()`$]*[ \t]+)?read(?=(?:[ \t]+-r?a?)?(?:[ \t]+[a-z_]\w*)+[ \t]*(?:[;\n)]|<))"
    r"|(?:mapfile|readarray)(?=[ \t]+-t[ \t]+[a-z_]\w*[ \t]*(?:[;\n)]|<))"
    r"|unset(?=[ \t]+'[a-z_]\w*\[[\w.-]+\]'[ \t]*(?:[;\n)]|\Z)))|\(\((?=[^()]*\)\))"
)
_REPEATING: Final = re.compile(r"(?<![\w.-])(?:for|while|until|if|case)(?![\w-])|&&|\|\||&|\|")
KEY: Final = r"(?:(?![@*]\])[A-Za-z0-9_.,:/@%+-]+|'[^'\\\]\[]*'|\"[^\"\\$`\]\[]*\")"
"""A subscript that is literal text."""
VARIABLE: Final = r"\"?\$(?:[a-z_]\w*|[1-9]|\{[a-z_]\w*\})\"?"
"""A subscript that is exactly one variable."""
DEFAULT: Final = r":?[-+][A-Za-z0-9_@%+=:,./ -]*"
CUT: Final = r":[ ]?[0-9]{1,4}(?::[0-9]{1,4})?"
_ANY: Final = rf"(?:{KEY}|{VARIABLE})"
_USE: Final = re.compile(
    rf"\$\{{(?:[#!]?%s\[[@*]\]|%s\[[@*]\]{CUT}|#?%s\[-?[0-9]+\]|%s\[{_ANY}\](?:{DEFAULT})?)\}}"
    rf"|(?<![\w.-])(?:-v[ \t]+%s\[{_ANY}\](?=[ \t]+\]\])|unset[ \t]+'%s\[[\w.-]+\]')"
)
_FILLED: Final = r"(?<![\w./-])(?:read[ \t]+-r?a|(?:mapfile|readarray)[ \t]+-t)[ \t]+%s(?=[ \t]*(?:[;\n<]|\Z))"
_FLAG: Final = re.compile(r"(?<=declare) -a(?= )|(?<=typeset) -a(?= )|(?<=local) -a(?= )")
_DECLARED: Final = r"(?<![\w./-])(?:declare|typeset|local)[ \t]+-[aA][ \t]+%s(?=[ \t]*(?:[;\n)&|]|\Z))"
_SET: Final = rf"(?<![\w$])%s(?:\[{_ANY}\]\+?=(?!\()|\+?=\()"
_WHOLE: Final = re.compile(
    r"""(?P<quote>"?)\$\{(?P<keys>!?)(?P<name>[A-Za-z_]\w*)\[(?P<all>[@*])\](?P<cut>:[ ]?[0-9]{1,4}(?::[0-9]{1,4})?)?\}(?P=quote)(?=[ \t\n|&;)]|\Z)"""
)
_COUNT: Final = re.compile(r"\[(?:[@*]|[0-9]{1,4})\]\}")
# With a zero in front, bash takes it for an octal number.
_INDEX: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,3})")
_QUOTED: Final = re.compile(r"""(?P<text>'[^']*'|"(?:[^"\\]|\\[nt])*")|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
_QUOTES_DIFFER: Final = re.compile(r"`|\$[('\"]|<<|(?<![^ \t\n;|&()])#")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")


def element_variable(name: str) -> str:
    """The name, among those of variables, for the value of any element of the array *name*."""
    return f"{name}[*]"


def key_variable(name: str) -> str:
    """The name, among those of variables, for any key of the associative array *name*."""
    return f"{name}[!]"


class ArrayAssignment(NamedTuple):
    """One assignment to an array or to an element."""

    words: tuple[Word, ...]
    keys: tuple[Word | None, ...]
    """The subscript of each word; None for a word without one."""
    adds: bool
    """Whether the operator is `+=`."""
    is_element: bool
    """Whether it sets one element: `a[0]=x`."""
    is_associative: bool = False
    """Whether it is an argument of `declare -A`."""


class Arrays:
    """The arrays of one source."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._rest: str | None = None
        self._texts: dict[str, dict[str, str]] = {}
        self._versions: dict[str, int] = {}
        self._kinds: dict[str, bool] = {}
        self.pending: dict[str, ArrayAssignment | None] = {}
        """Assignments by their form, until their command is parsed and it is known when they run; None for a form that
        occurs twice."""
        self.keys: list[Word | None] = []
        """The subscripts of the words of the array that was read last."""
        self.loose: set[str] = set()
        """Arrays with an assignment where they may be indexed: `declare -A` fails after that."""
        self.looped: set[str] = set()
        """Arrays that a loop declares as associative, perhaps after its first turn has used them."""
        self.is_used = False
        """Whether an array was replaced by its elements somewhere."""

    def declare(self, name: str, known: frozenset[str]) -> frozenset[str]:
        """Record that the array *name* is declared here without elements; return *known*, with the array if that is certain."""
        # The environment never sets a variable whose name only the line uses.
        return self._store_elements(name, {}, known) if name not in self._texts and self._is_apart(name) else known

    def learn(self, name: str, setting: ArrayAssignment, known: frozenset[str]) -> frozenset[str]:
        """Record *setting* of the array *name*, which runs once and now; return *known*, with the array if it is known."""
        is_more = setting.adds or setting.is_element
        held = self._known_elements(name, known) if is_more else {}
        is_known = held is not None and self._is_apart(name)
        found = self._apply_setting(held or {}, setting, is_associative=self.is_associative(name)) if is_known else None
        if found is not None:
            return self._store_elements(name, found, known)
        if name in self._texts:
            self._versions[name] += 1
        return known

    def _store_elements(self, name: str, texts: dict[str, str], known: frozenset[str]) -> frozenset[str]:
        self._versions[name] = self._versions.get(name, 0) + 1
        self._texts[name] = texts
        return known | {name, self._version_name(name)}

    def _version_name(self, name: str) -> str:
        return f"{name}[{self._versions[name]}]"

    def is_associative(self, name: str) -> bool:
        """Whether each declaration of *name* in the source makes it an associative array, and there is at least one."""
        if name not in self._kinds:
            pattern = rf"(?<![\w./-])(?:declare|typeset|local)(?:[ \t]+-([aA]))?[ \t]+{name}(?!\w)"
            self._kinds[name] = {*re.findall(pattern, self._source)} == {"A"}
        return self._kinds[name]

    @staticmethod
    def _apply_setting(
        held: Mapping[str, str], setting: ArrayAssignment, *, is_associative: bool
    ) -> dict[str, str] | None:
        """The elements of an array after *setting*, if it had the elements *held* before; None if they are not known."""
        texts = dict(held)
        place = max(map(int, texts), default=-1) + 1 if not is_associative else 0
        for word, key in zip(setting.words, setting.keys, strict=True):
            index = str(place) if key is None else key.text
            if word.text is None or index is None or (is_associative if key is None else False):
                return None
            if not is_associative:
                if not _INDEX.fullmatch(index) or index.startswith("-"):
                    return None
                index = str(int(index))
                place = int(index) + 1
            texts[index] = texts.get(index, "") + word.text if setting.is_element and setting.adds else word.text
        return texts if is_associative else {key: texts[key] for key in sorted(texts, key=int)}

    def _known_elements(self, name: str, known: frozenset[str]) -> dict[str, str] | None:
        """The elements of the array here; None if they are not known, such as after a change in a subshell."""
        texts = self._texts.get(name)
        return texts if texts is not None and self._version_name(name) in known else None

    def is_understood(self, name: str) -> bool:
        """Whether each occurrence of *name* is understood, and the source sets no variable by a name computed at run time."""
        if self._rest is None:
            self._rest = _NAMING.sub(lambda found: "\0" * len(found.group()), self._source)
        if _SETTERS.search(self._rest):
            return False
        return len(re.findall(rf"(?<![\w./]){name}(?![\w./])", self._mask_uses(name))) == len(
            self._assignment_ends(name)
        )

    def _mask_uses(self, name: str) -> str:
        rest = re.sub(_USE.pattern.replace("%s", name), lambda found: "\0" * len(found.group()), self._source)
        rest = re.sub(_DECLARED.replace("%s", name), lambda found: "\0" * len(found.group()), rest)
        rest = re.sub(_FILLED.replace("%s", name), lambda found: "\0" * len(found.group()), rest)
        rest = _FLAG.sub(lambda found: "\0" * len(found.group()), rest)
        return mask_prose(rest, name)

    def _assignment_ends(self, name: str) -> list[int]:
        return [found.end() for found in re.finditer(_SET.replace("%s", name), self._mask_uses(name))]

    def _is_apart(self, name: str) -> bool:
        """Whether *name* is understood, and set before any construct that could repeat or skip its assignments."""
        if not self.is_understood(name) or _DEFINES.search(self._source):
            return False
        if re.search(rf"(?<![\w.-])unset[ \t]+'{name}\[|{_FILLED.replace('%s', name)}", self._source):
            return False
        ends = self._assignment_ends(name) or [
            found.end() for found in re.finditer(_DECLARED.replace("%s", name), self._source)
        ]
        return _REPEATING.search(self._mask_uses(name), 0, ends[-1]) is None

    def find_all_elements(
        self, source: str, at: int, known: frozenset[str], *, ordered: bool
    ) -> tuple[int, tuple[str, ...]] | None:
        """Expand the word at position *at*, if it is all elements or keys of a known array, as `"${a[@]}"`.

        Args:
            source: The source of the line.
            at: Where the word begins, in characters.
            known: The arrays that are known there.
            ordered: Whether the order of the words matters, which is not known for an associative array.

        Returns:
            The position behind the word, and the words that it becomes; None if they are not known.
        """
        found = _WHOLE.match(source, at)
        held = None if found is None else self._known_elements(found["name"], known)
        if found is None or held is None or (found["keys"] and found["cut"]):
            return None
        is_associative = self.is_associative(found["name"])
        if is_associative and (found["cut"] or (ordered and len(held) > 1)):
            return None
        texts = tuple(held if found["keys"] else held.values())
        if found["cut"]:
            if list(held) != [str(place) for place in range(len(held))]:
                return None
            start, _, count = found["cut"][1:].partition(":")
            texts = texts[int(start) :][: int(count) if count else None]
        if not found["quote"] and not all(map(_PLAIN.fullmatch, texts)):
            return None
        self.is_used = True
        is_joined = found["quote"] and found["all"] == "*"
        return found.end(), (" ".join(texts),) if is_joined else texts

    def element(self, name: str, key: str, known: frozenset[str]) -> str | None:
        """The text of the element *key*; None if the element or its array is not known."""
        held = self._known_elements(name, known)
        if held is None:
            return None
        if not self.is_associative(name):
            if not _INDEX.fullmatch(key):
                return None
            place = int(key) if not key.startswith("-") else max(map(int, held), default=-1) + 1 + int(key)
            key = str(place)
        text = held.get(key)
        self.is_used = self.is_used or text is not None
        return text

    def element_in_loop(self, name: str, key: str) -> str:
        """The text of the element *key* of an array that was known when a loop began; no loop changes a known array."""
        return self._texts[name][key]


def mask_prose(source: str, name: str) -> str:
    """Replace each quoted text that holds a blank and *name* as a word by NULs: a text with a blank cannot name a variable.

    A text stays in which a subscript or a value follows the name, as in `unset 'a[0 ]'`. The whole source stays if it has
    constructs that change where quotes begin and end.
    """
    if _QUOTES_DIFFER.search(source):
        return source
    named = re.compile(rf"(?<![\w$]){name}(?!\w)(?![ \t]*[\[=+])")
    return _QUOTED.sub(lambda found: "\0" * len(found[0]) if _is_prose(found, named) else found[0], source)


def _is_prose(found: re.Match[str], named: re.Pattern[str]) -> bool:
    text = found["text"] or ""
    return " " in text and "$" not in text and named.search(text) is not None and "=" not in text


def end_of_count(source: str, at: int) -> int | None:
    """The position behind the subscript and the brace at *at* in `${#a[0]}`; None if bash may evaluate the subscript."""
    found = _COUNT.match(source, at)
    return None if found is None else found.end()
