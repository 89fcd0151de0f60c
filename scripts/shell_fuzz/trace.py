"""Parses the output of `strace -f -y` into calls with absolute paths."""

import re
from collections.abc import Iterator
from posixpath import join, normpath
from typing import NamedTuple

_LINE = re.compile(r"(\d+) +(.*)", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_CALL = re.compile(r"(\w+)\((.*)\) += (-?\w+|\?)(?:<((?:[^<>\\]|\\.)*)>)?.*", re.DOTALL)
_FOLDER = re.compile(r"(?:AT_FDCWD|\d+)<((?:[^<>\\]|\\.)*)>(?:\(deleted\))?, $")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\.\.\.)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b"}
_FORKS = frozenset({"clone", "clone3", "fork", "vfork"})
_UNFINISHED = " <unfinished ...>"
_DULL = ('"/usr/lib/locale/', '"/usr/share/locale/', '>, "", ')


class Call(NamedTuple):
    """One system call."""

    process: int
    name: str
    paths: tuple[str, ...]
    """Absolute, without `.` and `..` as far as that is possible without the disk."""
    given: str
    """All arguments, as strace prints them."""
    succeeded: bool
    opened: str | None = None
    """The real path of an opened file."""
    child: int = 0
    """The process that was started."""


class _Folders:
    """The current folder of each process, for calls that do not contain it."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._known: dict[int, str] = {}

    def of(self, process: int) -> str:
        return self._known.get(process, self._start)

    def learn(self, process: int, folder: str) -> None:
        self._known[process] = folder


def calls(text: str, start: str) -> Iterator[Call]:
    """Yield the calls of a trace that began in the folder *start*, except calls that every program makes."""
    begun: dict[int, str] = {}
    folders = _Folders(start)
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        process, rest = int(match[1]), match[2]
        if rest.endswith(_UNFINISHED):
            begun[process] = rest.removesuffix(_UNFINISHED)
            continue
        resumed = _RESUMED.fullmatch(rest)
        if resumed is not None:
            rest = begun.pop(process, f"{resumed[1]}(") + resumed[2]
        if not any(mark in rest for mark in _DULL):
            yield from _call(process, rest, folders)
    # Calls that never returned were tried, too.
    for process, rest in begun.items():
        yield from _call(process, f"{rest}) = ?", folders)


def _call(process: int, text: str, folders: _Folders) -> Iterator[Call]:
    match = _CALL.fullmatch(text)
    if match is None:
        return
    name, given, status, opened = match[1], match[2], match[3], match[4]
    succeeded = not status.startswith("-")
    paths = tuple(_paths(name, given, process, folders))
    child = int(status) if name in _FORKS and status.isdigit() else 0
    if child:
        folders.learn(child, folders.of(process))
    if name == "chdir" and succeeded and paths:
        folders.learn(process, paths[0])
    yield Call(process, name, paths, given, succeeded, None if opened is None else unescape(opened), child)


def _paths(name: str, given: str, process: int, folders: _Folders) -> Iterator[str]:
    many = 2 if name.startswith(("rename", "link")) else 1
    if name.startswith("fch") and "at" not in name:
        match = _FOLDER.match(f"{given.partition(',')[0]}, ")
        if match:
            yield unescape(match[1])
        return
    start = 0
    texts = list(_TEXT.finditer(given))
    if name.startswith("symlink"):
        texts = texts[1:]
        start = given.find('", ') + 3
    for text in texts[:many]:
        folder = _FOLDER.search(given[start : text.start()])
        start = text.end() + 2
        here = unescape(folder[1]) if folder else folders.of(process)
        if folder and "AT_FDCWD" in folder[0]:
            folders.learn(process, here)
        yield normpath(join(here, unescape(text[1])))


def texts(given: str) -> tuple[str, ...]:
    """Return all quoted texts in a call's arguments."""
    return tuple(unescape(match[1]) for match in _TEXT.finditer(given))


def unescape(text: str) -> str:
    """Return a text from strace without its escapes."""
    raw = _ESCAPE.sub(_sign, text)
    return raw.encode("latin-1", "replace").decode(errors="replace") if "\\" in text else raw


def _sign(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x":
        return chr(int(code[1:], 16))
    return chr(int(code, 8) & 0xFF) if code[0].isdigit() else _LETTERS.get(code, code)
