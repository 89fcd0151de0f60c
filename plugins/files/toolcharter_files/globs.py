"""Parse globs, split off the folder in which each begins, and match them in linear time.

`*`, `?` and `[...]` match within a name, `**` matches across folders, `{a,b}` matches either `a` or `b`, and a
backslash makes the next character literal. A glob without `/` matches names at any depth.
"""

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

MAX_GLOBS = 32
MAX_CHARS = 1000
MAX_ALTERNATIVES = 64
MAX_TOTAL_CHARS = 4000
"""The limit for all alternatives of all globs of one folder together. Above it, RE2 falls back to a search that is a
thousand times slower."""
_SPECIAL = frozenset("*?[{\\")
_SIGNS = re.compile(r"([*?\[{},\\])")
_BRACES = "{},"
_ESCAPED = re.compile(r"\\([{},])")
_HIDDEN = re.compile(r"\0([012])")


class InvalidGlob(ValueError):
    """A glob cannot be used; the exception's text says why."""


class Glob(NamedTuple):
    """One glob, split before its first component with a special character."""

    folder: str
    """The components before that one; `.` if there are none."""
    rest: str
    """The remaining components, relative to the folder."""
    anchored: bool
    """False for a glob without `/`, which matches names at any depth."""


def parse_glob(text: str) -> Glob:
    """Parse one glob, and split off its folder.

    Raises:
        InvalidGlob: The glob is empty or too long, or has a `..` after its first special character.
    """
    if not text or "\0" in text:
        raise InvalidGlob("a glob is empty or contains a NUL")
    if len(text) > MAX_CHARS:
        raise InvalidGlob(f"a glob is longer than {MAX_CHARS} characters")
    parts = [part for part in text.split("/") if part not in {"", "."}]
    plain = 0
    while plain < len(parts) and _SPECIAL.isdisjoint(parts[plain]):
        plain += 1
    anchored = "/" in text.removeprefix("./")
    if plain == len(parts) and not text.endswith("/"):
        plain -= 1  # a plain path: its last component is the name to match
    folder, rest = parts[: max(plain, 0)], parts[max(plain, 0) :] or ["**"]
    if ".." in rest:
        raise InvalidGlob(f"{text!r} climbs by '..'")
    root = "/" if text.startswith("/") else ""
    return Glob(root + "/".join(folder) or ".", "/".join(rest), anchored)


def compile_matcher(globs: Iterable[Glob]) -> Callable[[str], bool]:
    """Return a function that says whether a path, relative to the globs' folder, matches any of *globs*.

    Raises:
        InvalidGlob: The braces have too many alternatives, the globs together are too long, or a character class is
            malformed.
    """
    re2 = import_module("re2")  # on first use; it has no type hints

    parts = [(each, glob.anchored) for glob in globs for each in expand_braces(glob.rest)]
    if sum(len(each) for each, _ in parts) > MAX_TOTAL_CHARS:
        raise InvalidGlob(f"the globs have more than {MAX_TOTAL_CHARS} characters together, braces multiplied out")
    options = re2.Options()
    options.log_errors = False  # RE2 would log them to standard error, between the events
    try:
        compiled: Any = re2.compile(
            "|".join(f"(?:{path_expression(each, anchored=anchored)})" for each, anchored in parts), options
        )
    except re2.error:
        raise InvalidGlob("a character class is malformed or the globs are too large together") from None
    return lambda path: compiled.fullmatch(path) is not None


def parse_whole_glob(text: str) -> Glob:
    """Parse a glob over paths relative to the workspace, without a split.

    A name without special characters matches that one path, not names at any depth.

    Raises:
        InvalidGlob: As for `parse_glob` and `compile_matcher`; or the glob is absolute or has a `..`.
    """
    glob = parse_glob(text)
    parts = [part for part in (*glob.folder.split("/"), *glob.rest.split("/")) if part != "."]
    if text.startswith("/") or ".." in parts:
        raise InvalidGlob(f"{text!r} is not relative to the workspace")
    whole = Glob(".", "/".join(parts), glob.anchored or is_plain(text))
    compile_matcher([whole])
    return whole


def is_plain(text: str) -> bool:
    """Return whether a glob has no special character, so that it matches only the path it is written as."""
    return _SPECIAL.isdisjoint(text)


def expand_braces(text: str) -> list[str]:
    """Expand the braces of *text* into all alternatives.

    Raises:
        InvalidGlob: There are more than 64.
    """
    done: list[str] = []
    pending = [_ESCAPED.sub(lambda found: f"\0{_BRACES.index(found[1])}", text)]  # no glob holds a NUL itself
    while pending:
        each = pending.pop()
        span = _innermost_braces(each)
        if span is None:
            done.append(_HIDDEN.sub(lambda found: "\\" + _BRACES[int(found[1])], each))
        else:
            start, end = span
            pending += [each[:start] + option + each[end + 1 :] for option in each[start + 1 : end].split(",")]
        if len(done) + len(pending) > MAX_ALTERNATIVES:
            raise InvalidGlob(f"the braces have more than {MAX_ALTERNATIVES} alternatives")
    return done


def escape_glob(name: str) -> str:
    """Return a glob that matches *name* literally."""
    return _SIGNS.sub(r"\\\1", name)


def _innermost_braces(text: str) -> tuple[int, int] | None:
    end = text.find("}")
    start = text.rfind("{", 0, max(end, 0))
    return (start, end) if start >= 0 else None


def path_expression(text: str, *, anchored: bool) -> str:
    """Return an RE2 expression for a whole path from one alternative of a glob."""
    parts = text.split("/")
    source = "" if anchored else "(?s:.*/)?"
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if part == "**":
            source += "(?s:.+)" if last else "(?s:(?:.+/)?)"
        else:
            source += name_expression(part) + ("" if last else "/")
    return source


def name_expression(name: str) -> str:
    """Return an RE2 expression for one component of a glob."""
    escape = import_module("re2").escape
    source, at = "", 0
    while at < len(name):
        char = name[at]
        at += 1
        if char == "*":
            source += "" if source.endswith("[^/]*") else "[^/]*"
        elif char == "?":
            source += "[^/]"
        elif char == "[" and (end := name.find("]", at + 1 + (name[at : at + 1] == "!"))) > 0:
            source += _class_expression(name[at:end])
            at = end + 1
        else:
            if char == "\\" and at < len(name):
                char, at = name[at], at + 1
            source += escape(char)
    return source


def _class_expression(inner: str) -> str:
    negated = inner[:1] in {"!", "^"}
    body = "".join("\\" + char if char in "\\[]^&~" else char for char in inner[negated:])
    return f"[{'^/' if negated else ''}{body}]"
